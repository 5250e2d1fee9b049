/* SPDX-License-Identifier: MIT */
/* Means and maxima over whole pictures, however they are written, are GlobalAveragePool and GlobalMaxPool; averages count no padding that
 * is not there. */
#include "tools/graph/pass.h"

/* Exactly the spatial dimensions, of a picture: over rows of words, which have three dimensions in all, it is a mean like any other. */
static bool reduces_pictures(const struct onnx_node *node) {
    int64_t axes[ONNX_MAX_RANK];
    int rank = node->inputs[0]->shape.rank, count = graph_integers(node, "axes", 1, 18, axes, ONNX_MAX_RANK);
    unsigned seen = 0;
    if (rank < 4 || count != rank - 2)
        return false;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);
        if (axis < 2 || axis >= rank)
            return false;
        seen |= 1u << axis;
    }
    return seen == (1u << rank) - 4;
}

static bool pools_pictures(const struct onnx_node *node) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    struct onnx_window w;
    const char *why;
    if ((node->output_count > 1 && node->outputs[1]) || !onnx_window(node, x, NULL, &w, &why))
        return false;
    for (int i = 0; i < w.rank; i++)
        if (w.kernel[i] != x->dims[2 + i] || w.dilation[i] != 1 || w.pad_begin[i] || w.pad_end[i] || w.out[i] != 1)
            return false;
    return true;
}

static bool make_global(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    if (node->folded || !x || x->type != ONNX_FLOAT || onnx_elements(&x->shape) < 1 || node->outputs[0]->shape.rank < 0)
        return false;
    bool reduce = graph_is(node, "ReduceMean") || graph_is(node, "ReduceMax");
    bool mean = graph_is(node, "ReduceMean") || graph_is(node, "AveragePool");
    if (reduce ? !reduces_pictures(node) : !(mean || graph_is(node, "MaxPool")) || !pools_pictures(node))
        return false;
    const char *op = mean ? "GlobalAveragePool" : "GlobalMaxPool";
    const struct onnx_shape *y = &node->outputs[0]->shape;
    if (y->rank == x->shape.rank) {
        edit_become(g, node, op, "", &x, 1);
        return true;
    }
    struct onnx_shape pooled = x->shape; /* keepdims is 0 */
    for (int d = 2; d < pooled.rank; d++)
        pooled.dims[d] = 1;
    struct onnx_value *made = edit_value(g, node->outputs[0]->name, ONNX_FLOAT, &pooled);
    edit_node(g, node, op, "", node->name, &x, 1, &made, 1);
    struct onnx_value *inputs[2] = {made, graph_int64s(g, node, "shape", y->dims, y->rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}

/* Where nothing is padded no padding is counted, says PyTorch's default or not: with ceil_mode bytes and floats take that differently. */
static bool drop_count(struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0);
    struct onnx_window w;
    const char *why;
    if (!graph_is(node, "AveragePool") || !x || !onnx_window(node, &x->shape, NULL, &w, &why) || !w.count_include_pad)
        return false;
    for (int i = 0; i < w.rank; i++)
        if (w.pad_begin[i] || w.pad_end[i])
            return false;
    edit_attribute_drop(node, "count_include_pad");
    return true;
}

int pass_pools(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++)
        changes += make_global(g, g->nodes[i]) || drop_count(g->nodes[i]);
    return changes;
}
