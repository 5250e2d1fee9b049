/* SPDX-License-Identifier: MIT */
/* Where Resize and Upsample read: one axis at a time, computed as ONNX Runtime computes it. */
#ifndef MORSEL_TOOLS_ONNX_RESIZE_H
#define MORSEL_TOOLS_ONNX_RESIZE_H

#include "tools/onnx/graph.h"

struct onnx_resize {
    const char *transformation, *rounding;
    float scale, roi_start, roi_end;
    int64_t in, out;
    bool opset10;
};

/* Its scales; NULL: they are not constant, or left out. Before opset 9 they are an attribute, and *listed holds what is returned. */
const struct onnx_tensor *onnx_resize_scales(const struct onnx_node *node, struct onnx_tensor *listed);

/* Reads the node's numbers for one axis of its input. False: they are not constant, or not supported (`why` says it). */
bool onnx_resize_read(const struct onnx_node *node, int axis, struct onnx_resize *r, const char **why);

/* Whether the axis stays as it is. */
bool onnx_resize_keeps(const struct onnx_resize *r);

/* Where output k falls in the input, in float; NAN: outside of the crop region. */
float onnx_resize_position(const struct onnx_resize *r, int64_t k);

/* The element that output k takes in mode nearest; -1: outside of the crop region. */
int64_t onnx_resize_nearest(const struct onnx_resize *r, int64_t k);

/* Cubic: the four inputs round output k, the edge in place of what lies beyond, and what each counts. False: it lies outside. */
bool onnx_resize_cubic(const struct onnx_node *node, const struct onnx_resize *r, int64_t k, int64_t at[4], double weights[4]);

#endif
