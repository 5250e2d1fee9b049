/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time, with AVX2. */
#include "quotient_256.h"
#include "x86.h"

#include <string.h>

/* x < low ? x : low, as plain C has it: a NaN leaves what is there. */
static inline void widen(__m256 *low, __m256 *high, __m256 x) {
    *low = _mm256_min_ps(x, *low);
    *high = _mm256_max_ps(x, *high);
}

static void ends_of(const float *x, size_t n, float *y) {
    __m256 low[4], high[4];
    float last[8] = {0}, ends[8], least = 0, most = 0;
    for (int i = 0; i < 4; i++) low[i] = high[i] = _mm256_setzero_ps();
    for (; n >= 32; n -= 32, x += 32) {
        MORSEL_UNROLL
        for (int i = 0; i < 4; i++) widen(&low[i], &high[i], _mm256_loadu_ps(x + 8 * i));
    }
    for (; n >= 8; n -= 8, x += 8) widen(&low[0], &high[0], _mm256_loadu_ps(x));
    memcpy(last, x, n * sizeof *x);
    widen(&low[1], &high[1], _mm256_loadu_ps(last));
    for (int i = 1; i < 4; i++) low[0] = _mm256_min_ps(low[i], low[0]), high[0] = _mm256_max_ps(high[i], high[0]);
    _mm256_storeu_ps(ends, low[0]);
    for (int i = 0; i < 8; i++) least = ends[i] < least ? ends[i] : least;
    _mm256_storeu_ps(ends, high[0]);
    for (int i = 0; i < 8; i++) most = ends[i] > most ? ends[i] : most;
    y[0] = least;
    y[1] = most;
}

void morsel_range_avx2(const struct morsel_range_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t left = a->elements - u * a->count;
        ends_of(a->x + (size_t)u * a->count, left < a->count ? left : a->count, a->y + 2 * (size_t)u);
    }
    _mm256_zeroupper();
}

/* 32 values to bytes. Of four vectors the packs leave fours of each in turn. */
static inline void put_32(uint8_t *y, const float *x, const struct morsel_quotient256 *q, __m256i zero, __m256i flip) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i a = morsel_steps256(q, _mm256_loadu_ps(x)), b = morsel_steps256(q, _mm256_loadu_ps(x + 8));
    __m256i c = morsel_steps256(q, _mm256_loadu_ps(x + 16)), d = morsel_steps256(q, _mm256_loadu_ps(x + 24));
    __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero), cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero);
    __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order);
    _mm256_storeu_si256((__m256i *)(void *)y, _mm256_xor_si256(bytes, flip));
}

void morsel_quantize_avx2(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    const __m256i flip = _mm256_set1_epi8((char)a->sign_flip);
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0), *x = a->x + (size_t)u * a->count;
        const __m256i zero = _mm256_set1_epi16((short)morsel_found_zero(numbers));
        uint32_t left = a->elements - u * a->count, n = left < a->count ? left : a->count;
        uint8_t *y = a->y + (size_t)u * a->count, bytes[32] = {0};
        float last[32] = {0};
        if (!morsel_quotient_fits(numbers[0])) {
            morsel_quantize_c(a, u, u + 1);
            continue;
        }
        const struct morsel_quotient256 q = morsel_quotient256(numbers[0]);
        for (uint32_t now; n; n -= now, x += now, y += now) {
            now = n < 32 ? n : 32;
            if (now < 32) memcpy(last, x, n * sizeof *x);
            put_32(now < 32 ? bytes : y, now < 32 ? last : x, &q, zero, flip);
            if (now < 32) memcpy(y, bytes, n);
        }
    }
    _mm256_zeroupper();
}
