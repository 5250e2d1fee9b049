/* SPDX-License-Identifier: MIT */
/* Eight floats with AVX2 and F16C (kernels/float_loops.h): products and sums are never fused, as in plain C. */
#ifndef MORSEL_EIGHT_AVX2_H
#define MORSEL_EIGHT_AVX2_H

#include "x86.h"

#include <immintrin.h>
#include <string.h>

typedef __m256 eight;

MORSEL_INLINE eight eight_load(const float *x) {
    return _mm256_loadu_ps(x);
}

MORSEL_INLINE void eight_save(float *to, eight v) {
    _mm256_storeu_ps(to, v);
}

MORSEL_INLINE eight eight_load_half(const uint16_t *x) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x));
}

MORSEL_INLINE eight eight_all(float v) {
    return _mm256_set1_ps(v);
}

MORSEL_INLINE eight eight_add(eight a, eight b) {
    return _mm256_add_ps(a, b);
}

MORSEL_INLINE eight eight_mul(eight a, eight b) {
    return _mm256_mul_ps(a, b);
}

MORSEL_INLINE eight eight_scale(eight a, float b) {
    return _mm256_mul_ps(a, _mm256_set1_ps(b));
}

MORSEL_INLINE eight eight_sub(eight a, eight b) {
    return _mm256_sub_ps(a, b);
}

MORSEL_INLINE eight eight_div(eight a, eight b) {
    return _mm256_div_ps(a, b);
}

MORSEL_INLINE eight eight_sqrt(eight a) {
    return _mm256_sqrt_ps(a);
}

MORSEL_INLINE eight eight_select(eight a, eight b, eight x, eight y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

MORSEL_INLINE eight eight_number(eight a, eight x, eight y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, a, _CMP_ORD_Q));
}

MORSEL_INLINE eight eight_abs(eight a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

MORSEL_INLINE eight eight_signed(eight a, eight from) {
    return _mm256_or_ps(eight_abs(a), _mm256_and_ps(_mm256_set1_ps(-0.0f), from));
}

/* 2^n for integers -126..127 */
MORSEL_INLINE __m256 power_of_2(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

MORSEL_INLINE eight eight_power(eight v, eight shifted) {
    __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x4b400000)), half = _mm256_srai_epi32(n, 1);
    return _mm256_mul_ps(_mm256_mul_ps(v, power_of_2(half)), power_of_2(_mm256_sub_epi32(n, half)));
}

MORSEL_INLINE eight eight_power_near(eight v, eight shifted) {
    return _mm256_mul_ps(v, power_of_2(_mm256_castps_si256(shifted))); /* the lowest nine bits of EIGHT_SHIFT are 0 */
}

struct eight_reader {
    __m128i sign_flip;
    __m256i zero;
    __m256 scale;
};

static inline struct eight_reader eight_reader(const struct morsel_qparams *qparams) {
    struct eight_reader r = {_mm_set1_epi8((char)qparams->sign_flip), _mm256_set1_epi32(qparams->zero), _mm256_set1_ps(qparams->scale)};
    return r;
}

MORSEL_INLINE eight eight_load_bytes(const struct eight_reader *r, const uint8_t *x) {
    __m128i bytes = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)x), r->sign_flip);
    return _mm256_mul_ps(r->scale, _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(bytes), r->zero)));
}

struct eight_writer {
    __m256 float_min, float_max, scale, low, high; /* low, high: of bytes, without the zero point */
    __m256i zero;
    __m128i sign_flip;
    uint32_t is_float;
};

static inline struct eight_writer eight_writer(const struct morsel_output *y) {
    struct eight_writer w = {
        _mm256_set1_ps(y->float_min),
        _mm256_set1_ps(y->float_max),
        _mm256_set1_ps(y->qparams.scale),
        _mm256_set1_ps((float)(y->out_min - y->qparams.zero)),
        _mm256_set1_ps((float)(y->out_max - y->qparams.zero)),
        _mm256_set1_epi32(y->qparams.zero),
        _mm_set1_epi8((char)y->qparams.sign_flip),
        y->qparams.is_float,
    };
    return w;
}

/* Values in steps of y's scale, into bytes. */
MORSEL_INLINE void eight_write_steps(const struct eight_writer *w, void *y, size_t i, uint32_t first, uint32_t n, eight v) {
    uint8_t bytes[8];
    v = _mm256_min_ps(_mm256_max_ps(v, w->low), w->high);
    __m256i steps = _mm256_add_epi32(_mm256_cvtps_epi32(v), w->zero);
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(steps), _mm256_extracti128_si256(steps, 1));
    __m128i result = _mm_xor_si128(_mm_packus_epi16(words, words), w->sign_flip);
    _mm_storel_epi64((__m128i *)(void *)(n < 8 ? bytes : (uint8_t *)y + i), result);
    if (n < 8) memcpy((uint8_t *)y + i, bytes + first, n);
}

/* The second operand of a minimum or a maximum is the one that a NaN, and a tie of zeros, leads to. */
MORSEL_INLINE void eight_write(const struct eight_writer *w, void *y, size_t i, uint32_t first, uint32_t n, eight v) {
    uint8_t bytes[32];
    v = _mm256_min_ps(w->float_max, _mm256_max_ps(w->float_min, v));
    if (w->is_float) {
        v = _mm256_blendv_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        _mm256_storeu_ps(n < 8 ? (float *)(void *)bytes : (float *)y + i, v);
        if (n < 8) memcpy((float *)y + i, bytes + first * sizeof(float), n * sizeof(float));
        return;
    }
    eight_write_steps(w, y, i, first, n, _mm256_div_ps(v, w->scale));
}

#endif
