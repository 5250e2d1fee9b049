/* SPDX-License-Identifier: MIT */
/* Maps y = scale * x + shift with constants that vary along one axis at most, whatever node they are written as. */
#ifndef MORSEL_TOOLS_OPTIMIZE_AFFINE_H
#define MORSEL_TOOLS_OPTIMIZE_AFFINE_H

#include "tools/optimize/pass.h"

struct affine {
    const struct onnx_node *node;
    struct onnx_value *x;
    int axis;         /* along which the numbers vary; -1: they do not */
    int64_t channels; /* numbers: the size of that axis, or 1 */
    double *scale, *shift;
};

/* Add, Sub, Mul, Div with a constant, Neg, BatchNormalization in inference; the output is shaped as x, all is float. Without numbers. */
bool affine_find(const struct onnx_node *node, struct affine *a);
/* The numbers of what was found. False: they are no finite ones, or there is no room for them: asked for last. */
bool affine_take(struct onnx_graph *g, struct affine *a);
bool affine_scales(const struct affine *a); /* some scale is not 1 */
bool affine_shifts(const struct affine *a); /* some shift is not 0 */
/* Both vary along the same axis, or one of them nowhere. */
bool affine_fits(const struct affine *a, int axis);
/* The node becomes one that computes `a`: Mul, Add, or BatchNormalization where both are needed and the axis is 1. False: none of them. */
bool affine_write(struct onnx_graph *g, struct onnx_node *node, const struct affine *a);

#endif
