/* SPDX-License-Identifier: MIT */
/* Parts of a tensor, and borders round it: Slice Split Pad. */
#include "tools/onnx/operator.h"

#define FAR ((int64_t)1 << 41) /* more than any dimension has */

/* For every dimension where the slice begins, how it steps and how many elements it takes. */
struct slices {
    int64_t start[ONNX_MAX_RANK], step[ONNX_MAX_RANK], count[ONNX_MAX_RANK];
};

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

static void slice_axis(struct slices *s, int axis, int64_t dim, int64_t start, int64_t end, int64_t step) {
    start += start < 0 ? dim : 0;
    end += end < 0 ? dim : 0;
    step = clamp(step, -FAR, FAR);
    s->step[axis] = step;
    if (!dim) {
        s->count[axis] = 0;
        s->start[axis] = 0;
    } else if (step > 0) {
        start = clamp(start, 0, dim);
        end = clamp(end, 0, dim);
        s->count[axis] = end > start ? (end - start + step - 1) / step : 0;
        s->start[axis] = start;
    } else {
        start = clamp(start, 0, dim - 1);
        end = clamp(end, -1, dim - 1);
        s->count[axis] = start > end ? (start - end - step - 1) / -step : 0;
        s->start[axis] = start;
    }
}

/* They are attributes before opset 10. */
static bool has_bounds(const struct onnx_node *node) {
    if (node->opset < 10) return onnx_attribute(node, "starts") && onnx_attribute(node, "ends");
    return onnx_input(node, 1) && onnx_input(node, 2);
}

/* 1: known, 0: at run time only, -1: malformed. */
static int find_slices(struct onnx_context *c, struct slices *s) {
    const struct onnx_shape *x = onnx_in(c, 0);
    int64_t starts[ONNX_MAX_RANK], ends[ONNX_MAX_RANK], axes[ONNX_MAX_RANK], steps[ONNX_MAX_RANK];
    int count = onnx_list(c, "starts", starts, ONNX_MAX_RANK), end_count = onnx_list(c, "ends", ends, ONNX_MAX_RANK);
    int axis_count = onnx_list(c, "axes", axes, ONNX_MAX_RANK), step_count = onnx_list(c, "steps", steps, ONNX_MAX_RANK);
    if (!has_bounds(c->node)) return onnx_bad(c, "its starts or ends are left out"), -1;
    if (count == ONNX_NO_LIST || end_count == ONNX_NO_LIST || axis_count == ONNX_NO_LIST || step_count == ONNX_NO_LIST) return -1;
    if (count < 0 || end_count < 0 || axis_count < 0 || step_count < 0) return 0;
    if (count != end_count || (axis_count && axis_count != count) || (step_count && step_count != count) || count > x->rank)
        return onnx_bad(c, "its starts, ends, axes and steps do not fit each other"), -1;
    for (int i = 0; i < x->rank; i++) slice_axis(s, i, x->dims[i], 0, x->dims[i], 1);
    for (int i = 0; i < count; i++) {
        int axis;
        if (!onnx_axis(c, axis_count ? axes[i] : i, x->rank, &axis)) return -1;
        if (step_count && !steps[i]) return onnx_bad(c, "a step is 0"), -1;
        slice_axis(s, axis, x->dims[axis], starts[i], ends[i], step_count ? steps[i] : 1);
    }
    return 1;
}

bool onnx_infer_slice(struct onnx_context *c) {
    struct slices s;
    struct onnx_shape y = {.rank = onnx_in(c, 0)->rank};
    int known = find_slices(c, &s);
    if (known < 1) return known == 0;
    for (int i = 0; i < y.rank; i++) y.dims[i] = s.count[i];
    return onnx_out(c, 0, &y);
}

void onnx_fold_slice(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    int64_t own[ONNX_MAX_RANK], strides[ONNX_MAX_RANK] = {0}, offset = 0;
    struct slices s;
    struct onnx_tensor *y = find_slices(c, &s) == 1 ? onnx_out_constant(c, 0) : NULL;
    if (!y) return;
    onnx_strides(&x->shape, own);
    for (int i = 0; i < x->shape.rank; i++) {
        offset += s.start[i] * own[i];
        strides[i] = s.count[i] > 1 ? s.step[i] * own[i] : 0; /* a step that is never taken may be huge */
    }
    onnx_copy_strided(x, offset, strides, y);
}

/* The size of part i of `parts` along a dimension that is split evenly; the last part may be smaller from opset 18 on. */
static int64_t even_part(int64_t dim, int64_t parts, int i) {
    int64_t size = (dim + parts - 1) / parts, left = dim - size * i;
    return left < 0 ? 0 : left < size ? left : size;
}

/* sizes[i] for every output. 1: known, 0: at run time only, -1: malformed. */
static int find_parts(struct onnx_context *c, int *axis, int64_t *sizes) {
    const struct onnx_shape *x = onnx_in(c, 0);
    int parts = c->node->output_count, count = onnx_list(c, "split", sizes, parts);
    int64_t total = 0, wanted = onnx_attribute_int(c->node, "num_outputs", parts);
    if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 0), x->rank, axis) || count == -2) return -1;
    int64_t dim = x->dims[*axis];
    if (count == -1) return 0;
    if (count == 0) {
        if (wanted != parts || (c->node->opset < 18 && dim % parts))
            return onnx_bad(c, "%lld cannot be split into %d equal parts", (long long)dim, parts), -1;
        for (int i = 0; i < parts; i++) sizes[i] = even_part(dim, parts, i);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > dim - total) return onnx_bad(c, "its parts do not add up to %lld", (long long)dim), -1;
        total += sizes[i];
    }
    if (count != parts || total != dim) return onnx_bad(c, "its parts do not add up to %lld", (long long)dim), -1;
    return 1;
}

bool onnx_infer_split(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    int64_t *sizes = onnx_alloc(c->graph, (size_t)c->node->output_count * sizeof *sizes);
    int axis, known = find_parts(c, &axis, sizes);
    for (int i = 0; i < c->node->output_count && known == 1; i++) {
        y.dims[axis] = sizes[i];
        if (!onnx_out(c, i, &y)) return false;
    }
    return known >= 0;
}

void onnx_fold_split(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    int64_t *sizes = onnx_alloc(c->graph, (size_t)c->node->output_count * sizeof *sizes), strides[ONNX_MAX_RANK] = {0}, start = 0;
    int axis;
    if (find_parts(c, &axis, sizes) != 1) return;
    onnx_strides(&x->shape, strides);
    for (int i = 0; i < c->node->output_count; i++) {
        struct onnx_tensor *y = onnx_out_constant(c, i);
        if (y) onnx_copy_strided(x, start * strides[axis], strides, y);
        start += sizes[i];
    }
}

bool onnx_infer_pad(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    int64_t pads[2 * ONNX_MAX_RANK], axes[ONNX_MAX_RANK];
    int count = onnx_list(c, "pads", pads, 2 * ONNX_MAX_RANK);
    int axis_count = onnx_list(c, "axes", axes, ONNX_MAX_RANK), axis;
    const struct onnx_value *x = onnx_input(c->node, 0), *fill = c->node->opset < 11 ? NULL : onnx_input(c->node, 2);
    if (fill && fill->type && x->type && fill->type != x->type) return onnx_bad(c, "its fill value is not of its input's type");
    if (count == -2 || axis_count == -2) return false;
    const struct onnx_value *list = c->node->opset < 11 ? NULL : onnx_input(c->node, 1);
    bool all = !onnx_input(c->node, 3), unknown = count < 0;
    if (unknown && list) count = (int)onnx_elements(&list->shape); /* their number may be known, if not what they are */
    if (count < 0 || axis_count < 0 || y.rank < 0) return true;
    if (count != 2 * (all ? y.rank : axis_count)) return onnx_bad(c, "it has %d pads for %d dimensions", count, all ? y.rank : axis_count);
    if (unknown) return true;
    for (int i = 0; i < count / 2; i++) {
        if (!onnx_axis(c, all ? i : axes[i], y.rank, &axis)) return false;
        y.dims[axis] += clamp(pads[i], -FAR, FAR) + clamp(pads[count / 2 + i], -FAR, FAR);
        if (y.dims[axis] < 0) return onnx_bad(c, "it cuts more from dimension %d than there is", axis);
    }
    return onnx_out(c, 0, &y);
}
