/* SPDX-License-Identifier: MIT */
/* Layers that a quantizer left in float (excluded nodes, squeeze-and-excitation in NNCF): a convolution in float. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

static uint32_t up8(uint32_t n) {
    return (n + 7) / 8 * 8;
}

/* Weights [OC][taps], each output's in the order of the blob, in blocks of eight outputs (core/format.h). */
static float *blocks(struct net *net, const float *values, uint32_t outputs, uint32_t taps, bool each) {
    float *out = net_alloc(net, (size_t)up8(outputs) * taps * sizeof *out);
    for (uint32_t o = 0; o < outputs; o++)
        for (uint32_t k = 0; k < taps; k++)
            out[each ? (size_t)k * up8(outputs) + o : ((size_t)(o / 8) * taps + k) * 8 + o % 8] = values[(size_t)o * taps + k];
    return out;
}

/* Weights [OC, C / groups, kernel...] as [OC][kernel_h][kernel_w][C / groups]. */
static float *ordered(struct net *net, const float *values, uint32_t outputs, uint32_t inputs, uint32_t taps) {
    float *out = net_alloc(net, (size_t)outputs * inputs * taps * sizeof *out);
    for (uint32_t o = 0; o < outputs; o++)
        for (uint32_t i = 0; i < inputs; i++)
            for (uint32_t t = 0; t < taps; t++) out[((size_t)o * taps + t) * inputs + i] = values[((size_t)o * inputs + i) * taps + t];
    return out;
}

/* The bias as one float for each output and the padding; false: refused. *out stays NULL where there is none. */
static bool float_conv_bias(struct lowering *l, struct onnx_node *node, const struct onnx_value *value, uint32_t outputs, float factor,
                            float **out) {
    *out = NULL;
    if (!value) return true;
    const struct onnx_tensor *t = constant_numbers(l, value);
    if (!t || (t->count != outputs && t->count != 1)) return refuse(l, node, "its bias is not %u constants", outputs);
    *out = net_alloc(l->net, up8(outputs) * sizeof **out);
    for (uint32_t o = 0; o < outputs; o++) (*out)[o] = (float)onnx_number(t, t->count > 1 ? o : 0) * factor;
    return true;
}

/* q8 by scale and zero point is read as it is; anything else that is a number becomes float first. */
static bool float_input(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (m->buffer->type == MORSEL_FLOAT32 || (m->dequantized && meaning_is_affine(m))) return true;
    if (!m->dequantized && !m->table) return refuse(l, node, "its input is an integer tensor");
    m->buffer = meaning_float_buffer(l, node, m, &m->view);
    m->table = NULL;
    m->channel_scales = NULL;
    m->channel_zeros = NULL;
    m->dequantized = false;
    return m->buffer != NULL;
}

bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool add_float_conv(struct lowering *l, struct onnx_node *node, struct net_buffer *x, struct net_buffer *y, const struct tail *tail,
                           struct morsel_blob_float_conv p, const float *weights, uint32_t per_output, const float *bias) {
    if (!all_finite(weights, (size_t)y->dims[3] * per_output)) return refuse(l, node, "its weights are not all finite numbers");
    if (bias && !all_finite(bias, y->dims[3])) return refuse(l, node, "its bias is not all finite numbers");
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_FLOAT_CONV, node->name, x, NULL, y);
    uint32_t outputs = y->dims[3];
    p.float_min = tail->float_min;
    p.float_max = tail->float_max;
    p.out_min = tail->quantized ? type_min(tail->q.type) : 0;
    p.out_max = tail->quantized ? type_max(tail->q.type) : 0;
    step->parameters.float_conv = p;
    step->macs = (uint64_t)net_elements(y) * per_output;
    bool each = p.groups == x->dims[3] && p.groups == outputs;
    net_add_constant(step, blocks(l->net, weights, outputs, per_output, each), (size_t)up8(outputs) * per_output * sizeof *weights,
                     offsetof(struct morsel_blob_float_conv, weights));
    if (bias) net_add_constant(step, bias, up8(outputs) * sizeof *bias, offsetof(struct morsel_blob_float_conv, bias));
    l->net->parameter_count += (uint64_t)outputs * per_output + (bias ? outputs : 0);
    if (node_is(node, "Resize")) return true;
    l->first_float = l->float_count++ ? l->first_float : node;
    l->last_float = node;
    return true;
}

bool lower_float_rows(struct lowering *l, struct onnx_node *node, struct net_buffer *x, struct net_buffer *y, const struct tail *tail,
                      const float *weights) {
    const struct morsel_blob_float_conv p = {.window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, .groups = 1};
    return add_float_conv(l, node, x, y, tail, p, weights, x->dims[3], NULL);
}

bool lower_float_conv(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct morsel_blob_conv *window) {
    const struct onnx_tensor *w = constant_numbers(l, onnx_input(node, 1));
    struct meaning x = *m;
    float *bias;
    if (!l->floats_meant) return refuse(l, node, "its weights are float: quantize the model first");
    if (!w || w->type != ONNX_FLOAT) return refuse(l, node, "its weights are not constant");
    uint32_t outputs = (uint32_t)w->shape.dims[0], inputs = (uint32_t)w->shape.dims[1],
             taps = window->window.kernel_h * window->window.kernel_w;
    if (!float_conv_bias(l, node, onnx_input(node, 2), outputs, 1, &bias) || !float_input(l, node, &x)) return false;
    struct tail tail = tail_follow(l, node->outputs[0], TAIL_NO_INTEGER_CLIP);
    struct net_buffer *in = meaning_buffer(l, node, &x, MORSEL_CHANNELS_LAST);
    if (!in) return false;
    struct morsel_blob_float_conv p = {.window = window->window, .groups = window->groups};
    return add_float_conv(l, node, in, tail_buffer(l, &tail, MORSEL_CHANNELS_LAST), &tail, p,
                          ordered(l->net, w->data, outputs, inputs, taps), inputs * taps, bias);
}

/* A product with constant float weights [inputs, outputs] (or transposed), as a convolution 1 x 1 over rows. */
bool lower_float_product(struct lowering *l, struct onnx_node *node, struct meaning *m, bool transposed, float alpha, float beta) {
    const struct onnx_tensor *w = constant_numbers(l, onnx_input(node, 1));
    struct meaning x = *m;
    float *bias;
    if (!l->floats_meant && !onnx_attribute_int(node, ONNX_EXACT_MARK, 0))
        return refuse(l, node, "its weights are float: quantize the model first");
    if (!w || w->type != ONNX_FLOAT || w->shape.rank != 2) return refuse(l, node, "its weights are not a constant of two dimensions");
    uint32_t inputs = (uint32_t)w->shape.dims[transposed ? 1 : 0], outputs = (uint32_t)w->shape.dims[transposed ? 0 : 1];
    uint32_t rows = view_elements(&x.view) / inputs, shape[4] = {rows, inputs, 1, 1};
    if (!float_conv_bias(l, node, node_is(node, "Gemm") ? onnx_input(node, 2) : NULL, outputs, beta, &bias) || !float_input(l, node, &x))
        return false;
    if (!view_reshape(l->net, &x.view, 4, shape, &x.view) &&
        (!meaning_settle(l, node, &x) || !view_reshape(l->net, &x.view, 4, shape, &x.view)))
        return refuse(l, node, "its input cannot be seen as rows of %u", inputs);
    struct net_buffer *in = meaning_buffer(l, node, &x, MORSEL_CHANNELS_LAST);
    if (!in) return false;
    float *weights = net_alloc(l->net, (size_t)outputs * inputs * sizeof *weights);
    for (uint32_t first = 0; first < outputs; first += 8) /* eight at a time, as they lie in a line of the cache */
        for (uint32_t i = 0; i < inputs; i++)
            for (uint32_t o = first; o < outputs && o < first + 8; o++)
                weights[(size_t)o * inputs + i] =
                    ((const float *)w->data)[transposed ? (size_t)o * inputs + i : (size_t)i * outputs + o] * alpha;
    struct tail tail = tail_follow(l, node->outputs[0], TAIL_NO_INTEGER_CLIP);
    struct net_buffer *y = tail_buffer(l, &tail, MORSEL_ROW_MAJOR); /* the same bytes as [rows, 1, 1, outputs] */
    const uint32_t dims[MORSEL_MAX_RANK] = {rows, 1, 1, outputs, 1, 1};
    y->layout = MORSEL_CHANNELS_LAST;
    y->rank = 4;
    memcpy(y->dims, dims, sizeof dims);
    const struct morsel_blob_float_conv p = {.window = {1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, .groups = 1};
    return add_float_conv(l, node, in, y, &tail, p, weights, inputs, bias);
}
