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

static bool is_clip(const struct onnx_node *node) {
    return graph_is(node, "Clip");
}

/* A function of one number, or of two; but for a Clip of pass_ends.c, which is there for infinities: no sample is one. */
static bool computes(const struct onnx_node *node) {
    const struct onnx_operator *op = *node->domain ? NULL : onnx_operator_of(node);
    if (is_clip(node) && onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) return false;
    return op &&
           ((op->function && (node->input_count == 1 || is_clip(node))) || (op->of_two && op->of_two->number && node->input_count == 2));
}

static struct cone_work work_of(const struct onnx_node *node) {
    struct cone_work work = {.clips = is_clip(node), .low = NAN, .high = NAN};
    if (work.clips && node->opset < 11) {
        work.low = onnx_attribute_float(node, "min", -INFINITY);
        work.high = onnx_attribute_float(node, "max", INFINITY);
    } else if (work.clips) {
        work.low = constant_at(onnx_input(node, 1), 0);
        work.high = constant_at(onnx_input(node, 2), 0);
    } else if (!(work.of_one = onnx_function_of(node, &work.parameters))) {
        work.of_two = onnx_operator_of(node)->of_two->number;
    }
    return work;
}

static double compute(const struct cone_work *work, double a, double b) {
    if (!work->clips) return work->of_one ? onnx_function_number(work->of_one, &work->parameters, a) : work->of_two(a, b);
    a = work->low > a ? work->low : a; /* absent: NaN, which is not larger */
    return work->high < a ? work->high : a;
}

/* Whose result each node reads: it follows from which value is x. */
static void link_nodes(struct cone *cone) {
    for (int i = 0; i < cone->count; i++)
        for (int k = 0; k < 2; k++) {
            const struct onnx_value *value = k < cone->nodes[i]->input_count ? cone->nodes[i]->inputs[k] : NULL;
            int *from = &cone->work[i].from[k];
            *from = value && value == cone->x ? CONE_X : CONE_CONSTANT;
            for (int j = i + 1; j < cone->count; j++)
                if (value == cone->nodes[j]->outputs[0]) *from = j;
        }
}

double cone_at(const struct cone *cone, int64_t channel, double x) {
    double made[CONE_NODES];
    for (int i = cone->count - 1; i >= 0; i--) {
        const struct onnx_node *node = cone->nodes[i];
        double in[2] = {NAN, NAN};
        for (int k = 0; k < node->input_count && k < 2; k++) {
            int from = cone->work[i].from[k];
            in[k] = from == CONE_X ? x : from == CONE_CONSTANT ? constant_at(node->inputs[k], channel) : made[from];
        }
        made[i] = compute(&cone->work[i], in[0], in[1]);
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
    cone->work[cone->count] = work_of(node);
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
    struct cone cone = {.y = graph_node_at(g, root)->output_count ? graph_node_at(g, root)->outputs[0] : NULL, .axis = -1, .channels = 1};
    struct frontier f = {0};
    if (!cone.y || cone.y->shape.rank < 0 || !take_node(&cone, &f, graph_node_at(g, root))) return;
    for (size_t at = root + 1; at-- > 0 && root - at < FAR_BACK;) {
        int i = 0;
        while (i < f.count && f.values[i]->producer != graph_node_at(g, at)) i++;
        bool explained = i < f.count;
        if (explained && !explain(&cone, &f, i)) return;
        if (f.count == 1 && (explained || at == root)) {
            cone.x = f.values[0];
            link_nodes(&cone);
            see(context, &cone);
        }
        if (!f.count || (f.count == 1 && !f.values[0]->producer)) return;
    }
}
