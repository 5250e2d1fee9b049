/* SPDX-License-Identifier: MIT */
/*
 * Layers of a scheme made better than plain rounding makes them, by what they read over the data. Both leave scales as they are.
 *
 * Adaptive rounding chooses each weight's integer so that the layer's sums, not its weights, come close to the float layer's. It solves the
 * problem of Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization" (2020), one layer at a time, by coordinate
 * descent. As in "Optimal Brain Compression" (Frantar et al., 2022) any integer may be taken. As far as the weights can, they also make up
 * for the error of rounding the input.
 *
 * Bias correction takes away what weights and inputs in bytes add to each channel on average. It is that of Nagel et al., "Data-Free
 * Quantization through Weight Equalization and Bias Correction" (2019).
 */
#ifndef MORSEL_TOOLS_QUANT_ROUND_REFINE_H
#define MORSEL_TOOLS_QUANT_ROUND_REFINE_H

#include "tools/float/executor.h"
#include "tools/samples/data/data.h"
#include "tools/quant/insert/scheme.h"

struct refine {
    struct scheme *scheme;
    const struct executor *executor; /* of the scheme's graph */
    const struct quant_data *data;
    unsigned threads;
    int64_t round_most; /* REFINE_SMALL, REFINE_LARGE; 0: no layer */
    bool keep_biases;
    size_t most_bytes; /* moments of several layers are collected at a time, as far as this goes: REFINE_BYTES */
};

#define REFINE_BYTES ((size_t)512 << 20)

/* Of how many products a sum may be whose weights are rounded adaptively: what takes little time, and what takes a gigabyte. Most of what
 * rounding costs comes from small sums early in a network. */
#define REFINE_SMALL 256
#define REFINE_LARGE 8192

/* The integers of layers up to refine->round_most (those of ConvTranspose stay as they are), and the biases of all. */
bool refine_layers(const struct refine *refine, struct failure *failure);

#endif
