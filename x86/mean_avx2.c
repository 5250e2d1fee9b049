/* SPDX-License-Identifier: MIT */
/* Means with AVX2: sixteen elements side by side at a time. */
#include "requant_avx2.h"
#include "x86.h"

/* Sums of sixteen lines of `count` bytes; at most 255 * count, which is below 2^31. */
static inline void sum16(const struct morsel_mean_args *a, const uint8_t *x, __m256i *low, __m256i *high) {
    __m128i flip = _mm_set1_epi8((char)a->x.qparams.sign_flip);
    __m256i zero = _mm256_set1_epi32(a->x.qparams.zero * (int32_t)a->count);
    *low = *high = _mm256_setzero_si256();
    for (uint32_t i = 0; i < a->count; i++, x += a->inner) {
        __m128i v = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)x), flip);
        *low = _mm256_add_epi32(*low, _mm256_cvtepu8_epi32(v));
        *high = _mm256_add_epi32(*high, _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)));
    }
    *low = _mm256_sub_epi32(*low, zero);
    *high = _mm256_sub_epi32(*high, zero);
}

const char *morsel_mean_refusal_avx2(const void *args) {
    const struct morsel_mean_args *a = args;
    if (a->x.qparams.is_float) return NULL;
    if (a->y.qparams.is_float) return MORSEL_REFUSES_FLOATS;
    return a->inner < 16 ? MORSEL_REFUSES_NARROW : NULL;
}

void morsel_mean_avx2(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    struct morsel_requant256 r = morsel_requant256(&a->y, a->y.qparams.zero);
    __m256 m = _mm256_set1_ps(a->multiplier);
    uint8_t *y = a->y.data;
    uint32_t u = begin;
    while (u < end && !a->x.qparams.is_float && !a->y.qparams.is_float) {
        uint32_t at = u % a->inner, most = a->inner - at < end - u ? a->inner - at : end - u;
        if (most < 16) break;
        const uint8_t *x = (const uint8_t *)a->x.data + (size_t)(u / a->inner) * a->count * a->inner + at;
        for (uint32_t i = 0; most - i >= 16; i += 16, u += 16) {
            __m256i low, high;
            sum16(a, x + i, &low, &high);
            low = morsel_scale256(&r, low, m);
            high = morsel_scale256(&r, high, m);
            _mm_storeu_si128((__m128i *)(void *)(y + u), _mm256_castsi256_si128(morsel_pack256_in_order(&r, low, high, low, high)));
        }
    }
    if (u < end) (a->x.qparams.is_float ? morsel_mean_floats_avx2 : morsel_mean_c)(a, u, end);
}
