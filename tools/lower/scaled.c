/* SPDX-License-Identifier: MIT */
/* Factors and offsets by channel between a convolution and its QuantizeLinear, as training with fake quantization leaves them: they go into
 * the convolution's multipliers and biases. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

/* A constant of floats for each channel, or one for all; NULL: it is something else. */
static const struct onnx_tensor *by_channel(const struct onnx_node *node, int i, int rank, uint32_t channels) {
    const struct onnx_tensor *t = onnx_input_constant(node, i);
    if (!t || t->type != ONNX_FLOAT || t->shape.rank > rank) return NULL;
    int axis = onnx_varying_axis(t, rank);
    return (axis == -1 && t->count == 1) || (axis == 1 && t->count == channels) ? t : NULL;
}

static double number(const struct onnx_tensor *t, uint32_t c) {
    return onnx_number(t, t->count > 1 ? c : 0);
}

/* Mul, Div, Add, Sub of the value and a constant. */
static bool add_arithmetic(struct scaled *s, const struct onnx_node *node) {
    bool product = node_is(node, "Mul"), quotient = node_is(node, "Div"), sum = node_is(node, "Add"), rest = node_is(node, "Sub");
    if (node->domain[0] || node->input_count != 2 || !(product || quotient || sum || rest)) return false;
    int other = node->inputs[0] == s->value ? 1 : 0;
    if (!other && (quotient || rest)) return false;
    const struct onnx_tensor *t = by_channel(node, other, s->value->shape.rank, s->channels);
    for (uint32_t c = 0; t && c < s->channels; c++) {
        double v = number(t, c), factor = product ? v : quotient ? 1 / v : 1;
        s->scale[c] *= factor;
        s->offset[c] = s->offset[c] * factor + (sum ? v : rest ? -v : 0);
    }
    return t != NULL;
}

/* Constants of the four vectors of a BatchNormalization. */
static bool add_batch_norm(struct scaled *s, const struct onnx_node *node) {
    const struct onnx_tensor *t[4];
    if (!node_is(node, "BatchNormalization") || node->domain[0] || node->inputs[0] != s->value) return false;
    if (onnx_attribute_int(node, "training_mode", 0)) return false;
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->uses) return false;
    for (int i = 0; i < 4; i++) {
        t[i] = onnx_input_constant(node, i + 1);
        if (!t[i] || t[i]->type != ONNX_FLOAT || t[i]->count != s->channels) return false;
    }
    double epsilon = (double)onnx_attribute_float(node, "epsilon", 1e-5F);
    for (uint32_t c = 0; c < s->channels; c++) {
        double factor = number(t[0], c) / sqrt(number(t[3], c) + epsilon);
        s->scale[c] *= factor;
        s->offset[c] = (s->offset[c] - number(t[2], c)) * factor + number(t[1], c);
    }
    return true;
}

static bool is_finite(const struct scaled *s) {
    for (uint32_t c = 0; c < s->channels; c++)
        if (!isfinite((float)s->scale[c]) || !isfinite((float)s->offset[c])) return false;
    return true;
}

struct scaled scaled_follow(struct lowering *l, struct onnx_value *value, uint32_t channels) {
    struct scaled s = {.value = value, .channels = channels}, none = s;
    struct onnx_node *node = only_reader(value), *taken[8];
    int count = 0;
    s.scale = net_alloc(l->net, channels * sizeof *s.scale);
    s.offset = net_alloc(l->net, channels * sizeof *s.offset);
    for (uint32_t c = 0; c < channels; c++) s.scale[c] = 1;
    for (; node && count < 8 && (add_arithmetic(&s, node) || add_batch_norm(&s, node)); count++) {
        taken[count] = node;
        s.value = node->outputs[0];
        node = only_reader(s.value);
    }
    if (!count || !leads_to_quantize(s.value) || !is_finite(&s)) return none;
    for (int i = 0; i < count; i++) taken[i]->done = true;
    return s;
}

bool scaled_apply(struct lowering *l, struct onnx_node *node, const struct scaled *s, const struct tail *tail, struct weights *w) {
    if (!s->scale) return true;
    float *scales = net_alloc(l->net, s->channels * sizeof *scales), *bias = net_alloc(l->net, s->channels * sizeof *bias);
    for (uint32_t c = 0; c < s->channels; c++) {
        double step = tail->quantized ? (double)(tail->q.scales ? tail->q.scales[c] : tail->q.scale) : 1;
        scales[c] = (float)((double)w->scales[c] * s->scale[c]);
        bias[c] = (float)((w->float_bias ? (double)w->float_bias[c] * s->scale[c] : 0) + s->offset[c] / step);
        if (!isfinite(bias[c])) return refuse(l, node, "bias %u is too large beside the scale of the output: their ratio is infinite", c);
    }
    w->scales = scales;
    w->float_bias = bias;
    return true;
}
