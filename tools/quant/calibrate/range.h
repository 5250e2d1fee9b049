/* SPDX-License-Identifier: MIT */
/* From what a value took on to the range that its bytes shall stand for. */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_RANGE_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_RANGE_H

#include "tools/quant/calibrate/observe.h"

enum range_method {
    RANGE_MINMAX,     /* the least and the largest number */
    RANGE_AVERAGE,    /* the averages of each sample's least and largest */
    RANGE_PERCENTILE, /* all but (100 - percentile) / 2 per cent at each end; symmetric: but 100 - percentile of the magnitudes */
    RANGE_ENTROPY,    /* the threshold of magnitude whose bytes keep most of the distribution: least Kullback-Leibler divergence */
    RANGE_MSE,        /* the least mean squared error of rounding and clipping */
};

#define RANGE_PERCENTILE_DEFAULT 99.999

/* low <= 0 <= high, and neither so close together nor so far apart that a scale made of them is not a normal number. */
struct range {
    float low, high;
};

/* The method by its name: "minmax", "average", "percentile", "entropy", "mse". */
bool range_method_find(const char *name, enum range_method *method);
const char *range_method_name(enum range_method method);

/*
 * For `levels` quantized levels, 256 for bytes: a step is (high - low) / (levels - 1), and 0 is the level nearest to where it falls.
 * Symmetric: low = -high, and 0 is level levels / 2.
 */
struct range range_of(const struct observed *seen, enum range_method method, double percentile, bool symmetric, int levels);

/* Of one channel alone, which has no RANGE_AVERAGE (it is RANGE_MINMAX there) and coarser bins. */
struct range range_of_channel(const struct observed *seen, uint32_t channel, enum range_method method, double percentile, bool symmetric,
                              int levels);

/* Any two numbers as such a range: 0 is taken in; where nothing but 0 is left, or next to nothing, it is 0 .. 1. */
struct range range_sane(double low, double high, bool symmetric, int levels);

#endif
