/* SPDX-License-Identifier: MIT */
/*
 * What stands behind a DynamicQuantizeLinear, up to where bytes are floats again. The walk meets it node by node, in whatever order:
 *
 *     bytes -> ConvInteger or MatMulInteger: sums -> Add of whole steps, or none -> Cast: cast sums -> Mul by factors: floats
 *     scale -> Mul by the weights' scales: factors -> Div of a bias by them: steps -> Floor, Cast, Reshape: whole steps
 *
 * Only the last product makes steps: RANGE, FACTORS, QUANTIZE and a convolution or product (core/format.h).
 */
#ifndef MORSEL_TOOLS_LOWER_DYNAMIC_H
#define MORSEL_TOOLS_LOWER_DYNAMIC_H

#include "tools/lower/lower.h"

enum reading_part {
    READING_BYTES,
    READING_SCALE,
    READING_ZERO,
    READING_FACTORS, /* scale * factor */
    READING_STEPS,   /* bias / (scale * factor) */
    READING_WHOLE,   /* its floor, as float or int32, in any shape */
    READING_SUMS,
    READING_CAST_SUMS
};

/* What one quantization finds at run time. */
struct found {
    struct net_buffer *x, *ends, *bytes;
    uint32_t lines, count;    /* of core/format.h, QUANTIZE */
    bool quantized;           /* the step that writes the bytes is there */
    struct net_buffer *plain; /* numbers without factors; NULL: nobody asked for them */
    const char *name;
    struct meaning meaning; /* of the bytes */
};

/* Sums that wait for their factors. */
struct sums {
    struct onnx_node *node;
    struct meaning x;            /* the bytes */
    bool is_conv, outputs_first; /* else weights are [inputs, outputs] */
    const struct onnx_tensor *weights, *zeros;
    struct morsel_blob_conv conv;
    struct weights geometry;
};

struct reading {
    enum reading_part part;
    struct found *found;
    const struct onnx_tensor *factor; /* one number, or one for each output */
    const struct onnx_tensor *bias;   /* the same; NULL: none */
    const struct sums *sums;
};

/* What stands behind sums: factors, and biases before and after the product with them. */
struct sums_end {
    const struct onnx_tensor *factor, *bias, *float_bias;
    struct tail tail;
};

/* --- Steps (dynamic_steps.c) --- */

/* A RANGE over m's floats, by lines of the last axis or all of it. NULL: refused. */
struct found *dynamic_find(struct lowering *l, struct onnx_node *node, struct meaning *m, bool by_line, struct meaning *bytes);
/* Scale and zero point alone. */
struct net_buffer *dynamic_plain_numbers(struct lowering *l, struct found *found);
/* The steps of sums with all that belongs to them. */
bool dynamic_add(struct lowering *l, struct found *found, const struct sums *sums, const struct sums_end *end);

#endif
