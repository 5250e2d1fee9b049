/* SPDX-License-Identifier: MIT */
/* Convolution and matrix product for any ARMv8: 2 pixels x 16 channels. Two byte products are added in 16 bits where no weight is -128 (2 *
 * 128 * 127 < 2^15). Else each goes to 32 bits at once, and nothing can overflow. A register of sums holds two channels, each as the sum of
 * its even and of its odd pairs of inputs. */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))

/* Sixteen channels of a pixel. */
struct pairs {
    int32x4_t c0, c2, c4, c6, c8, c10, c12, c14;
};

INLINE int8x16_t load_four(const uint8_t *x) {
    int32_t v;
    memcpy(&v, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

INLINE int32x4_t add_low(int32x4_t sum, int8x16_t x, int8x16_t w) {
    return vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
}

INLINE int32x4_t add_high(int32x4_t sum, int8x16_t x, int8x16_t w) {
    return vpadalq_s16(sum, vmull_high_s8(x, w));
}

/* Four inputs of two pixels, repeated four times, times the weights of sixteen channels. */
INLINE void add_four(struct pairs *s, struct pairs *z, const uint8_t *x, const uint8_t *x2, const int8_t *w) {
    int8x16_t v = load_four(x), v2 = load_four(x2);
    int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), w2 = vld1q_s8(w + 32), w3 = vld1q_s8(w + 48);
    s->c0 = add_low(s->c0, v, w0), s->c2 = add_high(s->c2, v, w0);
    z->c0 = add_low(z->c0, v2, w0), z->c2 = add_high(z->c2, v2, w0);
    s->c4 = add_low(s->c4, v, w1), s->c6 = add_high(s->c6, v, w1);
    z->c4 = add_low(z->c4, v2, w1), z->c6 = add_high(z->c6, v2, w1);
    s->c8 = add_low(s->c8, v, w2), s->c10 = add_high(s->c10, v, w2);
    z->c8 = add_low(z->c8, v2, w2), z->c10 = add_high(z->c10, v2, w2);
    s->c12 = add_low(s->c12, v, w3), s->c14 = add_high(s->c14, v, w3);
    z->c12 = add_low(z->c12, v2, w3), z->c14 = add_high(z->c14, v2, w3);
}

INLINE int32x4_t add_low2(int32x4_t sum, int8x16_t x, int8x16_t w, int8x16_t z, int8x16_t u) {
    return vpadalq_s16(sum, vmlal_s8(vmull_s8(vget_low_s8(x), vget_low_s8(w)), vget_low_s8(z), vget_low_s8(u)));
}

INLINE int32x4_t add_high2(int32x4_t sum, int8x16_t x, int8x16_t w, int8x16_t z, int8x16_t u) {
    return vpadalq_s16(sum, vmlal_high_s8(vmull_high_s8(x, w), z, u));
}

/* Eight inputs of two pixels. */
INLINE void add_eight(struct pairs *s, struct pairs *z, const uint8_t *x, const uint8_t *x2, const int8_t *w) {
    int8x16_t a = load_four(x), a2 = load_four(x2), b = load_four(x + 4), b2 = load_four(x2 + 4);
    int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16), u0 = vld1q_s8(w + 64), u1 = vld1q_s8(w + 80);
    s->c0 = add_low2(s->c0, a, w0, b, u0), s->c2 = add_high2(s->c2, a, w0, b, u0);
    z->c0 = add_low2(z->c0, a2, w0, b2, u0), z->c2 = add_high2(z->c2, a2, w0, b2, u0);
    s->c4 = add_low2(s->c4, a, w1, b, u1), s->c6 = add_high2(s->c6, a, w1, b, u1);
    z->c4 = add_low2(z->c4, a2, w1, b2, u1), z->c6 = add_high2(z->c6, a2, w1, b2, u1);
    w0 = vld1q_s8(w + 32), w1 = vld1q_s8(w + 48), u0 = vld1q_s8(w + 96), u1 = vld1q_s8(w + 112);
    s->c8 = add_low2(s->c8, a, w0, b, u0), s->c10 = add_high2(s->c10, a, w0, b, u0);
    z->c8 = add_low2(z->c8, a2, w0, b2, u0), z->c10 = add_high2(z->c10, a2, w0, b2, u0);
    s->c12 = add_low2(s->c12, a, w1, b, u1), s->c14 = add_high2(s->c14, a, w1, b, u1);
    z->c12 = add_low2(z->c12, a2, w1, b2, u1), z->c14 = add_high2(z->c14, a2, w1, b2, u1);
}

INLINE struct morsel_sum16 total(const struct pairs *s, const int32_t *start) {
    struct morsel_sum16 r = morsel_load_start(start);
    r.s0 = vaddq_s32(vpaddq_s32(s->c0, s->c2), r.s0);
    r.s1 = vaddq_s32(vpaddq_s32(s->c4, s->c6), r.s1);
    r.s2 = vaddq_s32(vpaddq_s32(s->c8, s->c10), r.s2);
    r.s3 = vaddq_s32(vpaddq_s32(s->c12, s->c14), r.s3);
    return r;
}

INLINE void put(const struct morsel_tile *t, struct morsel_sum16 s, uint8_t *y, uint32_t p, uint32_t c) {
    const struct morsel_requant *f = &t->span->requant;
    if (f->mode == MORSEL_REQUANT_RAW) {
        morsel_put_sums(t, s, p, c);
        return;
    }
    int8x16_t v = morsel_requant16(s, t->span->multiplier + c, t->span->offset + c, f, f->mode);
    morsel_store_part(y + p * t->y_step + c, v, t->channels - c);
}

/* Pixels p and p + 1 of the tile whose inputs are x. */
static void two_pixels(const struct morsel_tile *t, const uint8_t *const *x, uint8_t *y, uint32_t p, const int32_t *below) {
    int pairs = t->span->pairs == 2;
    int32_t starts[4][16];
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < t->channels; c += 16) {
        int32x4_t none = vdupq_n_s32(0);
        struct pairs s = {none, none, none, none, none, none, none, none}, z = s;
        for (uint32_t i = 0; i < t->segments; i++) {
            const uint8_t *a = x[4 * i + p], *b = x[4 * i + p + 1], *end = a + t->depth, *eights = pairs ? a + t->depth / 8 * 8 : a;
            for (; a != eights; a += 8, b += 8, w += 128) add_eight(&s, &z, a, b, w);
            for (; a != end; a += 4, b += 4, w += 64) add_four(&s, &z, a, b, w);
        }
        if (t->zero) morsel_start_zeros(t, below, c, starts[0]);
        put(t, total(&s, t->zero ? starts[p] : t->span->start + c), y, p, c);
        if (p + 1 < t->pixels) put(t, total(&z, t->zero ? starts[p + 1] : t->span->start + c), y, p + 1, c);
    }
}

static void one_tile(const struct morsel_tile *t, const uint8_t *const *x, uint8_t *y, const int32_t *below) {
    two_pixels(t, x, y, 0, below);
    if (t->pixels > 2) two_pixels(t, x, y, 2, below);
}

/* Whether no weight of the span is -128. */
static int find_pairs(const struct morsel_tile *t) {
    size_t n = (size_t)((t->channels + 15) / 16) * t->segments * t->depth * 16; /* a multiple of 64 */
    int8x16_t least = vdupq_n_s8(0);
    for (size_t i = 0; i < n; i += 16) least = vminq_s8(least, vld1q_s8(t->weights + i));
    return vminvq_s8(least) > -128;
}

static void tile_neon(const struct morsel_tile *t) {
    if (!t->span->pairs) t->span->pairs = find_pairs(t) ? 2 : 1;
    const uint8_t *x[4] = {t->x[0], t->x[1], t->x[2], t->x[3]};
    uint8_t *y = t->y;
    if (t->tiles == 1) one_tile(t, t->x, y, t->below);
    for (uint32_t i = 0; t->tiles > 1 && i < t->tiles; i++, y += 4 * t->y_step) {
        one_tile(t, x, y, t->below + 4 * i);
        for (uint32_t p = 0; p < 4; p++) x[p] += t->x_step;
    }
}

void morsel_conv_rows_neon(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_tiles(a, rows, y, n, tile_neon, NULL);
}

void morsel_fc_short_neon(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    morsel_fc_short_tiles(a, apart, y_step, tile_neon, NULL);
}

void morsel_fc_blocks_neon(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, tile_neon, NULL);
}
