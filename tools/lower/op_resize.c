/* SPDX-License-Identifier: MIT */
/* Resize and Upsample, nearest: each axis is read by an index list, computed as ONNX Runtime computes it. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

struct resize_axis {
    const char *transformation, *rounding;
    float scale, roi_start, roi_end;
    int64_t in, out;
};

/* Where output k falls in the input, in float as ONNX Runtime has it; NAN: outside of the crop region. */
static float source_position(const struct resize_axis *a, int64_t k) {
    const char *t = a->transformation;
    float x = (float)k, in = (float)a->in, out = (float)a->out;
    if (!strcmp(t, "asymmetric"))
        return x / a->scale;
    if (!strcmp(t, "pytorch_half_pixel") && a->out <= 1)
        return 0;
    if (!strcmp(t, "tf_half_pixel_for_nn"))
        return (x + 0.5F) / a->scale;
    if (!strcmp(t, "align_corners"))
        return a->out == 1 ? 0 : x * (in - 1) / (out - 1);
    if (!strcmp(t, "half_pixel_symmetric")) {
        float adjustment = out / (a->scale * in), offset = (in / 2) * (1 - adjustment);
        return (float)((double)offset + ((double)x + 0.5) / (double)a->scale - 0.5);
    }
    if (!strcmp(t, "tf_crop_and_resize")) {
        float at = a->out > 1 ? a->roi_start * (in - 1) + (x * (a->roi_end - a->roi_start) * (in - 1)) / (out - 1)
                              : (float)(0.5 * (double)(a->roi_start + a->roi_end) * (double)(in - 1));
        return at < 0 || at > in - 1 ? NAN : at;
    }
    return (x + 0.5F) / a->scale - 0.5F; /* half_pixel, pytorch_half_pixel */
}

/* A position within a millionth of a half counts as one, as ONNX Runtime has it. */
static int64_t rounded(const char *rounding, float position) {
    float low = floorf(position), rest = position - low;
    bool tie = fabsf(rest - 0.5F) <= 1e-6F;
    if (!strcmp(rounding, "floor"))
        return (int64_t)low;
    if (!strcmp(rounding, "ceil"))
        return (int64_t)ceilf(position);
    if (tie)
        return (int64_t)low + !strcmp(rounding, "round_prefer_ceil");
    return (int64_t)(rest < 0.5F ? low : low + 1);
}

static int32_t source_index(const struct resize_axis *a, int64_t k, bool opset10) {
    if (a->scale == 1 && a->in == a->out)
        return (int32_t)k;
    if (opset10) {
        float at = (float)k / a->scale;
        int64_t i = (int64_t)(a->scale < 1 ? ceilf(at) : at);
        return (int32_t)(i < 0 ? 0 : i >= a->in ? a->in - 1 : i);
    }
    float position = source_position(a, k);
    if (isnan(position))
        return -1;
    int64_t i = rounded(a->rounding, position);
    return (int32_t)(i < 0 ? 0 : i >= a->in ? a->in - 1 : i);
}

/* Numbers of an input (scales, roi, sizes) or NULL where it is absent or empty; false where it is there but not constant. */
static bool numbers(struct lowering *l, struct onnx_node *node, int i, const struct onnx_tensor **out) {
    const struct onnx_value *value = onnx_input(node, i);
    *out = onnx_input_constant(node, i);
    if (value && !*out)
        return refuse(l, node, "its input %d is not constant", i);
    if (*out && !(*out)->count)
        *out = NULL;
    return true;
}

/* The axis' place in the lists of scales and roi; -1 where the axes attribute leaves it out. */
static int listed(const struct onnx_node *node, int axis, int rank) {
    int64_t axes[ONNX_MAX_RANK];
    int count = onnx_attribute_ints(node, "axes", axes, ONNX_MAX_RANK);
    if (count < 0)
        return axis;
    for (int i = 0; i < count; i++)
        if ((axes[i] < 0 ? axes[i] + rank : axes[i]) == axis)
            return i;
    return -1;
}

/* keep_aspect_ratio_policy: one scale for all axes, the smallest or the largest that the sizes ask for; 0: each axis has its own. */
static float common_scale(const struct onnx_node *node, const struct meaning *m, const struct onnx_tensor *sizes) {
    const char *policy = onnx_attribute_string(node, "keep_aspect_ratio_policy", "stretch");
    float best = 0;
    for (uint32_t i = 0; sizes && strcmp(policy, "stretch") && i < m->view.rank; i++) {
        int place = listed(node, (int)i, (int)m->view.rank);
        if (place < 0 || (size_t)place >= sizes->count)
            continue;
        float scale = (float)onnx_number(sizes, (size_t)place) / (float)m->view.dims[i];
        if (best == 0 || (strcmp(policy, "not_larger") ? scale > best : scale < best))
            best = scale;
    }
    return best;
}

static bool resize_axis(struct lowering *l, struct onnx_node *node, struct meaning *m, uint32_t axis, const struct onnx_tensor *scales,
                        const struct onnx_tensor *roi, float common, bool opset10) {
    int place = listed(node, (int)axis, (int)m->view.rank), count = scales ? (int)scales->count : roi ? (int)roi->count / 2 : 0;
    struct resize_axis a = {.transformation = onnx_attribute_string(node, "coordinate_transformation_mode", "half_pixel"),
                            .rounding = onnx_attribute_string(node, "nearest_mode", "round_prefer_floor"),
                            .in = m->view.dims[axis],
                            .out = node->outputs[0]->shape.dims[axis],
                            .roi_end = 1};
    a.scale = common > 0 ? common : (float)a.out / (float)a.in;
    if (place < 0)
        return true;
    if (scales && place < count)
        a.scale = (float)onnx_number(scales, (size_t)place);
    if (roi && 2 * (size_t)place < roi->count) {
        a.roi_start = (float)onnx_number(roi, (size_t)place);
        a.roi_end = (float)onnx_number(roi, (size_t)place + roi->count / 2);
    }
    int32_t *indices = net_alloc(l->net, ((size_t)a.out + 1) * sizeof *indices);
    for (int64_t k = 0; k < a.out; k++)
        if ((indices[k] = source_index(&a, k, opset10)) < 0)
            return refuse(l, node, "tf_crop_and_resize beyond the picture is not supported");
    if (a.in != a.out || a.scale != 1)
        m->view = view_pick(l->net, &m->view, axis, (uint32_t)a.out, indices);
    return true;
}

bool lower_resize(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0), made;
    bool opset10 = node_is(node, "Upsample") || node->opset == 10;
    const struct onnx_tensor *scales, *roi = NULL, *sizes = NULL;
    const char *mode = onnx_attribute_string(node, "mode", "nearest");
    if (!m)
        return false;
    if (strcmp(mode, "nearest"))
        return refuse(l, node, "mode %s is not supported, only nearest", mode);
    if (!numbers(l, node, opset10 ? 1 : 2, &scales) || (!opset10 && (!numbers(l, node, 1, &roi) || !numbers(l, node, 3, &sizes))))
        return false;
    if (strcmp(onnx_attribute_string(node, "coordinate_transformation_mode", "half_pixel"), "tf_crop_and_resize"))
        roi = NULL;
    else if (!sizes)
        return refuse(l, node, "tf_crop_and_resize is only supported with sizes: runtimes disagree on what scales mean with it");
    made = *m;
    if (made.table && made.table_channels > 1) {
        made.buffer = meaning_float_buffer(l, node, &made, &made.view);
        made.table = NULL;
        made.real = false;
    }
    float common = common_scale(node, m, sizes);
    for (uint32_t axis = 0; made.buffer && axis < made.view.rank; axis++)
        if (!resize_axis(l, node, &made, axis, sizes ? NULL : scales, roi, common, opset10))
            return false;
    if (!made.buffer)
        return false;
    meaning_set(l, node->outputs[0], made);
    return true;
}
