/* SPDX-License-Identifier: MIT */
/* Convolution and matrix product for any ARMv8: 4 pixels x 8 channels; byte products in 16 bits, added in pairs to 32 at once, so nothing
 * can overflow. A register of sums holds two channels, each as the sum of its even and of its odd pairs of inputs. */
#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))

/* Eight channels of a pixel. */
struct eight {
    int32x4_t c01, c23, c45, c67;
};

INLINE int32x4_t add_low(int32x4_t sum, int8x16_t x, int8x16_t w) {
    return vpadalq_s16(sum, vmull_s8(vget_low_s8(x), vget_low_s8(w)));
}

INLINE int32x4_t add_high(int32x4_t sum, int8x16_t x, int8x16_t w) {
    return vpadalq_s16(sum, vmull_high_s8(x, w));
}

INLINE int8x16_t load_four(const uint8_t *x) {
    int32_t v;
    memcpy(&v, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

/* Four inputs of a pixel, repeated four times, meet the weights of eight channels. */
INLINE void add_four(struct eight *s, const uint8_t *x, int8x16_t w0, int8x16_t w1) {
    int8x16_t v = load_four(x);
    s->c01 = add_low(s->c01, v, w0);
    s->c23 = add_high(s->c23, v, w0);
    s->c45 = add_low(s->c45, v, w1);
    s->c67 = add_high(s->c67, v, w1);
}

INLINE void put_eight(int32_t *sums, const struct eight *s, const int32_t *start) {
    vst1q_s32(sums, vaddq_s32(vpaddq_s32(s->c01, s->c23), vld1q_s32(start)));
    vst1q_s32(sums + 4, vaddq_s32(vpaddq_s32(s->c45, s->c67), vld1q_s32(start + 4)));
}

/* Eight channels of four pixels, into sums[16 * pixel]; `w` stands at the first of the eight. */
static void sum_eight(int32_t *sums, const struct morsel_tile *t, const uint8_t *const *x, const int8_t *w, const int32_t *start) {
    int32x4_t none = vdupq_n_s32(0);
    struct eight s0 = {none, none, none, none}, s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t i = 0; i < t->segments; i++, x += 4) {
        const uint8_t *a = x[0], *b = x[1], *c = x[2], *d = x[3];
        for (uint32_t k = 0; k < t->depth; k += 4, w += 64) {
            int8x16_t w0 = vld1q_s8(w), w1 = vld1q_s8(w + 16);
            add_four(&s0, a + k, w0, w1);
            add_four(&s1, b + k, w0, w1);
            add_four(&s2, c + k, w0, w1);
            add_four(&s3, d + k, w0, w1);
        }
    }
    put_eight(sums, &s0, start);
    put_eight(sums + 16, &s1, start);
    put_eight(sums + 32, &s2, start);
    put_eight(sums + 48, &s3, start);
}

static void put(const struct morsel_tile *t, const int32_t *sums, uint8_t *y, uint32_t p, uint32_t c) {
    const struct morsel_finish *f = &t->group->finish;
    struct morsel_sum16 s = {vld1q_s32(sums), vld1q_s32(sums + 4), vld1q_s32(sums + 8), vld1q_s32(sums + 12)};
    if (f->mode == MORSEL_FINISH_RAW) memcpy(t->raw[p] + c, sums, 64);
    else morsel_store_part(y + p * t->y_step + c, morsel_finish16(s, t->group->multiplier + c, t->group->offset + c, f, f->mode), t->channels - c);
}

static void one_tile(const struct morsel_tile *t, const uint8_t *const *x, uint8_t *y) {
    int32_t sums[64] = {0};
    size_t block = (size_t)t->segments * t->depth * 16;
    const int8_t *w = t->weights;
    for (uint32_t c = 0; c < t->channels; c += 16, w += block) {
        const int32_t *start = t->group->start + c;
        sum_eight(sums, t, x, w, start);
        if (t->channels - c > 8) sum_eight(sums + 8, t, x, w + 32, start + 8);
        for (uint32_t p = 0; p < t->pixels; p++) put(t, sums + 16 * p, y, p, c);
    }
}

static void tile_neon(const struct morsel_tile *t) {
    const uint8_t *x[4] = {t->x[0], t->x[1], t->x[2], t->x[3]};
    uint8_t *y = t->y;
    if (t->tiles == 1) one_tile(t, t->x, y);
    for (uint32_t i = 0; t->tiles > 1 && i < t->tiles; i++, y += 4 * t->y_step) {
        one_tile(t, x, y);
        for (uint32_t p = 0; p < 4; p++) x[p] += t->x_step;
    }
}

void morsel_conv_rows_neon(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_conv_tiles(a, rows, y, n, tile_neon);
}

void morsel_fc_blocks_neon(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_tiles(a, begin, end, tile_neon);
}
