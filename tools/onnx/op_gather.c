/* SPDX-License-Identifier: MIT */
/* Tensors put together and picked from: Concat, com.microsoft QLinearConcat, Gather, GatherElements. */
#include "tools/onnx/operator.h"
#include <string.h>

/* Inputs first, first + step, ... along an axis. */
static bool infer_concat(struct onnx_context *c, int first, int step) {
    struct onnx_shape y = *onnx_in(c, first);
    const struct onnx_attribute *given = onnx_attribute(c->node, "axis");
    int axis;
    if (!given) return onnx_bad(c, "attribute 'axis' is missing");
    if (!onnx_axis(c, given->i, y.rank, &axis)) return false;
    for (int i = first + step; i < c->node->input_count; i += step) {
        struct onnx_shape x = {.rank = -1};
        if (c->node->inputs[i]) x = *onnx_in(c, i);
        int64_t part = x.rank == y.rank ? x.dims[axis] : 0, sum = y.dims[axis] + part;
        if (x.rank == y.rank) x.dims[axis] = y.dims[axis];
        if (!onnx_same_shape(&x, &y)) return onnx_bad(c, "input %d does not fit input %d in all dimensions but %d", i, first, axis);
        y.dims[axis] = sum;
        if (onnx_elements(&y) < 0) return onnx_bad(c, "its output would be too large");
    }
    return onnx_out(c, 0, &y);
}

bool onnx_infer_concat(struct onnx_context *c) {
    for (int i = 0; i < c->node->input_count; i++)
        if (!c->node->inputs[i] || c->node->inputs[i]->type != c->node->inputs[0]->type)
            return onnx_bad(c, "its inputs have different types");
    return infer_concat(c, 0, 1);
}

/* Scale and zero point of the output, then value, scale and zero point of each part. */
bool onnx_infer_qlinear_concat(struct onnx_context *c) {
    if ((c->node->input_count - 2) % 3) return onnx_bad(c, "each part must come with its scale and zero point");
    return infer_concat(c, 2, 3);
}

void onnx_fold_concat(struct onnx_context *c) {
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    int axis;
    if (!y || !onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), y->shape.rank, &axis)) return;
    size_t outer = 1, inner = onnx_type_bytes(y->type), at = 0; /* bytes behind one step along the axis */
    for (int i = 0; i < y->shape.rank; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : (size_t)y->shape.dims[i];
    size_t row = inner * (size_t)y->shape.dims[axis];
    for (int i = 0; i < c->node->input_count && y->count; i++) {
        const struct onnx_tensor *x = onnx_input_constant(c->node, i);
        size_t part = inner * (size_t)x->shape.dims[axis];
        for (size_t o = 0; o < outer && part; o++)
            memcpy((unsigned char *)y->data + o * row + at, (const unsigned char *)x->data + o * part, part);
        at += part;
    }
}

/* Inputs integers, how many places there are along the new axis, and the numbers of other places and of ones. */
bool onnx_infer_one_hot(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *values = onnx_in(c, 2);
    const struct onnx_tensor *depth = onnx_input_constant(c->node, 1);
    struct onnx_shape y = {.rank = x->rank + 1};
    int axis;
    if (x->rank + 1 > ONNX_MAX_RANK) return onnx_bad(c, "its output would have more than %d dimensions", ONNX_MAX_RANK);
    if (!depth || depth->count != 1) return onnx_bad(c, "its depth must be a constant, one number");
    if (values->rank != 1 || values->dims[0] != 2) return onnx_bad(c, "its values must be two");
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", -1), y.rank, &axis)) return false;
    const double count = onnx_number(depth, 0);
    const bool fits = count >= 1 && count < 0x1p40; /* a NaN does not */
    for (int i = 0; i < y.rank; i++) y.dims[i] = i < axis ? x->dims[i] : i > axis ? x->dims[i - 1] : fits ? (int64_t)count : 0;
    if (!fits || onnx_elements(&y) < 0) return onnx_bad(c, "its depth is below 1, or its output would be too large");
    return onnx_out(c, 0, &y);
}

void onnx_fold_one_hot(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *values = onnx_input_constant(c->node, 2);
    struct onnx_tensor *y = onnx_is_integer(x->type) ? onnx_out_constant(c, 0) : NULL;
    int axis;
    if (!y || !onnx_axis(c, onnx_attribute_int(c->node, "axis", -1), y->shape.rank, &axis)) return;
    size_t inner = 1, width = onnx_type_bytes(values->type), depth = (size_t)y->shape.dims[axis];
    for (int i = axis + 1; i < y->shape.rank; i++) inner *= (size_t)y->shape.dims[i];
    for (size_t i = 0; i < y->count; i++) {
        const int64_t at = onnx_integer(x, i / inner / depth * inner + i % inner), place = (int64_t)(i / inner % depth);
        const size_t which = at == place || at == place - (int64_t)depth;
        memcpy((unsigned char *)y->data + i * width, (const unsigned char *)values->data + which * width, width);
    }
}

bool onnx_infer_gather(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *indices = onnx_in(c, 1);
    struct onnx_shape y = {.rank = 0};
    int axis;
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x->rank, &axis)) return false;
    if (x->rank - 1 + indices->rank > ONNX_MAX_RANK) return onnx_bad(c, "its output would have more than %d dimensions", ONNX_MAX_RANK);
    for (int i = 0; i < axis; i++) y.dims[y.rank++] = x->dims[i];
    for (int i = 0; i < indices->rank; i++) y.dims[y.rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++) y.dims[y.rank++] = x->dims[i];
    return onnx_out(c, 0, &y);
}

void onnx_fold_gather(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *indices = onnx_input_constant(c->node, 1);
    int axis;
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x->shape.rank, &axis) || !onnx_is_integer(indices->type)) return;
    int64_t dim = x->shape.dims[axis];
    for (size_t i = 0; i < indices->count; i++)
        if (onnx_integer(indices, i) < -dim || onnx_integer(indices, i) >= dim) return; /* left to be refused: it has no value */
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    size_t outer = 1, inner = onnx_type_bytes(x->type);
    for (int i = 0; i < x->shape.rank; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : (size_t)x->shape.dims[i];
    unsigned char *to = y ? y->data : NULL;
    for (size_t o = 0; o < outer && y && y->count; o++)
        for (size_t i = 0; i < indices->count; i++, to += inner) {
            int64_t index = onnx_integer(indices, i);
            memcpy(to, (const unsigned char *)x->data + (o * (size_t)dim + (size_t)(index + (index < 0 ? dim : 0))) * inner, inner);
        }
}

/* Whatever the indices are, they choose the same integer, as RoBERTa's kinds of tokens are where none are given. */
static void fold_same(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    bool same = x && x->count && onnx_is_integer(x->type);
    for (size_t i = 1; same && i < x->count; i++) same = onnx_integer(x, i) == onnx_integer(x, 0);
    struct onnx_tensor *y = same ? onnx_out_constant(c, 0) : NULL;
    for (size_t i = 0; y && i < y->count; i++) onnx_store_integer(y, i, onnx_integer(x, 0));
}

bool onnx_infer_gather_elements(struct onnx_context *c) {
    int axis;
    if (onnx_in(c, 0)->rank != onnx_in(c, 1)->rank) return onnx_bad(c, "input and indices have different numbers of dimensions");
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), onnx_in(c, 0)->rank, &axis) || !onnx_out(c, 0, onnx_in(c, 1))) return false;
    if (!onnx_input_constant(c->node, 1)) fold_same(c);
    return true;
}

/* Elements, or slices of an axis, for which a list of conditions is true; those behind the list's end are left out. */
bool onnx_infer_compress(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    const struct onnx_tensor *chosen = onnx_input_constant(c->node, 1);
    const bool flat = !onnx_attribute(c->node, "axis");
    struct onnx_shape y = flat ? (struct onnx_shape){1, {onnx_elements(x)}} : *x;
    int axis = 0;
    int64_t count = 0;
    if (!flat && !onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x->rank, &axis)) return false;
    if (c->node->inputs[1]->type != ONNX_BOOL || onnx_in(c, 1)->rank != 1 || onnx_elements(onnx_in(c, 1)) > y.dims[axis])
        return onnx_bad(c, "its condition must be a list of truth values, no longer than what they choose from");
    for (size_t i = 0; chosen && i < chosen->count; i++) count += onnx_integer(chosen, i) != 0;
    y.dims[axis] = count;
    return !chosen || onnx_out(c, 0, &y);
}
