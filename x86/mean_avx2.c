/* SPDX-License-Identifier: MIT */
/* Means with AVX2: sixteen elements side by side at a time, or lines that lie in order. */
#include "../kernels/mean.h"
#include "requant_avx2.h"
#include "x86.h"

/* Sums of sixteen lines of `count` bytes; at most 255 * count, which is below 2^31. */
static inline void sum16(const struct morsel_mean_args *a, const uint8_t *x, __m256i *low, __m256i *high) {
    __m128i flip = _mm_set1_epi8((char)a->x.qparams.sign_flip);
    *low = *high = _mm256_setzero_si256();
    for (uint32_t i = 0; i < a->count; i++, x += a->inner) {
        __m128i v = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)x), flip);
        *low = _mm256_add_epi32(*low, _mm256_cvtepu8_epi32(v));
        *high = _mm256_add_epi32(*high, _mm256_cvtepu8_epi32(_mm_srli_si128(v, 8)));
    }
}

uint32_t morsel_sum_bytes_avx2(const uint8_t *x, uint32_t n, uint8_t flip) {
    const __m256i flips = _mm256_set1_epi8((char)flip), none = _mm256_setzero_si256();
    __m256i sums = none; /* of 64 bits */
    uint32_t i = 0, sum = 0;
    for (; n - i >= 32; i += 32) {
        __m256i v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(x + i)), flips);
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(v, none));
    }
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    for (; n - i >= 8; i += 8) {
        __m128i v = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)(x + i)), _mm256_castsi256_si128(flips));
        half = _mm_add_epi64(half, _mm_sad_epu8(_mm_move_epi64(v), _mm_setzero_si128()));
    }
    for (; i < n; i++) sum += x[i] ^ flip;
    sum += (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(half, _mm_unpackhi_epi64(half, half)));
    _mm256_zeroupper();
    return sum;
}

const char *morsel_mean_refusal_avx2(const void *args) {
    const struct morsel_mean_args *a = args;
    return !a->x.qparams.is_float && a->inner > 1 && a->inner < 16 ? MORSEL_REFUSES_NARROW : NULL;
}

/* Elements u .. u + n, which lie side by side, sixteen at a time; x: the first bytes of their lines. Returns how many were made. */
static uint32_t mean_columns(const struct morsel_mean_args *a, const uint8_t *x, uint32_t u, uint32_t n) {
    const struct morsel_requant256 r = morsel_requant256(&a->y, a->y.qparams.zero);
    const __m256 m = _mm256_set1_ps(a->multiplier);
    const __m256i zero = _mm256_set1_epi32(a->x.qparams.zero * (int32_t)a->count);
    uint32_t sums[16], i = 0;
    for (; n - i >= 16; i += 16) {
        __m256i low, high;
        sum16(a, x + i, &low, &high);
        if (a->y.qparams.is_float) {
            _mm256_storeu_si256((__m256i *)(void *)sums, low);
            _mm256_storeu_si256((__m256i *)(void *)(sums + 8), high);
            morsel_store_means(a, u + i, 16, sums);
            continue;
        }
        low = morsel_scale256(&r, _mm256_sub_epi32(low, zero), m);
        high = morsel_scale256(&r, _mm256_sub_epi32(high, zero), m);
        __m256i bytes = morsel_pack256_in_order(&r, low, high, low, high);
        _mm_storeu_si128((__m128i *)(void *)((uint8_t *)a->y.data + u + i), _mm256_castsi256_si128(bytes));
    }
    _mm256_zeroupper();
    return i;
}

void morsel_mean_avx2(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    if (a->x.qparams.is_float || a->inner == 1) {
        if (a->x.qparams.is_float) morsel_mean_floats_avx2(a, begin, end);
        else morsel_mean_lines(a, morsel_sum_bytes_avx2, begin, end);
        return;
    }
    for (uint32_t line; begin < end; begin = line) {
        uint32_t at = begin % a->inner;
        line = a->inner - at < end - begin ? begin + a->inner - at : end;
        begin += mean_columns(a, (const uint8_t *)a->x.data + (size_t)(begin / a->inner) * a->count * a->inner + at, begin, line - begin);
        if (begin < line) morsel_mean_c(a, begin, line);
    }
}
