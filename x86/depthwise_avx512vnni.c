/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolution with AVX512-VNNI, 64 channels at a time.
 *
 * Bytes of four input rows in one column are interleaved to (r0, r1, r2, r3) for each channel; vpdpbusd multiplies them with the four
 * taps of a kernel column. The interleaving works in lanes of 16 bytes, so register j of four holds channels 16 L + 4 j + 0..3 in lane
 * L. Weights and constants are brought into that order once for many rows, and the packs of the results undo it.
 *
 * A 3x3 kernel needs three of four rows. With stride 1 two rows of results share the interleaved columns: weights (w0, w1, w2, 0)
 * for the upper, (0, w0, w1, w2) for the lower; and a column serves three pixels.
 */
#include "dot_avx512.h"
#include "requant_avx512.h"
#include "x86.h"

#include <string.h>

#define TAPS 16u               /* most quads of taps: kernel_w * pad4(kernel_h) / 4 */
#define BYTES_AT_ONCE 262144u  /* of input rows that stay in the second-level cache while the channels pass */

/* Four registers of 16 dwords each, for 64 channels in the order above. */
struct quad {
    __m512i v[4];
};

/* What 64 channels need. */
struct channels {
    struct quad taps[TAPS];
    struct quad lower[3]; /* taps one row further down */
    struct quad start;    /* bias - zero * weight_sum */
    struct quad multiplier;
    struct quad bias; /* of floats; only with has_bias */
    int has_bias;
    __mmask64 mask;  /* channels that exist */
    uint32_t pixels; /* that lie side by side in a register: 1, 2 where 32 channels are left, 4 where 16 are */
};

/* A row of results (two for the tiles that do two), and the rows under it. */
struct strip {
    const struct morsel_conv_args *args;
    const struct channels *channels;
    struct morsel_requant512 requant;
    const uint8_t *row[64]; /* at the first channel */
    uint8_t *y;             /* the same */
    size_t x_step, y_step;  /* from pixel to pixel */
};

MORSEL_INLINE __m128i lane(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Lane j of block L becomes lane L of register j. Blocks of 64 bytes, `step` bytes apart; there are `blocks`, then they repeat. */
MORSEL_INLINE struct quad spread(const void *p, size_t step, uint32_t blocks) {
    const uint8_t *b0 = p, *b1 = b0 + 1 % blocks * step, *b2 = b0 + 2 % blocks * step, *b3 = b0 + 3 % blocks * step;
    struct quad q;
    MORSEL_UNROLL
    for (uint32_t j = 0; j < 4; j++, b0 += 16, b1 += 16, b2 += 16, b3 += 16) {
        q.v[j] = _mm512_inserti32x4(_mm512_castsi128_si512(lane(b0)), lane(b1), 1);
        q.v[j] = _mm512_inserti32x4(_mm512_inserti32x4(q.v[j], lane(b2), 2), lane(b3), 3);
    }
    return q;
}

static void take_channels(struct channels *t, const struct morsel_conv_args *a, uint32_t c) {
    const struct morsel_window *w = &a->window;
    uint32_t taps = w->kernel_w * ((w->kernel_h + 3) / 4), left = w->out_c - c;
    uint32_t blocks = left < 64 ? (left + 15) / 16 : 4;
    const int8_t *weights = a->weights + (size_t)(c / 16) * taps * 64;
    struct quad sum = spread(a->channels.weight_sum + c, 64, blocks);
    __m512i zero = _mm512_set1_epi32(a->x.code.zero);
    for (uint32_t i = 0; i < taps; i++) t->taps[i] = spread(weights + i * 64, (size_t)taps * 64, blocks);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 4; j++) t->lower[i].v[j] = _mm512_slli_epi32(t->taps[i < taps ? i : 0].v[j], 8);
    t->start = spread(a->channels.bias + c, 64, blocks);
    for (uint32_t j = 0; j < 4; j++) t->start.v[j] = _mm512_sub_epi32(t->start.v[j], _mm512_mullo_epi32(sum.v[j], zero));
    t->multiplier = spread(a->channels.multiplier + c, 64, blocks);
    t->has_bias = a->channels.float_bias != NULL;
    if (t->has_bias) t->bias = spread(a->channels.float_bias + c, 64, blocks);
    t->pixels = left == 32 ? 2 : left == 16 ? 4 : 1;
    t->mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
}

MORSEL_INLINE struct quad interleave(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
    __m512i a = _mm512_unpacklo_epi8(r0, r1), b = _mm512_unpackhi_epi8(r0, r1);
    __m512i c = _mm512_unpacklo_epi8(r2, r3), d = _mm512_unpackhi_epi8(r2, r3);
    struct quad q = {{_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c), _mm512_unpacklo_epi16(b, d), _mm512_unpackhi_epi16(b, d)}};
    return q;
}

/* Column ix of rows k .. k + count, at most four; zero points outside the picture. */
MORSEL_INLINE struct quad column(const struct strip *s, uint32_t k, uint32_t count, uint32_t ix) {
    const struct morsel_window *w = &s->args->window;
    __m512i r[4];
    size_t at = ix * s->x_step;
    if (ix >= w->in_w) {
        __m512i zero = _mm512_set1_epi8((char)s->args->x.code.zero);
        struct quad q = {{zero, zero, zero, zero}};
        return q;
    }
    MORSEL_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        r[i] = _mm512_setzero_si512();
        if (i < count) r[i] = _mm512_maskz_loadu_epi8(s->channels->mask, s->row[k + i] + at);
    }
    return interleave(r[0], r[1], r[2], r[3]);
}

/* 32 channels of columns ix and ix + stride of rows 0 .. count. */
MORSEL_INLINE struct quad columns_2(const struct strip *s, uint32_t count, uint32_t ix, uint32_t stride) {
    const struct morsel_window *w = &s->args->window;
    const __m256i zero = _mm256_set1_epi8((char)s->args->x.code.zero);
    __m512i r[4];
    MORSEL_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint8_t *row = s->row[i < count ? i : 0];
        __m256i a = zero, b = zero;
        if (ix < w->in_w) a = _mm256_loadu_si256((const __m256i *)(const void *)(row + ix * s->x_step));
        if (ix + stride < w->in_w) b = _mm256_loadu_si256((const __m256i *)(const void *)(row + (ix + stride) * s->x_step));
        r[i] = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    }
    return interleave(r[0], r[1], r[2], r[3]);
}

MORSEL_INLINE __m128i load_16(const struct strip *s, const uint8_t *row, uint32_t ix) {
    const struct morsel_window *w = &s->args->window;
    if (ix < w->in_w) return _mm_loadu_si128((const __m128i *)(const void *)(row + ix * s->x_step));
    return _mm_set1_epi8((char)s->args->x.code.zero);
}

/* 16 channels of columns ix, ix + stride, ... of rows 0 .. count. */
MORSEL_INLINE struct quad columns_4(const struct strip *s, uint32_t count, uint32_t ix, uint32_t stride) {
    __m512i r[4];
    MORSEL_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint8_t *row = s->row[i < count ? i : 0];
        r[i] = _mm512_castsi128_si512(load_16(s, row, ix));
        r[i] = _mm512_inserti32x4(r[i], load_16(s, row, ix + stride), 1);
        r[i] = _mm512_inserti32x4(r[i], load_16(s, row, ix + 2 * stride), 2);
        r[i] = _mm512_inserti32x4(r[i], load_16(s, row, ix + 3 * stride), 3);
    }
    return interleave(r[0], r[1], r[2], r[3]);
}

MORSEL_INLINE void add_taps(struct quad *acc, const struct quad *x, const struct quad *taps) {
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) acc->v[j] = morsel_dot512(acc->v[j], x->v[j], taps->v[j]);
}

MORSEL_INLINE __m512i finish(const struct strip *s, const struct quad *acc) {
    __m512i v[4];
    const struct channels *t = s->channels;
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        __m512 m = _mm512_castsi512_ps(t->multiplier.v[j]);
        if (t->has_bias) v[j] = morsel_scale512_bias(acc->v[j], m, _mm512_castsi512_ps(t->bias.v[j]));
        else v[j] = morsel_scale512(acc->v[j], m);
    }
    return morsel_pack512(&s->requant, v[0], v[1], v[2], v[3]);
}

MORSEL_INLINE void store(const struct strip *s, const struct quad *acc, uint8_t *y) {
    _mm512_mask_storeu_epi8(y, s->channels->mask, finish(s, acc));
}

/* The first n of 2 pixels of 32 channels, or of 4 of 16. */
MORSEL_INLINE void store_pixels(const struct strip *s, const struct quad *acc, uint8_t *y, int pixels, uint32_t n) {
    __m512i v = finish(s, acc);
    size_t step = s->y_step;
    if (pixels == 2) {
        _mm256_storeu_si256((__m256i *)(void *)y, _mm512_castsi512_si256(v));
        if (n > 1) _mm256_storeu_si256((__m256i *)(void *)(y + step), _mm512_extracti64x4_epi64(v, 1));
        return;
    }
    _mm_storeu_si128((__m128i *)(void *)y, _mm512_castsi512_si128(v));
    if (n > 1) _mm_storeu_si128((__m128i *)(void *)(y + step), _mm512_extracti32x4_epi32(v, 1));
    if (n > 2) _mm_storeu_si128((__m128i *)(void *)(y + 2 * step), _mm512_extracti32x4_epi32(v, 2));
    if (n > 3) _mm_storeu_si128((__m128i *)(void *)(y + 3 * step), _mm512_extracti32x4_epi32(v, 3));
}

/* 3x3, one or two rows of results. */
MORSEL_INLINE void strip_3x3(const struct strip *s, int results, uint32_t stride) {
    const struct morsel_window *w = &s->args->window;
    const struct channels *t = s->channels;
    uint32_t in_rows = results + 2, ix = 0u - w->pad_left;
    uint8_t *y = s->y;
    struct quad x0 = column(s, 0, in_rows, ix), x1 = column(s, 0, in_rows, ix + 1), x2;
    for (uint32_t ox = 0; ox < w->out_w; ox++, ix += stride, y += s->y_step) {
        if (stride == 2 && ox) x1 = column(s, 0, in_rows, ix + 1);
        x2 = column(s, 0, in_rows, ix + 2);
        struct quad acc = t->start, below = t->start;
        add_taps(&acc, &x0, &t->taps[0]);
        add_taps(&acc, &x1, &t->taps[1]);
        add_taps(&acc, &x2, &t->taps[2]);
        store(s, &acc, y);
        if (results == 2) {
            add_taps(&below, &x0, &t->lower[0]);
            add_taps(&below, &x1, &t->lower[1]);
            add_taps(&below, &x2, &t->lower[2]);
            store(s, &below, y + w->out_row);
        }
        x0 = stride == 1 ? x1 : x2;
        if (stride == 1) x1 = x2;
    }
}

/* The same with 2 or 4 pixels in a register. */
MORSEL_INLINE void strip_pixels(const struct strip *s, int results, uint32_t stride, int pixels) {
    const struct morsel_window *w = &s->args->window;
    const struct channels *t = s->channels;
    uint32_t in_rows = (uint32_t)results + 2, ix = 0u - w->pad_left, step = (uint32_t)pixels;
    uint8_t *y = s->y;
    struct quad x2;
    for (uint32_t ox = 0; ox < w->out_w; ox += step, ix += step * stride, y += step * s->y_step) {
        struct quad acc = t->start, below = t->start, x0, x1;
        if (pixels == 2 && stride == 1 && ox) x0 = x2;
        else x0 = pixels == 2 ? columns_2(s, in_rows, ix, stride) : columns_4(s, in_rows, ix, stride);
        x1 = pixels == 2 ? columns_2(s, in_rows, ix + 1, stride) : columns_4(s, in_rows, ix + 1, stride);
        x2 = pixels == 2 ? columns_2(s, in_rows, ix + 2, stride) : columns_4(s, in_rows, ix + 2, stride);
        add_taps(&acc, &x0, &t->taps[0]);
        add_taps(&acc, &x1, &t->taps[1]);
        add_taps(&acc, &x2, &t->taps[2]);
        store_pixels(s, &acc, y, pixels, w->out_w - ox);
        if (results == 1) continue;
        add_taps(&below, &x0, &t->lower[0]);
        add_taps(&below, &x1, &t->lower[1]);
        add_taps(&below, &x2, &t->lower[2]);
        store_pixels(s, &below, y + w->out_row, pixels, w->out_w - ox);
    }
}

static __attribute__((noinline)) void strip_two(const struct strip *s) {
    if (s->channels->pixels == 1) strip_3x3(s, 2, 1);
    else if (s->channels->pixels == 2) strip_pixels(s, 2, 1, 2);
    else strip_pixels(s, 2, 1, 4);
}

static __attribute__((noinline)) void strip_one(const struct strip *s) {
    strip_3x3(s, 1, 1);
}

static __attribute__((noinline)) void strip_stride_2(const struct strip *s) {
    if (s->channels->pixels == 1) strip_3x3(s, 1, 2);
    else if (s->channels->pixels == 2) strip_pixels(s, 1, 2, 2);
    else strip_pixels(s, 1, 2, 4);
}

/* Any kernel: columns are interleaved for each pixel anew. */
static __attribute__((noinline)) void strip_any(const struct strip *s) {
    const struct morsel_window *w = &s->args->window;
    uint32_t quads = (w->kernel_h + 3) / 4;
    for (uint32_t ox = 0; ox < w->out_w; ox++) {
        struct quad acc = s->channels->start;
        for (uint32_t i = 0; i < w->kernel_w * quads; i++) {
            uint32_t k = i % quads * 4, count = w->kernel_h - k < 4 ? w->kernel_h - k : 4;
            struct quad x = column(s, k, count, ox * w->stride_w + i / quads * w->dilation_w - w->pad_left);
            add_taps(&acc, &x, &s->channels->taps[i]);
        }
        store(s, &acc, s->y + ox * s->y_step);
    }
}

/* 64 channels of row i of the call, or of rows i and i + 1. Returns how many rows were done. */
static uint32_t run_strip(struct strip *s, const uint8_t *const *rows, uint32_t i, uint32_t n, uint32_t c) {
    const struct morsel_window *w = &s->args->window;
    int is_3x3 = w->kernel_h == 3 && w->kernel_w == 3 && w->dilation_w == 1;
    int two = is_3x3 && w->stride_w == 1 && w->stride_h == 1 && w->dilation_h == 1 && i + 1 < n;
    for (uint32_t k = 0; k < w->kernel_h; k++) s->row[k] = rows[(size_t)i * w->kernel_h + k] + c;
    if (two) s->row[3] = rows[(size_t)(i + 1) * 3 + 2] + c;
    if (two) strip_two(s);
    else if (is_3x3 && w->stride_w == 1) strip_one(s);
    else if (is_3x3 && w->stride_w == 2) strip_stride_2(s);
    else strip_any(s);
    return two ? 2 : 1;
}

/* Some rows, all channels. */
static void run_rows(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    struct channels channels;
    struct strip strip = {.args = a, .channels = &channels, .requant = morsel_requant512(&a->y)};
    strip.x_step = morsel_x_step(&a->window);
    strip.y_step = morsel_y_step(&a->window, 1);
    for (uint32_t c = 0; c < a->window.out_c; c += 64) {
        take_channels(&channels, a, c);
        for (uint32_t i = 0, done; i < n; i += done) {
            strip.y = (uint8_t *)a->y.data + (size_t)(y + i) * a->window.out_row + c;
            done = run_strip(&strip, rows, i, n, c);
        }
    }
}

void morsel_depthwise_rows_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    const struct morsel_channels *c = &a->channels;
    size_t constants = (w->out_c + 15) / 16 * 16;
    if (a->y.code.is_float || c->weight_zero || a->x.code.flip || w->kernel_w * ((w->kernel_h + 3) / 4) > TAPS ||
        !morsel_small512(c->multiplier, constants) || !morsel_small_bias512(c->multiplier, c->float_bias, constants)) {
        morsel_depthwise_rows_c(a, rows, y, n);
        return;
    }
    uint32_t most = BYTES_AT_ONCE / w->in_row / w->stride_h / 2 * 2;
    if (most < 2) most = 2;
    for (uint32_t i = 0, now; i < n; i += now) {
        now = n - i < most ? n - i : most;
        run_rows(a, rows + (size_t)i * w->kernel_h, y + i, now);
    }
}
