/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operators that together compute a function of one value, with constants that vary along one axis at most. What such a cone
 * computes can be asked at any point, however it is written.
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_CONE_H
#define MORSEL_TOOLS_OPTIMIZE_CONE_H

#include "tools/onnx/functions.h"
#include "tools/optimize/pass.h"

enum { CONE_NODES = 16, CONE_X = -1, CONE_CONSTANT = -2 };

/* A node's work, found once: a cone is asked at hundreds of points. */
struct cone_work {
    bool clips;
    double low, high;                   /* of a Clip; NaN: no bound */
    const struct onnx_function *of_one; /* NULL: of two, or a Clip */
    struct onnx_parameters parameters;
    double (*of_two)(double a, double b);
    int from[2]; /* the number of the node that makes the input, CONE_X or CONE_CONSTANT */
};

struct cone {
    struct onnx_node *nodes[CONE_NODES]; /* from the last, which gives y, to the first */
    struct cone_work work[CONE_NODES];
    int count;
    struct onnx_value *x, *y;
    int axis;         /* -1: the same function everywhere */
    int64_t channels; /* functions */
};

/* Calls `see` with every cone that ends at the node, the smallest first. Nothing in a cone but y is read from outside. */
void cone_grow(const struct onnx_graph *g, size_t root, void (*see)(void *context, const struct cone *cone), void *context);
double cone_at(const struct cone *cone, int64_t channel, double x);

#endif
