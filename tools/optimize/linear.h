/* SPDX-License-Identifier: MIT */
/* Conv, ConvTranspose, Gemm and MatMul with constant weights as one thing: a matrix of channels in and out, and a bias. */
#ifndef MORSEL_TOOLS_OPTIMIZE_LINEAR_H
#define MORSEL_TOOLS_OPTIMIZE_LINEAR_H

#include "tools/optimize/pass.h"

struct linear {
    struct onnx_node *node;
    const struct onnx_tensor *weights;
    int64_t in_channels, out_channels;
    int in_axis, out_axis;         /* of channels in x and y */
    int64_t inner, window, groups; /* weights are rows of `inner` x `window`; see linear_place() */
    bool rows_are_inputs;          /* a row belongs to a channel in (ConvTranspose, B of MatMul), not to a channel out */
    double gain, bias_gain;        /* alpha and beta of Gemm */
};

/* False: another operator, or weights or bias that are no float constants, or not of the form. */
bool linear_read(struct onnx_node *node, struct linear *l);
/* Whether linear_rewrite() may write the weights anew: one constant may have many readers, and each gets its own. Room for that follows
 * from the numbers in the file. Passes leave the node alone where there is none. */
bool linear_has_room(const struct onnx_graph *g, const struct linear *l);
/* The channels that element e of the weights connects. */
void linear_place(const struct linear *l, int64_t e, int64_t *in, int64_t *out);
/* The bias, zeros where there is none; out_channels numbers. */
double *linear_bias(struct onnx_graph *g, const struct linear *l);
/* Whether a bias can be had without a new node: all but MatMul of more than two dimensions. */
bool linear_takes_bias(const struct linear *l);
/*
 * Element by element, weights *= out_scale[out] * in_scale[in] (NULL: 1), and the bias becomes `bias` (NULL: as it is). A MatMul that gets
 * a bias becomes a Gemm. False, and nothing is changed: the numbers would leave float's range.
 */
bool linear_rewrite(struct onnx_graph *g, struct linear *l, const double *out_scale, const double *in_scale, const double *bias);

#endif
