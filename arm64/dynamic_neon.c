/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time, with NEON. */
#include "arm64.h"

#include <arm_neon.h>
#include <float.h>
#include <string.h>

/* As plain C compares: a NaN leaves what is there, and so does a zero of either sign. */
static inline float32x4_t lower_of(float32x4_t x, float32x4_t low) {
    return vbslq_f32(vcltq_f32(x, low), x, low);
}

static inline float32x4_t higher_of(float32x4_t x, float32x4_t high) {
    return vbslq_f32(vcgtq_f32(x, high), x, high);
}

static void ends_of(const float *x, size_t n, float *y) {
    float32x4_t low[2] = {vdupq_n_f32(0), vdupq_n_f32(0)}, high[2] = {low[0], low[0]};
    float last[8] = {0};
    for (; n; n -= n < 8 ? n : 8, x += 8) {
        const float *from = n < 8 ? memcpy(last, x, n * sizeof *x) : x;
        for (int i = 0; i < 2; i++) {
            float32x4_t v = vld1q_f32(from + 4 * i);
            low[i] = lower_of(v, low[i]);
            high[i] = higher_of(v, high[i]);
        }
        if (n < 8) break;
    }
    y[0] = vminvq_f32(lower_of(low[1], low[0])); /* no -0 is among them */
    y[1] = vmaxvq_f32(higher_of(high[1], high[0]));
}

void morsel_range_neon(const struct morsel_range_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t left = a->elements - u * a->count;
        ends_of(a->x + (size_t)u * a->count, left < a->count ? left : a->count, a->y + 2 * (size_t)u);
    }
}

/* floor(v), as plain C has it; a NaN becomes 0. */
static inline int32x4_t whole_below(float32x4_t v) {
    return vcvtmq_s32_f32(vmaxq_f32(vdupq_n_f32(-2147483520.0f), vminq_f32(vdupq_n_f32(2147483520.0f), v)));
}

/* What a line has is plain C's; constants are finite, so no product is a NaN. */
void morsel_factors_neon(const struct morsel_factors_args *a, uint32_t begin, uint32_t end) {
    struct morsel_factors_args lines = *a;
    lines.channels = 0;
    morsel_factors_c(&lines, begin, end);
    const float32x4_t scale = vdupq_n_f32(a->y[0]), most = vdupq_n_f32(FLT_MAX);
    float *factor = a->y + MORSEL_NUMBERS, *bias = factor + a->channels;
    for (uint32_t c = 0; begin < end && c < a->channels; c += 4) {
        float32x4_t f = vmaxq_f32(vnegq_f32(most), vminq_f32(most, vmulq_f32(scale, vld1q_f32(a->factor + c))));
        int32x4_t whole = vdupq_n_s32(0);
        if (a->bias) whole = whole_below(vdivq_f32(vld1q_f32(a->bias + c), f));
        vst1q_f32(factor + c, f);
        vst1q_f32(bias + c, vreinterpretq_f32_s32(whole));
    }
}

/* x / scale, rounded to an integer, without a division: as x86/quotient_256.h has it. A NaN becomes less than any result. */
static inline int16x4_t steps(const float *p, float32x4_t scale, float32x4_t inverse, float32x4_t most) {
    float32x4_t x = vminq_f32(most, vld1q_f32(p)), v = vmulq_f32(x, inverse);
    v = vfmaq_f32(v, vfmsq_f32(x, v, scale), inverse);
    return vqmovn_s32(vcvtnq_s32_f32(vmaxnmq_f32(v, vdupq_n_f32(-1024))));
}

static void put_line(const struct morsel_quantize_args *a, const float *numbers, size_t at, size_t n) {
    const float32x4_t scale = vdupq_n_f32(numbers[0]), inverse = vdupq_n_f32(1 / numbers[0]), most = vdupq_n_f32(numbers[0] * 1024);
    const int16x8_t zero = vdupq_n_s16((int16_t)morsel_found_zero(numbers));
    const uint8x16_t flip = vdupq_n_u8((uint8_t)a->sign_flip);
    const float *x = a->x + at;
    uint8_t *y = a->y + at, bytes[16] = {0};
    float last[16] = {0};
    for (size_t now; n; n -= now, x += now, y += now) {
        const float *from = n < 16 ? memcpy(last, x, n * sizeof *x) : x;
        now = n < 16 ? n : 16;
        int16x8_t a0 = vcombine_s16(steps(from, scale, inverse, most), steps(from + 4, scale, inverse, most));
        int16x8_t a1 = vcombine_s16(steps(from + 8, scale, inverse, most), steps(from + 12, scale, inverse, most));
        uint8x16_t v = vcombine_u8(vqmovun_s16(vqaddq_s16(a0, zero)), vqmovun_s16(vqaddq_s16(a1, zero)));
        vst1q_u8(now < 16 ? bytes : y, veorq_u8(v, flip));
        if (now < 16) memcpy(y, bytes, now);
    }
}

/* Scales between 2^-60 and 2^60. */
static inline int fits(float scale) {
    return scale >= 8.6736174e-19f && scale <= 1.1529215e18f;
}

void morsel_quantize_neon(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0);
        uint32_t left = a->elements - u * a->count;
        if (fits(numbers[0])) put_line(a, numbers, (size_t)u * a->count, left < a->count ? left : a->count);
        else morsel_quantize_c(a, u, u + 1);
    }
}

/* ---- products ---- */

/* Four channels of a pixel in float. */
static inline float32x4_t finish(int32x4_t sum, float32x4_t m, float32x4_t bias, float32x4_t low, float32x4_t high) {
    return morsel_limit4(vaddq_f32(vmulq_f32(vcvtq_f32_s32(sum), m), bias), low, high);
}

void morsel_store_tile_floats(const struct morsel_conv_args *a, const struct morsel_tile *t, const float *lines, int32_t taps) {
    const struct morsel_channels *c = &a->channels;
    const float32x4_t low = vdupq_n_f32(a->y.float_min), high = vdupq_n_f32(a->y.float_max);
    uint32_t channel = t->channel;
    float *y[4], scale[4];
    int32_t shift[4];
    for (uint32_t p = 0; p < t->pixels; p++) {
        const float *line = lines + 2 * (size_t)p;
        y[p] = (float *)a->y.data + t->first + (size_t)p * a->window.out_c;
        scale[p] = line[0];
        shift[p] = 128 - morsel_found_zero(line);
    }
    for (uint32_t i = 0; i < t->channels; i += 4, channel += 4) {
        const uint32_t n = t->channels - i;
        const float32x4_t m = vld1q_f32(c->multiplier + channel);
        const float32x4_t bias = c->float_bias ? vld1q_f32(c->float_bias + channel) : vdupq_n_f32(-0.0f); /* adding that changes nothing */
        int32x4_t slope = vld1q_s32(c->weight_sum + channel);
        if (c->weight_zero) slope = vmlsq_n_s32(slope, vld1q_s32(c->weight_zero + channel), taps);
        for (uint32_t p = 0; p < t->pixels; p++) {
            const int32x4_t sum = vmlaq_n_s32(vld1q_s32(t->raw[p] + i), slope, shift[p]);
            const float32x4_t v = finish(sum, vmulq_n_f32(m, scale[p]), bias, low, high);
            if (n >= 4) vst1q_f32(y[p] + i, v);
            else memcpy(y[p] + i, &v, n * sizeof v[0]);
        }
    }
}

int32_t morsel_sum_signed(const uint8_t *x, uint32_t n) {
    int32x4_t sum = vdupq_n_s32(0);
    for (; n >= 16; n -= 16, x += 16) sum = vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_u8(vld1q_u8(x))));
    for (; n; n -= 4, x += 4) {
        int32_t four;
        memcpy(&four, x, 4);
        sum = vpadalq_s16(sum, vpaddlq_s8(vreinterpretq_s8_s32(vsetq_lane_s32(four, vdupq_n_s32(0), 0))));
    }
    return vaddvq_s32(sum);
}

void morsel_start_zeros(const struct morsel_tile *t, const int32_t *below, uint32_t c, int32_t *to) {
    for (uint32_t p = 0; p < 4; p++)
        for (uint32_t i = c; i < c + 16; i += 4, to += 4)
            vst1q_s32(to, vmlaq_n_s32(vld1q_s32(t->span->start + i), vld1q_s32(t->zero + i), below[p]));
}
