/* SPDX-License-Identifier: MIT */
/* Depthwise convolution with AVX2: four taps as two pairs of 16-bit integers, taps 0 and 2 in registers 0..3, 1 and 3 in 4..7. */
#define MORSEL_BELOW_1
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

#define dw_dot(acc, x, taps, j) dw_dot_words(acc, (x)->v[j], (taps)->v[j], (x)->v[(j) + 4], (taps)->v[(j) + 4])

MORSEL_INLINE __m256i dw_dot_words(__m256i acc, __m256i even, __m256i even_taps, __m256i odd, __m256i odd_taps) {
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(even, even_taps));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(odd, odd_taps));
}

#include "depthwise_256.h"

void morsel_depthwise_channels_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t begin,
                                    uint32_t end) {
    dw_run_rows(a, rows, y, n, begin, end);
    _mm256_zeroupper();
}

int morsel_depthwise_fits_avx2(const struct morsel_conv_args *a) {
    return dw_results_at_once(&a->window, dw_most(a)) != 0;
}

const char *morsel_depthwise_refusal_avx2(const void *args) {
    return dw_refusal(args);
}

void morsel_depthwise_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    dw_rows(a, rows, y, n);
}
