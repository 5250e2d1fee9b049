/* SPDX-License-Identifier: MIT */
/* Cones grow from their tip: the last of the values that are still to be explained is replaced by what it is made from. */
#include "tools/optimize/cone.h"
#include <math.h>
#include <string.h>

enum { FAR_BACK = 256 }; /* nodes: a decomposed function stands together */

/* NaN where there is no such constant. */
static double constant_at(const struct onnx_value *value, int64_t channel) {
    const struct onnx_tensor *t = value ? value->constant : NULL;
    return t && t->count ? onnx_number(t, t->count == 1 ? 0 : (size_t)channel % t->count) : NAN;
}

static double clip_at(const struct onnx_node *node, double x) {
    double low = constant_at(onnx_input(node, 1), 0), high = constant_at(onnx_input(node, 2), 0);
    if (node->opset < 11) {
        low = onnx_attribute_float(node, "min", -INFINITY);
        high = onnx_attribute_float(node, "max", INFINITY);
    }
    x = low > x ? low : x; /* absent: NaN, which is not larger */
    return high < x ? high : x;
}

static bool is_clip(const struct onnx_node *node) {
    return graph_is(node, "Clip");
}

/* A function of one number, or of two. */
static bool computes(const struct onnx_node *node) {
    const struct onnx_operator *op = *node->domain ? NULL : onnx_operator_of(node);
    return op &&
           ((op->function && (node->input_count == 1 || is_clip(node))) || (op->of_two && op->of_two->number && node->input_count == 2));
}

static double compute(const struct onnx_node *node, double a, double b) {
    struct onnx_parameters p;
    const struct onnx_function *f = onnx_function_of(node, &p);
    if (is_clip(node)) return clip_at(node, a);
    return f ? onnx_function_number(f, &p, a) : onnx_operator_of(node)->of_two->number(a, b);
}

double cone_at(const struct cone *cone, int64_t channel, double x) {
    double made[CONE_NODES];
    for (int i = cone->count - 1; i >= 0; i--) {
        const struct onnx_node *node = cone->nodes[i];
        double in[2] = {NAN, NAN};
        for (int k = 0; k < node->input_count && k < 2; k++) {
            in[k] = node->inputs[k] == cone->x ? x : constant_at(node->inputs[k], channel);
            for (int j = i + 1; j < cone->count; j++)
                if (node->inputs[k] == cone->nodes[j]->outputs[0]) in[k] = made[j];
        }
        made[i] = compute(node, in[0], in[1]);
    }
    return made[0];
}

/* The values that a cone's nodes read and that are neither constants nor made inside. */
struct frontier {
    struct onnx_value *values[2 * CONE_NODES];
    int reads[2 * CONE_NODES];
    int count;
};

static void add_read(struct frontier *f, struct onnx_value *value) {
    int i = 0;
    while (i < f->count && f->values[i] != value) i++;
    if (i == f->count) {
        f->values[f->count] = value;
        f->reads[f->count++] = 0;
    }
    f->reads[i]++;
}

/* A constant of one number, or of as many as x has along one axis, always the same. */
static bool take_constant(struct cone *cone, const struct onnx_value *value) {
    const struct onnx_tensor *t = value->constant;
    int axis = -1;
    double number;
    if (t->type != ONNX_FLOAT || !t->count) return false;
    if (t->count == 1 || graph_scalar(value, &number)) return true;
    for (int d = 0; d < t->shape.rank; d++) {
        if (t->shape.dims[d] == 1) continue;
        if (axis >= 0) return false;
        axis = cone->y->shape.rank - t->shape.rank + d;
    }
    if (cone->axis >= 0 && cone->axis != axis) return false;
    cone->axis = axis;
    cone->channels = (int64_t)t->count;
    return true;
}

/* False: the node does not belong into a cone. */
static bool take_node(struct cone *cone, struct frontier *f, struct onnx_node *node) {
    if (cone->count == CONE_NODES || !computes(node) || node->folded || !graph_same_shape(node->outputs[0], cone->y) ||
        node->outputs[0]->type != ONNX_FLOAT)
        return false;
    for (int i = 0; i < node->input_count; i++) {
        struct onnx_value *value = node->inputs[i];
        double bound;
        if (i > 0 && is_clip(node)) {
            if (value && !graph_scalar(value, &bound)) return false;
        } else if (!value || (value->constant && !take_constant(cone, value))) {
            return false;
        } else if (!value->constant) {
            if (!graph_same_shape(value, cone->y)) return false;
            add_read(f, value);
        }
    }
    cone->nodes[cone->count++] = node;
    return true;
}

/* Takes the node that makes value i of the frontier in its place. */
static bool explain(struct cone *cone, struct frontier *f, int i) {
    struct onnx_value *value = f->values[i];
    if (value->uses != f->reads[i] || value->is_output) return false;
    f->count--;
    f->values[i] = f->values[f->count];
    f->reads[i] = f->reads[f->count];
    return take_node(cone, f, value->producer);
}

void cone_grow(const struct onnx_graph *g, size_t root, void (*see)(void *context, const struct cone *cone), void *context) {
    struct cone cone = {.y = g->nodes[root]->output_count ? g->nodes[root]->outputs[0] : NULL, .axis = -1, .channels = 1};
    struct frontier f = {0};
    if (!cone.y || cone.y->shape.rank < 0 || !take_node(&cone, &f, g->nodes[root])) return;
    for (size_t at = root + 1; at-- > 0 && root - at < FAR_BACK;) {
        int i = 0;
        while (i < f.count && f.values[i]->producer != g->nodes[at]) i++;
        bool explained = i < f.count;
        if (explained && !explain(&cone, &f, i)) return;
        if (f.count == 1 && (explained || at == root)) {
            cone.x = f.values[0];
            see(context, &cone);
        }
        if (!f.count || (f.count == 1 && !f.values[0]->producer)) return;
    }
}
