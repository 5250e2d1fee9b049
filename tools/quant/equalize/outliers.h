/* SPDX-License-Identifier: MIT */
/*
 * Channels behind a Gelu that are far larger than all others take the steps of the bytes from them: in transformers a few do.
 *
 * Such a channel becomes several, each of which goes up to `most` at most: the first as it was, the next with `most` off its bias, and so
 * on, since Gelu hands on what is large. Rows of the weights behind are repeated. So one scale fits them all, and no step is new.
 *
 * What it changes: where x is within 3 of a multiple of `most`, which is 3 at least, the sum is off by 0.2 at most. After Zhao et al.,
 * "Improving Neural Network Quantization without Retraining using Outlier Channel Splitting" (2019), who halve channels.
 */
#ifndef MORSEL_TOOLS_QUANT_EQUALIZE_OUTLIERS_H
#define MORSEL_TOOLS_QUANT_EQUALIZE_OUTLIERS_H

#include "tools/quant/calibrate/observe.h"
#include "tools/quant/insert/scheme.h"

enum { OUTLIERS_PARTS = 16 }; /* channels that one Gelu gets more */

/* Of one Gelu. */
struct outliers_split {
    const char *node; /* its name */
    float most;
    uint32_t count;                                       /* of parts; OUTLIERS_PARTS channels in any case, as kernels go by so many */
    uint32_t from[OUTLIERS_PARTS], times[OUTLIERS_PARTS]; /* a channel's part from `times` * most on */
};

struct outliers {
    struct outliers_split *list; /* in the graph's memory */
    size_t count, parts;         /* parts: in all */
};

/* Rewrites the graph, after what `observer` saw of all its float values; that no longer holds where something was split. Matrices between a
 * bias, a Gelu and a product with constant weights alone, which `options` do not exclude. */
struct outliers outliers_split(struct onnx_graph *graph, const struct scheme_options *options, struct observer *observer);

/* The same parts in the same network of another size. */
void outliers_repeat(struct onnx_graph *graph, const struct outliers *outliers);

#endif
