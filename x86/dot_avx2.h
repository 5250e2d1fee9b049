/* SPDX-License-Identifier: MIT */
/* Products of bytes with AVX2 without saturation: as pairs of 16-bit integers. */
#ifndef MORSEL_DOT_AVX2_H
#define MORSEL_DOT_AVX2_H

#include "x86.h"

#include <immintrin.h>

/* Of each four bytes k0..k3, k0 and k2, and k1 and k3. */
struct morsel_pairs {
    __m256i even, odd;
};

MORSEL_INLINE struct morsel_pairs morsel_pairs(__m256i w) {
    struct morsel_pairs p = {_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
    return p;
}

/* Eight sums, each plus four products of unsigned bytes and pairs. */
MORSEL_INLINE __m256i morsel_dot_pairs(__m256i acc, __m256i u, struct morsel_pairs w) {
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_and_si256(u, _mm256_set1_epi16(255)), w.even));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_srli_epi16(u, 8), w.odd));
}

#endif
