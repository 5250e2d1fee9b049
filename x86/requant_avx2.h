/* SPDX-License-Identifier: MIT */
/*
 * Results with AVX2: the vector twin of kernels/requant.h, for bytes.
 *
 * Only the upper limit is applied in float, so that no product is above what an int32 holds. A product below -2^31 becomes -2^31 in the
 * conversion, and both packs saturate; the lower limit then holds as bytes. A file that defines MORSEL_BELOW_1 takes only multipliers below
 * 1, which morsel_fits256 asks. No product leaves the int32s then, and the upper limit holds as bytes too. Conversions round as float
 * arithmetic does, to nearest even, in plain C too.
 */
#ifndef MORSEL_REQUANT_AVX2_H
#define MORSEL_REQUANT_AVX2_H

#include "x86.h"

#include <immintrin.h>
#include <string.h>

struct morsel_requant256 {
    __m256 high;            /* out_max - zero */
    __m256i zero, low;      /* int16s, bytes */
    __m256i top, sign_flip; /* bytes; top is out_max */
    int whole;              /* whether results are what the packs saturate to: zero point 0, limits 0 and 255, not flipped */
};

/* For values that count from `zero`. */
static inline struct morsel_requant256 morsel_requant256(const struct morsel_output *y, int32_t zero) {
    struct morsel_requant256 r = {
        _mm256_set1_ps((float)(y->out_max - zero)),   _mm256_set1_epi16((short)zero),
        _mm256_set1_epi8((char)y->out_min),           _mm256_set1_epi8((char)y->out_max),
        _mm256_set1_epi8((char)y->qparams.sign_flip), zero == 0 && y->out_min == 0 && y->out_max == 255 && y->qparams.sign_flip == 0,
    };
    return r;
}

/* Eight values to integers without the zero point, not yet limited from below. */
MORSEL_INLINE __m256i morsel_round256(const struct morsel_requant256 *r, __m256 v) {
#if defined(MORSEL_BELOW_1)
    (void)r;
    return _mm256_cvtps_epi32(v);
#else
    return _mm256_cvtps_epi32(_mm256_min_ps(v, r->high));
#endif
}

static inline __m256i morsel_scale256(const struct morsel_requant256 *r, __m256i acc, __m256 multiplier) {
    return morsel_round256(r, _mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier));
}

/* The same with float biases. */
static inline __m256i morsel_scale256_bias(const struct morsel_requant256 *r, __m256i acc, __m256 multiplier, __m256 bias) {
    return morsel_round256(r, _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), multiplier), bias));
}

/* Whether all multipliers are below 1; with float biases, below 1/2 and the biases below 2^30, so that sums stay within the int32s. n is a
 * multiple of 8. */
static inline int morsel_fits256(const float *multiplier, const float *bias, size_t n) {
    __m256 small = _mm256_castsi256_ps(_mm256_set1_epi32(-1)), sign = _mm256_set1_ps(-0.0f), most = _mm256_set1_ps(bias ? 0.5f : 1);
    for (size_t i = 0; i < n; i += 8) {
        small = _mm256_and_ps(small, _mm256_cmp_ps(_mm256_andnot_ps(sign, _mm256_loadu_ps(multiplier + i)), most, _CMP_LT_OQ));
        if (!bias) continue;
        __m256 size = _mm256_andnot_ps(sign, _mm256_loadu_ps(bias + i));
        small = _mm256_and_ps(small, _mm256_cmp_ps(size, _mm256_set1_ps(1073741824.0f), _CMP_LT_OQ));
    }
    return _mm256_movemask_ps(small) == 0xff;
}

/* 32 of those to bytes. In lane i of 16 bytes stand the four integers of lane i of a, then of b, c and d. */
MORSEL_INLINE __m256i morsel_pack256(const struct morsel_requant256 *r, __m256i a, __m256i b, __m256i c, __m256i d) {
    __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
    if (r->whole) return _mm256_packus_epi16(ab, cd);
    ab = _mm256_packus_epi16(_mm256_adds_epi16(ab, r->zero), _mm256_adds_epi16(cd, r->zero));
    __m256i bytes = _mm256_max_epu8(ab, r->low);
#if defined(MORSEL_BELOW_1)
    bytes = _mm256_min_epu8(bytes, r->top);
#endif
    return _mm256_xor_si256(bytes, r->sign_flip);
}

/* The same with the eight bytes of a first, then those of b, c and d. */
MORSEL_INLINE __m256i morsel_pack256_in_order(const struct morsel_requant256 *r, __m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return _mm256_permutevar8x32_epi32(morsel_pack256(r, a, b, c, d), order);
}

/* The first n of 16 bytes. */
static inline void morsel_store_first(uint8_t *y, __m128i v, uint32_t n) {
    uint8_t bytes[16];
    if (n >= 16) {
        _mm_storeu_si128((__m128i *)(void *)y, v);
        return;
    }
    _mm_storeu_si128((__m128i *)(void *)bytes, v);
    if (n == 8) memcpy(y, bytes, 8);
    else
        for (uint32_t i = 0; i < n; i++) y[i] = bytes[i];
}

#endif
