/* SPDX-License-Identifier: MIT */
/* QuantizeLinear and DequantizeLinear, by tensor and by channel, and DynamicQuantizeLinear. */
#include "tools/onnx/operator.h"
#include <math.h>

/* Scales: one for all, or one for each index along the axis. In blocks (opset 21) they have the rank of the input. */
bool onnx_infer_quantize(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *scale = onnx_in(c, 1);
    const struct onnx_value *zero = onnx_input(c->node, 2);
    bool blocks = onnx_attribute_int(c->node, "block_size", 0) != 0;
    if (zero && !onnx_same_shape(&zero->shape, scale) && (onnx_elements(&zero->shape) != 1 || onnx_elements(scale) != 1))
        return onnx_bad(c, "scale and zero point have different shapes");
    if (!blocks && onnx_elements(scale) != 1) {
        int axis;
        if (!onnx_axis(c, onnx_attribute_int(c->node, "axis", 1), x->rank, &axis)) return false;
        if (scale->rank != 1 || scale->dims[0] != x->dims[axis])
            return onnx_bad(c, "it needs one scale, or %lld for the channels along axis %d", (long long)x->dims[axis], axis);
    }
    return onnx_out(c, 0, x);
}

bool onnx_infer_dynamic_quantize(struct onnx_context *c) {
    struct onnx_shape scalar = {.rank = 0};
    onnx_out_type(c, 1, ONNX_FLOAT);
    return onnx_out(c, 0, onnx_in(c, 0)) && onnx_out(c, 1, &scalar) && onnx_out(c, 2, &scalar);
}

/* How many neighbours share a scale, and how many scales there are. */
struct channels {
    size_t inner, count;
};

static bool find_channels(struct onnx_context *c, struct channels *channels) {
    const struct onnx_shape *x = onnx_in(c, 0);
    const struct onnx_tensor *scale = onnx_input_constant(c->node, 1);
    *channels = (struct channels){1, scale->count};
    if (scale->count == 1) return true;
    int axis;
    if (onnx_attribute_int(c->node, "block_size", 0) || !onnx_axis(c, onnx_attribute_int(c->node, "axis", 1), x->rank, &axis)) return false;
    for (int i = axis + 1; i < x->rank; i++) channels->inner *= (size_t)x->dims[i];
    return true;
}

static bool quantized_range(enum onnx_type type, int64_t *low, int64_t *high) {
    switch (type) {
    case ONNX_UINT8: *low = 0, *high = 255; return true;
    case ONNX_INT8: *low = -128, *high = 127; return true;
    case ONNX_UINT16: *low = 0, *high = 65535; return true;
    case ONNX_INT16: *low = -32768, *high = 32767; return true;
    default: return false;
    }
}

/* Single precision, half to even, then the zero point in integers and the clamp: what ONNX Runtime does. */
static int64_t quantize(float x, float scale, int64_t zero, int64_t low, int64_t high) {
    float steps = nearbyintf(x / scale);
    if (!(steps > -1e9f)) /* no number goes to the low end too */
        return low;
    if (steps > 1e9f) return high;
    int64_t value = (int64_t)steps + zero;
    return value < low ? low : value > high ? high : value;
}

void onnx_fold_quantize(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *scale = onnx_input_constant(c->node, 1),
                             *zero = onnx_input_constant(c->node, 2);
    struct channels channels;
    int64_t low, high;
    if (x->type != ONNX_FLOAT || scale->type != ONNX_FLOAT || !quantized_range(c->node->outputs[0]->type, &low, &high) ||
        !find_channels(c, &channels) || (zero && (zero->count != scale->count || zero->type != c->node->outputs[0]->type)))
        return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    const float *values = x->data, *scales = scale->data;
    for (size_t i = 0; y && i < y->count; i++) {
        size_t channel = i / channels.inner % channels.count;
        onnx_store_integer(y, i, quantize(values[i], scales[channel], zero ? onnx_integer(zero, channel) : 0, low, high));
    }
}

/* As the operator says, in single precision; of an empty range the scale is 1. */
void onnx_fold_dynamic_quantize(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    float low = 0, high = 0;
    if (x->type != ONNX_FLOAT || !onnx_spend(c, x->count)) return;
    for (size_t i = 0; i < x->count; i++) {
        low = fminf(low, ((const float *)x->data)[i]);
        high = fmaxf(high, ((const float *)x->data)[i]);
    }
    if (!isfinite(high - low)) return;
    const float scale = high > low ? (high - low) / 255 : 1;
    const int64_t zero = (int64_t)nearbyintf(fminf(-low / scale, 255));
    struct onnx_tensor *y = onnx_out_constant(c, 0), *made[2] = {y ? onnx_out_constant(c, 1) : NULL, y ? onnx_out_constant(c, 2) : NULL};
    for (size_t i = 0; y && i < y->count; i++) onnx_store_integer(y, i, quantize(((const float *)x->data)[i], scale, zero, 0, 255));
    if (made[0]) onnx_store_number(made[0], 0, (double)scale);
    if (made[1]) onnx_store_integer(made[1], 0, zero);
}

/* Weights and biases stay behind their DequantizeLinear: whoever lowers the graph wants the numbers as they are quantized. */
void onnx_fold_dequantize(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *scale = onnx_input_constant(c->node, 1),
                             *zero = onnx_input_constant(c->node, 2);
    struct channels channels;
    int64_t low, high;
    if (x->type == ONNX_UINT8 || x->type == ONNX_INT8 || !quantized_range(x->type, &low, &high) || scale->type != ONNX_FLOAT ||
        c->node->outputs[0]->type != ONNX_FLOAT || !find_channels(c, &channels) ||
        (zero && (zero->count != scale->count || zero->type != x->type)))
        return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    const float *scales = scale->data;
    for (size_t i = 0; y && i < y->count; i++) {
        size_t channel = i / channels.inner % channels.count;
        int64_t steps = onnx_integer(x, i) - (zero ? onnx_integer(zero, channel) : 0);
        ((float *)y->data)[i] = (float)steps * scales[channel];
    }
}
