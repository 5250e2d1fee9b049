/* SPDX-License-Identifier: MIT */
/* Affine maps in their forms: arithmetic with constants and batch norms. Computed in double. */
#include "tools/optimize/affine.h"
#include <math.h>

static void make_room(struct onnx_graph *g, struct affine *a, int axis, int64_t channels) {
    a->axis = axis;
    a->channels = channels;
    a->scale = graph_doubles(g, channels);
    a->shift = graph_doubles(g, channels);
    for (int64_t c = 0; c < channels; c++) a->scale[c] = 1;
}

static bool sound_number(double x) {
    return isfinite(x) && fabs(x) <= 3.0e38;
}

static bool sound(const struct affine *a) {
    for (int64_t c = 0; c < a->channels; c++)
        if (!sound_number(a->scale[c]) || !sound_number(a->shift[c])) return false;
    return true;
}

static bool read_arithmetic(struct onnx_graph *g, const struct onnx_node *node, struct affine *a) {
    enum { ADD, SUB, MUL, DIV } op;
    int side;
    if (graph_is(node, "Add")) op = ADD;
    else if (graph_is(node, "Sub")) op = SUB;
    else if (graph_is(node, "Mul")) op = MUL;
    else if (graph_is(node, "Div")) op = DIV;
    else return false;
    if (!graph_constant_and_other(node, &side, &a->x) || (op == DIV && side == 0)) return false;
    const struct onnx_tensor *numbers = node->inputs[side]->constant;
    int axis = numbers->type == ONNX_FLOAT && numbers->count ? onnx_varying_axis(numbers, a->x->shape.rank) : -2;
    if (axis == -2) return false;
    make_room(g, a, axis, (int64_t)numbers->count);
    for (int64_t c = 0; c < a->channels; c++) {
        double number = onnx_number(numbers, (size_t)c);
        switch (op) {
        case ADD: a->shift[c] = number; break;
        case SUB: a->scale[c] = side ? 1 : -1, a->shift[c] = side ? -number : number; break;
        case MUL: a->scale[c] = number; break;
        case DIV: a->scale[c] = 1 / number; break;
        }
    }
    return true;
}

static bool read_batch_norm(struct onnx_graph *g, const struct onnx_node *node, struct affine *a) {
    const struct onnx_tensor *numbers[4]; /* scale, bias, mean, variance */
    a->x = onnx_input(node, 0);
    if (!graph_is(node, "BatchNormalization") || !a->x || a->x->shape.rank < 2 || !graph_inference(node)) return false;
    make_room(g, a, 1, a->x->shape.dims[1]);
    for (int i = 0; i < 4; i++) {
        numbers[i] = onnx_input_constant(node, i + 1);
        if (!numbers[i] || numbers[i]->type != ONNX_FLOAT || numbers[i]->count != (size_t)a->channels) return false;
    }
    double epsilon = onnx_attribute_float(node, "epsilon", 1e-5F);
    for (int64_t c = 0; c < a->channels; c++) {
        double variance = onnx_number(numbers[3], (size_t)c) + epsilon;
        if (!(variance > 0)) return false;
        a->scale[c] = onnx_number(numbers[0], (size_t)c) / sqrt(variance);
        a->shift[c] = onnx_number(numbers[1], (size_t)c) - onnx_number(numbers[2], (size_t)c) * a->scale[c];
    }
    return true;
}

static bool read_negation(struct onnx_graph *g, const struct onnx_node *node, struct affine *a) {
    a->x = onnx_input(node, 0);
    if (!graph_is(node, "Neg") || !a->x) return false;
    make_room(g, a, -1, 1);
    a->scale[0] = -1;
    return true;
}

bool affine_read(struct onnx_graph *g, const struct onnx_node *node, struct affine *a) {
    if (!node || node->folded || node->output_count < 1 || !node->outputs[0] || onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) return false;
    return (read_arithmetic(g, node, a) || read_batch_norm(g, node, a) || read_negation(g, node, a)) && a->x->type == ONNX_FLOAT &&
           !a->x->constant && graph_same_shape(a->x, node->outputs[0]) && sound(a);
}

bool affine_scales(const struct affine *a) {
    for (int64_t c = 0; c < a->channels; c++)
        if (a->scale[c] != 1) return true;
    return false;
}

bool affine_shifts(const struct affine *a) {
    for (int64_t c = 0; c < a->channels; c++)
        if (a->shift[c] != 0) return true;
    return false;
}

bool affine_fits(const struct affine *a, int axis) {
    return a->axis < 0 || axis < 0 || a->axis == axis;
}

/* Numbers along the axis, 1 in all dimensions behind it. */
static struct onnx_shape shape_along(const struct affine *a) {
    struct onnx_shape shape = {0};
    if (a->axis < 0) return shape;
    shape.rank = a->x->shape.rank - a->axis;
    shape.dims[0] = a->channels;
    for (int d = 1; d < shape.rank; d++) shape.dims[d] = 1;
    return shape;
}

/* Mean 0 and variance 1: nothing but scale and bias is left. */
static void write_batch_norm(struct onnx_graph *g, struct onnx_node *node, const struct affine *a) {
    struct onnx_shape shape = {1, {a->channels}};
    double *zeros = graph_doubles(g, a->channels), *ones = graph_doubles(g, a->channels);
    for (int64_t c = 0; c < a->channels; c++) ones[c] = 1;
    struct onnx_value *inputs[5] = {a->x, graph_floats(g, node, "scale", &shape, a->scale), graph_floats(g, node, "bias", &shape, a->shift),
                                    graph_floats(g, node, "mean", &shape, zeros), graph_floats(g, node, "variance", &shape, ones)};
    edit_become(g, node, "BatchNormalization", "", inputs, 5);
    edit_attribute_float(g, node, "epsilon", 0);
}

bool affine_write(struct onnx_graph *g, struct onnx_node *node, const struct affine *a) {
    bool scales = affine_scales(a), shifts = affine_shifts(a);
    struct onnx_shape shape = shape_along(a);
    if (!sound(a) || (scales && shifts && a->axis != 1)) return false;
    if (scales && shifts) {
        write_batch_norm(g, node, a);
        return true;
    }
    struct onnx_value *inputs[2] = {a->x, graph_floats(g, node, scales ? "scale" : "shift", &shape, scales ? a->scale : a->shift)};
    edit_become(g, node, scales ? "Mul" : "Add", "", inputs, 2);
    return true;
}
