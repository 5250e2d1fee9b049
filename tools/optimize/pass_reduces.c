/* SPDX-License-Identifier: MIT */
/*
 * Reductions decomposed into what can be quantized. A maximum over any axes is a GlobalMaxPool between moves, a minimum the maximum of
 * the negative. A sum is a mean times its count, a Euclidean norm the root of such a sum. A sum of two is one: of the halves, which are
 * views. Whole pictures are left to pass_pools.c.
 */
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"
#include <string.h>

/* The axes that stay, then those that go, each in their order; how many stay. -1: not known, or all of them. */
static int split_axes(const struct onnx_node *node, int64_t *order) {
    bool goes[ONNX_MAX_RANK];
    int rank = node->inputs[0]->shape.rank, kept = 0, at = 0;
    if (!onnx_reduced(node, rank, goes)) return -1;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < rank; d++)
            if (goes[d] == pass) {
                order[at++] = d;
                kept += !pass;
            }
    return kept < rank ? kept : -1;
}

/* x as pictures of all that goes: [first][stays][goes][1], or, where two axes stay and two go, [first][stays][goes][goes]. */
static struct onnx_value *as_pictures(struct onnx_graph *g, struct onnx_node *node, const int64_t *order, int kept) {
    struct onnx_value *x = node->inputs[0];
    int rank = x->shape.rank;
    bool first = kept && order[0] == 0, moved = false;
    struct onnx_shape turned = {.rank = rank}, flat = {4, {first ? x->shape.dims[0] : 1, 1, 1, 1}};
    for (int i = 0; i < rank; i++) {
        turned.dims[i] = x->shape.dims[order[i]];
        moved = moved || order[i] != i;
        if (i >= first) flat.dims[i < kept ? 1 : 2] *= turned.dims[i];
    }
    if (moved) {
        x = graph_put(g, node, "Transpose", &x, 1, &turned);
        edit_attribute_ints(g, x->producer, "perm", order, (size_t)rank);
    }
    if (rank == 4 && kept == 2 && first) return x;
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, "pictures", flat.dims, 4)};
    return graph_put(g, node, "Reshape", inputs, 2, &flat);
}

static bool change_max(struct onnx_graph *g, struct onnx_node *node) {
    int64_t order[ONNX_MAX_RANK];
    const struct onnx_shape *y = &node->outputs[0]->shape;
    int kept = split_axes(node, order), rank = node->inputs[0]->shape.rank;
    if (kept < 0 || (rank >= 4 && kept == 2 && order[0] == 0 && order[1] == 1)) return false;
    struct onnx_value *x = as_pictures(g, node, order, kept);
    struct onnx_shape pooled = {4, {x->shape.dims[0], x->shape.dims[1], 1, 1}};
    struct onnx_value *inputs[2] = {graph_put(g, node, "GlobalMaxPool", &x, 1, &pooled), graph_int64s(g, node, "shape", y->dims, y->rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}

/* The node's reduction of x by another operator: its axes and keepdims stay. */
static struct onnx_value *reduce(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *x) {
    int64_t order[ONNX_MAX_RANK], keepdims = onnx_attribute_int(node, "keepdims", 1);
    int kept = split_axes(node, order), count = node->inputs[0]->shape.rank - kept;
    struct onnx_value *y = graph_reduce(g, node, op, x, order + kept, count, &node->outputs[0]->shape);
    edit_attribute_int(g, y->producer, "keepdims", keepdims);
    return y;
}

static bool change_min(struct onnx_graph *g, struct onnx_node *node) {
    int64_t order[ONNX_MAX_RANK];
    if (split_axes(node, order) < 0) return false;
    struct onnx_value *x = graph_put(g, node, "Neg", node->inputs, 1, &node->inputs[0]->shape);
    x = reduce(g, node, "ReduceMax", x);
    edit_become(g, node, "Neg", "", &x, 1);
    return true;
}

/* Element k along an axis, in the shape of what is left. */
static struct onnx_value *half(struct onnx_graph *g, struct onnx_node *node, int64_t axis, int64_t k) {
    struct onnx_value *x = node->inputs[0];
    x = say_slice(g, node, x, axis, k, k + 1);
    return x->shape.rank == node->outputs[0]->shape.rank ? x : say_reshape(g, node, x, &node->outputs[0]->shape);
}

/* Of Sum, which ONNX Runtime computes in floats as it does ReduceSum. */
static bool change_sum_of_two(struct onnx_graph *g, struct onnx_node *node) {
    bool goes[ONNX_MAX_RANK];
    const struct onnx_shape *shape = &node->inputs[0]->shape;
    int axis = 0;
    if (onnx_elements(shape) != 2 * onnx_elements(&node->outputs[0]->shape) || !onnx_reduced(node, shape->rank, goes)) return false;
    while (!goes[axis] || shape->dims[axis] != 2) axis++;
    struct onnx_value *halves[2] = {half(g, node, axis, 0), half(g, node, axis, 1)};
    edit_become(g, node, "Sum", "", halves, 2);
    return true;
}

/* The mean times the count; of squares, and then the root, for a norm. */
static bool change_sum(struct onnx_graph *g, struct onnx_node *node, bool norm) {
    int64_t order[ONNX_MAX_RANK];
    const struct onnx_shape *shape = &node->inputs[0]->shape, *y = &node->outputs[0]->shape, scalar = {0};
    if (split_axes(node, order) < 0) return false;
    if (!norm && change_sum_of_two(g, node)) return true;
    double count = (double)onnx_elements(shape) / (double)onnx_elements(y);
    struct onnx_value *x = node->inputs[0], *twice[2] = {x, x};
    x = reduce(g, node, "ReduceMean", norm ? graph_put(g, node, "Mul", twice, 2, shape) : x);
    struct onnx_value *inputs[2] = {x, graph_floats(g, node, "count", &scalar, &count)};
    if (norm) {
        x = graph_put(g, node, "Mul", inputs, 2, y);
        edit_become(g, node, "Sqrt", "", &x, 1);
    } else {
        edit_become(g, node, "Mul", "", inputs, 2);
    }
    return true;
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0);
    bool max = graph_is(node, "ReduceMax"), min = graph_is(node, "ReduceMin"), norm = graph_is(node, "ReduceL2");
    if ((!max && !min && !norm && !graph_is(node, "ReduceSum")) || node->folded || !x || x->type != ONNX_FLOAT || x->shape.rank < 1 ||
        onnx_elements(&x->shape) < 1 || onnx_elements(&node->outputs[0]->shape) < 1)
        return false;
    return max ? change_max(g, node) : min ? change_min(g, node) : change_sum(g, node, norm);
}

int pass_reduces(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
