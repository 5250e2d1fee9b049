/* SPDX-License-Identifier: MIT */
/*
 * Cross-layer equalization: channels of values between layers are made equally wide. What makes channel c of a value is multiplied by a
 * factor. What reads it divides by the same, and the network computes what it did before. One scale for all channels then fits each of
 * them. Where all readers of a value sum over whole windows, channels are also shifted, so that their ranges overlap.
 *
 * After Nagel et al., "Data-Free Quantization through Weight Equalization and Bias Correction" (2019). Unlike there, ranges of values count
 * instead of weights, over whole trunks of residual networks. An estimate of the noise says how far to go: what the bytes of values gain,
 * the bytes of weights may lose.
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
