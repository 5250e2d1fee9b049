/* SPDX-License-Identifier: MIT */
/* What GridSample means, one channel of one pixel at a time. */
#include "reference.h"

#include <string.h>

static double floor_of(double v) {
    const double whole = (double)(int64_t)v;
    return whole > v ? whole - 1 : whole;
}

/* The pixel below, or the nearest one, of two as near the even one. */
static float first_pixel(const struct morsel_grid_sample_args *a, double p) {
    const double below = floor_of(p), rest = p - below;
    const int up = a->nearest && (rest > 0.5 || (rest == 0.5 && (int64_t)below % 2 != 0));
    return (float)(up ? below + 1 : below);
}

/* Where g lies along a side of n pixels. */
static float position(const struct morsel_grid_sample_args *a, float g, uint32_t n) {
    const float length = (float)n, sum = g + 1;
    float p = a->corners ? sum / 2 * (length - 1) : (sum * length - 1) / 2;
    if (p != p || p < -4194304) p = -4194304;
    return p > 4194304 ? 4194304 : p;
}

/* From end to end and back, as often as it takes. */
static double mirrored(double at, double low, double high) {
    const double length = high - low;
    if (length == 0) return low;
    const double times = floor_of((at - low) / length), rest = at - low - times * length;
    return (int64_t)times % 2 != 0 ? high - rest : low + rest;
}

/* Pixel `at` along a side of n; -1: there is none. */
static int64_t pixel(const struct morsel_grid_sample_args *a, float at, uint32_t n) {
    if (at >= 0 && at <= (float)n - 1) return (int64_t)at;
    if (a->beyond == MORSEL_BEYOND_NOTHING) return -1;
    if (a->beyond == MORSEL_BEYOND_EDGE) return at < 0 ? 0 : (int64_t)n - 1;
    return (int64_t)(a->corners ? mirrored(at, 0, n - 1.0) : mirrored(at, -0.5, n - 0.5));
}

static float sampled(const struct morsel_grid_sample_args *a, uint32_t unit, uint32_t c) {
    const float *g = a->grid + 2 * (size_t)unit;
    const float across = position(a, g[0], a->sides[0]), down = position(a, g[1], a->sides[1]);
    const float left = first_pixel(a, across), above = first_pixel(a, down), more = a->nearest ? 0 : 1;
    const size_t first = (size_t)(unit / a->pixels) * a->sides[1];
    float sum = 0;
    for (float row = above; row <= above + more; row++)
        for (float column = left; column <= left + more; column++) {
            const int64_t y = pixel(a, row, a->sides[1]), x = pixel(a, column, a->sides[0]);
            float weight = row == above ? above + 1 - down : down - above;
            weight *= column == left ? left + 1 - across : across - left;
            if (y < 0 || x < 0) continue;
            const float value = a->x[((first + (size_t)y) * a->sides[0] + (size_t)x) * a->channels + c];
            const float product = (a->nearest ? 1 : weight) * value;
            sum += product;
        }
    return sum;
}

void morsel_grid_sample_reference(const struct morsel_grid_sample_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++)
        for (uint32_t c = 0; c < a->channels; c++) {
            const float v = sampled(a, u, c);
            const uint32_t one_nan = 0x7fc00000;
            memcpy(&a->y[(size_t)u * a->channels + c], v == v ? (const void *)&v : &one_nan, sizeof v);
        }
}
