/* SPDX-License-Identifier: MIT */
/* Reductions over axes: ReduceMean ReduceSum ReduceMax ReduceMin ..., ArgMax ArgMin, TopK, com.microsoft QLinearReduceMean. */
#include "tools/onnx/operator.h"
#include <string.h>

/* Which dimensions are reduced. 1: known, 0: at run time only, -1: malformed. */
static int reduced_axes(struct onnx_context *c, bool *reduced) {
    int64_t axes[ONNX_MAX_RANK];
    int rank = onnx_in(c, 0)->rank, axis, count = onnx_list(c, "axes", axes, ONNX_MAX_RANK);
    if (count < 0) return count == ONNX_LATE_LIST ? 0 : -1;
    for (int i = 0; i < count; i++)
        if (!onnx_axis(c, axes[i], rank, &axis)) return -1;
    return onnx_reduced(c->node, rank, reduced) ? 1 : -1;
}

static bool reduce(struct onnx_context *c, const bool *reduced) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y = {.rank = 0};
    bool keep = onnx_attribute_int(c->node, "keepdims", 1) != 0;
    for (int i = 0; i < x->rank; i++)
        if (!reduced[i] || keep) y.dims[y.rank++] = reduced[i] ? 1 : x->dims[i];
    return onnx_out(c, 0, &y);
}

/* Of truth values there are maxima and minima, from opset 20 on. */
bool onnx_infer_reduce(struct onnx_context *c) {
    const char *op = c->node->op;
    const bool truths = c->node->opset >= 20 && (!strcmp(op, "ReduceMax") || !strcmp(op, "ReduceMin"));
    bool reduced[ONNX_MAX_RANK];
    if (!truths && !onnx_takes_numbers(c)) return false;
    int known = reduced_axes(c, reduced);
    return known == 1 ? reduce(c, reduced) : known == 0;
}

bool onnx_infer_qlinear_reduce(struct onnx_context *c) {
    bool reduced[ONNX_MAX_RANK];
    return reduced_axes(c, reduced) == 1 && reduce(c, reduced);
}

bool onnx_infer_arg(struct onnx_context *c) {
    bool reduced[ONNX_MAX_RANK] = {false};
    int axis;
    if (!onnx_takes_numbers(c) || !onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), onnx_in(c, 0)->rank, &axis)) return false;
    reduced[axis] = true;
    return reduce(c, reduced);
}

/* Values and indices. k is an attribute before opset 10, then an input. */
bool onnx_infer_topk(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    const struct onnx_tensor *k = c->node->opset < 10 ? NULL : onnx_input_constant(c->node, 1);
    int axis;
    onnx_out_type(c, 1, ONNX_INT64);
    if (!onnx_takes_numbers(c) || !onnx_axis(c, onnx_attribute_int(c->node, "axis", -1), y.rank, &axis)) return false;
    if (c->node->opset >= 10 && !k) return true;
    if (k && (k->type != ONNX_INT64 || k->count != 1)) return onnx_bad(c, "its second input is not one int64");
    const int64_t count = k ? onnx_integer(k, 0) : onnx_attribute_int(c->node, "k", 0);
    if (count < 1 || count > y.dims[axis]) return onnx_bad(c, "it wants %lld of %lld", (long long)count, (long long)y.dims[axis]);
    y.dims[axis] = count;
    return onnx_out(c, 0, &y) && onnx_out(c, 1, &y);
}

enum reduction { SUM, MEAN, MAX, MIN, PROD };

static enum reduction which(const struct onnx_node *node) {
    const char *name = node->op + strlen("Reduce");
    return !strcmp(name, "Sum") ? SUM : !strcmp(name, "Mean") ? MEAN : !strcmp(name, "Max") ? MAX : !strcmp(name, "Min") ? MIN : PROD;
}

static double join_float(enum reduction how, double a, double b) {
    switch (how) {
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case PROD: return a * b;
    default: return a + b;
    }
}

static int64_t join_integer(enum reduction how, int64_t a, int64_t b) {
    switch (how) {
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case PROD: return (int64_t)((uint64_t)a * (uint64_t)b);
    default: return (int64_t)((uint64_t)a + (uint64_t)b);
    }
}

struct accumulator {
    double real;
    int64_t integer;
    bool begun;
};

static void accumulate(enum reduction how, struct accumulator *into, const struct onnx_tensor *x, size_t i) {
    if (onnx_is_float(x->type)) {
        double value = onnx_number(x, i);
        into->real = into->begun ? join_float(how, into->real, value) : value;
    } else {
        int64_t value = onnx_integer(x, i);
        into->integer = into->begun ? join_integer(how, into->integer, value) : value;
    }
    into->begun = true;
}

static void finish(enum reduction how, struct onnx_tensor *y, const struct accumulator *sums, size_t each) {
    for (size_t i = 0; i < y->count; i++) {
        if (onnx_is_float(y->type)) onnx_store_number(y, i, how == MEAN ? sums[i].real / (double)each : sums[i].real);
        else onnx_store_integer(y, i, how == MEAN ? sums[i].integer / (int64_t)each : sums[i].integer);
    }
}

void onnx_fold_reduce(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    enum reduction how = which(c->node);
    bool reduced[ONNX_MAX_RANK];
    if (!x->count || (!onnx_is_float(x->type) && (!onnx_is_integer(x->type) || x->type == ONNX_UINT64)) || reduced_axes(c, reduced) != 1 ||
        !onnx_spend(c, x->count))
        return;
    struct onnx_shape kept = x->shape; /* with the reduced dimensions as 1: where each element goes */
    int64_t index[ONNX_MAX_RANK] = {0}, strides[1][ONNX_MAX_RANK] = {{0}}, at[1] = {0};
    for (int i = 0; i < kept.rank; i++) kept.dims[i] = reduced[i] ? 1 : kept.dims[i];
    onnx_broadcast_strides(&kept, &x->shape, strides[0]);
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (!y) return;
    struct accumulator *sums = onnx_alloc(c->graph, y->count * sizeof *sums);
    for (size_t i = 0; i < x->count; i++) {
        accumulate(how, &sums[at[0]], x, i);
        onnx_advance(&x->shape, index, 1, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
    finish(how, y, sums, x->count / y->count);
}
