/* SPDX-License-Identifier: MIT */
/* Pixels weighed across and down: products of 16 bits by the upper and the lower bits of the weights, two a lane, or of 32 bits. */
#include "../kernels/pixels.h"

#include "x86.h"

#include <immintrin.h>
#include <string.h>

/* Four pixels of three channels at once: red, green and blue of the first two in the lower half, of the others in the upper one. */
static __m128i column_of_three(const uint32_t *column, const uint8_t *line) {
    const __m256i spread = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, /* the next two pixels: */
                                            6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
    const __m256i upper = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), lower = _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
    const uint8_t *pixel = line + (size_t)3 * column[0];
    const uint32_t *weights = column + 2, *end = weights + column[1];
    __m256i high = _mm256_setzero_si256(), low = high;
    for (; weights < end; weights += 4, pixel += 12) {
        __m256i pixels = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)pixel)), spread);
        __m256i four = _mm256_castsi128_si256(_mm_loadu_si128((const void *)weights));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(pixels, _mm256_permutevar8x32_epi32(four, upper)));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(pixels, _mm256_permutevar8x32_epi32(four, lower)));
    }
    low = _mm256_add_epi32(low, _mm256_slli_epi32(high, 8));
    return _mm_add_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
}

/* Four gray pixels, by their upper bits in the lower half and by the lower ones in the upper half. */
static __m128i column_of_one(const uint32_t *column, const uint8_t *line) {
    const uint8_t *pixel = line + column[0];
    const uint32_t *weights = column + 2, *end = weights + column[1];
    __m128i both = _mm_setzero_si128();
    for (; weights < end; weights += 4, pixel += 4) {
        uint32_t four;
        memcpy(&four, pixel, sizeof four);
        __m128i pixels = _mm_cvtepu8_epi16(_mm_set1_epi32((int)four));
        both = _mm_add_epi32(both, _mm_madd_epi16(pixels, _mm_loadu_si128((const void *)weights)));
    }
    both = _mm_add_epi32(both, _mm_shuffle_epi32(both, 0xb1));
    return _mm_add_epi32(_mm_slli_epi32(both, 8), _mm_shuffle_epi32(both, 0xee));
}

/* The first bytes are the pixel's. */
static uint32_t to_pixel(__m128i sums) {
    sums = _mm_srli_epi32(_mm_add_epi32(sums, _mm_set1_epi32(MORSEL_PIXEL_HALF)), MORSEL_PIXEL_BITS);
    sums = _mm_packus_epi32(sums, sums);
    return (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(sums, sums));
}

/* A fourth byte is written, and then over it by the next column. */
void morsel_across_avx2(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    uint32_t safe = a->safe < end ? a->safe : end, i = begin, words = 2 + 4 * a->groups;
    const uint32_t *column = a->columns + (size_t)i * words;
    if (a->channels == 1) {
        for (; i < safe; i++, column += words) a->row[i] = (uint8_t)to_pixel(column_of_one(column, a->line));
    } else {
        for (; i < safe && i + 1 < end; i++, column += words) {
            uint32_t pixel = to_pixel(column_of_three(column, a->line));
            memcpy(a->row + (size_t)3 * i, &pixel, sizeof pixel);
        }
    }
    _mm256_zeroupper();
    if (i < end) morsel_across_c(a, i, end);
}

/* Thirty-two bytes of each row. */
static void blend_block(const struct morsel_blend_args *a, uint32_t i) {
    __m256i sums[4];
    const uint8_t *row = a->rows + i;
    MORSEL_UNROLL
    for (int n = 0; n < 4; n++)
        sums[n] = a->more ? _mm256_loadu_si256((const void *)(a->sums + i + 8 * n)) : _mm256_set1_epi32(MORSEL_PIXEL_HALF);
    for (uint32_t k = 0; k < a->count; k++, row += a->stride) {
        __m256i weight = _mm256_set1_epi32(a->weights[k]);
        MORSEL_UNROLL
        for (int n = 0; n < 4; n++) {
            __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(row + 8 * n)));
            sums[n] = _mm256_add_epi32(sums[n], _mm256_mullo_epi32(bytes, weight));
        }
    }
    if (!a->out) {
        MORSEL_UNROLL
        for (int n = 0; n < 4; n++) _mm256_storeu_si256((void *)(a->sums + i + 8 * n), sums[n]);
        return;
    }
    MORSEL_UNROLL
    for (int n = 0; n < 4; n++) sums[n] = _mm256_srli_epi32(sums[n], MORSEL_PIXEL_BITS);
    __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(sums[0], sums[1]), _mm256_packus_epi32(sums[2], sums[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((void *)(a->out + i), bytes);
}

void morsel_blend_avx2(const struct morsel_blend_args *a, uint32_t begin, uint32_t end) {
    uint32_t i = begin;
    for (; end - i >= 32; i += 32) blend_block(a, i);
    _mm256_zeroupper();
    if (i < end) morsel_blend_c(a, i, end);
}
