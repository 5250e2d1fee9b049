/* SPDX-License-Identifier: MIT */
/* Eight floats with NEON, in two vectors (kernels/float_loops.h): products and sums are never fused, as in plain C. */
#ifndef MORSEL_EIGHT_NEON_H
#define MORSEL_EIGHT_NEON_H

#include "arm64.h"

#include <float.h>

typedef float32x4x2_t eight;

#define MORSEL_INLINE static inline __attribute__((always_inline))

MORSEL_INLINE eight eight_of(float32x4_t low, float32x4_t high) {
    eight v = {{low, high}};
    return v;
}

MORSEL_INLINE eight eight_load(const float *x) {
    return eight_of(vld1q_f32(x), vld1q_f32(x + 4));
}

MORSEL_INLINE void eight_save(float *to, eight v) {
    vst1q_f32(to, v.val[0]);
    vst1q_f32(to + 4, v.val[1]);
}

MORSEL_INLINE eight eight_load_half(const uint16_t *x) {
    float16x8_t v = vreinterpretq_f16_u16(vld1q_u16(x));
    return eight_of(vcvt_f32_f16(vget_low_f16(v)), vcvt_high_f32_f16(v));
}

MORSEL_INLINE eight eight_all(float v) {
    return eight_of(vdupq_n_f32(v), vdupq_n_f32(v));
}

MORSEL_INLINE eight eight_add(eight a, eight b) {
    return eight_of(vaddq_f32(a.val[0], b.val[0]), vaddq_f32(a.val[1], b.val[1]));
}

MORSEL_INLINE eight eight_mul(eight a, eight b) {
    return eight_of(vmulq_f32(a.val[0], b.val[0]), vmulq_f32(a.val[1], b.val[1]));
}

MORSEL_INLINE eight eight_scale(eight a, float b) {
    return eight_of(vmulq_n_f32(a.val[0], b), vmulq_n_f32(a.val[1], b));
}

MORSEL_INLINE eight eight_sub(eight a, eight b) {
    return eight_of(vsubq_f32(a.val[0], b.val[0]), vsubq_f32(a.val[1], b.val[1]));
}

MORSEL_INLINE eight eight_div(eight a, eight b) {
    return eight_of(vdivq_f32(a.val[0], b.val[0]), vdivq_f32(a.val[1], b.val[1]));
}

MORSEL_INLINE eight eight_sqrt(eight a) {
    return eight_of(vsqrtq_f32(a.val[0]), vsqrtq_f32(a.val[1]));
}

MORSEL_INLINE eight eight_select(eight a, eight b, eight x, eight y) {
    return eight_of(vbslq_f32(vcltq_f32(a.val[0], b.val[0]), x.val[0], y.val[0]),
                    vbslq_f32(vcltq_f32(a.val[1], b.val[1]), x.val[1], y.val[1]));
}

MORSEL_INLINE eight eight_number(eight a, eight x, eight y) {
    return eight_of(vbslq_f32(vceqq_f32(a.val[0], a.val[0]), x.val[0], y.val[0]),
                    vbslq_f32(vceqq_f32(a.val[1], a.val[1]), x.val[1], y.val[1]));
}

MORSEL_INLINE eight eight_abs(eight a) {
    return eight_of(vabsq_f32(a.val[0]), vabsq_f32(a.val[1]));
}

MORSEL_INLINE eight eight_signed(eight a, eight from) {
    const uint32x4_t sign = vdupq_n_u32(0x80000000);
    return eight_of(vbslq_f32(sign, from.val[0], a.val[0]), vbslq_f32(sign, from.val[1], a.val[1]));
}

/* 2^n for integers -126..127 */
MORSEL_INLINE float32x4_t power_of_2(int32x4_t n) {
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

MORSEL_INLINE float32x4_t times_power(float32x4_t v, float32x4_t shifted) {
    int32x4_t n = vsubq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(0x4b400000)), half = vshrq_n_s32(n, 1);
    return vmulq_f32(vmulq_f32(v, power_of_2(half)), power_of_2(vsubq_s32(n, half)));
}

MORSEL_INLINE eight eight_power(eight v, eight shifted) {
    return eight_of(times_power(v.val[0], shifted.val[0]), times_power(v.val[1], shifted.val[1]));
}

/* The lowest nine bits of EIGHT_SHIFT are 0. */
MORSEL_INLINE eight eight_power_near(eight v, eight shifted) {
    return eight_of(vmulq_f32(v.val[0], power_of_2(vreinterpretq_s32_f32(shifted.val[0]))),
                    vmulq_f32(v.val[1], power_of_2(vreinterpretq_s32_f32(shifted.val[1]))));
}

struct eight_reader {
    uint8x8_t sign_flip;
    int16x8_t zero;
    float scale;
};

static inline struct eight_reader eight_reader(const struct morsel_qparams *qparams) {
    struct eight_reader r = {vdup_n_u8((uint8_t)qparams->sign_flip), vdupq_n_s16((int16_t)qparams->zero), qparams->scale};
    return r;
}

MORSEL_INLINE eight eight_load_bytes(const struct eight_reader *r, const uint8_t *x) {
    int16x8_t v = vsubq_s16(vreinterpretq_s16_u16(vmovl_u8(veor_u8(vld1_u8(x), r->sign_flip))), r->zero);
    return eight_of(vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(v))), r->scale),
                    vmulq_n_f32(vcvtq_f32_s32(vmovl_high_s16(v)), r->scale));
}

struct eight_writer {
    float32x4_t float_min, float_max, scale, low, high; /* low, high: of bytes, without the zero point */
    int32x4_t zero;
    uint8x8_t sign_flip;
    uint32_t is_float, limited;
};

static inline struct eight_writer eight_writer(const struct morsel_output *y) {
    struct eight_writer w = {
        vdupq_n_f32(y->float_min),
        vdupq_n_f32(y->float_max),
        vdupq_n_f32(y->qparams.scale),
        vdupq_n_f32((float)(y->out_min - y->qparams.zero)),
        vdupq_n_f32((float)(y->out_max - y->qparams.zero)),
        vdupq_n_s32(y->qparams.zero),
        vdup_n_u8((uint8_t)y->qparams.sign_flip),
        y->qparams.is_float,
        y->float_min >= -FLT_MAX || y->float_max <= FLT_MAX,
    };
    return w;
}

MORSEL_INLINE float32x4_t eight_clamp(const struct eight_writer *w, float32x4_t v) {
    return morsel_limit4(v, w->float_min, w->float_max);
}

/* The one NaN that is stored. */
MORSEL_INLINE float32x4_t eight_sound(float32x4_t v) {
    return vbslq_f32(vceqq_f32(v, v), v, vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000)));
}

/* Of a NaN the number that it is compared with is left. */
MORSEL_INLINE int32x4_t eight_steps(const struct eight_writer *w, float32x4_t v) {
    return vaddq_s32(vcvtnq_s32_f32(vminnmq_f32(vmaxnmq_f32(v, w->low), w->high)), w->zero);
}

/* Values in steps of y's scale, into bytes. */
MORSEL_INLINE void eight_write_steps(const struct eight_writer *w, void *y, size_t i, uint32_t first, uint32_t n, eight v) {
    uint8_t bytes[8];
    int16x8_t steps = vcombine_s16(vmovn_s32(eight_steps(w, v.val[0])), vmovn_s32(eight_steps(w, v.val[1])));
    vst1_u8(n < 8 ? bytes : (uint8_t *)y + i, veor_u8(vmovn_u16(vreinterpretq_u16_s16(steps)), w->sign_flip));
    if (n < 8) memcpy((uint8_t *)y + i, bytes + first, n);
}

MORSEL_INLINE void eight_write(const struct eight_writer *w, void *y, size_t i, uint32_t first, uint32_t n, eight v) {
    uint8_t bytes[32];
    float32x4_t low = v.val[0], high = v.val[1];
    if (w->limited) low = eight_clamp(w, low), high = eight_clamp(w, high);
    if (w->is_float) {
        eight_save(n < 8 ? (float *)(void *)bytes : (float *)y + i, eight_of(eight_sound(low), eight_sound(high)));
        if (n < 8) memcpy((float *)y + i, bytes + first * sizeof(float), n * sizeof(float));
        return;
    }
    eight_write_steps(w, y, i, first, n, eight_of(vdivq_f32(low, w->scale), vdivq_f32(high, w->scale)));
}

#endif
