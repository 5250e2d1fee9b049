/* SPDX-License-Identifier: MIT */
/* Upsample (opsets 7, 9) and Resize (10, 11, 13, 18, 19): output sizes. */
#include "tools/onnx/operator.h"
#include "tools/onnx/resize.h"
#include <math.h>
#include <string.h>

/* Dimension i of the input is resized by entry entry[i] of scales, sizes and roi; -1: not at all. */
struct resized {
    int count, entry[ONNX_MAX_RANK];
};

static bool resized_axes(struct onnx_context *c, int rank, struct resized *r) {
    int64_t axes[ONNX_MAX_RANK];
    int count = onnx_attribute_ints(c->node, "axes", axes, ONNX_MAX_RANK), axis;
    r->count = count < 0 ? rank : count;
    for (int i = 0; i < ONNX_MAX_RANK; i++) r->entry[i] = count < 0 ? i : -1;
    if (count > rank) return onnx_bad(c, "it has more axes than the input");
    for (int i = 0; i < count; i++) {
        if (!onnx_axis(c, axes[i], rank, &axis)) return false;
        r->entry[axis] = i;
    }
    return true;
}

/* An input that is left out may also be an empty tensor. */
static bool is_there(const struct onnx_context *c, int input) {
    const struct onnx_value *value = onnx_input(c->node, input);
    return value && onnx_elements(&value->shape) != 0;
}

/* floor(in * scale), as ONNX Runtime: in single precision. */
static bool scale_dim(struct onnx_context *c, int64_t in, float scale, int64_t *out) {
    float size = floorf((float)in * scale);
    if (!(scale > 0) || !(size < 1e12f)) return onnx_bad(c, "its scales must be positive numbers");
    *out = (int64_t)size;
    return true;
}

static bool apply_scales(struct onnx_context *c, const struct resized *r, const struct onnx_tensor *scales, const struct onnx_tensor *roi,
                         struct onnx_shape *y) {
    bool crops = !strcmp(onnx_attribute_string(c->node, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
    if (scales->count != (size_t)r->count || (crops && (!roi || roi->count != 2 * (size_t)r->count)))
        return onnx_bad(c, "it needs %d scales", r->count);
    for (int i = 0; i < y->rank; i++) {
        int at = r->entry[i];
        if (at < 0) continue;
        float scale = (float)onnx_number(scales, (size_t)at);
        if (crops) scale *= (float)(onnx_number(roi, (size_t)(r->count + at)) - onnx_number(roi, (size_t)at));
        if (!scale_dim(c, y->dims[i], scale, &y->dims[i])) return false;
    }
    return true;
}

/* keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest of those that the sizes ask for. */
static float common_scale(const struct onnx_shape *x, const struct resized *r, const struct onnx_tensor *sizes, bool smallest) {
    float best = 0;
    for (int i = 0; i < x->rank; i++) {
        if (r->entry[i] < 0) continue;
        float scale = (float)onnx_integer(sizes, (size_t)r->entry[i]) / (float)x->dims[i];
        if (best == 0 || (smallest ? scale < best : scale > best)) best = scale;
    }
    return best;
}

static bool apply_sizes(struct onnx_context *c, const struct resized *r, const struct onnx_tensor *sizes, struct onnx_shape *y) {
    const char *policy = onnx_attribute_string(c->node, "keep_aspect_ratio_policy", "stretch");
    if (sizes->count != (size_t)r->count) return onnx_bad(c, "it needs %d sizes", r->count);
    float scale = strcmp(policy, "stretch") ? common_scale(y, r, sizes, !strcmp(policy, "not_larger")) : 0;
    for (int i = 0; i < y->rank; i++) {
        if (r->entry[i] < 0) continue;
        int64_t size = onnx_integer(sizes, (size_t)r->entry[i]);
        float scaled = roundf(scale * (float)y->dims[i]);
        if (size < 1 || !y->dims[i] || !(scaled < 1e12f)) return onnx_bad(c, "its sizes must be 1 or more");
        y->dims[i] = scale > 0 ? (int64_t)scaled : size;
    }
    return true;
}

bool onnx_infer_resize(struct onnx_context *c) {
    struct onnx_shape y = *onnx_in(c, 0);
    struct resized r;
    bool old = c->node->opset < 11;
    int scales = old ? 1 : 2;
    if (!resized_axes(c, y.rank, &r)) return false;
    if (!old && is_there(c, 3)) {
        const struct onnx_tensor *sizes = onnx_input_constant(c->node, 3);
        return !sizes || (apply_sizes(c, &r, sizes, &y) && onnx_out(c, 0, &y));
    }
    struct onnx_tensor listed;
    const struct onnx_tensor *given = onnx_resize_scales(c->node, &listed);
    if (!given && !is_there(c, scales)) return onnx_bad(c, "it has neither scales nor sizes");
    return !given || (apply_scales(c, &r, given, old ? NULL : onnx_input_constant(c->node, 1), &y) && onnx_out(c, 0, &y));
}
