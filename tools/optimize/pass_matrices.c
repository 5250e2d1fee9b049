/* SPDX-License-Identifier: MIT */
/* What makes of a line of numbers another one, always by the same factors, is a product with a matrix: CumSum and cubic Resize. */
#include "tools/optimize/pass.h"
#include "tools/onnx/resize.h"

#include <math.h>
#include <string.h>

/* The axis and the last one change places. */
static struct onnx_value *turned(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int axis) {
    struct onnx_shape shape = x->shape;
    int64_t perm[ONNX_MAX_RANK];
    const int last = shape.rank - 1;
    if (axis == last) return x;
    for (int d = 0; d < shape.rank; d++) perm[d] = d == axis ? last : d == last ? axis : d;
    shape.dims[axis] = x->shape.dims[last], shape.dims[last] = x->shape.dims[axis];
    x = graph_put(g, node, "Transpose", &x, 1, &shape);
    edit_attribute_ints(g, x->producer, "perm", perm, (size_t)shape.rank);
    return x;
}

/* Lines along the axis times matrix[in][out]. */
static struct onnx_value *product(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int axis, int64_t out,
                                  const double *matrix) {
    struct onnx_shape shape = {2, {x->shape.dims[axis], out}};
    x = turned(g, node, x, axis);
    struct onnx_value *inputs[2] = {x, graph_floats(g, node, "matrix", &shape, matrix)};
    shape = x->shape;
    shape.dims[shape.rank - 1] = out;
    return turned(g, node, graph_put(g, node, "MatMul", inputs, 2, &shape), axis);
}

/* A matrix of zeros; NULL: there is no room for it. */
static double *new_matrix(struct onnx_graph *g, int64_t in, int64_t out) {
    if (in < 1 || out < 1 || (uint64_t)in > SIZE_MAX / (uint64_t)out || !graph_takes_room(g, (size_t)in * (size_t)out)) return NULL;
    return graph_doubles(g, in * out);
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
    double *matrix = new_matrix(g, n, n);
    for (int64_t i = 0; matrix && i < n; i++)
        for (int64_t k = 0; k < n; k++) matrix[i * n + k] = i == k ? !exclusive : (i < k) != reverse;
    if (!matrix) return false;
    edit_attribute_int(g, node, ONNX_EXACT_MARK, 1);
    struct onnx_value *y = product(g, node, x, axis, n, matrix);
    edit_become(g, node, "Identity", "", &y, 1);
    return true;
}

/* Keys' weights of the four neighbours of a position that is `rest` behind the second. */
static void cubic_weights(double a, double rest, double *w) {
    for (int i = 0; i < 4; i++) {
        const double d = fabs(rest + 1 - i);
        w[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

/* False: what lies outside the picture is of another colour. */
static bool fill_cubic(const struct onnx_node *node, const struct onnx_resize *r, double *matrix) {
    const double a = (double)onnx_attribute_float(node, "cubic_coeff_a", -0.75F);
    const bool inside = onnx_attribute_int(node, "exclude_outside", 0) != 0;
    for (int64_t k = 0; k < r->out; k++) {
        const float at = onnx_resize_position(r, k), low = floorf(at);
        double w[4], sum = 0;
        if (!(fabsf(at) < 1e9F)) return false;
        cubic_weights(a, (double)(at - low), w);
        for (int i = 0; i < 4; i++) {
            const int64_t from = (int64_t)low + i - 1, kept = from < 0 ? 0 : from >= r->in ? r->in - 1 : from;
            if (inside && kept != from) w[i] = 0;
            sum += w[i];
            matrix[kept * r->out + k] += w[i];
        }
        for (int64_t i = 0; inside && i < r->in; i++) matrix[i * r->out + k] /= sum;
    }
    return true;
}

static bool change_resize(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    struct onnx_resize r[ONNX_MAX_RANK];
    double *matrices[ONNX_MAX_RANK] = {NULL};
    const char *why;
    if (!graph_is(node, "Resize") || strcmp(onnx_attribute_string(node, "mode", ""), "cubic") || onnx_attribute_int(node, "antialias", 0))
        return false;
    if (!x || x->type != ONNX_FLOAT || x->shape.rank < 1 || onnx_elements(&x->shape) < 1) return false;
    for (int d = 0; d < x->shape.rank; d++) {
        if (!onnx_resize_read(node, d, &r[d], &why)) return false;
        if (onnx_resize_keeps(&r[d])) continue;
        if (!(matrices[d] = new_matrix(g, r[d].in, r[d].out)) || !fill_cubic(node, &r[d], matrices[d])) return false;
    }
    for (int d = x->shape.rank; d-- > 0;)
        if (matrices[d]) x = product(g, node, x, d, r[d].out, matrices[d]);
    edit_become(g, node, "Identity", "", &x, 1);
    return true;
}

int pass_matrices(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (node->folded || node->refused || !node->output_count || !node->outputs[0] || node->outputs[0]->shape.rank < 0) continue;
        changes += change_sums(g, node) || change_resize(g, node);
    }
    return changes;
}
