/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time, with AVX2. */
#include "quotient_256.h"
#include "x86.h"

#include <float.h>
#include <string.h>

/* x < low ? x : low, as plain C has it: a NaN leaves what is there. */
MORSEL_INLINE void widen(__m256 *low, __m256 *high, __m256 x) {
    *low = _mm256_min_ps(x, *low);
    *high = _mm256_max_ps(x, *high);
}

static float least_of(__m256 v) {
    __m128 x = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_min_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}

/* Variables, no arrays: at -Os these would lie in memory. */
static void ends_of(const float *x, size_t n, float *y) {
    float few[8] = {0};
    if (n < 8) {
        memcpy(few, x, n * sizeof *x);
        x = few;
        n = 8;
    }
    const float *last = x + n - 8; /* which overlap with those before */
    __m256 low = _mm256_setzero_ps(), high = low, low1 = low, high1 = low, low2 = low, high2 = low, low3 = low, high3 = low;
    for (; n >= 32; n -= 32, x += 32) {
        widen(&low, &high, _mm256_loadu_ps(x));
        widen(&low1, &high1, _mm256_loadu_ps(x + 8));
        widen(&low2, &high2, _mm256_loadu_ps(x + 16));
        widen(&low3, &high3, _mm256_loadu_ps(x + 24));
    }
    for (; n >= 8; n -= 8, x += 8) widen(&low, &high, _mm256_loadu_ps(x));
    widen(&low1, &high1, _mm256_loadu_ps(last));
    low = _mm256_min_ps(_mm256_min_ps(low, low1), _mm256_min_ps(low2, low3));
    high = _mm256_max_ps(_mm256_max_ps(high, high1), _mm256_max_ps(high2, high3));
    y[0] = least_of(low);
    y[1] = 0 - least_of(_mm256_sub_ps(_mm256_setzero_ps(), high)); /* a zero stays +0 */
}

void morsel_range_avx2(const struct morsel_range_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t left = a->elements - u * a->count;
        ends_of(a->x + (size_t)u * a->count, left < a->count ? left : a->count, a->y + 2 * (size_t)u);
    }
    _mm256_zeroupper();
}

/* floor(v) of eight, as plain C has it; a NaN becomes 0. */
MORSEL_INLINE __m256i whole_below(__m256 v) {
    v = _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
    v = _mm256_max_ps(_mm256_set1_ps(-2147483520.0f), _mm256_min_ps(_mm256_set1_ps(2147483520.0f), v));
    return _mm256_cvttps_epi32(_mm256_floor_ps(v));
}

/* What a line has is plain C's; constants are finite, so no product is a NaN. */
void morsel_factors_avx2(const struct morsel_factors_args *a, uint32_t begin, uint32_t end) {
    struct morsel_factors_args lines = *a;
    lines.channels = 0;
    morsel_factors_c(&lines, begin, end);
    const __m256 scale = _mm256_set1_ps(a->y[0]), most = _mm256_set1_ps(FLT_MAX);
    float *factor = a->y + MORSEL_NUMBERS, *bias = factor + a->channels;
    for (uint32_t c = 0; begin < end && c < a->channels; c += 8) {
        __m256 f = _mm256_mul_ps(scale, _mm256_loadu_ps(a->factor + c));
        f = _mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), most), _mm256_min_ps(most, f));
        __m256i whole = _mm256_setzero_si256();
        if (a->bias) whole = whole_below(_mm256_div_ps(_mm256_loadu_ps(a->bias + c), f));
        _mm256_storeu_ps(factor + c, f);
        _mm256_storeu_si256((__m256i *)(void *)(bias + c), whole);
    }
    _mm256_zeroupper();
}

/* 32 values to bytes. Of four vectors the packs leave fours of each in turn. */
MORSEL_INLINE void put_32(uint8_t *y, const float *x, const struct morsel_quotient256 *q, __m256i zero, __m256i flip) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = morsel_steps256(q, _mm256_loadu_ps(x)), b = morsel_steps256(q, _mm256_loadu_ps(x + 8));
    __m256i c = morsel_steps256(q, _mm256_loadu_ps(x + 16)), d = morsel_steps256(q, _mm256_loadu_ps(x + 24));
    __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero), cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_xor_si256(bytes, flip));
}

static void put_few(uint8_t *y, const float *x, uint32_t n, const struct morsel_quotient256 *q, __m256i zero, __m256i flip) {
    uint8_t bytes[32];
    float all[32] = {0};
    memcpy(all, x, n * sizeof *x);
    put_32(bytes, all, q, zero, flip);
    memcpy(y, bytes, n);
}

void morsel_quantize_avx2(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    const __m256i flip = _mm256_set1_epi8((char)a->sign_flip);
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0), *x = a->x + (size_t)u * a->count;
        const __m256i zero = _mm256_set1_epi16((short)morsel_found_zero(numbers));
        uint32_t left = a->elements - u * a->count, n = left < a->count ? left : a->count;
        uint8_t *y = a->y + (size_t)u * a->count;
        if (!morsel_quotient_fits(numbers[0])) {
            _mm256_zeroupper();
            morsel_quantize_c(a, u, u + 1);
            continue;
        }
        const struct morsel_quotient256 q = morsel_quotient256(numbers[0]);
        if (n < 32) {
            put_few(y, x, n, &q, zero, flip);
            continue;
        }
        for (uint32_t i = 0, at; i < n; i += 32) {
            at = i + 32 < n ? i : n - 32; /* the last ones overlap with those before */
            put_32(y + at, x + at, &q, zero, flip);
        }
    }
    _mm256_zeroupper();
}
