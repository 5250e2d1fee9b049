/* SPDX-License-Identifier: MIT */
/* QuantizeLinear and DequantizeLinear: mostly a change of what bytes stand for; a step only where the numbers change. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

static float same_number(const void *context, uint32_t channel, float x) {
    (void)context, (void)channel;
    return x;
}

/* A new buffer like `in` for the node's output, quantized, and its meaning. */
static struct net_buffer *quantized_like(struct lowering *l, struct onnx_node *node, const struct net_buffer *in, const struct view *view,
                                         const struct quantization *q) {
    struct net_buffer *out = net_add_like(l->net, in, q->type, node->outputs[0]->name);
    out->scale = q->scale;
    out->zero = q->zero;
    out->qualified = true;
    meaning_set(l, node->outputs[0],
                (struct meaning){.buffer = out,
                                 .view = *view,
                                 .scale = q->scale,
                                 .zero = q->zero,
                                 .channel_scales = q->scales,
                                 .channel_zeros = q->zeros});
    return out;
}

/* Bytes to bytes by way of the number that each stands for. */
bool requantize(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct quantization *q) {
    struct view view;
    struct meaning wide = *m;
    if (q->scales && !(wide.table && wide.table_channels > 1) &&
        !set_function(l, node, m, node->outputs[0], same_number, NULL, q->channels, 1))
        return false;
    if (q->scales && !(wide.table && wide.table_channels > 1)) wide = *meaning_of(l, node->outputs[0]);
    if (q->scales && wide.table_axis != 1) return refuse(l, node, "constants by channel along two different axes are not supported");
    struct net_buffer *in = meaning_table_buffer(l, node, &wide, &view);
    if (!in) return false;
    uint32_t channels = wide.table ? wide.table_channels : 1;
    uint8_t *table = net_alloc(l->net, channels * 256);
    struct quantization one = *q;
    for (uint32_t c = 0; c < channels; c++)
        for (int b = 0; b < 256; b++) {
            one.scale = q->scales ? q->scales[c] : q->scale;
            one.zero = q->zeros ? q->zeros[c] : q->zero;
            table[c * 256 + (uint32_t)b] = (uint8_t)quantize_value(meaning_number(&wide, c, b), &one);
        }
    add_lut(l, node, &wide, &view, in, quantized_like(l, node, in, &view, q), table);
    if ((!m->table || m->channel_scales) && !m->stand_in)
        onnx_notice(l->report, "%s: this QuantizeLinear only changes the scale of its input: a table lookup of its own (pair not fused)",
                    node->name);
    return true;
}

static bool quantize_float(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct quantization *q) {
    struct view view;
    struct meaning last = *m;
    if (q->scales && !meaning_channels_last(l, node, &last)) return false;
    struct net_buffer *in = meaning_any_buffer(l, node, &last, &view);
    if (!in) return false;
    struct net_step *step = net_add_identity(l->net, node->name, in, quantized_like(l, node, in, &view, q));
    if (q->scales) { /* y has scale 1: each channel is divided by its own here */
        float *scale = net_alloc(l->net, q->channels * sizeof *scale), *offset = net_alloc(l->net, q->channels * sizeof *offset);
        for (uint32_t c = 0; c < q->channels; c++) {
            scale[c] = 1 / q->scales[c];
            if (!isfinite(scale[c])) return refuse(l, node, "the scale %g of channel %u is too small", (double)q->scales[c], c);
        }
        for (uint32_t c = 0; q->zeros && c < q->channels; c++) offset[c] = (float)q->zeros[c];
        step->parameters.unary.op = MORSEL_UNARY_AFFINE;
        step->parameters.unary.channels = q->channels;
        net_add_constant(step, scale, q->channels * sizeof *scale, offsetof(struct morsel_blob_unary, affine_scale));
        net_add_constant(step, offset, q->channels * sizeof *offset, offsetof(struct morsel_blob_unary, affine_offset));
    }
    if (!l->graph->floats_meant)
        onnx_notice(l->report, "%s: this QuantizeLinear runs as a step of its own: its input %s is float", node->name, in->name);
    return true;
}

static bool same_scales(const struct meaning *m, const struct quantization *q) {
    if (!m->channel_scales || !q->scales) return !m->channel_scales && !q->scales && m->scale == q->scale && !m->table;
    if (!m->channel_zeros != !q->zeros || (q->zeros && memcmp(m->channel_zeros, q->zeros, q->channels * sizeof *q->zeros))) return false;
    return !memcmp(m->channel_scales, q->scales, q->channels * sizeof *q->scales);
}

/* Per tensor, or by channel as NNCF writes it before depthwise convolutions. */
static bool read_either(struct lowering *l, const struct onnx_node *node, enum onnx_type type, struct quantization *q, const char **why) {
    const struct onnx_tensor *scale = onnx_input_constant(node, 1);
    if (scale && scale->count > 1) return read_channel_quantization(l, node, type, q, why);
    return read_quantization(node, 1, 2, type, q, why);
}

bool lower_quantize(struct lowering *l, struct onnx_node *node) {
    const char *why;
    struct quantization q;
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    if (!read_either(l, node, ONNX_UNKNOWN, &q, &why)) return refuse(l, node, "%s", why);
    if (m->buffer->type == MORSEL_FLOAT32) return quantize_float(l, node, m, &q);
    if (!m->dequantized && !m->table) return refuse(l, node, "its input is an integer tensor already");
    if (!same_scales(m, &q) || m->zero != q.zero || m->buffer->type != q.type) return requantize(l, node, m, &q);
    struct meaning made = *m;
    made.dequantized = false;
    made.table = NULL;
    meaning_set(l, node->outputs[0], made);
    return true;
}

/* Weights and biases: kept as they stand, with their scales. */
static bool dequantize_constant(struct lowering *l, struct onnx_node *node, const struct onnx_tensor *constant) {
    struct meaning m = {.quantized = constant, .scales = onnx_input_constant(node, 1), .zeros = onnx_input_constant(node, 2)};
    int rank = constant->shape.rank;
    int64_t axis = onnx_attribute_int(node, "axis", 1);
    if (!m.scales || m.scales->type != ONNX_FLOAT || (onnx_input(node, 2) && !m.zeros))
        return refuse(l, node, "the scale or zero point of a constant is not a constant itself");
    if (constant->type != ONNX_INT8 && constant->type != ONNX_UINT8 && constant->type != ONNX_INT32)
        return refuse(l, node, "constants of 8 bits (weights) and int32 (biases) are supported, not type %d", constant->type);
    bool one = m.scales->count == 1;
    if (!one && (!onnx_axis_of(axis, rank, &m.axis) || (int64_t)m.scales->count != constant->shape.dims[m.axis]))
        return refuse(l, node, "%zu scales do not fit axis %lld of a constant %s", m.scales->count, (long long)axis,
                      shape_text(l, &constant->shape));
    if (m.zeros && m.zeros->count != m.scales->count)
        return refuse(l, node, "%zu zero points for %zu scales", m.zeros->count, m.scales->count);
    if (onnx_attribute_int(node, "block_size", 0)) return refuse(l, node, "blocked quantization (block_size) is not supported");
    meaning_set(l, node->outputs[0], m);
    return true;
}

bool lower_dequantize(struct lowering *l, struct onnx_node *node) {
    const struct onnx_tensor *constant = onnx_input_constant(node, 0);
    const char *why;
    struct quantization q;
    if (constant) return dequantize_constant(l, node, constant);
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    if (!read_either(l, node, node->inputs[0]->type, &q, &why)) return refuse(l, node, "%s", why);
    if (m->buffer->type != q.type || m->dequantized) return refuse(l, node, "its input is not the integer type that its zero point has");
    if (!meaning_qualify(l, node, m, q.scale, q.zero)) return false;
    struct meaning made = *m;
    made.dequantized = true;
    made.channel_scales = q.scales;
    made.channel_zeros = q.zeros;
    if (q.scales) set_channel_table(l, &made);
    meaning_set(l, node->outputs[0], made);
    return true;
}

static bool cast_integers(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    struct net_buffer *out = net_add_like(l->net, in, MORSEL_FLOAT32, node->outputs[0]->name);
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_CAST, node->name, in, NULL, out);
    step->parameters.cast.count = net_elements(in);
    struct meaning made = *m;
    made.buffer = out;
    made.view = view;
    meaning_set(l, node->outputs[0], made);
    return true;
}

/* Each byte stands for its number. */
static bool cast_bytes(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    if (!meaning_qualify(l, node, m, 1, 0)) return false;
    struct meaning made = *m;
    made.dequantized = true;
    meaning_set(l, node->outputs[0], made);
    return true;
}

bool lower_cast(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    if (!m) return false;
    const enum onnx_type from = node->inputs[0]->type;
    if ((from == ONNX_UINT8 || from == ONNX_INT8 || from == ONNX_BOOL) && m->buffer->type != MORSEL_FLOAT32 &&
        node->outputs[0]->type == ONNX_FLOAT)
        return cast_bytes(l, node, m);
    if (m->buffer->type == MORSEL_INT32 && node->outputs[0]->type == ONNX_FLOAT) return cast_integers(l, node, m);
    bool integers =
        (m->buffer->type == MORSEL_INT32 || (m->buffer->type == MORSEL_FLOAT32 && onnx_attribute_int(node, ONNX_EXACT_MARK, 0))) &&
        (node->outputs[0]->type == ONNX_INT32 || node->outputs[0]->type == ONNX_INT64);
    if (node->inputs[0]->type != node->outputs[0]->type && !integers)
        return refuse(
            l, node,
            "only a Cast to the type that its input has already is supported, of integers to float, or of floats to int32 or int64 "
            "that become floats again");
    meaning_set(l, node->outputs[0], *m);
    return true;
}
