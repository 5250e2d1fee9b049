/* SPDX-License-Identifier: MIT */
/* Affine maps in their forms: arithmetic with constants and batch norms. Computed in double. */
#include "tools/optimize/affine.h"
#include <math.h>

/* Scales and shifts in double, and what comes of them: of constants that nodes make of a few bytes, too, and for each of their readers. */
enum { LEAST_MAPPED = 12 << 20, MAPPED_OF_A_NUMBER = 16, NUMBERS_OF_A_CHANNEL = 4 };

static bool make_room(struct onnx_graph *g, struct affine *a) {
    const size_t room = onnx_room(g, LEAST_MAPPED, MAPPED_OF_A_NUMBER, SIZE_MAX);
    if (!onnx_pays(&g->numbers_mapped, NUMBERS_OF_A_CHANNEL * (size_t)a->channels, room)) return false;
    a->scale = graph_doubles(g, a->channels);
    a->shift = graph_doubles(g, a->channels);
    for (int64_t c = 0; c < a->channels; c++) a->scale[c] = 1;
    return true;
}

static bool sound_number(double x) {
    return isfinite(x) && fabs(x) <= 3.0e38;
}

static bool sound(const struct affine *a) {
    for (int64_t c = 0; c < a->channels; c++)
        if (!sound_number(a->scale[c]) || !sound_number(a->shift[c])) return false;
    return true;
}

enum arithmetic { ADD, SUB, MUL, DIV, NONE };

static enum arithmetic arithmetic_of(const struct onnx_node *node) {
    return graph_is(node, "Add") ? ADD : graph_is(node, "Sub") ? SUB : graph_is(node, "Mul") ? MUL : graph_is(node, "Div") ? DIV : NONE;
}

static bool find_arithmetic(const struct onnx_node *node, struct affine *a) {
    int side;
    const enum arithmetic op = arithmetic_of(node);
    if (op == NONE || !graph_constant_and_other(node, &side, &a->x) || (op == DIV && side == 0)) return false;
    const struct onnx_tensor *numbers = node->inputs[side]->constant;
    a->axis = numbers->type == ONNX_FLOAT && numbers->count ? onnx_varying_axis(numbers, a->x->shape.rank) : -2;
    a->channels = (int64_t)numbers->count;
    return a->axis != -2;
}

static void take_arithmetic(struct affine *a) {
    int side;
    struct onnx_value *x;
    graph_constant_and_other(a->node, &side, &x);
    const enum arithmetic op = arithmetic_of(a->node);
    for (int64_t c = 0; c < a->channels; c++) {
        double number = onnx_number(a->node->inputs[side]->constant, (size_t)c);
        if (op == ADD) a->shift[c] = number;
        if (op == SUB) a->scale[c] = side ? 1 : -1, a->shift[c] = side ? -number : number;
        if (op == MUL) a->scale[c] = number;
        if (op == DIV) a->scale[c] = 1 / number;
    }
}

static bool find_batch_norm(const struct onnx_node *node, struct affine *a) {
    a->x = onnx_input(node, 0);
    if (!graph_is(node, "BatchNormalization") || !a->x || a->x->shape.rank < 2 || !graph_inference(node)) return false;
    a->axis = 1;
    a->channels = a->x->shape.dims[1];
    for (int i = 1; i <= 4; i++) {
        const struct onnx_tensor *numbers = onnx_input_constant(node, i);
        if (!numbers || numbers->type != ONNX_FLOAT || numbers->count != (size_t)a->channels) return false;
    }
    return true;
}

static bool take_batch_norm(struct affine *a) {
    const struct onnx_tensor *numbers[4]; /* scale, bias, mean, variance */
    for (int i = 0; i < 4; i++) numbers[i] = onnx_input_constant(a->node, i + 1);
    double epsilon = onnx_attribute_float(a->node, "epsilon", 1e-5F);
    for (int64_t c = 0; c < a->channels; c++) {
        double variance = onnx_number(numbers[3], (size_t)c) + epsilon;
        if (!(variance > 0)) return false;
        a->scale[c] = onnx_number(numbers[0], (size_t)c) / sqrt(variance);
        a->shift[c] = onnx_number(numbers[1], (size_t)c) - onnx_number(numbers[2], (size_t)c) * a->scale[c];
    }
    return true;
}

static bool find_negation(const struct onnx_node *node, struct affine *a) {
    a->x = onnx_input(node, 0);
    a->axis = -1;
    a->channels = 1;
    return graph_is(node, "Neg") && a->x;
}

bool affine_find(const struct onnx_node *node, struct affine *a) {
    a->node = node;
    if (!node || node->folded || node->output_count < 1 || !node->outputs[0] || onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) return false;
    return (find_arithmetic(node, a) || find_batch_norm(node, a) || find_negation(node, a)) && a->x->type == ONNX_FLOAT &&
           !a->x->constant && graph_same_shape(a->x, node->outputs[0]);
}

bool affine_take(struct onnx_graph *g, struct affine *a) {
    if (!make_room(g, a)) return false;
    if (graph_is(a->node, "Neg")) a->scale[0] = -1;
    else if (!graph_is(a->node, "BatchNormalization")) take_arithmetic(a);
    else if (!take_batch_norm(a)) return false;
    return sound(a);
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
