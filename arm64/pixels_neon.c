/* SPDX-License-Identifier: MIT */
/*
 * Pixels weighed across and down: products of 16 bits by the upper and the lower bits of the weights, or of 32 bits.
 * And pixels made of luminance and chroma.
 */
#include "../kernels/pixels.h"

#include <arm_neon.h>
#include <string.h>

/* Red, green, blue of two pixels of three bytes or four in 16 bits each, and of the two behind them. */
static const uint8_t spread[2][2][16] = {{{0, 255, 1, 255, 2, 255, 255, 255, 3, 255, 4, 255, 5, 255, 255, 255},
                                          {6, 255, 7, 255, 8, 255, 255, 255, 9, 255, 10, 255, 11, 255, 255, 255}},
                                         {{0, 255, 1, 255, 2, 255, 255, 255, 4, 255, 5, 255, 6, 255, 255, 255},
                                          {8, 255, 9, 255, 10, 255, 255, 255, 12, 255, 13, 255, 14, 255, 255, 255}}};

static int32x4_t column_of_three(const uint32_t *column, const uint8_t *line, uint32_t channels) {
    const uint8x16_t front = vld1q_u8(spread[channels - 3][0]), back = vld1q_u8(spread[channels - 3][1]);
    const uint8_t *pixel = line + (size_t)channels * column[0];
    const uint32_t *weights = column + 2, *end = weights + column[1];
    int32x4_t high = vdupq_n_s32(0), low = high;
    for (; weights < end; weights += 4, pixel += 4 * channels) {
        uint8x16_t bytes = vld1q_u8(pixel);
        int16x8_t a = vreinterpretq_s16_u8(vqtbl1q_u8(bytes, front)), b = vreinterpretq_s16_u8(vqtbl1q_u8(bytes, back));
        int16x8_t four = vreinterpretq_s16_u32(vld1q_u32(weights));
        high = vmlal_lane_s16(high, vget_low_s16(a), vget_low_s16(four), 0);
        low = vmlal_lane_s16(low, vget_low_s16(a), vget_high_s16(four), 0);
        high = vmlal_lane_s16(high, vget_high_s16(a), vget_low_s16(four), 1);
        low = vmlal_lane_s16(low, vget_high_s16(a), vget_high_s16(four), 1);
        high = vmlal_lane_s16(high, vget_low_s16(b), vget_low_s16(four), 2);
        low = vmlal_lane_s16(low, vget_low_s16(b), vget_high_s16(four), 2);
        high = vmlal_lane_s16(high, vget_high_s16(b), vget_low_s16(four), 3);
        low = vmlal_lane_s16(low, vget_high_s16(b), vget_high_s16(four), 3);
    }
    return vaddq_s32(low, vshlq_n_s32(high, 8));
}

static int32x4_t column_of_one(const uint32_t *column, const uint8_t *line) {
    const uint8_t *pixel = line + column[0];
    const uint32_t *weights = column + 2, *end = weights + column[1];
    int32x4_t high = vdupq_n_s32(0), low = high;
    for (; weights < end; weights += 4, pixel += 4) {
        uint32_t bytes;
        memcpy(&bytes, pixel, sizeof bytes);
        int16x4_t pixels = vget_low_s16(vreinterpretq_s16_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)))));
        int16x8_t four = vreinterpretq_s16_u32(vld1q_u32(weights));
        high = vmlal_s16(high, pixels, vget_low_s16(four));
        low = vmlal_s16(low, pixels, vget_high_s16(four));
    }
    return vdupq_n_s32(vaddvq_s32(vaddq_s32(low, vshlq_n_s32(high, 8))));
}

void morsel_across_neon(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    uint32_t safe = a->safe < end ? a->safe : end, i = begin;
    for (; i < safe; i++) {
        const uint32_t *column = a->columns + (size_t)i * (2 + 4 * a->groups);
        uint8_t *to = a->row + (size_t)a->channels * i;
        int32x4_t sums = a->channels == 1 ? column_of_one(column, a->line) : column_of_three(column, a->line, a->channels);
        sums = vshrq_n_s32(vaddq_s32(sums, vdupq_n_s32(MORSEL_PIXEL_HALF)), MORSEL_PIXEL_BITS);
        uint8x8_t pixel = vqmovun_s16(vcombine_s16(vqmovn_s32(sums), vdup_n_s16(0)));
        to[0] = vget_lane_u8(pixel, 0);
        if (a->channels == 1) continue;
        to[1] = vget_lane_u8(pixel, 1);
        to[2] = vget_lane_u8(pixel, 2);
        if (a->channels == 4) to[3] = 0;
    }
    if (i < end) morsel_across_c(a, i, end);
}

/* Sixteen bytes of each row. */
static void blend_block(const struct morsel_blend_args *a, uint32_t i) {
    const uint8_t *row = a->rows + i;
    int32_t *at = a->sums + i;
    int32x4_t s0 = vdupq_n_s32(MORSEL_PIXEL_HALF), s1 = s0, s2 = s0, s3 = s0;
    if (a->more) s0 = vld1q_s32(at), s1 = vld1q_s32(at + 4), s2 = vld1q_s32(at + 8), s3 = vld1q_s32(at + 12);
    for (uint32_t k = 0; k < a->count; k++, row += a->stride) {
        uint8x16_t bytes = vld1q_u8(row);
        int16x8_t front = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))), back = vreinterpretq_s16_u16(vmovl_u8(vget_high_u8(bytes)));
        int32_t weight = a->weights[k];
        s0 = vmlaq_n_s32(s0, vmovl_s16(vget_low_s16(front)), weight);
        s1 = vmlaq_n_s32(s1, vmovl_s16(vget_high_s16(front)), weight);
        s2 = vmlaq_n_s32(s2, vmovl_s16(vget_low_s16(back)), weight);
        s3 = vmlaq_n_s32(s3, vmovl_s16(vget_high_s16(back)), weight);
    }
    if (!a->out) {
        vst1q_s32(at, s0), vst1q_s32(at + 4, s1), vst1q_s32(at + 8, s2), vst1q_s32(at + 12, s3);
        return;
    }
    int16x8_t front = vcombine_s16(vmovn_s32(vshrq_n_s32(s0, MORSEL_PIXEL_BITS)), vmovn_s32(vshrq_n_s32(s1, MORSEL_PIXEL_BITS)));
    int16x8_t back = vcombine_s16(vmovn_s32(vshrq_n_s32(s2, MORSEL_PIXEL_BITS)), vmovn_s32(vshrq_n_s32(s3, MORSEL_PIXEL_BITS)));
    vst1q_u8(a->out + i, vcombine_u8(vqmovun_s16(front), vqmovun_s16(back)));
}

void morsel_blend_neon(const struct morsel_blend_args *a, uint32_t begin, uint32_t end) {
    uint32_t i = begin;
    for (; end - i >= 16; i += 16) blend_block(a, i);
    if (i < end) morsel_blend_c(a, i, end);
}

struct sums {
    int32x4_t front, back;
};

static struct sums weigh(struct sums s, int16x8_t values, int16_t weight) {
    return (struct sums){vmlal_n_s16(s.front, vget_low_s16(values), weight), vmlal_n_s16(s.back, vget_high_s16(values), weight)};
}

/* Eight pixels of what their pairs and they themselves add. */
static uint8x8_t color_of(struct sums s, int16x8_t y, int16_t weight) {
    s = weigh(s, y, weight);
    return vqmovn_u16(vcombine_u16(vqshrun_n_s32(s.front, MORSEL_COLOR_BITS), vqshrun_n_s32(s.back, MORSEL_COLOR_BITS)));
}

static int16x8_t widen(uint8x8_t bytes) {
    return vreinterpretq_s16_u16(vmovl_u8(bytes));
}

/* Sixteen pixels. */
static void colors_block(const struct morsel_color *color, const uint8_t *luma, uint8x8_t u, uint8x8_t v, uint8_t *out) {
    uint8x8x2_t y = vld2_u8(luma);
    uint8x16x4_t pixels = {.val = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)}};
    for (int c = 0; c < 3; c++) {
        struct sums s = {vdupq_n_s32(color->rest[c]), vdupq_n_s32(color->rest[c])};
        s = weigh(weigh(s, widen(u), color->chroma[c][0]), widen(v), color->chroma[c][1]);
        uint8x8x2_t both = vzip_u8(color_of(s, widen(y.val[0]), color->y), color_of(s, widen(y.val[1]), color->y));
        pixels.val[c] = vcombine_u8(both.val[0], both.val[1]);
    }
    vst4q_u8(out, pixels);
}

/* The last sixteen may be some of those before them again. */
void morsel_colors_neon(const struct morsel_colors_args *a, uint32_t begin, uint32_t end) {
    uint32_t i = begin + begin % 2, last = (end - 16) & ~1u;
    if (end - begin < 17) {
        morsel_colors_c(a, begin, end);
        return;
    }
    if (begin < i) morsel_colors_c(a, begin, i);
    for (;; i = i + 16 < last ? i + 16 : last) {
        const uint8_t *u = a->u + i / 2 * a->step, *v = a->v + i / 2 * a->step;
        uint8x8x2_t pairs = {.val = {vld1_u8(u), vld1_u8(v)}};
        if (a->step == 2) {
            pairs = vld2_u8(u < v ? u : v);
            if (v < u) pairs = (uint8x8x2_t){.val = {pairs.val[1], pairs.val[0]}};
        }
        colors_block(a->color, a->y + i, pairs.val[0], pairs.val[1], a->out + (size_t)4 * (i - a->first));
        if (i == last) break;
    }
    if (end % 2) morsel_colors_c(a, end - 1, end);
}
