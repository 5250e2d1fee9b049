/* SPDX-License-Identifier: MIT */
/* What the methods of range.h are made of; for them and their tests. */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_RANGE_PARTS_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_RANGE_PARTS_H

#include "tools/quant/calibrate/histogram.h"
#include <stdbool.h>

/* How the numbers are distributed: bins from the least up, none beyond low .. high. */
struct spread {
    struct histogram_bin *bins;
    size_t count;
    double low, high;
    double total; /* numbers */
};

/* Where the share `share` (0..1) of all numbers' magnitudes lies below, evenly within its bin. */
double spread_quantile_of_magnitudes(const struct spread *spread, double share);

/* The magnitude at which to clip. Where all numbers are of one sign, symmetric levels are half as many. */
double entropy_threshold(const struct spread *spread, bool symmetric, int levels);

/*
 * The number of bins to each side of 0 at which to clip. There the mass, with what lies beyond in the outermost bins, differs least from
 * what `levels` quantized levels keep of it. mass[0 .. 2 * half) has `half` bins a side; where `both` is false, only mass[half ..] counts.
 */
size_t entropy_bins(const double *mass, size_t half, bool both, size_t levels);

/* low .. high with the least error. */
void mse_range(const struct spread *spread, bool symmetric, int levels, double *low, double *high);

#endif
