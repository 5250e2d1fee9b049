/* SPDX-License-Identifier: MIT */
/*
 * Channels of values between layers made equally wide: what makes channel c of a value is multiplied by a factor, what reads it divides by
 * the same, and the network computes what it did before. One scale for all channels then fits each of them. Where all that reads a value
 * sums over whole windows, numbers are added to channels as well, so that their ranges lie over each other.
 *
 * After Nagel et al., "Data-Free Quantization through Weight Equalization and Bias Correction" (2019), with ranges of values instead of
 * weights in the middle, over whole trunks of residual networks, and by as much as an estimate of the noise says is good: what the bytes
 * of values gain, the bytes of weights may lose.
 */
#ifndef MORSEL_TOOLS_QUANT_EQUALIZE_EQUALIZE_H
#define MORSEL_TOOLS_QUANT_EQUALIZE_EQUALIZE_H

#include "tools/quant/calibrate/observe.h"
#include "tools/quant/insert/scheme.h"

/* Factors are powers of 2^(1/4), within 2^-8 .. 2^8: steps that a comparison with the float network can tell apart. */
enum { EQUALIZE_STEPS_AN_OCTAVE = 4, EQUALIZE_MOST_OCTAVES = 8 };

/*
 * Rewrites the graph's weights. `observer` has watched all its float values. How many channels got a factor or a number; what was observed
 * of their values no longer holds then.
 */
size_t equalize(struct onnx_graph *graph, const struct scheme_options *options, struct observer *observer);

#endif
