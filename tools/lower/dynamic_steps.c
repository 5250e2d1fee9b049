/* SPDX-License-Identifier: MIT */
/* The steps of dynamic quantization: the ends of a tensor, its numbers, its bytes, and the convolution or product of those. */
#include "core/kind.h"
#include "tools/lower/dynamic.h"

#include <math.h>
#include <string.h>

/* Work is shared by pieces: at most so many of a tensor, and none shorter. */
#define MOST_PIECES 64u
#define LEAST_PIECE 4096u

static uint32_t up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

static uint32_t piece_of(uint32_t elements) {
    uint32_t count = up((elements - 1) / MOST_PIECES + 1, 16);
    return count < LEAST_PIECE ? LEAST_PIECE : count;
}

struct found *dynamic_find(struct lowering *l, struct onnx_node *node, struct meaning *m, bool by_line, struct meaning *bytes) {
    struct meaning x = *m;
    if (m->buffer->type != MORSEL_FLOAT32 && !m->dequantized && !m->table) {
        refuse(l, node, "its input is an integer tensor already");
        return NULL;
    }
    struct net_buffer *in = meaning_float_buffer(l, node, &x, &x.view);
    if (!in) return NULL;
    x.buffer = in;
    if (by_line) {
        in = meaning_buffer(l, node, &x, MORSEL_ROW_MAJOR);
        if (!in) return NULL;
        x.view = view_whole(l->net, MORSEL_ROW_MAJOR, x.view.rank, x.view.dims);
    }
    uint32_t elements = net_elements(in), line = by_line ? x.view.dims[x.view.rank - 1] : elements;
    struct found *found = net_alloc(l->net, sizeof *found);
    *found = (struct found){.x = in, .lines = elements / line, .name = node->name};
    found->count = found->lines > 1 ? line : piece_of(elements);
    found->ends = net_add_buffer(l->net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, 2, (uint32_t[]){(elements - 1) / found->count + 1, 2},
                                 net_text(l->net, "%s/ends", node->name));
    found->bytes = net_add_like(l->net, in, MORSEL_UINT8, net_text(l->net, "%s/bytes", node->name));
    found->bytes->qualified = true;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_RANGE, node->name, in, NULL, found->ends);
    step->parameters.range.count = found->count;
    found->meaning = *bytes = (struct meaning){.buffer = found->bytes, .view = x.view, .scale = 1};
    return found;
}

static void add_quantize(struct lowering *l, struct found *found, struct net_buffer *numbers) {
    if (found->quantized) return;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_QUANTIZE, found->name, found->x, numbers, found->bytes);
    step->parameters.quantize = (struct morsel_blob_quantize){.lines = found->lines, .count = found->count};
    found->quantized = true;
}

/* FACTORS of so many outputs, at their places among `channels`; with them the bytes are written. */
static struct net_buffer *add_numbers(struct lowering *l, struct found *found, uint32_t channels, const float *factor, const float *bias) {
    const uint32_t lines[2] = {found->lines, 2}, one[1] = {MORSEL_FORMAT_NUMBERS + 2 * channels};
    struct net_buffer *numbers = net_add_buffer(l->net, MORSEL_FLOAT32, MORSEL_ROW_MAJOR, found->lines > 1 ? 2 : 1,
                                                found->lines > 1 ? lines : one, net_text(l->net, "%s/numbers", found->name));
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_FACTORS, found->name, found->ends, NULL, numbers);
    step->parameters.factors = (struct morsel_blob_factors){.lines = found->lines, .channels = channels};
    if (channels) net_add_constant(step, factor, channels * sizeof *factor, offsetof(struct morsel_blob_factors, factor));
    if (bias) net_add_constant(step, bias, channels * sizeof *bias, offsetof(struct morsel_blob_factors, bias));
    add_quantize(l, found, numbers);
    return numbers;
}

struct net_buffer *dynamic_plain_numbers(struct lowering *l, struct found *found) {
    if (!found->plain) found->plain = add_numbers(l, found, 0, NULL, NULL);
    return found->plain;
}

/* A constant of one number or one for each output, where the outputs stand among the channels. */
static float *spread(struct lowering *l, const struct onnx_tensor *t, const struct weights *w, bool depthwise, uint32_t channels) {
    uint32_t outputs = w->outputs / w->groups, wide = up(outputs, 16);
    float *to = net_alloc(l->net, channels * sizeof *to);
    for (uint32_t o = 0; o < w->outputs; o++)
        to[depthwise ? o : o / outputs * wide + o % outputs] = (float)onnx_number(t, t->count > 1 ? o : 0);
    return to;
}

/* FACTORS for the step's channels; by lines each output's factor is the step's own. */
static struct net_buffer *numbers_of(struct lowering *l, struct found *found, const struct weights *w, bool depthwise,
                                     const struct sums_end *end) {
    if (found->lines > 1) return dynamic_plain_numbers(l, found);
    uint32_t channels = depthwise ? up(w->outputs, 16) : w->groups * up(w->outputs / w->groups, 16);
    return add_numbers(l, found, channels, spread(l, end->factor, w, depthwise, channels),
                       end->bias ? spread(l, end->bias, w, depthwise, channels) : NULL);
}

static bool is_finite(const struct onnx_tensor *t) {
    for (size_t i = 0; i < t->count; i++)
        if (!isfinite((float)onnx_number(t, i))) return false;
    return true;
}

static bool read_constants(struct lowering *l, const struct sums *sums, const struct sums_end *end, struct weights *w) {
    if (!is_finite(end->factor) || (end->bias && !is_finite(end->bias)))
        return refuse(l, sums->node, "the factors or the bias behind its sums hold a NaN or an infinity");
    if (!read_weights(l, sums->node, sums->weights, end->factor, sums->zeros, !sums->is_conv && !sums->outputs_first, w)) return false;
    if (!read_bias(l, sums->node, NULL, w) || !end->float_bias) return w->bias != NULL;
    struct onnx_value bias = {.constant = end->float_bias, .lowered = net_alloc(l->net, sizeof(struct value_slot))};
    return read_any_bias(l, sums->node, &bias, 1, false, 1, &end->tail, w);
}

static struct morsel_blob_sums sums_record(const struct tail *tail) {
    return (struct morsel_blob_sums){.float_min = tail->float_min, .float_max = tail->float_max};
}

static bool add_conv(struct lowering *l, struct found *found, const struct sums *sums, const struct sums_end *end) {
    struct weights w = sums->geometry;
    struct morsel_blob_conv p = sums->conv;
    struct meaning m = sums->x;
    bool depthwise = conv_is_depthwise(&p, &w);
    if (!read_constants(l, sums, end, &w)) return false;
    struct net_buffer *y = tail_buffer(l, &end->tail, MORSEL_CHANNELS_LAST);
    l->net->parameter_count += (uint64_t)w.outputs * w.inputs * w.kernel_h * w.kernel_w + w.outputs;
    uint64_t macs = (uint64_t)net_elements(y) * w.inputs * w.kernel_h * w.kernel_w;
    if (!depthwise) conv_join_groups(l, &p, &w);
    struct net_buffer *numbers = numbers_of(l, found, &w, depthwise, end), *x = meaning_buffer(l, sums->node, &m, MORSEL_CHANNELS_LAST);
    if (!x) return false;
    conv_trim_window(l, x->dims, y->dims, &p.window, &w);
    struct net_step *step =
        net_add_step(l->net, depthwise ? MORSEL_STEP_DYNAMIC_DEPTHWISE : MORSEL_STEP_DYNAMIC_CONV, sums->node->name, x, numbers, y);
    p.sums = sums_record(&end->tail);
    step->parameters.conv = p;
    step->macs = macs;
    if (p.window.pad_top || p.window.pad_bottom) step->scratch_bytes = up(x->dims[2] * x->dims[3], 4);
    return pack_weights(l, sums->node, step, &w, x, w.scales);
}

static bool add_product(struct lowering *l, struct found *found, const struct sums *sums, const struct sums_end *end) {
    struct weights w = sums->geometry;
    struct meaning m = sums->x;
    if (!read_constants(l, sums, end, &w)) return false;
    struct net_buffer *y = tail_buffer(l, &end->tail, MORSEL_ROW_MAJOR), *numbers = numbers_of(l, found, &w, false, end);
    struct net_buffer *x = product_fold_order(l, &m, &w) ? m.buffer : meaning_buffer(l, sums->node, &m, MORSEL_ROW_MAJOR);
    if (!x) return false;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_DYNAMIC_FC, sums->node->name, x, numbers, y);
    step->parameters.fc = (struct morsel_blob_fc){.rows = net_elements(y) / w.outputs,
                                                  .inputs = w.inputs,
                                                  .outputs = w.outputs,
                                                  .sums = sums_record(&end->tail)};
    step->macs = (uint64_t)net_elements(y) * w.inputs;
    l->net->parameter_count += (uint64_t)w.outputs * w.inputs + w.outputs;
    return pack_weights(l, sums->node, step, &w, x, w.scales);
}

bool dynamic_add(struct lowering *l, struct found *found, const struct sums *sums, const struct sums_end *end) {
    return (sums->is_conv ? add_conv : add_product)(l, found, sums, end);
}
