/* SPDX-License-Identifier: MIT */
/* Positions and neighbours along one axis of Resize. */
#include "tools/onnx/resize.h"

#include <math.h>
#include <string.h>

bool onnx_resize_keeps(const struct onnx_resize *r) {
    return r->scale == 1 && r->in == r->out;
}

float onnx_resize_position(const struct onnx_resize *r, int64_t k) {
    const char *t = r->transformation;
    float x = (float)k, in = (float)r->in, out = (float)r->out;
    if (r->opset10 || !strcmp(t, "asymmetric")) return x / r->scale;
    if (!strcmp(t, "pytorch_half_pixel") && r->out <= 1) return 0;
    if (!strcmp(t, "tf_half_pixel_for_nn")) return (x + 0.5F) / r->scale;
    if (!strcmp(t, "align_corners")) return r->out == 1 ? 0 : x * (in - 1) / (out - 1);
    if (!strcmp(t, "half_pixel_symmetric")) {
        float adjustment = out / (r->scale * in), offset = (in / 2) * (1 - adjustment);
        return (float)((double)offset + ((double)x + 0.5) / (double)r->scale - 0.5);
    }
    if (!strcmp(t, "tf_crop_and_resize")) {
        float at = r->out > 1 ? r->roi_start * (in - 1) + (x * (r->roi_end - r->roi_start) * (in - 1)) / (out - 1)
                              : (float)(0.5 * (double)(r->roi_start + r->roi_end) * (double)(in - 1));
        return at < 0 || at > in - 1 ? NAN : at;
    }
    return (x + 0.5F) / r->scale - 0.5F; /* half_pixel, pytorch_half_pixel */
}

/* A position within a millionth of a half counts as one, as ONNX Runtime has it. */
static int64_t rounded(const char *rounding, float position) {
    float low = floorf(position), rest = position - low;
    bool tie = fabsf(rest - 0.5F) <= 1e-6F;
    if (!strcmp(rounding, "floor")) return (int64_t)low;
    if (!strcmp(rounding, "ceil")) return (int64_t)ceilf(position);
    if (tie) return (int64_t)low + !strcmp(rounding, "round_prefer_ceil");
    return (int64_t)(rest < 0.5F ? low : low + 1);
}

int64_t onnx_resize_nearest(const struct onnx_resize *r, int64_t k) {
    if (onnx_resize_keeps(r)) return k;
    float position = onnx_resize_position(r, k);
    if (isnan(position)) return -1;
    /* 2^40 is beyond every axis: what does not fit an int64 never gets there. */
    position = position < -1e12F ? -1e12F : position > 1e12F ? 1e12F : position;
    int64_t i = r->opset10 ? (int64_t)(r->scale < 1 ? ceilf(position) : position) : rounded(r->rounding, position);
    return i < 0 ? 0 : i >= r->in ? r->in - 1 : i;
}

/* Keys' weights of the four neighbours of a position that is `rest` behind the second. */
static void cubic_weights(double a, double rest, double *w) {
    for (int i = 0; i < 4; i++) {
        const double d = fabs(rest + 1 - i);
        w[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

bool onnx_resize_cubic(const struct onnx_node *node, const struct onnx_resize *r, int64_t k, int64_t at[4], double weights[4]) {
    const bool inside = onnx_attribute_int(node, "exclude_outside", 0) != 0;
    const float position = onnx_resize_keeps(r) ? (float)k : onnx_resize_position(r, k), low = floorf(position);
    double sum = 0;
    if (!(fabsf(position) < 1e9F)) return false;
    cubic_weights((double)onnx_attribute_float(node, "cubic_coeff_a", -0.75F), (double)(position - low), weights);
    for (int i = 0; i < 4; i++) {
        const int64_t from = (int64_t)low + i - 1;
        at[i] = from < 0 ? 0 : from >= r->in ? r->in - 1 : from;
        if (inside && at[i] != from) weights[i] = 0;
        sum += weights[i];
    }
    for (int i = 0; i < 4 && inside; i++) weights[i] /= sum;
    return true;
}

/* The axis' place in the lists of scales, sizes and roi; -1 where the axes attribute leaves it out. */
static int listed(const struct onnx_node *node, int axis, int rank) {
    int64_t axes[ONNX_MAX_RANK];
    int count = onnx_attribute_ints(node, "axes", axes, ONNX_MAX_RANK);
    if (count < 0) return axis;
    for (int i = 0; i < count && i < ONNX_MAX_RANK; i++)
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == axis) return i;
    return -1;
}

/* Numbers of an input (scales, roi, sizes) or NULL where it is absent or empty; false where it is there but not constant. */
static bool numbers(const struct onnx_node *node, int i, const struct onnx_tensor **out) {
    const struct onnx_value *value = onnx_input(node, i);
    *out = onnx_input_constant(node, i);
    if (value && !*out) return false;
    if (*out && !(*out)->count) *out = NULL;
    return true;
}

/* keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest that the sizes ask for; 0: each axis has its own. */
static float common_scale(const struct onnx_node *node, const struct onnx_shape *x, const struct onnx_tensor *sizes) {
    const char *policy = onnx_attribute_string(node, "keep_aspect_ratio_policy", "stretch");
    float best = 0;
    for (int i = 0; sizes && strcmp(policy, "stretch") && i < x->rank; i++) {
        int place = listed(node, i, x->rank);
        if (place < 0 || (size_t)place >= sizes->count) continue;
        float scale = (float)onnx_number(sizes, (size_t)place) / (float)x->dims[i];
        if (best == 0 || (strcmp(policy, "not_larger") ? scale > best : scale < best)) best = scale;
    }
    return best;
}

const struct onnx_tensor *onnx_resize_scales(const struct onnx_node *node, struct onnx_tensor *listed) {
    const struct onnx_attribute *a = node->opset < 9 ? onnx_attribute(node, "scales") : NULL;
    if (node->opset >= 9) return onnx_input_constant(node, node->opset < 11 ? 1 : 2);
    if (!a || !a->count || !a->floats) return NULL;
    *listed = (struct onnx_tensor){ONNX_FLOAT, {1, {(int64_t)a->count}}, a->count, (void *)a->floats, 0, 0, 0};
    return listed;
}

bool onnx_resize_read(const struct onnx_node *node, int axis, struct onnx_resize *r, const char **why) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    const struct onnx_tensor *roi = NULL, *sizes = NULL, *ignored;
    struct onnx_tensor listed_scales;
    *r = (struct onnx_resize){.transformation = onnx_attribute_string(node, "coordinate_transformation_mode", "half_pixel"),
                              .rounding = onnx_attribute_string(node, "nearest_mode", "round_prefer_floor"),
                              .in = x->dims[axis],
                              .out = node->outputs[0]->shape.dims[axis],
                              .roi_end = 1,
                              .opset10 = node->opset <= 10};
    *why = "its scales, sizes or roi are not constant";
    if (!numbers(node, r->opset10 ? 1 : 2, &ignored) || (!r->opset10 && (!numbers(node, 1, &roi) || !numbers(node, 3, &sizes))))
        return false;
    const struct onnx_tensor *scales = onnx_resize_scales(node, &listed_scales);
    if (scales && !scales->count) scales = NULL;
    bool crops = !strcmp(r->transformation, "tf_crop_and_resize");
    *why = "tf_crop_and_resize is only supported with sizes: runtimes disagree on what scales mean with it";
    if (crops && !sizes) return false;
    int place = listed(node, axis, x->rank);
    float common = common_scale(node, x, sizes);
    r->scale = place < 0 ? 1 : common > 0 ? common : (float)r->out / (float)r->in;
    if (place >= 0 && scales && !sizes && (size_t)place < scales->count) r->scale = (float)onnx_number(scales, (size_t)place);
    if (place >= 0 && crops && roi && (size_t)place < roi->count / 2) {
        r->roi_start = (float)onnx_number(roi, (size_t)place);
        r->roi_end = (float)onnx_number(roi, (size_t)place + roi->count / 2);
    }
    return true;
}
