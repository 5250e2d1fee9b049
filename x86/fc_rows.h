/* SPDX-License-Identifier: MIT */
/* Many rows of a matrix product are a convolution 1 x 1 over a picture of one row, which has faster tiles. */
#ifndef MORSEL_FC_ROWS_H
#define MORSEL_FC_ROWS_H

#include "../kernels/kernels.h"

#include <immintrin.h>

#define MORSEL_FC_FEW 4u /* rows that are not worth it */

/* Whole rows row .. row + n. */
static inline void morsel_fc_as_conv(const struct morsel_fc_args *a, size_t row, uint32_t n, morsel_conv_fn *conv) {
    const uint8_t *x = (const uint8_t *)a->x.data + row * a->inputs;
    struct morsel_conv_args args = {
        .window = {1, n, a->inputs, 1, n, a->outputs, 1, 1, 1, 1, 1, 1, 0, 0, n * a->inputs, n * a->outputs},
        .x = a->x,
        .y = a->y,
        .weights = a->weights,
        .channels = a->channels,
        .groups = 1,
    };
    args.y.data = (uint8_t *)a->y.data + row * a->outputs;
    conv(&args, &x, 0, 1);
}

/* Of n bytes ^ flip. */
static inline uint32_t morsel_sum_bytes(const uint8_t *x, uint32_t n, uint8_t flip) {
    __m128i v = _mm_setzero_si128(), f = _mm_set1_epi8((char)flip);
    uint32_t i = 0, sum = 0;
    for (; n - i >= 16; i += 16) {
        __m128i u = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(x + i)), f);
        v = _mm_add_epi32(v, _mm_sad_epu8(u, _mm_setzero_si128()));
    }
    for (; i < n; i++) sum += x[i] ^ flip;
    return sum + (uint32_t)_mm_cvtsi128_si32(v) + (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(v, 8));
}

/* Of a row whose weights have a zero point: K x.zero - the sum of its K bytes, with the padding, which is 0 ^ flip. */
static inline int32_t morsel_fc_below(const struct morsel_fc_args *a, const uint8_t *x) {
    const uint8_t flip = (uint8_t)a->x.qparams.sign_flip;
    uint32_t wide = (a->inputs + 3) / 4 * 4;
    return (int32_t)(wide * (uint32_t)a->x.qparams.zero - (wide - a->inputs) * flip - morsel_sum_bytes(x, a->inputs, flip));
}

/* The units begin .. end: rows that are whole, and many, by `conv` where it takes the constants; the others by `few`. */
static inline void morsel_fc_rows(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, int fits, morsel_conv_fn *conv,
                                  morsel_fc_fn *few) {
    uint32_t first = (begin + a->blocks - 1) / a->blocks, last = end / a->blocks;
    if (!fits || a->y.qparams.is_float || a->channels.weight_zero || last < first + MORSEL_FC_FEW) {
        few(a, begin, end);
        return;
    }
    if (begin < first * a->blocks) few(a, begin, first * a->blocks);
    morsel_fc_as_conv(a, first, last - first, conv);
    if (last * a->blocks < end) few(a, last * a->blocks, end);
}

#endif
