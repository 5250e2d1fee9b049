/* SPDX-License-Identifier: MIT */
/* How a GridSample reads, and what a NonMaxSuppression selects by. */
#ifndef MORSEL_TOOLS_ONNX_GRID_H
#define MORSEL_TOOLS_ONNX_GRID_H

#include "tools/onnx/graph.h"

struct onnx_grid {
    bool nearest, corners;
    uint32_t beyond; /* enum morsel_beyond of kernels/ops.h */
};

/* False: it is not supported, *why says it. */
bool onnx_grid_read(const struct onnx_node *node, struct onnx_grid *grid, const char **why);

struct onnx_suppression {
    int64_t images, classes, count, most; /* objects of each image; what is selected of a class at most: 1 .. count */
    bool centre;
    float overlap, least;
};

/* The same; the shapes of its inputs fit each other. */
bool onnx_suppression_read(const struct onnx_node *node, struct onnx_suppression *s, const char **why);

#endif
