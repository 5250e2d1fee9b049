/* SPDX-License-Identifier: MIT */
/* What convolutions, pools and matrix products mean, one output at a time: plain C is compared with these. */
#include "check.h"
#include "kernels/requant.h"

#include <math.h>

/* Weight k of output o in blocks [taps / 4][16][4]. */
static int32_t weight_at(const int8_t *weights, uint32_t taps, uint32_t o, uint32_t k) {
    return weights[(size_t)(o / 16) * taps * 16 + (size_t)(k / 4) * 64 + o % 16 * 4 + k % 4];
}

static int32_t byte_at(const struct morsel_qparams *qparams, const uint8_t *x) {
    return (int32_t)(*x ^ qparams->sign_flip) - qparams->zero;
}

/* Channel `channel` of the constants. */
static void store(const struct morsel_output *y, size_t i, uint32_t sum, const struct morsel_channels *c, uint32_t channel) {
    const float *bias = c->float_bias ? &c->float_bias[channel] : NULL;
    morsel_store_sum(y, i, morsel_signed(sum + (uint32_t)c->bias[channel]), c->multiplier[channel], bias);
}

static int32_t zero_of(const struct morsel_channels *c, uint32_t channel) {
    return c->weight_zero ? c->weight_zero[channel] : 0;
}

/* Column kx of the window of output column ox, or false. */
static bool column(const struct morsel_window *w, uint32_t ox, uint32_t kx, size_t *ix) {
    int64_t at = (int64_t)ox * w->stride_w + (int64_t)kx * w->dilation_w - w->pad_left;
    *ix = (size_t)at;
    return at >= 0 && at < w->in_w;
}

typedef void output_fn(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i);

static void for_outputs(const struct morsel_window *w, const uint8_t *const *rows, uint32_t y, uint32_t n, output_fn *fn,
                        const void *args) {
    for (uint32_t oy = 0; oy < n; oy++)
        for (uint32_t ox = 0; ox < w->out_w; ox++)
            for (uint32_t c = 0; c < w->out_c; c++)
                fn(args, rows + (size_t)oy * w->kernel_h, (y + oy) % w->out_h, ox, c, ((size_t)(y + oy) * w->out_w + ox) * w->out_c + c);
}

static void conv_output(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i) {
    const struct morsel_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t depth = w->in_c / a->groups, outs = w->out_c / a->groups, group = channel / outs;
    uint32_t row_k = (w->kernel_w * depth + 3) / 4 * 4, o = group * ((outs + 15) / 16 * 16) + channel % outs, sum = 0;
    size_t ix;
    (void)oy;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            for (uint32_t c = 0; c < depth && column(w, ox, kx, &ix); c++) {
                int32_t v = weight_at(a->weights, w->kernel_h * row_k, o, ky * row_k + kx * depth + c) - zero_of(&a->channels, o);
                sum += (uint32_t)(byte_at(&a->x.qparams, rows[ky] + ix * w->in_c + group * depth + c) * v);
            }
        }
    }
    store(&a->y, i, sum, &a->channels, o);
}

static void conv(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for_outputs(&a->window, rows, y, n, conv_output, a);
}

static void depthwise_output(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i) {
    const struct morsel_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t high = (w->kernel_h + 3) / 4 * 4, sum = 0;
    size_t ix;
    (void)oy;
    for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
        for (uint32_t ky = 0; ky < w->kernel_h && column(w, ox, kx, &ix); ky++) {
            int32_t v = weight_at(a->weights, w->kernel_w * high, channel, kx * high + ky) - zero_of(&a->channels, channel);
            sum += (uint32_t)(byte_at(&a->x.qparams, rows[ky] + ix * w->in_c + channel) * v);
        }
    }
    store(&a->y, i, sum, &a->channels, channel);
}

static void depthwise(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for_outputs(&a->window, rows, y, n, depthwise_output, a);
}

/* The order of the additions is part of the meaning: ky, kx, channel, each sum rounded to float, then the bias. */
/* By the definition of binary16. */
static float from_half(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double fraction = exponent ? 1024 + (bits & 1023) : bits & 1023;
    return (float)ldexp(bits >> 15 ? -fraction : fraction, (exponent ? exponent : 1) - 25);
}

/* Weight k of an output. */
static float float_weight(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t k) {
    const struct morsel_window *w = &a->window;
    uint32_t taps = w->kernel_h * w->kernel_w * (w->in_c / a->groups);
    size_t at = (size_t)(channel / 8) * taps * 8 + (size_t)k * 8 + channel % 8;
    if (a->groups == w->in_c && a->groups == w->out_c) at = (size_t)k * ((w->out_c + 7) / 8 * 8) + channel;
    return a->half ? from_half(((const uint16_t *)a->weights)[at]) : ((const float *)a->weights)[at];
}

static void float_conv_output(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i) {
    const struct morsel_float_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t depth = w->in_c / a->groups, group = channel / (w->out_c / a->groups);
    float sum = 0;
    size_t ix;
    (void)oy;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            const struct morsel_input row = {rows[ky], a->x.qparams};
            for (uint32_t c = 0; c < depth && rows[ky] && column(w, ox, kx, &ix); c++)
                sum += morsel_load_float(&row, ix * w->in_c + group * depth + c) *
                       float_weight(a, channel, (ky * w->kernel_w + kx) * depth + c);
        }
    }
    morsel_store_float(&a->y, i, a->bias ? sum + a->bias[channel] : sum);
}

static void float_conv(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for_outputs(&a->window, rows, y, n, float_conv_output, a);
}

/* ---- pools ---- */

static uint32_t cells_within(uint32_t start, uint32_t kernel, uint32_t padded) {
    if (start >= padded) return 0;
    return padded - start < kernel ? padded - start : kernel;
}

/* The sum in row-major order in float; the divisor counts padding as ONNX Runtime does. */
static void average_output(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i) {
    const struct morsel_pool_args *a = args;
    const struct morsel_window *w = &a->window;
    const struct morsel_output *y = &a->y;
    uint32_t count = 0;
    float sum = 0;
    size_t ix;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const struct morsel_input row = {rows[ky], a->x.qparams};
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            if (!rows[ky] || !column(w, ox, kx, &ix)) continue;
            sum += morsel_load_float(&row, ix * w->in_c + channel);
            count++;
        }
    }
    if (a->count_include_pad && !a->x.qparams.is_float) count = w->kernel_h * w->kernel_w;
    else if (a->count_include_pad)
        count = cells_within(oy * w->stride_h, w->kernel_h, a->padded_h) * cells_within(ox * w->stride_w, w->kernel_w, a->padded_w);
    float mean = count ? sum / (float)count : 0;
    if (y->qparams.is_float) {
        morsel_store_float(y, i, mean);
        return;
    }
    int32_t own = y->qparams.own;
    float steps = mean / y->qparams.scale + (float)(y->qparams.zero - own);
    if (steps != steps) steps = (float)(y->qparams.zero - own);
    int32_t u = morsel_round(morsel_clamp(steps, (float)(y->out_min - own), (float)(y->out_max - own))) + own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->qparams.sign_flip);
}

static void average_pool(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for_outputs(&a->window, rows, y, n, average_output, a);
}

static void max_output(const void *args, const uint8_t *const *rows, uint32_t oy, uint32_t ox, uint32_t channel, size_t i) {
    const struct morsel_pool_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t most = (uint32_t)a->y.out_min;
    float float_most = a->y.float_min;
    size_t ix;
    (void)oy;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            if (!rows[ky] || !column(w, ox, kx, &ix)) continue;
            ix = ix * w->in_c + channel;
            if (a->y.qparams.is_float) {
                float v = ((const float *)(const void *)rows[ky])[ix];
                if (v > float_most) float_most = v;
            } else if ((rows[ky][ix] ^ a->x.qparams.sign_flip) > most) {
                most = rows[ky][ix] ^ a->x.qparams.sign_flip;
            }
        }
    }
    if (most > (uint32_t)a->y.out_max) most = (uint32_t)a->y.out_max;
    if (a->y.qparams.is_float) ((float *)a->y.data)[i] = float_most;
    else ((uint8_t *)a->y.data)[i] = (uint8_t)(most ^ a->y.qparams.sign_flip);
}

static void max_pool(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for_outputs(&a->window, rows, y, n, max_output, a);
}

/* ---- matrix products ---- */

static void fc(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    uint32_t taps = (a->inputs + 3) / 4 * 4;
    for (uint32_t u = begin; u < end; u++) {
        const uint8_t *x = (const uint8_t *)a->x.data + (size_t)(u / a->blocks) * a->inputs;
        for (uint32_t o = u % a->blocks * 16; o < a->outputs && o / 16 == u % a->blocks; o++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < a->inputs; k++)
                sum += (uint32_t)(byte_at(&a->x.qparams, x + k) * (weight_at(a->weights, taps, o, k) - zero_of(&a->channels, o)));
            store(&a->y, (size_t)(u / a->blocks) * a->outputs + o, sum, &a->channels, o);
        }
    }
}

static void matmul(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t batch = u / a->rows;
        size_t a_start = (size_t)(batch / a->a_divide % a->a_batch) * a->rows + u % a->rows;
        size_t b_start = (size_t)(batch / a->b_divide % a->b_batch) * a->inner;
        const uint8_t *x = (const uint8_t *)a->a.data + a_start * a->inner;
        const uint8_t *w = (const uint8_t *)a->b.data + b_start * a->columns;
        for (uint32_t c = 0; c < a->columns; c++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < a->inner; k++)
                sum += (uint32_t)(byte_at(&a->a.qparams, x + k) * byte_at(&a->b.qparams, w + (size_t)k * a->columns + c));
            morsel_store_sum(&a->y, (size_t)u * a->columns + c, morsel_signed(sum), a->multiplier, NULL);
        }
    }
}

void reference_matrix(struct morsel_kernels *table) {
    table->conv = conv;
    table->depthwise = depthwise;
    table->float_conv = float_conv;
    table->average_pool = average_pool;
    table->max_pool = max_pool;
    table->fc = fc;
    table->matmul = matmul;
}
