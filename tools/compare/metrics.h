/* SPDX-License-Identifier: MIT */
/* How far numbers are from what they stand for, in figures. */
#ifndef MORSEL_TOOLS_COMPARE_METRICS_H
#define MORSEL_TOOLS_COMPARE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of pairs of a wanted number x and the number y that stands for it. */
struct metric_sums {
    double xx, xy, yy, x, y, count;
};

/* An infinity that both have, as of a mask, counts as nothing. */
void metric_add(struct metric_sums *sums, const float *x, const float *y, size_t count);
bool metric_same_infinity(float x, float y);
void metric_merge(struct metric_sums *into, const struct metric_sums *from);

/* The same of x - mean and y - mean. */
struct metric_sums metric_centred(const struct metric_sums *sums);
/* The same of x and the y / factor - shift that is left of y = factor * (x + shift). */
struct metric_sums metric_restored(const struct metric_sums *sums, double factor, double shift);

/* The sum of squared errors. */
double metric_noise(const struct metric_sums *sums);

/* 10 log10(signal / noise), within +-METRIC_MOST: beyond it floats themselves end. No noise at all gives the upper end. */
#define METRIC_MOST 120.0
double metric_sqnr(double signal, double noise);

/* The cosine of the angle between all x and all y; 1 where both are 0, 0 where one is. */
double metric_cosine(double xx, double xy, double yy);

/* The factor 2^(k / 4) that is nearest to y / x by least squares; 0 where x and y are not so alike that there would be one. */
double metric_factor(const struct metric_sums *sums);

/* Bytes. */
struct metric_qparams {
    float scale;
    int32_t zero, least, most;
};

/* How a channel is stored: factor * (x + shift). */
struct metric_channel {
    float factor, shift;
};

/* What is left of y once it is stored so; whether x, stored so, would lie beyond the ends. */
float metric_stored(const struct metric_qparams *qparams, struct metric_channel channel, float y);
bool metric_clips(const struct metric_qparams *qparams, struct metric_channel channel, float x);

#endif
