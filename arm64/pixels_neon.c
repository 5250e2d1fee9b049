/* SPDX-License-Identifier: MIT */
/* Pixels weighed across and down: products of 16 bits by the upper and the lower bits of the weights, or of 32 bits. */
#include "../kernels/pixels.h"

#include <arm_neon.h>
#include <string.h>

/* Red, green, blue of two pixels in 16 bits each, and of the two behind them. */
static const uint8_t spread[2][16] = {{0, 255, 1, 255, 2, 255, 255, 255, 3, 255, 4, 255, 5, 255, 255, 255},
                                      {6, 255, 7, 255, 8, 255, 255, 255, 9, 255, 10, 255, 11, 255, 255, 255}};

static int32x4_t column_of_three(const uint32_t *column, const uint8_t *line) {
    const uint8x16_t front = vld1q_u8(spread[0]), back = vld1q_u8(spread[1]);
    const uint8_t *pixel = line + (size_t)3 * column[0];
    const uint32_t *weights = column + 2, *end = weights + column[1];
    int32x4_t high = vdupq_n_s32(0), low = high;
    for (; weights < end; weights += 4, pixel += 12) {
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
        int32x4_t sums = a->channels == 3 ? column_of_three(column, a->line) : column_of_one(column, a->line);
        sums = vshrq_n_s32(vaddq_s32(sums, vdupq_n_s32(MORSEL_PIXEL_HALF)), MORSEL_PIXEL_BITS);
        uint8x8_t pixel = vqmovun_s16(vcombine_s16(vqmovn_s32(sums), vdup_n_s16(0)));
        to[0] = vget_lane_u8(pixel, 0);
        if (a->channels == 1) continue;
        to[1] = vget_lane_u8(pixel, 1);
        to[2] = vget_lane_u8(pixel, 2);
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
