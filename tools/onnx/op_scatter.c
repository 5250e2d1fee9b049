/* SPDX-License-Identifier: MIT */
/* Elements picked from a tensor, or put into a copy of one, by lists of places: GatherND, ScatterND, GatherElements, ScatterElements. */
#include "tools/onnx/operator.h"
#include <string.h>

/* Dimensions from `first` to `end`. */
static size_t span(const struct onnx_shape *shape, int first, int end) {
    size_t count = 1;
    for (int i = first; i < end; i++) count *= (size_t)shape->dims[i];
    return count;
}

/* An index counts from the end where it is negative. -1: there is no such place. */
static int64_t place(const struct onnx_tensor *indices, size_t i, int64_t dim) {
    int64_t index = onnx_integer(indices, i);
    if (index < 0) index += dim;
    return index >= 0 && index < dim ? index : -1;
}

/* ---- places of the first dimensions, all of them a row of `indices` ---- */

/* How many dimensions a row of indices states; -1: the operands do not go together. */
static int row_length(const struct onnx_shape *x, const struct onnx_shape *indices) {
    int64_t length = indices->rank ? indices->dims[indices->rank - 1] : 0;
    return length > 0 && length <= x->rank ? (int)length : -1;
}

bool onnx_infer_gather_nd(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *indices = onnx_in(c, 1);
    struct onnx_shape y = {.rank = 0};
    int length = row_length(x, indices);
    if (onnx_attribute_int(c->node, "batch_dims", 0)) return onnx_bad(c, "batch_dims other than 0 are not supported");
    if (length < 0) return onnx_bad(c, "its indices do not fit its data");
    if (x->rank - length + indices->rank - 1 > ONNX_MAX_RANK)
        return onnx_bad(c, "its output would have more than %d dimensions", ONNX_MAX_RANK);
    for (int i = 0; i + 1 < indices->rank; i++) y.dims[y.rank++] = indices->dims[i];
    for (int i = length; i < x->rank; i++) y.dims[y.rank++] = x->dims[i];
    return onnx_out(c, 0, &y);
}

/* The place of a row of indices, in slices; -1: there is none. */
static int64_t slice_at(const struct onnx_tensor *x, const struct onnx_tensor *indices, size_t row) {
    int length = row_length(&x->shape, &indices->shape);
    int64_t at = 0;
    for (int i = 0; i < length; i++) {
        int64_t dim = x->shape.dims[i], one = place(indices, row * (size_t)length + (size_t)i, dim);
        if (one < 0) return -1;
        at = at * dim + one;
    }
    return at;
}

/* How many rows; -1: one has no place, or they are too many. */
static int64_t count_rows(struct onnx_context *c, const struct onnx_tensor *x, const struct onnx_tensor *indices) {
    if (row_length(&x->shape, &indices->shape) < 0 || !onnx_is_integer(indices->type) || !onnx_spend(c, indices->count)) return -1;
    size_t rows = span(&indices->shape, 0, indices->shape.rank - 1);
    for (size_t r = 0; r < rows; r++)
        if (slice_at(x, indices, r) < 0) return -1;
    return (int64_t)rows;
}

void onnx_fold_gather_nd(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *indices = onnx_input_constant(c->node, 1);
    int64_t rows = count_rows(c, x, indices);
    struct onnx_tensor *y = rows >= 0 ? onnx_out_constant(c, 0) : NULL;
    size_t slice = y ? span(&x->shape, row_length(&x->shape, &indices->shape), x->shape.rank) * onnx_type_bytes(x->type) : 0;
    for (size_t r = 0; slice && r < (size_t)rows; r++)
        memcpy((unsigned char *)y->data + r * slice, (const unsigned char *)x->data + (size_t)slice_at(x, indices, r) * slice, slice);
}

/* y begins as x; of a place that is stated twice the last one counts. Nothing is added or compared on the way. */
static struct onnx_tensor *scatter_into(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *updates = onnx_input_constant(c->node, 2);
    if (strcmp(onnx_attribute_string(c->node, "reduction", "none"), "none") || updates->type != x->type) return NULL;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (y && y->count) memcpy(y->data, x->data, y->count * onnx_type_bytes(x->type));
    return y;
}

void onnx_fold_scatter_nd(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *indices = onnx_input_constant(c->node, 1),
                             *updates = onnx_input_constant(c->node, 2);
    int64_t rows = count_rows(c, x, indices);
    if (rows < 0) return;
    size_t elements = span(&x->shape, row_length(&x->shape, &indices->shape), x->shape.rank);
    struct onnx_tensor *y = updates->count == (size_t)rows * elements ? scatter_into(c) : NULL;
    size_t slice = y ? elements * onnx_type_bytes(x->type) : 0;
    for (size_t r = 0; slice && r < (size_t)rows; r++)
        memcpy((unsigned char *)y->data + (size_t)slice_at(x, indices, r) * slice, (const unsigned char *)updates->data + r * slice, slice);
}

/* ---- places along one axis, one for each element of `indices` ---- */

/* Walks over `indices` in order; `at` is the element of x that each means. */
struct walk {
    const struct onnx_tensor *x, *indices;
    int64_t index[ONNX_MAX_RANK], strides[1][ONNX_MAX_RANK], base[1], step;
    int axis;
};

static int64_t next_element(struct walk *w, size_t i) {
    int64_t one = place(w->indices, i, w->x->shape.dims[w->axis]), at = w->base[0] + one * w->step;
    onnx_advance(&w->indices->shape, w->index, 1, (const int64_t(*)[ONNX_MAX_RANK])w->strides, w->base);
    return one < 0 ? -1 : at;
}

static struct walk walk_over(const struct onnx_tensor *x, const struct onnx_tensor *indices, int axis) {
    struct walk w = {.x = x, .indices = indices, .axis = axis};
    onnx_strides(&x->shape, w.strides[0]);
    w.step = w.strides[0][axis];
    w.strides[0][axis] = 0;
    return w;
}

/* Whether each of the indices means an element. */
static bool find_elements(struct onnx_context *c, const struct onnx_tensor *x, const struct onnx_tensor *indices, int *axis) {
    const struct onnx_shape *shape = &indices->shape;
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x->shape.rank, axis) || shape->rank != x->shape.rank) return false;
    if (!onnx_is_integer(indices->type) || !onnx_spend(c, indices->count)) return false;
    for (int i = 0; i < shape->rank; i++)
        if (i != *axis && shape->dims[i] > x->shape.dims[i]) return false;
    struct walk w = walk_over(x, indices, *axis);
    for (size_t i = 0; i < indices->count; i++)
        if (next_element(&w, i) < 0) return false;
    return true;
}

void onnx_fold_gather_elements(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *indices = onnx_input_constant(c->node, 1);
    const size_t width = onnx_type_bytes(x->type);
    int axis;
    struct onnx_tensor *y = find_elements(c, x, indices, &axis) ? onnx_out_constant(c, 0) : NULL;
    if (!y) return;
    struct walk w = walk_over(x, indices, axis);
    for (size_t i = 0; i < y->count; i++)
        memcpy((unsigned char *)y->data + i * width, (const unsigned char *)x->data + (size_t)next_element(&w, i) * width, width);
}

void onnx_fold_scatter_elements(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *indices = onnx_input_constant(c->node, 1),
                             *updates = onnx_input_constant(c->node, 2);
    const size_t width = onnx_type_bytes(x->type);
    int axis;
    if (!onnx_same_shape(&indices->shape, &updates->shape) || !find_elements(c, x, indices, &axis)) return;
    struct onnx_tensor *y = scatter_into(c);
    if (!y) return;
    struct walk w = walk_over(x, indices, axis);
    for (size_t i = 0; i < indices->count; i++)
        memcpy((unsigned char *)y->data + (size_t)next_element(&w, i) * width, (const unsigned char *)updates->data + i * width, width);
}

/* ---- the places of all elements that are put in, where the rest is not known ---- */

int64_t onnx_scatter_count(struct onnx_context *c) {
    const struct onnx_tensor *indices = onnx_input_constant(c->node, 1), x = {.shape = *onnx_in(c, 0)};
    const struct onnx_shape *updates = onnx_in(c, 2);
    int axis;
    if (!indices || onnx_elements(&x.shape) < 1 || onnx_elements(updates) < 1) return -1;
    if (strcmp(c->node->op, "ScatterND"))
        return onnx_same_shape(&indices->shape, updates) && find_elements(c, &x, indices, &axis) ? (int64_t)indices->count : -1;
    const int64_t rows = count_rows(c, &x, indices);
    if (rows < 0) return -1;
    const size_t elements = span(&x.shape, row_length(&x.shape, &indices->shape), x.shape.rank);
    return onnx_elements(updates) == rows * (int64_t)elements ? onnx_elements(updates) : -1;
}

void onnx_scatter_places(struct onnx_context *c, int64_t *places) {
    const struct onnx_tensor *indices = onnx_input_constant(c->node, 1), x = {.shape = *onnx_in(c, 0)};
    int axis;
    if (strcmp(c->node->op, "ScatterND")) {
        if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x.shape.rank, &axis)) return;
        struct walk w = walk_over(&x, indices, axis);
        for (size_t i = 0; i < indices->count; i++) places[i] = next_element(&w, i);
        return;
    }
    const size_t elements = span(&x.shape, row_length(&x.shape, &indices->shape), x.shape.rank),
                 count = (size_t)onnx_elements(onnx_in(c, 2));
    for (size_t i = 0; i < count; i++) places[i] = slice_at(&x, indices, i / elements) * (int64_t)elements + (int64_t)(i % elements);
}
