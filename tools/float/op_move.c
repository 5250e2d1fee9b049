/* SPDX-License-Identifier: MIT */
/* Operators that move data: Transpose, Slice, Split, Concat, Expand, Tile, Gather, DepthToSpace, SpaceToDepth, and those that only
 * state another shape. */
#include "tools/float/pick.h"
#include "tools/onnx/operator.h"

#include <string.h>

/* Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout unless it is to train. */
bool prepare_alias(struct preparation *p) {
    if (onnx_drops(p->node)) return cannot(p, "it is in training mode: export the network for inference, model.eval() in PyTorch");
    p->reads = 1;
    p->step->run = NULL;
    return true;
}

bool prepare_transpose(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t strides[ONNX_MAX_RANK] = {0};
    int perm[ONNX_MAX_RANK];
    struct pick pick = {0};
    if (!onnx_permutation(p->node, x->rank, perm)) return cannot(p, "its perm does not list its input's dimensions");
    onnx_strides(x, strides);
    for (int i = 0; i < y->rank; i++) pick_even(p, &pick, y->dims[i], 0, strides[perm[i]]);
    return pick_use(p, &pick);
}

/* ---- Slice ---- */

/* Where the slice of an axis begins: the number that is stated, counted from the end where it is negative, brought onto the axis. */
static int64_t slice_start(int64_t dim, int64_t start, int64_t step) {
    int64_t most = step < 0 ? dim - 1 : dim;
    start += start < 0 ? dim : 0;
    return start < 0 ? 0 : start > most ? most : start;
}

bool prepare_slice(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t lists[4][ONNX_MAX_RANK], start[ONNX_MAX_RANK] = {0}, step[ONNX_MAX_RANK], strides[ONNX_MAX_RANK] = {0};
    static const char *const names[4] = {"starts", "ends", "axes", "steps"};
    int count[4];
    struct pick pick = {0};
    for (int i = 0; i < 4; i++)
        if ((count[i] = prepare_list(p, names[i], lists[i], ONNX_MAX_RANK)) < 0) return false;
    for (int i = 0; i < x->rank; i++) step[i] = 1;
    for (int i = 0; i < count[0]; i++) {
        int axis = count[2] ? shape_axis(x, lists[2][i]) : i;
        int64_t dim = x->dims[axis], by = count[3] ? lists[3][i] : 1;
        start[axis] = slice_start(dim, lists[0][i], by);
        step[axis] = by > dim ? dim : by < -dim ? -dim : by;
    }
    onnx_strides(x, strides);
    for (int i = 0; i < y->rank; i++) pick_even(p, &pick, y->dims[i], start[i] * strides[i], step[i] * strides[i]);
    return pick_use(p, &pick);
}

/* ---- Split and Concat: parts along an axis ---- */

struct parts {
    int count;
    int64_t outer, row; /* floats of the whole from one outer index to the next */
    int64_t *size;      /* [count]: floats of each part */
};

static void run_split(const void *plan, const struct call *call) {
    const struct parts *s = plan;
    int64_t at = 0;
    for (int i = 0; i < s->count; at += s->size[i++])
        for (int64_t o = 0; o < s->outer && call->out[i]; o++)
            memcpy(call->out[i] + o * s->size[i], call->in[0] + o * s->row + at, (size_t)s->size[i] * sizeof(float));
}

static void run_concat(const void *plan, const struct call *call) {
    const struct parts *s = plan;
    int64_t at = 0;
    for (int i = 0; i < s->count; at += s->size[i++])
        for (int64_t o = 0; o < s->outer && s->size[i]; o++)
            memcpy(call->out[0] + o * s->row + at, call->in[i] + o * s->size[i], (size_t)s->size[i] * sizeof(float));
}

static struct parts *use_parts(struct preparation *p, const struct onnx_shape *whole, int count, struct onnx_value **values) {
    struct parts *s = prepare_alloc(p, sizeof *s);
    int axis = shape_axis(whole, onnx_attribute_int(p->node, "axis", 0));
    int64_t inner = shape_part(whole, axis + 1, whole->rank);
    *s = (struct parts){count, shape_part(whole, 0, axis), whole->dims[axis] * inner, NULL};
    s->size = prepare_alloc(p, (size_t)(count + 1) * sizeof *s->size);
    for (int i = 0; i < count; i++) s->size[i] = values[i] ? values[i]->shape.dims[axis] * inner : 0;
    p->step->plan = s;
    return s;
}

/* The sizes are read off the outputs; one that is left out must be the last. */
bool prepare_split(struct preparation *p) {
    for (int i = 0; i + 1 < p->node->output_count; i++)
        if (!p->node->outputs[i]) return cannot(p, "its output %d is left out", i);
    use_parts(p, shape_in(p, 0), p->node->output_count, p->node->outputs);
    p->step->run = run_split;
    p->reads = 1;
    return true;
}

bool prepare_concat(struct preparation *p) {
    use_parts(p, shape_out(p, 0), p->node->input_count, p->node->inputs);
    p->step->run = run_concat;
    return true;
}

/* ---- repetition and choice ---- */

bool prepare_expand(struct preparation *p) {
    const struct onnx_shape *y = shape_out(p, 0);
    int64_t strides[ONNX_MAX_RANK] = {0};
    struct pick pick = {0};
    onnx_broadcast_strides(shape_in(p, 0), y, strides);
    for (int i = 0; i < y->rank; i++) pick_even(p, &pick, y->dims[i], 0, strides[i]);
    return pick_use(p, &pick);
}

bool prepare_tile(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t strides[ONNX_MAX_RANK] = {0};
    struct pick pick = {0};
    onnx_strides(x, strides);
    for (int i = 0; i < y->rank; i++) {
        int32_t *table = pick_axis(p, &pick, y->dims[i]);
        for (int64_t k = 0; k < y->dims[i]; k++) table[k] = (int32_t)(k % x->dims[i] * strides[i]);
    }
    return pick_use(p, &pick);
}

/* ---- blocks ---- */

bool prepare_depth_to_space(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t b = onnx_attribute_int(p->node, "blocksize", 1), area = x->dims[2] * x->dims[3], depth = y->dims[1];
    bool crd = !strcmp(onnx_attribute_string(p->node, "mode", "DCR"), "CRD");
    int64_t channel = crd ? b * b : 1, block = crd ? 1 : depth;
    struct pick pick = {0};
    pick_even(p, &pick, x->dims[0], 0, x->dims[1] * area);
    pick_even(p, &pick, depth, 0, channel * area);
    pick_even(p, &pick, x->dims[2], 0, x->dims[3]);
    pick_even(p, &pick, b, 0, b * block * area);
    pick_even(p, &pick, x->dims[3], 0, 1);
    pick_even(p, &pick, b, 0, block * area);
    return pick_use(p, &pick);
}

bool prepare_space_to_depth(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0), *y = shape_out(p, 0);
    int64_t b = onnx_attribute_int(p->node, "blocksize", 1), area = x->dims[2] * x->dims[3];
    bool crd = !strcmp(onnx_attribute_string(p->node, "mode", "DCR"), "CRD");
    struct pick pick = {0};
    pick_even(p, &pick, x->dims[0], 0, x->dims[1] * area);
    if (crd) pick_even(p, &pick, x->dims[1], 0, area);
    pick_even(p, &pick, b, 0, x->dims[3]);
    pick_even(p, &pick, b, 0, 1);
    if (!crd) pick_even(p, &pick, x->dims[1], 0, area);
    pick_even(p, &pick, y->dims[2], 0, b * x->dims[3]);
    pick_even(p, &pick, y->dims[3], 0, b);
    return pick_use(p, &pick);
}
