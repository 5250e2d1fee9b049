/* SPDX-License-Identifier: MIT */
/* The same elements in another shape or order: Reshape Flatten Squeeze Unsqueeze Transpose Expand Tile DepthToSpace SpaceToDepth. */
#include "tools/onnx/operator.h"
#include <string.h>

/* 0 copies the input's dimension (unless allowzero), one -1 takes what is left. */
bool onnx_infer_reshape(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y;
    int count = onnx_list(c, "shape", y.dims, ONNX_MAX_RANK), free_at = -1;
    bool zeros = onnx_attribute_int(c->node, "allowzero", 0) != 0;
    if (count < 0) return count == ONNX_LATE_LIST;
    y.rank = count;
    for (int i = 0; i < count; i++) {
        if (y.dims[i] == 0 && !zeros) {
            if (i >= x->rank) return onnx_bad(c, "its shape copies dimension %d, which the input does not have", i);
            y.dims[i] = x->dims[i];
        } else if (y.dims[i] == -1) {
            if (free_at >= 0) return onnx_bad(c, "its shape has two dimensions of -1");
            free_at = i;
            y.dims[i] = 1;
        }
    }
    int64_t have = onnx_elements(x), want = onnx_elements(&y);
    if (want < 0) return onnx_out(c, 0, &y);
    if (free_at >= 0 && want && have % want == 0) y.dims[free_at] = have / want;
    else if (have != want || free_at >= 0) return onnx_bad(c, "%lld elements do not fit the shape it asks for", (long long)have);
    return onnx_out(c, 0, &y);
}

bool onnx_infer_flatten(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    int64_t axis = onnx_attribute_int(c->node, "axis", 1);
    struct onnx_shape y = {.rank = 2, .dims = {1, 1}};
    if (axis < -x->rank || axis > x->rank) return onnx_bad(c, "axis %lld does not exist in %d dimensions", (long long)axis, x->rank);
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) y.dims[i >= axis] *= x->dims[i];
    return onnx_out(c, 0, &y);
}

/* Marks the axes that the node lists among `rank` dimensions. 1: done, 0: known at run time only, -1: malformed. */
static int mark_axes(struct onnx_context *c, int rank, bool *marked, int *count) {
    int64_t axes[ONNX_MAX_RANK];
    int listed = onnx_list(c, "axes", axes, ONNX_MAX_RANK), axis;
    memset(marked, 0, ONNX_MAX_RANK * sizeof *marked);
    *count = listed;
    for (int i = 0; i < listed; i++) {
        if (!onnx_axis(c, axes[i], rank, &axis)) return -1;
        if (marked[axis]) return onnx_bad(c, "axis %d is listed twice", axis), -1;
        marked[axis] = true;
    }
    return listed == ONNX_NO_LIST ? -1 : listed >= 0;
}

bool onnx_infer_squeeze(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y = {.rank = 0};
    bool marked[ONNX_MAX_RANK];
    int count, known = mark_axes(c, x->rank, marked, &count);
    if (known < 1) return known == 0;
    for (int i = 0; i < x->rank; i++) {
        if (marked[i] && x->dims[i] != 1) return onnx_bad(c, "dimension %d is %lld and cannot be squeezed", i, (long long)x->dims[i]);
        if (!marked[i] && (count || x->dims[i] != 1)) y.dims[y.rank++] = x->dims[i];
    }
    return onnx_out(c, 0, &y);
}

bool onnx_infer_unsqueeze(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y = {.rank = 0};
    bool marked[ONNX_MAX_RANK];
    int64_t axes[ONNX_MAX_RANK];
    int count = onnx_list(c, "axes", axes, ONNX_MAX_RANK), at = 0;
    if (count < 0) return count == ONNX_LATE_LIST;
    if (x->rank + count > ONNX_MAX_RANK)
        return onnx_bad(c, "its output would have %d dimensions; %d are the most", x->rank + count, ONNX_MAX_RANK);
    y.rank = x->rank + count;
    if (mark_axes(c, y.rank, marked, &count) < 1) return false;
    for (int i = 0; i < y.rank; i++) y.dims[i] = marked[i] ? 1 : x->dims[at++];
    return onnx_out(c, 0, &y);
}

bool onnx_infer_transpose(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    struct onnx_shape y = {.rank = x->rank};
    int perm[ONNX_MAX_RANK];
    if (!onnx_permutation(c->node, x->rank, perm))
        return onnx_bad(c, "its perm does not list the %d dimensions of its input: one is missing, or there twice", x->rank);
    for (int i = 0; i < x->rank; i++) y.dims[i] = x->dims[perm[i]];
    return onnx_out(c, 0, &y);
}

void onnx_fold_transpose(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    int64_t own[ONNX_MAX_RANK], strides[ONNX_MAX_RANK] = {0};
    int perm[ONNX_MAX_RANK];
    struct onnx_tensor *y = onnx_permutation(c->node, x->shape.rank, perm) ? onnx_out_constant(c, 0) : NULL;
    if (!y) return;
    onnx_strides(&x->shape, own);
    for (int i = 0; i < x->shape.rank; i++) strides[i] = own[perm[i]];
    onnx_copy_strided(x, 0, strides, y);
}

bool onnx_infer_expand(struct onnx_context *c) {
    struct onnx_shape wanted, y;
    wanted.rank = onnx_list(c, "shape", wanted.dims, ONNX_MAX_RANK);
    if (wanted.rank < 0) return wanted.rank == -1;
    return onnx_broadcast(c, onnx_in(c, 0), &wanted, &y) && onnx_out(c, 0, &y);
}

void onnx_fold_expand(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    int64_t strides[ONNX_MAX_RANK] = {0};
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (!y) return;
    onnx_broadcast_strides(&x->shape, &y->shape, strides);
    onnx_copy_strided(x, 0, strides, y);
}

bool onnx_infer_tile(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    int64_t repeats[ONNX_MAX_RANK];
    int count = onnx_list(c, "repeats", repeats, ONNX_MAX_RANK);
    if (count < 0) return count == ONNX_LATE_LIST;
    if (count != y.rank) return onnx_bad(c, "it has %d repeats for %d dimensions", count, y.rank);
    for (int i = 0; i < y.rank; i++)
        if (repeats[i] < 0 || __builtin_mul_overflow(y.dims[i], repeats[i], &y.dims[i]))
            return onnx_bad(c, "it cannot repeat dimension %d %lld times", i, (long long)repeats[i]);
    return onnx_out(c, 0, &y);
}

void onnx_fold_tile(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    size_t width = onnx_type_bytes(x->type);
    int64_t index[ONNX_MAX_RANK] = {0}, strides[ONNX_MAX_RANK], none[1][ONNX_MAX_RANK] = {{0}}, at[1] = {0};
    onnx_strides(&x->shape, strides);
    for (size_t i = 0; y && i < y->count; i++) {
        int64_t from = 0;
        for (int d = 0; d < x->shape.rank; d++) from += index[d] % x->shape.dims[d] * strides[d];
        memcpy((unsigned char *)y->data + i * width, (const unsigned char *)x->data + (size_t)from * width, width);
        onnx_advance(&y->shape, index, 1, (const int64_t(*)[ONNX_MAX_RANK])none, at);
    }
}

static bool block_size(struct onnx_context *c, const struct onnx_shape *x, int64_t *block) {
    *block = onnx_attribute_int(c->node, "blocksize", 0);
    if (x->rank != 4 || *block < 1 || *block > 65535) return onnx_bad(c, "it needs an input of 4 dimensions and a blocksize");
    return true;
}

bool onnx_infer_depth_to_space(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    int64_t block;
    if (!block_size(c, &y, &block)) return false;
    if (y.dims[1] % (block * block))
        return onnx_bad(c, "%lld channels cannot be shared by blocks of %lld", (long long)y.dims[1], (long long)(block * block));
    y.dims[1] /= block * block;
    y.dims[2] *= block;
    y.dims[3] *= block;
    return onnx_out(c, 0, &y);
}

bool onnx_infer_space_to_depth(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    int64_t block;
    if (!block_size(c, &y, &block)) return false;
    if (y.dims[2] % block || y.dims[3] % block)
        return onnx_bad(c, "%lldx%lld cannot be cut into blocks of %lld", (long long)y.dims[2], (long long)y.dims[3], (long long)block);
    y.dims[1] *= block * block;
    y.dims[2] /= block;
    y.dims[3] /= block;
    return onnx_out(c, 0, &y);
}
