/* SPDX-License-Identifier: MIT */
/* Means and maxima over whole pictures, however they are written, are GlobalAveragePool and GlobalMaxPool; averages count no padding that
 * is not there; maxima over windows larger than blobs have them are taken in steps. */
#include "tools/optimize/pass.h"

#include "core/format.h"

/* Exactly the spatial dimensions, of a picture or of a volume: over rows of words, which have three dimensions in all, it is a mean like
 * any other. Of more ONNX Runtime has no pools. */
static bool reduces_pictures(const struct onnx_node *node) {
    bool reduced[ONNX_MAX_RANK], spatial = true;
    int rank = node->inputs[0]->shape.rank;
    if (rank < 4 || rank > 5 || !onnx_reduced(node, rank, reduced)) return false;
    for (int i = 0; i < rank; i++) spatial = spatial && reduced[i] == (i >= 2);
    return spatial;
}

static bool pools_pictures(const struct onnx_node *node) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    struct onnx_window w;
    const char *why;
    if ((node->output_count > 1 && node->outputs[1]) || !onnx_window(node, x, NULL, &w, &why)) return false;
    for (int i = 0; i < w.rank; i++)
        if (w.kernel[i] != x->dims[2 + i] || w.dilation[i] != 1 || w.pad_begin[i] || w.pad_end[i] || w.out[i] != 1) return false;
    return true;
}

static bool make_global(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    if (node->folded || !x || x->type != ONNX_FLOAT || onnx_elements(&x->shape) < 1 || node->outputs[0]->shape.rank < 0) return false;
    bool reduce = graph_is(node, "ReduceMean") || graph_is(node, "ReduceMax");
    bool mean = graph_is(node, "ReduceMean") || graph_is(node, "AveragePool");
    if (reduce ? !reduces_pictures(node) : !(mean || graph_is(node, "MaxPool")) || !pools_pictures(node)) return false;
    const char *op = mean ? "GlobalAveragePool" : "GlobalMaxPool";
    const struct onnx_shape *y = &node->outputs[0]->shape;
    if (y->rank == x->shape.rank) {
        edit_become(g, node, op, "", &x, 1);
        return true;
    }
    struct onnx_shape pooled = x->shape; /* keepdims is 0 */
    for (int d = 2; d < pooled.rank; d++) pooled.dims[d] = 1;
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
    if (!graph_is(node, "AveragePool") || !x || !onnx_window(node, &x->shape, NULL, &w, &why) || !w.count_include_pad) return false;
    for (int i = 0; i < w.rank; i++)
        if (w.pad_begin[i] || w.pad_end[i]) return false;
    edit_attribute_drop(node, "count_include_pad");
    return true;
}

/* Windows that cover `size` exactly, as few as can be; they may overlap, which a maximum does not mind. False: there are none. */
static bool cover(int64_t size, int64_t *window, int64_t *step, int64_t *count) {
    for (*count = (size - 1) / (int64_t)MORSEL_FORMAT_MAX_WINDOW + 1; *count <= size; ++*count) {
        *step = size / *count;
        *window = size - (*count - 1) * *step;
        if (*window <= (int64_t)MORSEL_FORMAT_MAX_WINDOW) return true;
    }
    return false;
}

static bool split_large(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    int64_t windows[2], steps[2];
    if (!graph_is(node, "GlobalMaxPool") || !x || x->type != ONNX_FLOAT || (x->shape.rank != 3 && x->shape.rank != 4) ||
        onnx_elements(&x->shape) < 1)
        return false;
    struct onnx_shape less = x->shape;
    bool one = true;
    for (int i = 0; i < x->shape.rank - 2; i++) {
        if (!cover(x->shape.dims[2 + i], &windows[i], &steps[i], &less.dims[2 + i])) return false;
        one = one && less.dims[2 + i] == 1;
    }
    if (one) return false;
    struct onnx_value *y = edit_value(g, x->name, ONNX_FLOAT, &less);
    struct onnx_node *first = edit_node(g, node, "MaxPool", "", node->name, &x, 1, &y, 1);
    edit_attribute_ints(g, first, "kernel_shape", windows, (size_t)x->shape.rank - 2);
    edit_attribute_ints(g, first, "strides", steps, (size_t)x->shape.rank - 2);
    edit_set_input(g, node, 0, y);
    return true;
}

int pass_pools(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++)
        changes += make_global(g, graph_node_at(g, i)) || drop_count(graph_node_at(g, i)) || split_large(g, graph_node_at(g, i));
    return changes;
}

int pass_maxima(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        changes += (graph_is(node, "ReduceMax") || graph_is(node, "MaxPool")) && make_global(g, node);
    }
    for (size_t i = 0; i < g->node_count; i++) changes += split_large(g, graph_node_at(g, i));
    return changes;
}
