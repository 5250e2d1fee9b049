/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operators on constants. Real numbers are computed in double and rounded to their type once; integers wrap as two's
 * complement does.
 */
#include "tools/onnx/operator.h"
#include <string.h>

static bool computable(const struct onnx_tensor *tensor) {
    return onnx_is_float(tensor->type) || (onnx_is_integer(tensor->type) && tensor->type != ONNX_UINT64);
}

void onnx_fold_function(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    struct onnx_parameters p;
    const struct onnx_function *f = onnx_function_of(c->node, &p);
    if (!computable(x) || (onnx_is_integer(x->type) && !f->integer)) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        if (onnx_is_float(x->type)) onnx_store_number(y, i, onnx_function_number(f, &p, onnx_number(x, i)));
        else onnx_store_integer(y, i, f->integer(onnx_integer(x, i)));
    }
}

static bool has_zero(const struct onnx_tensor *tensor) {
    for (size_t i = 0; i < tensor->count; i++)
        if (!onnx_integer(tensor, i)) return true;
    return false;
}

static void combine(const struct onnx_function_of_two *f, const struct onnx_tensor *a, const struct onnx_tensor *b, struct onnx_tensor *y) {
    int64_t index[ONNX_MAX_RANK] = {0}, strides[2][ONNX_MAX_RANK] = {{0}}, at[2] = {0};
    onnx_broadcast_strides(&a->shape, &y->shape, strides[0]);
    onnx_broadcast_strides(&b->shape, &y->shape, strides[1]);
    for (size_t i = 0; i < y->count; i++) {
        size_t left = (size_t)at[0], right = (size_t)at[1];
        if (onnx_is_float(a->type) || onnx_is_float(b->type)) {
            double value = f->number(onnx_number(a, left), onnx_number(b, right));
            if (onnx_is_float(y->type)) onnx_store_number(y, i, value);
            else onnx_store_integer(y, i, (int64_t)(value != 0));
        } else {
            onnx_store_integer(y, i, f->integer(onnx_integer(a, left), onnx_integer(b, right)));
        }
        onnx_advance(&y->shape, index, 2, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
}

/* Two inputs; Max, Min and Sum of more are left to run time. */
void onnx_fold_function_of_two(struct onnx_context *c) {
    const struct onnx_function_of_two *f = onnx_operator_of(c->node)->of_two;
    if (f == &onnx_mod && onnx_attribute_int(c->node, "fmod", 0)) f = &onnx_fmod;
    if (c->node->input_count != 2) return;
    const struct onnx_tensor *a = onnx_input_constant(c->node, 0), *b = onnx_input_constant(c->node, 1);
    bool number = onnx_is_float(a->type) || onnx_is_float(b->type);
    if (!computable(a) || !computable(b) || (number && !f->number) || (!number && f->divides && has_zero(b))) return;
    if (number && onnx_is_integer(c->node->outputs[0]->type) && c->node->outputs[0]->type != ONNX_BOOL)
        return; /* an integer to a real power */
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (y) combine(f, a, b, y);
}

void onnx_fold_where(struct onnx_context *c) {
    const struct onnx_tensor *condition = onnx_input_constant(c->node, 0), *a = onnx_input_constant(c->node, 1),
                             *b = onnx_input_constant(c->node, 2);
    struct onnx_tensor *y = a->type == b->type ? onnx_out_constant(c, 0) : NULL;
    if (!y) return;
    size_t width = onnx_type_bytes(y->type);
    int64_t index[ONNX_MAX_RANK] = {0}, strides[3][ONNX_MAX_RANK] = {{0}}, at[3] = {0};
    onnx_broadcast_strides(&condition->shape, &y->shape, strides[0]);
    onnx_broadcast_strides(&a->shape, &y->shape, strides[1]);
    onnx_broadcast_strides(&b->shape, &y->shape, strides[2]);
    for (size_t i = 0; i < y->count; i++) {
        bool first = onnx_integer(condition, (size_t)at[0]) != 0;
        const unsigned char *from = (const unsigned char *)(first ? a : b)->data + (size_t)at[first ? 1 : 2] * width;
        memcpy((unsigned char *)y->data + i * width, from, width);
        onnx_advance(&y->shape, index, 3, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
}

/* Bounds are attributes before opset 11, inputs after. False: a bound that is no number. */
static bool clip_bound(const struct onnx_node *node, const char *attribute, int input, bool *there, double *bound) {
    const struct onnx_tensor *given = onnx_input_constant(node, input);
    const struct onnx_attribute *a = onnx_attribute(node, attribute);
    *there = node->opset < 11 ? a != NULL : onnx_input(node, input) != NULL;
    if (!*there) return true;
    if (node->opset >= 11 && (!given || given->count != 1)) return false;
    *bound = node->opset < 11 ? a->f : onnx_number(given, 0);
    return true;
}

/* A double does not hold every int64. */
static void clip_integers(const struct onnx_node *node, const struct onnx_tensor *x, struct onnx_tensor *y) {
    const struct onnx_tensor *low = onnx_input_constant(node, 1), *high = onnx_input_constant(node, 2);
    const int64_t least = low ? onnx_integer(low, 0) : INT64_MIN, most = high ? onnx_integer(high, 0) : INT64_MAX;
    for (size_t i = 0; i < y->count; i++) {
        const int64_t value = onnx_integer(x, i), above = value < least ? least : value;
        onnx_store_integer(y, i, above > most ? most : above);
    }
}

void onnx_fold_clip(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    bool has_low, has_high;
    double low = 0, high = 0;
    if (!computable(x) || !clip_bound(c->node, "min", 1, &has_low, &low) || !clip_bound(c->node, "max", 2, &has_high, &high)) return;
    if (!onnx_is_float(x->type) && c->node->opset < 12) return; /* which first has integers */
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (y && !onnx_is_float(y->type)) clip_integers(c->node, x, y);
    for (size_t i = 0; y && onnx_is_float(y->type) && i < y->count; i++) {
        double value = onnx_number(x, i);
        value = has_low && value < low ? low : value;
        onnx_store_number(y, i, has_high && value > high ? high : value);
    }
}

void onnx_fold_copy(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    if (c->node->outputs[0]->type != x->type || onnx_elements(&c->node->outputs[0]->shape) != (int64_t)x->count) return;
    /* The data is shared: constants are never written. */
    struct onnx_tensor *y = onnx_alloc(c->graph, sizeof *y);
    *y = (struct onnx_tensor){x->type, c->node->outputs[0]->shape, x->count, x->data, x->alike, x->mask, x->rises};
    c->node->outputs[0]->constant = y;
}

void onnx_fold_cast(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    enum onnx_type to = c->node->outputs[0]->type;
    if ((!onnx_is_float(to) && !onnx_is_integer(to)) || x->type == ONNX_UINT64) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        if (onnx_is_float(to)) onnx_store_number(y, i, onnx_number(x, i));
        else if (to == ONNX_BOOL) onnx_store_integer(y, i, onnx_number(x, i) != 0);
        else onnx_store_integer(y, i, onnx_integer(x, i));
    }
}
