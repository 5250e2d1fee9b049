/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time, with AVX-512. What is shorter than 64 goes to AVX2. */
#include "quotient_256.h"
#include "x86.h"

struct quotient {
    __m512 scale, inverse, most;
};

/* As morsel_steps256(). */
MORSEL_INLINE __m512i steps_of(const float *x, const struct quotient *q) {
    const __m512 v = _mm512_min_ps(q->most, _mm512_loadu_ps(x)), near = _mm512_mul_ps(v, q->inverse);
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_fnmadd_ps(near, q->scale, v), q->inverse, near));
}

/* Of four vectors the packs leave fours of each in turn. */
MORSEL_INLINE void put_64(uint8_t *y, const float *x, const struct quotient *q, __m512i zero, __m512i flip) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i a = steps_of(x, q), b = steps_of(x + 16, q), c = steps_of(x + 32, q), d = steps_of(x + 48, q);
    __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero), cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero);
    __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd));
    _mm512_storeu_si512((void *)y, _mm512_xor_si512(bytes, flip));
}

void morsel_quantize_avx512vnni(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    if (a->count < 64) {
        morsel_quantize_avx2(a, begin, end);
        return;
    }
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0), *x = a->x + (size_t)u * a->count, scale = numbers[0];
        const uint32_t left = a->elements - u * a->count, n = left < a->count ? left : a->count;
        uint8_t *y = a->y + (size_t)u * a->count;
        if (n < 64 || !morsel_quotient_fits(scale)) {
            morsel_quantize_avx2(a, u, u + 1);
            continue;
        }
        const struct quotient q = {_mm512_set1_ps(scale), _mm512_set1_ps(1 / scale), _mm512_set1_ps(scale * 1024)};
        const __m512i zero = _mm512_set1_epi16((short)morsel_found_zero(numbers)), flip = _mm512_set1_epi8((char)a->sign_flip);
        for (uint32_t i = 0, at; i < n; i += 64) {
            at = i + 64 < n ? i : n - 64; /* the last ones overlap with those before */
            put_64(y + at, x + at, &q, zero, flip);
        }
        _mm256_zeroupper();
    }
}
