/* SPDX-License-Identifier: MIT */
/*
 * Convolution of real numbers, sixteen outputs at a time: two blocks of the weights. The order of the additions is part of the meaning:
 * ky, kx, channel, each product and each sum rounded to float. Taps outside the picture are left out, or added as 0 times a weight: that
 * changes no sum, because weights are finite and a sum that starts at 0 is never -0.
 */
#include "real.h"
#include "requant.h"

enum { N = MORSEL_LANES };

#define TAPS 64u   /* multiplied at a time */
#define PIXELS 16u /* of a tile */

struct tile {
    const struct morsel_real_conv_args *args;
    uint32_t depth; /* channels of a group */
    uint32_t outs;  /* outputs of a group */
    uint32_t taps;  /* of an output */
    uint32_t channel, outputs;
    int shared;     /* all outputs are of one group: they have the same inputs */
    float weights[TAPS][N];
    float inputs[TAPS * N]; /* of a pixel: [taps] where they are shared, else [taps][N] */
    float sums[PIXELS][N];
};

/* Taps k .. k + n of all outputs. Outputs past the last block get its weights again. */
static void take_weights(struct tile *t, uint32_t k, uint32_t n) {
    const struct morsel_real_conv_args *a = t->args;
    int each = t->depth == 1 && t->outs == 1;
    size_t wide = each ? (a->window.out_c + 7) / 8 * 8 : 8, first = each ? t->channel : (size_t)t->channel * t->taps;
    size_t next = t->outputs <= 8 ? 0 : each ? 8 : (size_t)t->taps * 8; /* from block to block */
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t o = 0; o < N; o += 8) {
            size_t at = first + (k + i) * wide + (o ? next : 0);
            if (!a->half) memcpy(t->weights[i] + o, (const float *)a->weights + at, 8 * sizeof(float));
            else for (uint32_t j = 0; j < 8; j++) t->weights[i][o + j] = morsel_from_half(((const uint16_t *)a->weights)[at + j]);
        }
    }
}

static void load_line(const struct morsel_input *row, size_t first, uint32_t n, float *to) {
    if (row->code.is_float) memcpy(to, (const float *)row->data + first, n * sizeof *to);
    else for (uint32_t i = 0; i < n; i++) to[i] = morsel_load_real(row, first + i);
}

/* n taps of outputs that have inputs of their own: the first output's are from `first` on, in the group of its own. */
static void load_groups(const struct tile *t, const struct morsel_input *row, size_t first, uint32_t n, float *to) {
    uint32_t rest = t->channel % t->outs;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t o = 0; o < t->outputs; o++)
            to[(size_t)i * N + o] = morsel_load_real(row, first + (size_t)((rest + o) / t->outs) * t->depth + i);
}

/* Taps k .. k + n of the window at output column ox. */
static void take_inputs(struct tile *t, const uint8_t *const *rows, uint32_t ox, uint32_t k, uint32_t n) {
    const struct morsel_window *w = &t->args->window;
    uint32_t group = t->channel / t->outs, wide = t->shared ? 1 : N;
    memset(t->inputs, 0, (size_t)n * wide * sizeof *t->inputs);
    for (uint32_t i = 0, part; i < n; i += part) {
        uint32_t cell = (k + i) / t->depth, c = (k + i) % t->depth;
        uint32_t ix = ox * w->stride_w + cell % w->kernel_w * w->dilation_w - w->pad_left; /* left of the picture: huge */
        const struct morsel_input row = {rows[cell / w->kernel_w], t->args->x.code};
        size_t first = (size_t)ix * w->in_c + group * t->depth + c;
        part = t->depth - c < n - i ? t->depth - c : n - i;
        if (!row.data || ix >= w->in_w) continue;
        if (t->shared) load_line(&row, first, part, t->inputs + i);
        else if (t->depth * t->outs == 1) load_line(&row, first, t->outputs, t->inputs + (size_t)i * N);
        else load_groups(t, &row, first, part, t->inputs + (size_t)i * N);
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
    if (t->shared) for (uint32_t i = 0; i < n; i++) add_tap(s, t->inputs[i], t->weights[i]);
    else for (uint32_t i = 0; i < n; i++) add_tap_of_each(s, t->inputs + (size_t)i * N, t->weights[i]);
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

/* The next outputs: whole blocks, up to two, those of one group if the first block is. */
static void take_outputs(struct tile *t) {
    uint32_t left = t->args->window.out_c - t->channel, own = t->outs - t->channel % t->outs;
    t->shared = own >= 8 || own == left;
    if (t->shared && own < left) left = own & ~7u;
    t->outputs = left < N ? left : N;
}

void morsel_real_conv_rows_c(const struct morsel_real_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct tile t;
    t.args = a;
    t.depth = w->in_c / a->groups;
    t.outs = w->out_c / a->groups;
    t.taps = w->kernel_h * w->kernel_w * t.depth;
    for (t.channel = 0; t.channel < w->out_c; t.channel += t.outputs) {
        take_outputs(&t);
        for (uint32_t first = 0, all = n * w->out_w; first < all; first += PIXELS)
            pixels(&t, rows, y, first, all - first < PIXELS ? all - first : PIXELS);
    }
}
