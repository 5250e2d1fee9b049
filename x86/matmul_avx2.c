/* SPDX-License-Identifier: MIT */
/* Products of two activations with the kernel of each instruction set for constant weights. */
#include "fc_rows.h"
#include "x86.h"

#include <immintrin.h>

MORSEL_INLINE void pack_quad(uint8_t *to, const uint8_t *const *rows, uint8_t flip) {
    __m128i f = _mm_set1_epi8((char)flip), v[4];
    for (int i = 0; i < 4; i++) v[i] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)rows[i]), f);
    __m128i a = _mm_unpacklo_epi8(v[0], v[1]), b = _mm_unpackhi_epi8(v[0], v[1]);
    __m128i c = _mm_unpacklo_epi8(v[2], v[3]), d = _mm_unpackhi_epi8(v[2], v[3]);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi16(a, c));
    _mm_storeu_si128((__m128i *)(void *)(to + 16), _mm_unpackhi_epi16(a, c));
    _mm_storeu_si128((__m128i *)(void *)(to + 32), _mm_unpacklo_epi16(b, d));
    _mm_storeu_si128((__m128i *)(void *)(to + 48), _mm_unpackhi_epi16(b, d));
}

static inline void sum_quad(int32_t *sum, const int8_t *w) {
    for (int i = 0; i < 2; i++, sum += 8, w += 32) {
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_loadu_si256((const __m256i *)(const void *)w));
        const __m256i four = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        _mm256_storeu_si256((__m256i *)(void *)sum, _mm256_add_epi32(four, _mm256_loadu_si256((const __m256i *)(const void *)sum)));
    }
}

#include "../kernels/matmul_packed.h"

const char *morsel_matmul_refusal_avx2(const void *args) {
    return packed_refusal(args);
}

static void multiply(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end, packed_fn *by) {
    if (packs(a, begin, end)) matmul_packed(a, begin, end, by);
    else morsel_matmul_rows_c(a, begin, end);
    _mm256_zeroupper();
}

/* By tiles, where rows of x are every so many pixels of a row; else row by row. */
static void by_tiles(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step, morsel_conv_has_tiles_fn *tiles,
                     morsel_conv_lines_fn *conv, morsel_fc_fn *fc) {
    struct morsel_conv_args args = morsel_fc_as_conv(a, a->rows, y_step);
    struct morsel_fc_args row = *a;
    const uint8_t *x = a->x.data;
    args.window.stride_w = apart;
    args.window.in_w *= apart;
    if (tiles(&args)) {
        conv(&args, &x, NULL);
        return;
    }
    row.rows = 1;
    for (uint32_t i = 0; i < a->rows; i++, x += (size_t)apart * a->inputs) {
        row.x.data = x;
        row.y.data = (uint8_t *)a->y.data + (size_t)i * y_step * morsel_element_bytes(&a->y.qparams);
        fc(&row, 0, a->blocks);
    }
}

static void by_avx2(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    by_tiles(a, apart, y_step, morsel_conv_has_tiles_avx2, morsel_conv_lines_avx2, morsel_fc_blocks_avx2);
}

static void by_avxvnni(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    by_tiles(a, apart, y_step, morsel_conv_has_tiles_avx2, morsel_conv_lines_avxvnni, morsel_fc_blocks_avxvnni);
}

static void by_avx512vnni(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step) {
    by_tiles(a, apart, y_step, morsel_conv_has_tiles_avx512vnni, morsel_conv_lines_avx512vnni, morsel_fc_blocks_avx512vnni);
}

void morsel_matmul_rows_avx2(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, by_avx2);
}

void morsel_matmul_rows_avxvnni(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, by_avxvnni);
}

void morsel_matmul_rows_avx512vnni(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, by_avx512vnni);
}
