/* SPDX-License-Identifier: MIT */
/* Weights and channel constants in the blob's layout: [groups][blocks of 16 outputs][K / 4][16][4], see core/format.h. */
#include "core/kind.h"
#include "tools/lower/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

static int8_t weight_at(const struct weights *w, uint32_t o, uint32_t i, uint32_t y, uint32_t x) {
    return w->values[((size_t)(o * w->inputs + i) * w->kernel_h + y) * w->kernel_w + x];
}

/* Where element (o of the group, y, x, i) goes in a group's block of K padded inputs. */
static size_t dense_place(const struct weights *w, uint32_t o, uint32_t y, uint32_t x, uint32_t i) {
    uint32_t row = up(w->kernel_w * w->inputs, 4), k = y * row + x * w->inputs + i;
    return (((size_t)(o / 16) * (w->kernel_h * row / 4) + k / 4) * 16 + o % 16) * 4 + k % 4;
}

static int8_t *pack_dense(struct net *net, const struct weights *w, size_t *bytes) {
    uint32_t outputs = w->outputs / w->groups, wide = up(outputs, 16), k = w->kernel_h * up(w->kernel_w * w->inputs, 4);
    size_t group_bytes = (size_t)wide * k;
    *bytes = group_bytes * w->groups;
    int8_t *packed = net_alloc(net, *bytes);
    for (uint32_t o = 0; o < w->outputs; o++) {
        int8_t *group = packed + o / outputs * group_bytes;
        uint32_t in_group = o % outputs;
        for (uint32_t q = 0; q < k / 4; q++) /* padding is the weight zero, so that it adds nothing */
            memset(group + (((size_t)(in_group / 16) * (k / 4) + q) * 16 + in_group % 16) * 4, w->zeros[o], 4);
        for (uint32_t y = 0; y < w->kernel_h; y++)
            for (uint32_t x = 0; x < w->kernel_w; x++)
                for (uint32_t i = 0; i < w->inputs; i++) group[dense_place(w, in_group, y, x, i)] = weight_at(w, o, i, y, x);
    }
    return packed;
}

/* [blocks of 16 channels][kernel_w][pad4(kernel_h) / 4][16][4 ky] */
static int8_t *pack_depthwise(struct net *net, const struct weights *w, size_t *bytes) {
    uint32_t quads = up(w->kernel_h, 4) / 4;
    *bytes = (size_t)up(w->outputs, 16) * w->kernel_w * quads * 4;
    int8_t *packed = net_alloc(net, *bytes);
    for (uint32_t c = 0; c < w->outputs; c++)
        for (uint32_t x = 0; x < w->kernel_w; x++)
            for (uint32_t y = 0; y < quads * 4; y++)
                packed[((((size_t)(c / 16) * w->kernel_w + x) * quads + y / 4) * 16 + c % 16) * 4 + y % 4] =
                    y < w->kernel_h ? weight_at(w, c, 0, y, x) : (int8_t)w->zeros[c];
    return packed;
}

/* The ends of a channel's sum, for inputs from -low to high. */
struct reach {
    int64_t least, most;
};

static struct reach sum_reach(const struct weights *w, uint32_t o, int64_t low, int64_t high) {
    size_t taps = (size_t)w->inputs * w->kernel_h * w->kernel_w;
    struct reach r = {0, 0};
    for (size_t t = 0; t < taps; t++) {
        int64_t v = (int64_t)w->values[o * taps + t] - w->zeros[o];
        r.most += v > 0 ? v * high : -v * low;
        r.least -= v > 0 ? v * low : -v * high;
    }
    return r;
}

/* A sum must fit int32. With its bias it may wrap: a channel with hardly any weight has a bias near the end of int32, from quantizers that
 * choose its scale so. Kernels wrap as ONNX Runtime does. `found`: x's zero point is found at run time. */
static bool sum_fits(struct lowering *l, struct onnx_node *node, const struct weights *w, uint32_t o, const struct net_buffer *x,
                     bool found, bool *told) {
    const struct reach r = sum_reach(w, o, found ? 255 : x->zero - type_min(x->type), found ? 255 : type_max(x->type) - x->zero);
    if (r.most > INT32_MAX || r.least < -INT32_MAX)
        return refuse(l, node, "output channel %u could leave the range of int32 in its sum", o);
    if ((r.most + w->bias[o] > INT32_MAX || r.least + w->bias[o] < INT32_MIN) && !*told) {
        onnx_notice(l->report,
                    "%s (%s): the bias of output channel %u lies so near the end of int32 that its sum could wrap, as it does in "
                    "ONNX Runtime",
                    node->name, node->op, o);
        *told = true;
    }
    return true;
}

static int32_t channel_sum(const struct weights *w, uint32_t o, uint32_t padded_taps) {
    size_t taps = (size_t)w->inputs * w->kernel_h * w->kernel_w;
    int32_t sum = (int32_t)(padded_taps - taps) * w->zeros[o];
    for (size_t t = 0; t < taps; t++) sum += w->values[o * taps + t];
    return sum;
}

/* Weights of a channel that are bytes without their zero point, too, do without: most are, where quantizers choose one for all channels. */
static void fold_zeros(struct net *net, struct weights *w) {
    size_t taps = (size_t)w->inputs * w->kernel_h * w->kernel_w;
    int8_t *values = net_alloc(net, w->outputs * taps);
    int32_t *zeros = net_alloc(net, w->outputs * sizeof *zeros);
    memcpy(values, w->values, w->outputs * taps);
    memcpy(zeros, w->zeros, w->outputs * sizeof *zeros);
    for (uint32_t o = 0; o < w->outputs; o++) {
        int8_t *v = values + o * taps;
        int32_t least = 0, most = 0;
        for (size_t t = 0; t < taps; t++) {
            least = v[t] - zeros[o] < least ? v[t] - zeros[o] : least;
            most = v[t] - zeros[o] > most ? v[t] - zeros[o] : most;
        }
        if (least < INT8_MIN || most > INT8_MAX) continue;
        for (size_t t = 0; t < taps; t++) v[t] = (int8_t)(v[t] - zeros[o]);
        zeros[o] = 0;
    }
    w->values = values;
    w->zeros = zeros;
}

struct columns {
    int32_t *bias, *sum, *zero;
    float *multiplier, *float_bias;
    bool any_zero;
    size_t bytes;
};

static void put_columns(struct net_step *step, const struct columns *c, bool with_float_bias) {
    size_t sums = net_sums(step);
    net_add_constant(step, c->bias, c->bytes, sums + offsetof(struct morsel_blob_sums, bias));
    net_add_constant(step, c->multiplier, c->bytes, sums + offsetof(struct morsel_blob_sums, multiplier));
    net_add_constant(step, c->sum, c->bytes, sums + offsetof(struct morsel_blob_sums, weight_sum));
    if (c->any_zero) net_add_constant(step, c->zero, c->bytes, sums + offsetof(struct morsel_blob_sums, weight_zero));
    if (with_float_bias) net_add_constant(step, c->float_bias, c->bytes, sums + offsetof(struct morsel_blob_sums, float_bias));
}

bool pack_weights(struct lowering *l, struct onnx_node *node, struct net_step *step, struct weights *w, const struct net_buffer *x,
                  const float *multiplier) {
    bool depthwise = morsel_kind_base(step->kind) == MORSEL_STEP_DEPTHWISE, found = morsel_kinds[step->kind]->numbers != 0;
    uint32_t outputs = w->outputs / w->groups, wide = depthwise ? 0 : up(outputs, 16);
    uint32_t count = depthwise ? up(w->outputs, 16) : w->groups * wide;
    uint32_t padded_taps = depthwise ? w->kernel_w * up(w->kernel_h, 4) : w->kernel_h * up(w->kernel_w * w->inputs, 4);
    struct columns c = {.bytes = count * sizeof(int32_t)};
    c.bias = net_alloc(l->net, c.bytes);
    c.sum = net_alloc(l->net, c.bytes);
    c.zero = net_alloc(l->net, c.bytes);
    c.multiplier = net_alloc(l->net, c.bytes);
    c.float_bias = net_alloc(l->net, c.bytes);
    bool told = false;
    fold_zeros(l->net, w);
    for (uint32_t o = 0; o < w->outputs; o++) {
        uint32_t at = depthwise ? o : o / outputs * wide + o % outputs;
        if (!sum_fits(l, node, w, o, x, found, &told)) return false;
        if (!isfinite(multiplier[o])) return refuse(l, node, "output channel %u has a scale ratio that is not finite", o);
        c.bias[at] = w->bias[o];
        c.sum[at] = channel_sum(w, o, padded_taps);
        c.zero[at] = w->zeros[o];
        c.multiplier[at] = multiplier[o];
        c.float_bias[at] = w->float_bias ? w->float_bias[o] : 0;
        c.any_zero = c.any_zero || w->zeros[o];
    }
    size_t bytes;
    int8_t *packed = depthwise ? pack_depthwise(l->net, w, &bytes) : pack_dense(l->net, w, &bytes);
    net_add_constant(step, packed, bytes, net_sums(step) + offsetof(struct morsel_blob_sums, weights));
    put_columns(step, &c, w->float_bias != NULL);
    if (!found) net_add_proofs(l->net, step);
    return true;
}

/* A float bias in units of the sum, rounded in float as ONNX Runtime does. Where it does not fit, in a channel with almost no weight, the
 * channel's scale grows by powers of two. Its weights shrink with it. */
static int32_t fitted_bias(struct weights *w, uint32_t o, float bias, float x_scale, int8_t *values, float *scales) {
    size_t taps = (size_t)w->inputs * w->kernel_h * w->kernel_w;
    if (bias == 0) return 0;
    while (fabsf(bias / (x_scale * scales[o])) > (1 << 30) && isfinite(scales[o])) {
        scales[o] *= 2;
        for (size_t t = 0; t < taps; t++) values[o * taps + t] = (int8_t)(w->zeros[o] + (values[o * taps + t] - w->zeros[o]) / 2);
    }
    return isfinite(scales[o]) ? (int32_t)rintf(bias / (x_scale * scales[o])) : 0; /* or pack_weights() refuses it */
}

void weights_float_bias(struct net *net, struct weights *w, const float *bias, float x_scale) {
    size_t count = (size_t)w->outputs * w->inputs * w->kernel_h * w->kernel_w;
    int8_t *values = net_alloc(net, count);
    float *scales = net_alloc(net, w->outputs * sizeof *scales);
    int32_t *rounded = net_alloc(net, w->outputs * sizeof *rounded);
    memcpy(values, w->values, count);
    memcpy(scales, w->scales, w->outputs * sizeof *scales);
    for (uint32_t o = 0; o < w->outputs; o++) rounded[o] = fitted_bias(w, o, bias[o], x_scale, values, scales);
    w->values = values;
    w->scales = scales;
    w->bias = rounded;
}
