/* SPDX-License-Identifier: MIT */
/* What stands between an operator and the QuantizeLinear behind it, taken into the operator's step. */
#include "tools/lower/lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of ONNX's operators, and ONNX Runtime's: another domain may have one of the same name. */
bool node_is(const struct onnx_node *node, const char *op) {
    return node && onnx_is_checked(node) && *node->op == *op && !strcmp(node->op, op) && onnx_operator_of(node);
}

struct onnx_node *only_reader(const struct onnx_value *value) {
    const struct value_slot *slot = value_slot(value);
    return slot->reader_count == 1 && !value->is_output ? slot->readers[0] : NULL;
}

int32_t type_min(enum morsel_type type) {
    return type == MORSEL_INT8 ? -128 : 0;
}

int32_t type_max(enum morsel_type type) {
    return type == MORSEL_INT8 ? 127 : 255;
}

/* QuantizeLinear of one value. */
int32_t quantize_value(float x, const struct quantization *q) {
    float scaled = x / q->scale;
    int32_t low = type_min(q->type), high = type_max(q->type);
    if (isnan(scaled) || scaled <= (float)(low - q->zero)) return low;
    if (scaled >= (float)(high - q->zero)) return high;
    return (int32_t)rintf(scaled) + q->zero;
}

/* A scalar input of Clip; true with `*out` untouched where it is absent. */
static bool clip_input(const struct onnx_node *node, int i, float *out) {
    const struct onnx_value *value = onnx_input(node, i);
    if (!value) return true;
    const struct onnx_tensor *constant = value->constant;
    if (!constant) { /* PyTorch writes bounds as DequantizeLinear of a constant, too */
        const struct meaning *m = value->lowered ? value_slot(value)->meaning : NULL;
        if (!m || !m->quantized || m->quantized->count != 1) return false;
        *out = (float)(onnx_integer(m->quantized, 0) - quantized_zero(m, 0)) * quantized_scale(m, 0);
        return true;
    }
    if (constant->count != 1) return false;
    *out = (float)onnx_number(constant, 0);
    return true;
}

bool clip_bounds(const struct onnx_node *node, float *low, float *high) {
    *low = -INFINITY;
    *high = INFINITY;
    if (node->domain[0]) return false;
    if (node_is(node, "Relu")) {
        *low = 0;
        return true;
    }
    if (!node_is(node, "Clip")) return false;
    *low = onnx_attribute_float(node, "min", -INFINITY);
    *high = onnx_attribute_float(node, "max", INFINITY);
    if (!clip_input(node, 1, low) || !clip_input(node, 2, high) || isnan(*low) || isnan(*high)) return false;
    *low = fminf(*low, *high); /* ONNX: where they cross, everything becomes the upper one */
    return true;
}

int32_t clipped(int32_t byte, float low, float high, enum morsel_type type) {
    float x = fminf(fmaxf((float)byte, low), high);
    return (int32_t)fminf(fmaxf(x, (float)type_min(type)), (float)type_max(type));
}

static bool is_quantize(const struct onnx_node *node) {
    return node_is(node, "QuantizeLinear") && (!node->domain[0] || !strcmp(node->domain, "com.microsoft"));
}

static bool same_quantization(const struct quantization *a, const struct quantization *b) {
    if (a->scale != b->scale || a->zero != b->zero || a->type != b->type || a->channels != b->channels) return false;
    return !a->scales || !memcmp(a->scales, b->scales, a->channels * sizeof *a->scales);
}

/* All readers are QuantizeLinear by the same numbers: the value can live in bytes. */
static bool quantized_alike(struct lowering *l, const struct onnx_value *value, bool channels, struct quantization *q) {
    const struct value_slot *slot = value_slot(value);
    if (!slot->reader_count || value->is_output) return false;
    for (int i = 0; i < slot->reader_count; i++) {
        struct quantization one;
        struct onnx_node *node = slot->readers[i];
        if (!is_quantize(node) || node->inputs[0] != value) return false;
        if (!read_quantization(node, 1, 2, ONNX_UNKNOWN, &one, NULL) &&
            (!channels || !read_channel_quantization(l, node, ONNX_UNKNOWN, &one, NULL) || one.zeros))
            return false;
        if (i && !same_quantization(&one, q)) return false;
        *q = one;
    }
    return true;
}

bool leads_to_quantize(const struct onnx_value *value) {
    const struct onnx_node *node = only_reader(value);
    while (node && onnx_has(node, ONNX_BOUND) && node->inputs[0] == value) {
        value = node->outputs[0];
        node = only_reader(value);
    }
    return node && node_is(node, "QuantizeLinear");
}

/* ONNX Runtime drops a Relu whose QuantizeLinear clips at zero anyway, and a Clip as wide as what can be stored. */
static bool removable(const struct tail *tail) {
    const struct quantization *q = &tail->q;
    float low = (float)(type_min(q->type) - q->zero) * q->scale, high = (float)(type_max(q->type) - q->zero) * q->scale;
    return tail->float_min - low <= FLT_EPSILON && high - tail->float_max <= FLT_EPSILON;
}

/* A constant vector along the last axis, added: what PyTorch's Linear leaves behind a MatMul. */
static const struct onnx_tensor *added_vector(const struct onnx_node *node, const struct onnx_value *to) {
    if (!node_is(node, "Add") || node->domain[0]) return NULL;
    const struct onnx_value *other = node->inputs[node->inputs[0] == to ? 1 : 0];
    const struct onnx_tensor *c = other->constant;
    int rank = to->shape.rank;
    if (!c || c->type != ONNX_FLOAT || rank < 1 || c->shape.rank < 1 || c->shape.rank > rank) return NULL;
    return (int64_t)c->count == to->shape.dims[rank - 1] && c->shape.dims[c->shape.rank - 1] == to->shape.dims[rank - 1] ? c : NULL;
}

/* The same of int32 behind a DequantizeLinear, as `quantize` writes a bias. The pair may stand behind the product. */
static const struct onnx_value *added_whole(struct lowering *l, const struct onnx_node *node, const struct onnx_value *to) {
    if (!node_is(node, "Add") || node->domain[0] || to->shape.rank < 1) return NULL;
    const struct onnx_value *other = node->inputs[node->inputs[0] == to ? 1 : 0];
    struct onnx_node *dequantize = other->producer;
    const struct onnx_tensor *c = node_is(dequantize, "DequantizeLinear") ? onnx_input_constant(dequantize, 0) : NULL;
    if (!c || c->type != ONNX_INT32 || c->shape.rank != 1 || c->shape.dims[0] != to->shape.dims[to->shape.rank - 1]) return NULL;
    if (!meaning_of(l, other)) dequantize->done = lower_dequantize(l, dequantize);
    return meaning_of(l, other) ? other : NULL;
}

/* A float vector along the channels, axis 1, with a dimension of 1 for each behind it. */
static const struct onnx_tensor *added_by_channel(const struct onnx_node *node, const struct onnx_value *to) {
    if (!node_is(node, "Add") || node->domain[0]) return NULL;
    const struct onnx_value *other = node->inputs[node->inputs[0] == to ? 1 : 0];
    const struct onnx_tensor *c = other->constant;
    int axis = c && c->type == ONNX_FLOAT && c->shape.rank <= to->shape.rank ? onnx_varying_axis(c, to->shape.rank) : -2;
    return axis == -1 || (axis == 1 && (int64_t)c->count == to->shape.dims[1]) ? c : NULL;
}

void tail_take_integer_clip(struct tail *tail) {
    struct onnx_node *quantize = only_reader(tail->value), *clip = quantize ? only_reader(quantize->outputs[0]) : NULL;
    float low, high;
    if (!node_is(clip, "Clip") || !clip_bounds(clip, &low, &high)) return;
    tail->out_min = clipped(tail->out_min, low, high, tail->q.type);
    tail->out_max = clipped(tail->out_max, low, high, tail->q.type);
    tail->value = clip->outputs[0];
    tail->dequantized = false;
    quantize->done = clip->done = true;
}

/* The bytes between which an activation leaves the value; false where they differ by channel. */
static bool byte_bounds(struct tail *tail) {
    const struct quantization *q = &tail->q;
    struct quantization one = *q;
    for (uint32_t c = 0; c < (q->scales ? q->channels : 1); c++) {
        one.scale = q->scales ? q->scales[c] : q->scale;
        int32_t low = tail->float_min == -INFINITY ? type_min(q->type) : quantize_value(tail->float_min, &one);
        int32_t high = tail->float_max == INFINITY ? type_max(q->type) : quantize_value(tail->float_max, &one);
        if (c && (low != tail->out_min || high != tail->out_max)) return false;
        tail->out_min = low;
        tail->out_max = high;
    }
    return true;
}

struct tail tail_follow(struct lowering *l, struct onnx_value *value, unsigned wishes) {
    struct tail tail = {.value = value, .dequantized = true, .float_min = -INFINITY, .float_max = INFINITY};
    struct onnx_node *node = only_reader(value), *bias = NULL, *activations[8];
    int count = 0;
    if (node && (wishes & TAIL_BIAS)) tail.bias = added_vector(node, value);
    if (node && (wishes & TAIL_CHANNEL_BIAS)) tail.bias = added_by_channel(node, value);
    if (node && !tail.bias && (wishes & TAIL_WHOLE_BIAS)) tail.whole_bias = added_whole(l, node, value);
    if (tail.bias || tail.whole_bias) {
        bias = node;
        tail.value = node->outputs[0];
        node = only_reader(tail.value);
    }
    struct tail without = tail;
    float low, high;
    while (!(wishes & TAIL_NO_ACTIVATION) && count < 8 && node && clip_bounds(node, &low, &high) && node->inputs[0] == tail.value) {
        tail.float_min = fminf(fmaxf(tail.float_min, low), high);
        tail.float_max = fminf(fmaxf(tail.float_max, low), high);
        tail.activation = true;
        activations[count++] = node;
        tail.value = node->outputs[0];
        node = only_reader(tail.value);
    }
    tail.quantized = !(wishes & TAIL_FLOAT) && quantized_alike(l, tail.value, (wishes & TAIL_CHANNELS) != 0, &tail.q) && byte_bounds(&tail);
    bool stays = tail.activation && (!tail.quantized || !removable(&tail));
    if ((!tail.quantized && (wishes & TAIL_ONLY_QUANTIZED)) || (stays && (wishes & TAIL_ONLY_DROPPED))) {
        tail = without;
        count = 0;
    }
    if (bias) bias->done = true;
    for (int i = 0; i < count; i++) activations[i]->done = true;
    if (!tail.quantized) return tail;
    tail.activation_stays = stays;
    if (!(wishes & (TAIL_NO_ACTIVATION | TAIL_NO_INTEGER_CLIP))) tail_take_integer_clip(&tail);
    return tail;
}

/* What the tail gives, in a buffer seen so. */
static void set_tail(struct lowering *l, const struct tail *tail, struct meaning m) {
    m.dequantized = tail->quantized && tail->dequantized;
    m.channel_scales = tail->quantized ? tail->q.scales : NULL;
    if (m.dequantized && m.channel_scales) set_channel_table(l, &m);
    meaning_set(l, tail->value, m);
}

struct net_buffer *tail_buffer(struct lowering *l, const struct tail *tail, enum morsel_layout layout) {
    struct net_buffer *buffer = tail->quantized ? value_buffer(l, tail->value, tail->q.type, layout, tail->q.scale, tail->q.zero)
                                                : value_buffer(l, tail->value, MORSEL_FLOAT32, layout, 1, 0);
    set_tail(l, tail, meaning_fresh(l, buffer, &tail->value->shape));
    return buffer;
}

struct net_buffer *tail_buffer_like(struct lowering *l, const struct tail *tail, const struct net_buffer *like, const struct view *view) {
    struct net_buffer *buffer =
        net_add_buffer(l->net, tail->quantized ? tail->q.type : MORSEL_FLOAT32, like->layout, like->rank, like->dims, tail->value->name);
    buffer->scale = tail->quantized ? tail->q.scale : 1;
    buffer->zero = tail->quantized ? tail->q.zero : 0;
    buffer->qualified = true;
    struct meaning m = meaning_fresh(l, buffer, &tail->value->shape);
    m.view = *view;
    set_tail(l, tail, m);
    return buffer;
}
