/* SPDX-License-Identifier: MIT */
/* Sums of products of a line of inputs with sixteen outputs' weights, as convolutions and matrix products need them. */
#ifndef MORSEL_SUMS_H
#define MORSEL_SUMS_H

#include "requant.h"

struct morsel_sums {
    uint32_t acc[16]; /* sums of (x - zero) * w, modulo 2^32: the bits of an int32 sum that wraps */
    uint32_t x_sum;   /* sum of (x - zero), for weights with a zero point */
};

/* One input meets weight k of a block laid out [k / 4][16][k % 4]. */
static inline void morsel_add_one(struct morsel_sums *s, int32_t x, const int8_t *w, uint32_t k) {
    const int8_t *taps = w + (size_t)(k / 4) * 64 + k % 4;
    s->x_sum += (uint32_t)x;
    for (uint32_t o = 0; o < 16; o++) s->acc[o] += (uint32_t)(x * taps[4 * o]);
}

/* Four inputs meet a group of four weights. |x| <= 255 and |w| <= 128, so their sum stays in int32. */
static inline void morsel_add_four(struct morsel_sums *s, const int32_t *x, const int8_t *group) {
    s->x_sum += (uint32_t)(x[0] + x[1] + x[2] + x[3]);
    for (uint32_t o = 0; o < 16; o++, group += 4)
        s->acc[o] += (uint32_t)(x[0] * group[0] + x[1] * group[1] + x[2] * group[2] + x[3] * group[3]);
}

/* `n` inputs that stand side by side meet weights k, k + 1 ... */
static inline void morsel_add_line(struct morsel_sums *s, const uint8_t *x, uint32_t n, const struct morsel_code *code,
                                   const int8_t *w, uint32_t k) {
    uint32_t j = 0;
    for (; j < n && (k + j) % 4; j++) morsel_add_one(s, (int32_t)(x[j] ^ code->flip) - code->zero, w, k + j);
    for (; n - j >= 4; j += 4) {
        int32_t v[4];
        for (uint32_t i = 0; i < 4; i++) v[i] = (int32_t)(x[j + i] ^ code->flip) - code->zero;
        morsel_add_four(s, v, w + (size_t)(k + j) * 16);
    }
    for (; j < n; j++) morsel_add_one(s, (int32_t)(x[j] ^ code->flip) - code->zero, w, k + j);
}

/* The first n of the sixteen sums, of channels `channel` and on, into elements `first` and on. */
static inline void morsel_store_sums(const struct morsel_sums *s, const struct morsel_output *y, size_t first,
                                     const struct morsel_channels *c, uint32_t channel, uint32_t n) {
    for (uint32_t o = 0; o < n; o++) {
        uint32_t zero = c->weight_zero ? (uint32_t)c->weight_zero[channel + o] : 0;
        uint32_t acc = s->acc[o] - zero * s->x_sum + (uint32_t)c->bias[channel + o];
        const float *bias = c->float_bias ? &c->float_bias[channel + o] : NULL;
        morsel_store_sum(y, first + o, morsel_signed(acc), c->multiplier[channel + o], bias);
    }
}

#endif
