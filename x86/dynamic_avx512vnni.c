/* SPDX-License-Identifier: MIT */
/* Quantization whose numbers are found at run time, with AVX-512. What is less than a whole vector goes to AVX2. */
#include "quotient_256.h"
#include "x86.h"

/* As morsel_steps256(). */
static inline __m512i steps_of(const float *x, __m512 scale, __m512 inverse, __m512 most) {
    const __m512 v = _mm512_min_ps(most, _mm512_loadu_ps(x)), near = _mm512_mul_ps(v, inverse);
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_fnmadd_ps(near, scale, v), inverse, near));
}

/* Of four vectors the packs leave fours of each in turn. */
static void quantize_64(const float *x, uint8_t *y, uint32_t n, float by, uint32_t zero_point, uint32_t sign_flip) {
    const __m512 scale = _mm512_set1_ps(by), inverse = _mm512_set1_ps(1 / by), most = _mm512_set1_ps(by * 1024);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i zero = _mm512_set1_epi16((short)zero_point), flip = _mm512_set1_epi8((char)sign_flip);
    for (; n; n -= 64, x += 64, y += 64) {
        __m512i a = steps_of(x, scale, inverse, most), b = steps_of(x + 16, scale, inverse, most);
        __m512i c = steps_of(x + 32, scale, inverse, most), d = steps_of(x + 48, scale, inverse, most);
        __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero), cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero);
        __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd));
        _mm512_storeu_si512((void *)y, _mm512_xor_si512(bytes, flip));
    }
    _mm256_zeroupper();
}

void morsel_quantize_avx512vnni(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0);
        const size_t first = (size_t)u * a->count;
        const uint32_t left = a->elements - u * a->count, n = left < a->count ? left : a->count, whole = n / 64 * 64;
        if (!morsel_quotient_fits(numbers[0]) || !whole) {
            morsel_quantize_avx2(a, u, u + 1);
            continue;
        }
        quantize_64(a->x + first, a->y + first, whole, numbers[0], (uint32_t)morsel_found_zero(numbers), a->sign_flip);
        if (n > whole) {
            struct morsel_quantize_args rest = {a->x + first + whole, a->y + first + whole, numbers, n - whole, n - whole, 0, a->sign_flip};
            morsel_quantize_avx2(&rest, 0, 1);
        }
    }
}
