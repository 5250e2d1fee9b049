/* SPDX-License-Identifier: MIT */
/*
 * Convolution with float weights, in plain C. The order of the additions is part of the meaning: ky, kx, channel, each product and each sum
 * rounded to float. Taps on padding are left out, or added as 0 times a weight. That changes no sum: weights are finite, and a sum that
 * starts at 0 is never -0.
 */
#include "float_conv.h"

#include "float.h"

enum { N = MORSEL_LANES };

#define PART (MORSEL_ROOMY_STACK ? 32u : 2u) /* taps whose weights are made ready at a time */

/* Sixteen weights, eight from i on and eight from j on. */
static void take_weights(const struct morsel_float_conv_args *a, size_t i, size_t j, float *to) {
    if (!a->half) {
        memcpy(to, (const float *)a->weights + i, 8 * sizeof *to);
        memcpy(to + 8, (const float *)a->weights + j, 8 * sizeof *to);
        return;
    }
    uint16_t halves[N];
    memcpy(halves, (const uint16_t *)a->weights + i, 8 * sizeof *halves);
    memcpy(halves + 8, (const uint16_t *)a->weights + j, 8 * sizeof *halves);
    for (uint32_t o = 0; o < N; o++) to[o] = morsel_from_half(halves[o]);
}

static void take_bytes_c(const struct morsel_input *x, size_t at, uint32_t n, float *to) {
    for (uint32_t i = 0; i < n; i += N) morsel_load_floats(x, at + i, 1, n - i < N ? n - i : N, to + i);
}

/* Four by four, so that no loop is left of it and sums stay in registers. */
static inline void add_four(float *restrict sums, float x, const float *restrict w) {
    for (uint32_t o = 0; o < 4; o++) sums[o] += x * w[o];
}

/* Two blocks of outputs. */
static MORSEL_OWN_FRAME void add_two_blocks(float *first, float *second, const float *x, float (*w)[N], uint32_t n) {
    float s[N];
    memcpy(s, first, 8 * sizeof *s);
    memcpy(s + 8, second, 8 * sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        add_four(s, x[i], w[i]);
        add_four(s + 4, x[i], w[i] + 4);
        add_four(s + 8, x[i], w[i] + 8);
        add_four(s + 12, x[i], w[i] + 12);
    }
    memcpy(first, s, 8 * sizeof *s);
    memcpy(second, s + 8, 8 * sizeof *s);
}

/* Where there is no second block, the first one stands for it too, with the same result. */
static void add_taps_c(struct morsel_float_strip *s, const float *x, size_t step, uint32_t k, uint32_t n) {
    float weights[PART][N];
    for (uint32_t b = 0, i = 0, part; b < s->blocks; i += part) {
        uint32_t second = b + 1 < s->blocks ? b + 1 : b;
        size_t at = ((size_t)(s->block + b) * s->taps + k + i) * 8, next = (size_t)(second - b) * 8 * s->taps;
        part = n - i < PART ? n - i : PART;
        for (uint32_t j = 0; j < part; j++, at += 8) take_weights(s->args, at, at + next, weights[j]);
        for (uint32_t p = 0; p < s->pixels; p++) add_two_blocks(s->sums[b][p], s->sums[second][p], x + p * step + i, weights, part);
        if (i + part == n) i = 0, part = 0, b += 2;
    }
}

static void store_c(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t from, uint32_t end, float (*sums)[8],
                    uint32_t pixels, size_t at) {
    uint32_t first = from > channel ? from - channel : 0, n = end - channel < 8 ? end - channel : 8;
    for (uint32_t p = 0; p < pixels; p++) {
        float v[N] = {0};
        for (uint32_t o = first; o < n; o++) v[o - first] = sums[p][o] + (a->bias ? a->bias[channel + o] : 0);
        morsel_store_floats(&a->y, (at + p) * a->window.out_c + channel + first, n - first, v);
    }
}

static inline void add_sixteen(float *restrict sums, const float *restrict x, const float *restrict w) {
    for (uint32_t o = 0; o < N; o++) sums[o] += x[o] * w[o];
}

/* n channels of one pixel. */
static void add_window(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t c, uint32_t n,
                       float *sums) {
    const struct morsel_window *w = &a->window;
    size_t weights = c;
    float x[N], v[N];
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const struct morsel_input row = {rows[ky], a->x.qparams};
        uint32_t ix = ox * w->stride_w - w->pad_left; /* left of the picture: huge */
        for (uint32_t kx = 0; kx < w->kernel_w; kx++, ix += w->dilation_w, weights += (w->out_c + 7) / 8 * 8) {
            if (!row.data || ix >= w->in_w) continue;
            morsel_load_floats(&row, (size_t)ix * w->in_c + c, 1, n, x);
            take_weights(a, weights, weights + (n > 8 ? 8 : 0), v);
            add_sixteen(sums, x, v);
        }
    }
}

void morsel_float_each_row_c(const struct morsel_float_conv_args *a, const uint8_t *const *rows, size_t at) {
    const struct morsel_window *w = &a->window;
    for (uint32_t c = 0; c < w->out_c; c += N) {
        uint32_t n = w->out_c - c < N ? w->out_c - c : N;
        for (uint32_t ox = 0; ox < w->out_w; ox++) {
            float sums[N] = {0};
            add_window(a, rows, ox, c, n, sums);
            for (uint32_t o = 0; a->bias && o < n; o++) sums[o] += a->bias[c + o];
            morsel_store_floats(&a->y, (at + ox) * w->out_c + c, n, sums);
        }
    }
}

static const struct morsel_float_isa plain = {take_bytes_c, add_taps_c, store_c, morsel_float_each_row_c};

void morsel_float_conv_rows_c(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_float_conv(&plain, a, rows, y, n);
}
