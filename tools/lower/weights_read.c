/* SPDX-License-Identifier: MIT */
/* Weights and biases as quantizers write them: integers with scales, or a float bias beside quantized weights. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

static bool per_output(const struct onnx_tensor *t, uint32_t outputs) {
    return t->count == 1 || t->count == outputs;
}

/* Zero points are taken off where what is left fits in 8 bits, for all outputs: sums are the same, and kernels have less to do. */
static void take_zeros(const struct weights *w, int8_t *values, int32_t *zeros, uint32_t taps) {
    for (uint32_t o = 0; o < w->outputs; o++)
        for (uint32_t t = 0; t < taps; t++) {
            int32_t v = values[(size_t)o * taps + t] - zeros[o];
            if (v < -128 || v > 127) return;
        }
    for (uint32_t o = 0; o < w->outputs; o++) {
        for (uint32_t t = 0; t < taps; t++) values[(size_t)o * taps + t] = (int8_t)(values[(size_t)o * taps + t] - zeros[o]);
        zeros[o] = 0;
    }
}

bool read_weights(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *values, const struct onnx_tensor *scales,
                  const struct onnx_tensor *zeros, bool transpose, struct weights *w) {
    if (!values || !scales || (values->type != ONNX_INT8 && values->type != ONNX_UINT8) || scales->type != ONNX_FLOAT)
        return refuse(l, node, "its weights are not an int8 or uint8 constant with constant scales: quantize the model first");
    if (!per_output(scales, w->outputs) || (zeros && !per_output(zeros, w->outputs)))
        return refuse(l, node, "%zu weight scales and %zu zero points for %u output channels", scales->count, zeros ? zeros->count : 0,
                      w->outputs);
    uint32_t taps = w->inputs * w->kernel_h * w->kernel_w;
    if (values->count != (size_t)w->outputs * taps)
        return refuse(l, node, "its weights have %zu values, not %u x %u", values->count, w->outputs, taps);
    int32_t shift = values->type == ONNX_UINT8 ? 128 : 0;
    int8_t *kept = net_alloc(l->net, values->count);
    int32_t *zero = net_alloc(l->net, w->outputs * sizeof *zero);
    float *scale = net_alloc(l->net, w->outputs * sizeof *scale);
    for (uint32_t o = 0; o < w->outputs; o++) {
        zero[o] = (zeros ? (int32_t)onnx_integer(zeros, zeros->count > 1 ? o : 0) : 0) - shift;
        scale[o] = (float)onnx_number(scales, scales->count > 1 ? o : 0);
        if (!(scale[o] > 0) || !isfinite(scale[o]) || zero[o] < -128 || zero[o] > 127)
            return refuse(l, node, "weight scale %g or zero point of output channel %u is out of range", (double)scale[o], o);
        for (uint32_t t = 0; t < taps; t++)
            kept[(size_t)o * taps + t] =
                (int8_t)(onnx_integer(values, transpose ? (size_t)t * w->outputs + o : (size_t)o * taps + t) - shift);
    }
    take_zeros(w, kept, zero, taps);
    w->values = kept;
    w->zeros = zero;
    w->scales = scale;
    return true;
}

bool read_bias(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *bias, struct weights *w) {
    int32_t *kept = net_alloc(l->net, w->outputs * sizeof *kept);
    if (bias && (bias->type != ONNX_INT32 || (bias->count != w->outputs && bias->count != 1)))
        return refuse(l, node, "its bias is not %u int32 constants", w->outputs);
    for (uint32_t o = 0; bias && o < w->outputs; o++) kept[o] = (int32_t)onnx_integer(bias, bias->count > 1 ? o : 0);
    w->bias = kept;
    return true;
}

/* The scale that an int32 bias states is the sum's own, up to rounding in whoever wrote it. Where ONNX Runtime computes in integers it
 * takes it for the sum's own whatever it states. */
static bool bias_in_sum_units(const struct meaning *m, const struct weights *w, float x_scale, float factor, double tolerance) {
    if (m->quantized->type != ONNX_INT32 || factor != 1) return false;
    for (uint32_t o = 0; o < w->outputs; o++) {
        double sum = (double)x_scale * w->scales[o], stated = quantized_scale(m, o);
        if (quantized_zero(m, o) || fabs(stated - sum) > tolerance * fabs(sum)) return false;
    }
    return true;
}

bool read_any_bias(struct lowering *l, struct onnx_node *node, const struct onnx_value *value, float factor, bool round, float x_scale,
                   const struct tail *tail, struct weights *w) {
    if (!value) return read_bias(l, node, NULL, w);
    const struct meaning *m = meaning_of(l, value);
    const struct onnx_tensor *plain = value->constant, *quantized = m ? m->quantized : NULL, *any = plain ? plain : quantized;
    if (!any || (plain && plain->type != ONNX_FLOAT) || (any->count != w->outputs && any->count != 1))
        return refuse(l, node, "its bias is not %u constants", w->outputs);
    if (quantized && any->count == w->outputs &&
        bias_in_sum_units(m, w, x_scale, factor, tail->quantized && !tail->activation_stays ? 1e-3 : 1e-6))
        return read_bias(l, node, quantized, w);
    float *bias = net_alloc(l->net, w->outputs * sizeof *bias);
    for (uint32_t o = 0; o < w->outputs; o++) {
        uint32_t i = any->count > 1 ? o : 0;
        double number =
            plain ? onnx_number(plain, i) : (double)((float)(onnx_integer(quantized, i) - quantized_zero(m, i)) * quantized_scale(m, i));
        bias[o] = (float)number * factor;
        if (!isfinite(bias[o])) return refuse(l, node, "bias %u is not finite", o);
    }
    if (round) {
        weights_float_bias(l->net, w, bias, x_scale);
        return true;
    }
    for (uint32_t o = 0; tail->quantized && o < w->outputs; o++) {
        bias[o] = bias[o] / (tail->q.scales ? tail->q.scales[o] : tail->q.scale);
        if (!isfinite(bias[o])) return refuse(l, node, "bias %u is too large beside the scale of the output: their ratio is infinite", o);
    }
    w->float_bias = bias;
    return read_bias(l, node, NULL, w);
}
