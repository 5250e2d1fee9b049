/* SPDX-License-Identifier: MIT */
/*
 * What the depthwise tiles of AVX-512 need of 64 channels: weights and constants in the order of the interleaved inputs
 * (depthwise_avx512vnni.c). And where those parts of a row begin that share registers.
 */
#ifndef MORSEL_DEPTHWISE_CHANNELS_AVX512_H
#define MORSEL_DEPTHWISE_CHANNELS_AVX512_H

#include "requant_avx512.h"
#include "x86.h"

#define TAPS 16u /* most quads of taps: kernel_w * pad4(kernel_h) / 4 */

/* Four registers of 16 dwords each, for 64 channels in the order above. */
struct quad {
    __m512i v[4];
};

/* What 64 channels need. */
struct channels {
    struct quad taps[TAPS]; /* by column; of 3x3 kernels those for three registers of inputs, for a first and a second result */
    struct quad start;      /* bias - zero * weight_sum */
    struct quad multiplier;
    struct quad offset; /* where `plain` those of requant_avx512.h, else float biases, if any */
    int plain, has_bias;
    __mmask64 mask;      /* channels that exist */
    uint32_t parts;      /* of a row: 2 where 32 channels are left, 4 where 16 are, else 1; they may overlap */
    uint32_t pixels;     /* of a part */
    uint32_t columns[4]; /* from the first part's to each part's */
    uint32_t inside;     /* columns below this are inside the picture for each part, counted from the first part's */
    size_t x[4], y[4];   /* from the first part's pixel to each part's */
};

MORSEL_INLINE __m128i lane(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Which block of 64 bytes goes to each lane of 16. */
struct order {
    uint32_t block[4];
};

/* Fewer than four repeat. */
static struct order order_of(uint32_t blocks) {
    struct order o = {{0, blocks > 1, blocks > 2 ? 2 : 0, blocks > 3 ? 3 : blocks == 2}};
    return o;
}

/* Lane j of lane L's block becomes lane L of register j. From block to block are `step` bytes. */
static __attribute__((noinline)) void spread(struct quad *to, const void *p, size_t step, const struct order *o) {
    const uint8_t *b0 = p, *b1 = b0 + o->block[1] * step, *b2 = b0 + o->block[2] * step, *b3 = b0 + o->block[3] * step;
    MORSEL_UNROLL
    for (uint32_t j = 0; j < 4; j++, b0 += 16, b1 += 16, b2 += 16, b3 += 16) {
        __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(lane(b0)), lane(b1), 1);
        to->v[j] = _mm512_inserti32x4(_mm512_inserti32x4(v, lane(b2), 2), lane(b3), 3);
    }
}

static int has_tiles(const struct morsel_window *w) {
    return w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_w == 1 && w->stride_w <= 2;
}

/* The tiles of a 3x3 kernel made of its columns, whose fourth tap is 0. With stride 1 the second result is a row further down, with
 * stride 2 it is the next pixel. */
static void take_tiles(struct quad *taps, uint32_t stride) {
    for (int j = 0; j < 4; j++) {
        __m512i a = taps[0].v[j], b = taps[1].v[j], c = taps[2].v[j];
        taps[3].v[j] = _mm512_slli_epi32(a, 8);
        taps[4].v[j] = _mm512_slli_epi32(b, 8);
        taps[5].v[j] = _mm512_slli_epi32(c, 8);
        if (stride == 1) continue;
        taps[0].v[j] = taps[3].v[j];
        taps[1].v[j] = _mm512_or_si512(b, _mm512_slli_epi32(c, 24));
        taps[2].v[j] = _mm512_srli_epi32(c, 8);
        taps[3].v[j] = _mm512_slli_epi32(a, 24);
        taps[4].v[j] = _mm512_or_si512(_mm512_srli_epi32(a, 8), _mm512_slli_epi32(b, 16));
        taps[5].v[j] = _mm512_or_si512(_mm512_srli_epi32(b, 16), taps[5].v[j]);
    }
}

/* Where sums start, and what becomes of them. */
static void take_constants(struct channels *t, const struct morsel_conv_args *a, uint32_t c, uint32_t blocks) {
    const struct morsel_channels *k = &a->channels;
    struct order order = order_of(blocks);
    t->plain = !a->y.qparams.is_float && morsel_plain512(k, &a->y, c / 16, blocks);
    spread(&t->start, k->bias + c, 64, &order);
    spread(&t->multiplier, k->multiplier + c, 64, &order);
    t->has_bias = k->float_bias != NULL;
    if (t->has_bias) spread(&t->offset, k->float_bias + c, 64, &order);
    if (a->x.qparams.zero) {
        struct quad sum;
        spread(&sum, k->weight_sum + c, 64, &order);
        __m512i zero = _mm512_set1_epi32(a->x.qparams.zero);
        for (int j = 0; j < 4; j++) t->start.v[j] = _mm512_sub_epi32(t->start.v[j], _mm512_mullo_epi32(sum.v[j], zero));
    }
    for (int j = 0; j < 4 && t->plain; j++) {
        t->start.v[j] = morsel_start512(t->start.v[j]);
        t->offset.v[j] = _mm512_castps_si512(morsel_offset512(_mm512_castsi512_ps(t->multiplier.v[j])));
    }
}

/* Cuts rows into the parts that share registers. */
static void cut_rows(struct channels *t, const struct morsel_window *w, size_t x_step, size_t y_step) {
    uint32_t shift = t->parts / 2, last = 0;
    t->pixels = (w->out_w + t->parts - 1) >> shift;
    for (uint32_t i = 0; i < t->parts; i++) {
        uint32_t first = (i + 1) * t->pixels < w->out_w ? i * t->pixels : w->out_w - t->pixels;
        last = t->columns[i] = first * w->stride_w;
        t->x[i] = last * x_step;
        t->y[i] = first * y_step;
    }
    t->inside = last < w->in_w ? w->in_w - last : 0;
}

static void take_channels(struct channels *t, const struct morsel_conv_args *a, uint32_t c, int tiles) {
    const struct morsel_window *w = &a->window;
    uint32_t taps = w->kernel_w * ((w->kernel_h + 3) / 4), left = w->out_c - c;
    uint32_t blocks = left < 64 ? (left + 15) / 16 : 4;
    const int8_t *weights = a->weights + (size_t)(c / 16) * taps * 64;
    struct order order = order_of(blocks);
    for (uint32_t i = 0; i < taps; i++) spread(&t->taps[i], weights + i * 64, (size_t)taps * 64, &order);
    if (tiles) take_tiles(t->taps, w->stride_w);
    take_constants(t, a, c, blocks);
    t->mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    t->parts = a->y.qparams.is_float ? 1 : left == 32 ? 2 : left == 16 ? 4 : 1;
}

#endif
