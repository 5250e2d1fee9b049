/* SPDX-License-Identifier: MIT */
/* Decides what of a float graph runs in integers, and where it is quantized. */
#ifndef MORSEL_TOOLS_QUANT_INSERT_PLACE_H
#define MORSEL_TOOLS_QUANT_INSERT_PLACE_H

#include "tools/quant/insert/scheme.h"

/*
 * The graph has to be optimized, in an order in which it can run, and to stay as it is. No scales yet.
 *
 * A pair (QuantizeLinear, DequantizeLinear) stands
 * - behind a layer, sum or mean and the Relu or Clip that follows it, but not between the two;
 * - not inside a chain of functions of one value (HardSwish, x * Sigmoid(x), Gelu in five nodes): that is one table of 256 entries;
 * - behind what only moves numbers (Reshape, Concat, MaxPool ...), in the scale of what went in, so that bytes move;
 * - not at the end of the network: the last layer's sums come out as floats at no cost. Small functions behind it run in float.
 */
struct scheme *place(struct onnx_graph *graph, const struct scheme_options *options);

/* One step of place(): layer normalizations stay float (norms.c). */
void place_norms(struct scheme *scheme);

/* One step of place(), behind place_norms(): sums that a layer normalization reads stay float (residuals.c). */
void place_residuals(struct scheme *scheme);

/* One step of place(): quotients of two parts of a product stay float (quotients.c). */
void place_quotients(struct scheme *scheme);
/* And roots of sums of squares (magnitudes.c). */
void place_magnitudes(struct scheme *scheme);
/* And what makes the index of a lookup (indices.c). */
void place_indices(struct scheme *scheme);

/* One step of place(): sums with attention masks and the Softmax behind them stay float (masks.c). */
void place_masks(struct scheme *scheme);
/* A sum with such a mask, which may be infinite. */
bool place_masks_sum(const struct onnx_node *node);

/* The last step of place(): beyond which numbers those that read a value see no difference (limits.c). */
void place_limits(struct scheme *scheme);

#endif
