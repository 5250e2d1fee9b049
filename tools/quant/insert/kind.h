/* SPDX-License-Identifier: MIT */
/* What an operator is to quantization, by its name and its constants alone: place.c makes roles of it. */
#ifndef MORSEL_TOOLS_QUANT_INSERT_KIND_H
#define MORSEL_TOOLS_QUANT_INSERT_KIND_H

#include "tools/onnx/graph.h"

enum kind {
    KIND_UNKNOWN,
    KIND_LAYER, /* constant weights */
    KIND_PAIR,  /* of two activations, or one and a constant that no table can take: Add, Mul, MatMul ... */
    KIND_POOL,  /* averages */
    KIND_SOFTMAX,
    KIND_MOVE,    /* of one activation */
    KIND_JOIN,    /* Concat */
    KIND_FUNCTION /* of one activation, element by element; constants beside it vary along one axis at most */
};

/* `axis`: along which a function's constants vary, -1 where they do not. */
enum kind kind_of(const struct onnx_node *node, int *axis);

/* Relu, or Clip with constant bounds. */
bool kind_is_bound(const struct onnx_node *node);
/* An Add of a constant vector along the last axis of `to`. */
bool kind_is_bias(const struct onnx_node *node, const struct onnx_value *to);
/* Elementwise operators that run in float, too. */
bool kind_runs_in_float(const struct onnx_node *node, enum kind kind);

#endif
