/* SPDX-License-Identifier: MIT */
/*
 * What the values of a float network took on, over samples: extremes, counts, and sums in fixed point. Neither the order of the samples nor
 * how they are spread over observers that are merged in the end changes a bit.
 *
 * Memory does not grow with the samples: 128 KiB for each value watched and 0.6 KiB for each channel of it. That is 36 MB for all 101
 * values of a MobileNetV2 at 224 x 224; more than 4,000 values share 512 MB. Extremes and averages are of all numbers. Of a
 * sample with more than 16384, the histograms take that many.
 */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_OBSERVE_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_OBSERVE_H

#include "tools/base/failure.h"
#include "tools/onnx/graph.h"
#include "tools/quant/calibrate/histogram.h"

/* Of one value. */
struct observed {
    const struct onnx_value *value;
    uint64_t count, samples;           /* numbers seen, and arrays of them */
    uint64_t broken;                   /* of these not finite: they count as 0 in everything here */
    float low, high;                   /* the least and the largest */
    double mean_low, mean_high;        /* averages of each sample's least and largest */
    const struct histogram *histogram; /* 512 bins to the octave or fewer, 32 octaves; of some of the numbers */
    int axis;                          /* along which channels lie */
    uint32_t channels;
    const float *channel_low, *channel_high;   /* [channels] */
    const double *channel_mean;                /* averages, up to 2^40 */
    const double *channel_square;              /* averages of squares, up to 2^54 */
    const struct histogram *channel_histogram; /* [channels]: 4 bins to the octave, 16 octaves */
};

/* Along which a value's channels lie: axis 1; of three dimensions that no convolution, pool or normalization made, the last, as of
 * matrices. */
int observed_axis(const struct onnx_value *value);

struct observer;

/*
 * An observer of a graph's float values that are no constants; where `wanted` is not NULL of those alone for which it is true (by their
 * index in graph->values). One for each thread, merged in the end.
 */
struct observer *observer_open(const struct onnx_graph *graph, const bool *wanted);
void observer_close(struct observer *observer); /* NULL is legal */

/* One sample's array of a value; nothing where that is not watched. */
void observer_see(struct observer *observer, const struct onnx_value *value, const float *data, size_t count);

/* Both are of the same graph and wish. */
void observer_merge(struct observer *into, const struct observer *from);

/* What was seen of a value since the observer was opened, as long as nothing more is seen. NULL: it is not watched. */
const struct observed *observer_of(struct observer *observer, const struct onnx_value *value);

#endif
