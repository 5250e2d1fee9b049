/* SPDX-License-Identifier: MIT */
/* Operators that work on each element for itself, and normalizations, whose output has the shape of the input: shapes only. */
#include "tools/onnx/operator.h"
#include <string.h>

bool onnx_takes_numbers(struct onnx_context *c) {
    for (int i = 0; i < c->node->input_count; i++)
        if (c->node->inputs[i] && c->node->inputs[i]->type == ONNX_BOOL)
            return onnx_bad(c, "its inputs are truth values, where it computes with numbers");
    return true;
}

bool onnx_infer_same(struct onnx_context *c) {
    return (!onnx_operator_of(c->node)->function || onnx_takes_numbers(c)) && onnx_out(c, 0, onnx_in(c, 0));
}

bool onnx_infer_numbers(struct onnx_context *c) {
    return onnx_takes_numbers(c) && onnx_out(c, 0, onnx_in(c, 0));
}

/* Of two inputs of one shape. */
bool onnx_infer_gated(struct onnx_context *c) {
    if (!onnx_same_shape(onnx_in(c, 0), onnx_in(c, 1))) return onnx_bad(c, "its inputs must have one shape");
    return onnx_infer_numbers(c);
}

/* All inputs broadcast together. */
static bool broadcast_all(struct onnx_context *c) {
    struct onnx_shape y = {.rank = 0};
    for (int i = 0; i < c->node->input_count; i++)
        if (c->node->inputs[i] && !onnx_broadcast(c, &y, onnx_in(c, i), &y)) return false;
    return onnx_out(c, 0, &y);
}

/* An exponent may be of another type. */
bool onnx_infer_power(struct onnx_context *c) {
    return onnx_takes_numbers(c) && broadcast_all(c);
}

/* A truth value that has become a float is one of 0 and 1 (pass_masks.c). */
static bool is_truth(struct onnx_context *c, int input, const char *what) {
    const enum onnx_type type = c->node->inputs[input]->type;
    return !type || type == ONNX_BOOL || type == ONNX_FLOAT || onnx_bad(c, "%s is no truth value", what);
}

bool onnx_infer_where(struct onnx_context *c) {
    const struct onnx_value *a = c->node->inputs[1], *b = c->node->inputs[2];
    if (a->type && b->type && a->type != b->type) return onnx_bad(c, "its inputs have different types");
    return is_truth(c, 0, "its condition") && broadcast_all(c);
}

bool onnx_infer_not(struct onnx_context *c) {
    return is_truth(c, 0, "its input") && onnx_out(c, 0, onnx_in(c, 0));
}

bool onnx_infer_logic(struct onnx_context *c) {
    return is_truth(c, 0, "input 0") && is_truth(c, 1, "input 1") && onnx_infer_arithmetic(c);
}

/* The same, of one type; who gives numbers takes numbers. */
bool onnx_infer_arithmetic(struct onnx_context *c) {
    if (onnx_operator_of(c->node)->type == 0 && !onnx_takes_numbers(c)) return false;
    for (int i = 1; i < c->node->input_count; i++)
        if (c->node->inputs[i] && c->node->inputs[i]->type != c->node->inputs[0]->type)
            return onnx_bad(c, "its inputs have different types");
    return broadcast_all(c);
}

/* a, a's scale and zero point, b, ... */
bool onnx_infer_qlinear_binary(struct onnx_context *c) {
    struct onnx_shape y;
    return onnx_broadcast(c, onnx_in(c, 0), onnx_in(c, 3), &y) && onnx_out(c, 0, &y);
}

/* condition, x, x's scale and zero point, y, ... */
bool onnx_infer_qlinear_where(struct onnx_context *c) {
    struct onnx_shape y;
    return onnx_broadcast(c, onnx_in(c, 0), onnx_in(c, 1), &y) && onnx_broadcast(c, &y, onnx_in(c, 4), &y) && onnx_out(c, 0, &y);
}

/* The slope broadcasts to the input. ONNX Runtime also takes a slope for each channel without the dimensions after it. */
bool onnx_infer_prelu(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y;
    if (!onnx_takes_numbers(c)) return false;
    if (!onnx_broadcast(c, x, onnx_in(c, 1), &y)) return false;
    if (!onnx_same_shape(x, &y)) return onnx_bad(c, "the slope does not broadcast to the input");
    return onnx_out(c, 0, x);
}

bool onnx_infer_axis_same(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    bool flattens = c->node->opset < 13 && strcmp(c->node->op, "LpNormalization");
    int64_t axis = onnx_attribute_int(c->node, "axis", flattens ? 1 : -1);
    /* Before opset 13 the axis splits the dimensions in two halves, one of which may be empty. */
    if (axis < -(int64_t)x->rank || axis >= x->rank + (flattens ? 1 : 0))
        if (x->rank) return onnx_bad(c, "axis %lld does not exist in %d dimensions", (long long)axis, x->rank);
    return onnx_takes_numbers(c) && onnx_out(c, 0, x);
}

/* Sums along the axis that input 1 is. */
bool onnx_infer_sums(struct onnx_context *c) {
    const struct onnx_value *axis = c->node->inputs[1];
    const int64_t count = onnx_elements(&axis->shape);
    if (!onnx_is_integer(axis->type) || (count >= 0 && count != 1)) return onnx_bad(c, "its axis must be one integer");
    return onnx_infer_numbers(c);
}

bool onnx_infer_dropout(struct onnx_context *c) {
    onnx_out_type(c, 1, ONNX_BOOL);
    return onnx_out(c, 0, onnx_in(c, 0)) && onnx_out(c, 1, onnx_in(c, 0));
}

/* A node is folded whole or not at all: the mask, too, which keeps all. */
void onnx_fold_dropout(struct onnx_context *c) {
    const bool masked = c->node->output_count > 1 && c->node->outputs[1];
    if (onnx_drops(c->node)) return;
    struct onnx_tensor *mask = masked ? onnx_out_constant(c, 1) : NULL;
    if (masked && !mask) return;
    for (size_t i = 0; mask && i < mask->count; i++) onnx_store_integer(mask, i, 1);
    onnx_fold_copy(c);
    if (mask && c->node->outputs[0] && !c->node->outputs[0]->constant) c->node->outputs[1]->constant = NULL;
}

bool onnx_infer_batch_norm(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    int64_t channels = x->rank > 1 ? x->dims[1] : 1;
    if (!onnx_takes_numbers(c)) return false;
    if (c->node->opset < 9 && !onnx_attribute_int(c->node, "spatial", 1)) return onnx_bad(c, "spatial 0 is not supported");
    for (int i = 1; i < 5; i++)
        if (onnx_in(c, i)->rank != 1 || onnx_in(c, i)->dims[0] != channels)
            return onnx_bad(c, "input %d must be a list of %lld numbers, one for each channel", i, (long long)channels);
    for (int i = 1; i < c->node->output_count; i++)
        if (!onnx_out(c, i, onnx_in(c, 1))) return false;
    return onnx_out(c, 0, x);
}

bool onnx_infer_layer_norm(struct onnx_context *c) {
    struct onnx_shape mean = *onnx_in(c, 0);
    int axis;
    if (!onnx_takes_numbers(c) || !onnx_axis(c, onnx_attribute_int(c->node, "axis", -1), mean.rank, &axis)) return false;
    for (int i = axis; i < mean.rank; i++) mean.dims[i] = 1;
    onnx_out_type(c, 1, ONNX_FLOAT);
    onnx_out_type(c, 2, ONNX_FLOAT);
    return onnx_out(c, 0, onnx_in(c, 0)) && onnx_out(c, 1, &mean) && onnx_out(c, 2, &mean);
}
