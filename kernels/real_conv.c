/* SPDX-License-Identifier: MIT */
/*
 * Convolution of real numbers, sixteen outputs at a time. The order of the additions is part of the meaning: ky, kx, channel, each sum
 * rounded to float. Taps outside the picture are left out, or added as 0 times a weight: that changes no sum, because weights are
 * finite and a sum that starts at 0 is never -0.
 */
#include "requant.h"

enum { N = MORSEL_LANES };

#define TAPS 64u   /* multiplied at a time */
#define PIXELS 16u /* of a tile */

struct tile {
    const struct morsel_real_conv_args *args;
    uint32_t depth; /* channels of a group */
    uint32_t taps;  /* of an output */
    uint32_t channel, outputs;
    int each;       /* every output has a channel of its own: the outputs of many groups are taken together */
    float weights[TAPS][N];
    float inputs[TAPS * N]; /* of a pixel: [taps], or [taps][N] */
    float sums[PIXELS][N];
};

/* Taps k .. k + n of all outputs; of outputs that are not there, those of the last one. */
static void take_weights(struct tile *t, uint32_t k, uint32_t n) {
    const float *w[N];
    for (uint32_t o = 0; o < N; o++) {
        uint32_t channel = t->channel + (o < t->outputs ? o : t->outputs - 1);
        w[o] = t->args->weights + (size_t)channel * t->taps + k;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t o = 0; o < N; o++) t->weights[i][o] = w[o][i];
}

static void load_line(const struct morsel_input *row, size_t first, uint32_t n, float *to) {
    if (row->code.is_float) memcpy(to, (const float *)row->data + first, n * sizeof *to);
    else for (uint32_t i = 0; i < n; i++) to[i] = morsel_load_real(row, first + i);
}

/* Taps k .. k + n of the window at output column ox. */
static void take_inputs(struct tile *t, const uint8_t *const *rows, uint32_t ox, uint32_t k, uint32_t n) {
    const struct morsel_window *w = &t->args->window;
    uint32_t group = t->channel / (w->out_c / t->args->groups), wide = t->each ? N : 1, lanes = t->each ? t->outputs : 1;
    memset(t->inputs, 0, (size_t)n * wide * sizeof *t->inputs);
    for (uint32_t i = 0, part; i < n; i += part) {
        uint32_t cell = (k + i) / t->depth, c = (k + i) % t->depth;
        uint32_t ix = ox * w->stride_w + cell % w->kernel_w * w->dilation_w - w->pad_left; /* left of the picture: huge */
        const struct morsel_input row = {rows[cell / w->kernel_w], t->args->x.code};
        part = t->depth - c < n - i ? t->depth - c : n - i;
        if (!row.data || ix >= w->in_w) continue;
        load_line(&row, (size_t)ix * w->in_c + group * t->depth + c, part * lanes, t->inputs + (size_t)i * wide);
    }
}

/* Four by four, so that no loop is left of it and sums stay in registers. */
static inline void add_four(float *restrict sums, const float *restrict x, const float *restrict w) {
    for (uint32_t o = 0; o < 4; o++) sums[o] += x[o] * w[o];
}

static inline void add_tap_of_each(float *restrict sums, const float *restrict x, const float *restrict w) {
    add_four(sums, x, w);
    add_four(sums + 4, x + 4, w + 4);
    add_four(sums + 8, x + 8, w + 8);
    add_four(sums + 12, x + 12, w + 12);
}

static inline void add_four_of_one(float *restrict sums, float x, const float *restrict w) {
    for (uint32_t o = 0; o < 4; o++) sums[o] += x * w[o];
}

static inline void add_tap(float *restrict sums, float x, const float *restrict w) {
    add_four_of_one(sums, x, w);
    add_four_of_one(sums + 4, x, w + 4);
    add_four_of_one(sums + 8, x, w + 8);
    add_four_of_one(sums + 12, x, w + 12);
}

static void add_taps(const struct tile *t, float *sums, uint32_t n) {
    float s[N];
    memcpy(s, sums, sizeof s);
    if (t->each) for (uint32_t i = 0; i < n; i++) add_tap_of_each(s, t->inputs + (size_t)i * N, t->weights[i]);
    else for (uint32_t i = 0; i < n; i++) add_tap(s, t->inputs[i], t->weights[i]);
    memcpy(sums, s, sizeof s);
}

/* `count` pixels of rows y and on, from pixel `first` of row y on. */
static void pixels(struct tile *t, const uint8_t *const *rows, uint32_t y, uint32_t first, uint32_t count) {
    const struct morsel_real_conv_args *a = t->args;
    const struct morsel_window *w = &a->window;
    memset(t->sums, 0, sizeof t->sums);
    for (uint32_t k = 0, n; k < t->taps; k += n) {
        n = t->taps - k < TAPS ? t->taps - k : TAPS;
        if (!first || n < t->taps) take_weights(t, k, n);
        for (uint32_t i = 0; i < count; i++) {
            take_inputs(t, rows + (size_t)((first + i) / w->out_w) * w->kernel_h, (first + i) % w->out_w, k, n);
            add_taps(t, t->sums[i], n);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t o = 0; a->bias && o < t->outputs; o++) t->sums[i][o] += a->bias[t->channel + o];
        morsel_store_reals(&a->y, ((size_t)y * w->out_w + first + i) * w->out_c + t->channel, t->outputs, t->sums[i]);
    }
}

void morsel_real_conv_rows_c(const struct morsel_real_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct tile t;
    uint32_t outs = w->out_c / a->groups; /* of a group */
    t.args = a;
    t.depth = w->in_c / a->groups;
    t.taps = w->kernel_h * w->kernel_w * t.depth;
    t.each = t.depth == 1 && outs == 1;
    for (t.channel = 0; t.channel < w->out_c; t.channel += t.outputs) {
        uint32_t left = t.each ? w->out_c - t.channel : outs - t.channel % outs;
        t.outputs = left < N ? left : N;
        for (uint32_t first = 0, all = n * w->out_w; first < all; first += PIXELS)
            pixels(&t, rows, y, first, all - first < PIXELS ? all - first : PIXELS);
    }
}
