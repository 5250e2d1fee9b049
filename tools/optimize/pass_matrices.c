/* SPDX-License-Identifier: MIT */
/* What makes of a line of numbers another one, always by the same factors, is a product with a matrix: CumSum and cubic Resize. */
#include "tools/optimize/pass.h"
#include "tools/onnx/resize.h"
#include "tools/optimize/say.h"

#include <string.h>

/* Lines along the axis times a matrix [in, out]. */
static struct onnx_value *product(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int axis, struct onnx_value *matrix) {
    const int last = x->shape.rank - 1;
    x = say_exchanged(g, node, x, axis, last);
    struct onnx_value *inputs[2] = {x, matrix};
    struct onnx_shape shape = x->shape;
    shape.dims[shape.rank - 1] = matrix->shape.dims[1];
    return say_exchanged(g, node, graph_put(g, node, "MatMul", inputs, 2, &shape), axis, last);
}

/* Each number and those before it: or without it, or from the end. */
static bool change_sums(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    const struct onnx_tensor *at = onnx_input_constant(node, 1);
    const bool exclusive = onnx_attribute_int(node, "exclusive", 0) != 0, reverse = onnx_attribute_int(node, "reverse", 0) != 0;
    int axis;
    if (!graph_is(node, "CumSum") || !x || x->type != ONNX_FLOAT || x->shape.rank < 1 || !at || at->count != 1) return false;
    if (!onnx_axis_of(onnx_integer(at, 0), x->shape.rank, &axis)) return false;
    const int64_t n = x->shape.dims[axis];
    float *numbers;
    struct onnx_value *matrix = graph_matrix(g, node, n, n, &numbers);
    if (!matrix) return false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) numbers[i * n + k] = i == k ? !exclusive : (i < k) != reverse;
    graph_stays_float(g, node);
    struct onnx_value *y = product(g, node, x, axis, matrix);
    edit_become(g, node, "Identity", "", &y, 1);
    return true;
}

/* Column k of a matrix of zeros. False: what lies outside the picture is of another colour. */
static bool fill_cubic(const struct onnx_node *node, const struct onnx_resize *r, int64_t k, float *matrix) {
    int64_t at[4];
    double w[4];
    if (!onnx_resize_cubic(node, r, k, at, w)) return false;
    for (int i = 0; i < 4; i++) { /* at an edge several are the same pixel, and the last one has them all */
        for (int b = 0; b < i; b++)
            if (at[b] == at[i]) w[i] += w[b], w[b] = 0;
        matrix[at[i] * r->out + k] = (float)w[i];
    }
    return true;
}

static bool change_resize(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    struct onnx_resize r[ONNX_MAX_RANK];
    struct onnx_value *matrices[ONNX_MAX_RANK] = {NULL};
    float *numbers;
    const char *why;
    if (!graph_is(node, "Resize") || strcmp(onnx_attribute_string(node, "mode", ""), "cubic") || onnx_attribute_int(node, "antialias", 0))
        return false;
    if (!x || x->type != ONNX_FLOAT || x->shape.rank < 1 || onnx_elements(&x->shape) < 1) return false;
    for (int d = 0; d < x->shape.rank; d++) {
        if (!onnx_resize_read(node, d, &r[d], &why)) return false;
        if (onnx_resize_keeps(&r[d])) continue;
        if (!(matrices[d] = graph_matrix(g, node, r[d].in, r[d].out, &numbers))) return false;
        for (int64_t k = 0; k < r[d].out; k++)
            if (!fill_cubic(node, &r[d], k, numbers)) return false;
    }
    for (int d = x->shape.rank; d-- > 0;)
        if (matrices[d]) x = product(g, node, x, d, matrices[d]);
    edit_become(g, node, "Identity", "", &x, 1);
    return true;
}

int pass_matrices(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        changes += graph_is_open(node) && (change_sums(g, node) || change_resize(g, node));
    }
    return changes;
}
