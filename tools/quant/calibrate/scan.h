/* SPDX-License-Identifier: MIT */
/* Extremes and sums of numbers, by vectors. */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_SCAN_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_SCAN_H

#include <stddef.h>

/* Comparisons leave NaN out, and the square shows it, as it shows the infinities. */
struct scan {
    float low, high;
    double sum, square;
};

struct scan scan_start(void);
void scan_one(struct scan *scan, float number);
void scan_run(struct scan *scan, const float *data, size_t count); /* numbers side by side */

#endif
