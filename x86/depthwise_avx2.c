/* SPDX-License-Identifier: MIT */
/* Depthwise convolution with AVX2: four taps as two pairs of 16-bit integers, taps 0 and 2 in registers 0..3, 1 and 3 in 4..7. */
#include "dot_avx2.h"

#include <string.h>

#define DW_VECTORS 8

MORSEL_INLINE void dw_keep(__m256i *to, const __m256i *q) {
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        to[j] = _mm256_and_si256(q[j], _mm256_set1_epi16(255));
        to[j + 4] = _mm256_srli_epi16(q[j], 8);
    }
}

MORSEL_INLINE void dw_keep_taps(__m256i *to, const __m256i *q) {
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) {
        struct morsel_pairs p = morsel_pairs(q[j]);
        to[j] = p.even;
        to[j + 4] = p.odd;
    }
}

#define dw_add(acc, x, taps) dw_add_words(acc, (x)->v, (taps)->v)

MORSEL_INLINE void dw_add_words(__m256i *acc, const __m256i *x, const __m256i *taps) {
    MORSEL_UNROLL
    for (int j = 0; j < 8; j++) acc[j % 4] = _mm256_add_epi32(acc[j % 4], _mm256_madd_epi16(x[j], taps[j]));
}

#include "depthwise_256.h"

void morsel_depthwise_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    dw_rows(a, rows, y, n);
}
