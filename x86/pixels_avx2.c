/* SPDX-License-Identifier: MIT */
/*
 * Pixels weighed across and down: products of 16 bits by the upper and the lower bits of the weights, two a lane, or of 32 bits.
 * And pixels made of luminance and chroma.
 */
#include "../kernels/pixels.h"

#include "x86.h"

#include <immintrin.h>
#include <string.h>

/* Red, green and blue of the first two of four pixels of three bytes, then of four bytes; and of the other two. */
static const uint8_t spread[2][2][16] = {{{0, 255, 3, 255, 1, 255, 4, 255, 2, 255, 5, 255, 255, 255, 255, 255},
                                          {6, 255, 9, 255, 7, 255, 10, 255, 8, 255, 11, 255, 255, 255, 255, 255}},
                                         {{0, 255, 4, 255, 1, 255, 5, 255, 2, 255, 6, 255, 255, 255, 255, 255},
                                          {8, 255, 12, 255, 9, 255, 13, 255, 10, 255, 14, 255, 255, 255, 255, 255}}};

MORSEL_INLINE __m256i load_two(const void *low, const void *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)), _mm_loadu_si128(high), 1);
}

/* Sums of four pixels by their upper bits and by the lower ones. */
struct sums {
    __m256i high, low;
};

MORSEL_INLINE struct sums weigh_four(const uint8_t *pixel, size_t apart, const uint32_t *weight, size_t words, const __m256i *places) {
    __m256i pixels = load_two(pixel, pixel + apart), weights = load_two(weight, weight + words);
    __m256i front = _mm256_shuffle_epi8(pixels, places[0]), back = _mm256_shuffle_epi8(pixels, places[1]);
    __m256i high = _mm256_madd_epi16(front, _mm256_shuffle_epi32(weights, 0x00));
    __m256i low = _mm256_madd_epi16(front, _mm256_shuffle_epi32(weights, 0xaa));
    return (struct sums){_mm256_add_epi32(high, _mm256_madd_epi16(back, _mm256_shuffle_epi32(weights, 0x55))),
                         _mm256_add_epi32(low, _mm256_madd_epi16(back, _mm256_shuffle_epi32(weights, 0xff)))};
}

/* A column in each half, the second `words` behind the first, of as many pixels as the longer one has: other weights are 0. */
MORSEL_INLINE __m256i two_of_three(const uint32_t *column, size_t words, const uint8_t *line, size_t channels, const __m256i *places) {
    const uint8_t *pixel = line + channels * column[0];
    const size_t apart = channels * (column[words] - column[0]);
    struct sums s = weigh_four(pixel, apart, column + 2, words, places);
    if (words > 6) {
        uint32_t count = column[1] > column[words + 1] ? column[1] : column[words + 1];
        for (const uint32_t *end = column + count; (column += 4) < end;) {
            struct sums more = weigh_four(pixel += 4 * channels, apart, column + 2, words, places);
            s.high = _mm256_add_epi32(s.high, more.high);
            s.low = _mm256_add_epi32(s.low, more.low);
        }
    }
    s.low = _mm256_add_epi32(s.low, _mm256_set1_epi32(MORSEL_PIXEL_HALF));
    return _mm256_srli_epi32(_mm256_add_epi32(s.low, _mm256_slli_epi32(s.high, 8)), MORSEL_PIXEL_BITS);
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

/* Of three channels a fourth byte is written, and then over it by the next column. Where the loop begins late in a line of the cache it
 * takes a tenth longer: the function begins where that never is so. */
__attribute__((aligned(32))) void morsel_across_avx2(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    uint32_t safe = a->safe < end ? a->safe : end, i = begin;
    const size_t words = 2 + 4 * a->groups, channels = a->channels;
    const uint32_t *column = a->columns + i * words;
    uint8_t *row = a->row + channels * i;
    if (channels == 1) {
        for (; i < safe; i++, column += words) *row++ = (uint8_t)to_pixel(column_of_one(column, a->line));
    } else {
        const __m128i *both = (const void *)spread[channels - 3];
        const __m256i places[2] = {_mm256_broadcastsi128_si256(_mm_loadu_si128(both)),
                                   _mm256_broadcastsi128_si256(_mm_loadu_si128(both + 1))};
        for (; i + 1 < safe && i + 2 < end; i += 2, column += 2 * words, row += 2 * channels) {
            __m256i pixels = two_of_three(column, words, a->line, channels, places);
            pixels = _mm256_packus_epi32(pixels, pixels);
            pixels = _mm256_packus_epi16(pixels, pixels);
            _mm_storeu_si32(row, _mm256_castsi256_si128(pixels));
            _mm_storeu_si32(row + channels, _mm256_extracti128_si256(pixels, 1));
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

/* U and V of sixteen pairs of pixels, in turns. */
MORSEL_INLINE __m256i take_chroma(const uint8_t *u, const uint8_t *v, size_t step) {
    if (step == 1) {
        __m128i first = _mm_loadu_si128((const void *)u), second = _mm_loadu_si128((const void *)v);
        return _mm256_setr_m128i(_mm_unpacklo_epi8(first, second), _mm_unpackhi_epi8(first, second));
    }
    if (u < v) return _mm256_loadu_si256((const void *)u);
    __m256i turned = _mm256_loadu_si256((const void *)v);
    return _mm256_or_si256(_mm256_slli_epi16(turned, 8), _mm256_srli_epi16(turned, 8));
}

/* Sixteen sums of pixels, by the pairs' chroma and Y of the first and of the second of each: in turns. */
MORSEL_INLINE __m256i color_of(__m256i pairs, const __m256i *y, __m256i chroma, __m256i rest) {
    pairs = _mm256_add_epi32(_mm256_madd_epi16(pairs, chroma), rest);
    __m256i first = _mm256_srai_epi32(_mm256_add_epi32(pairs, y[0]), MORSEL_COLOR_BITS);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(pairs, y[1]), 16 - MORSEL_COLOR_BITS);
    return _mm256_blend_epi16(first, second, 0xaa);
}

/* Thirty-two pixels. Halves of vectors have sixteen pixels each. */
MORSEL_INLINE void colors_block(const struct morsel_colors_args *a, const uint8_t *luma, __m256i chroma, uint8_t *out) {
    const __m256i none = _mm256_setzero_si256(), first = _mm256_set1_epi32(a->color->y), second = _mm256_slli_epi32(first, 16);
    __m256i y = _mm256_loadu_si256((const void *)luma), front = _mm256_unpacklo_epi8(y, none), back = _mm256_unpackhi_epi8(y, none);
    __m256i bright[4] = {_mm256_madd_epi16(front, first), _mm256_madd_epi16(front, second), _mm256_madd_epi16(back, first),
                         _mm256_madd_epi16(back, second)};
    __m256i color[3];
    front = _mm256_unpacklo_epi8(chroma, none);
    back = _mm256_unpackhi_epi8(chroma, none);
    MORSEL_UNROLL
    for (int c = 0; c < 3; c++) {
        int32_t both;
        memcpy(&both, a->color->chroma[c], sizeof both);
        __m256i weights = _mm256_set1_epi32(both), rest = _mm256_set1_epi32(a->color->rest[c]);
        color[c] = _mm256_packus_epi16(color_of(front, bright, weights, rest), color_of(back, bright + 2, weights, rest));
    }
    __m256i rg[2] = {_mm256_unpacklo_epi8(color[0], color[1]), _mm256_unpackhi_epi8(color[0], color[1])};
    __m256i b[2] = {_mm256_unpacklo_epi8(color[2], none), _mm256_unpackhi_epi8(color[2], none)};
    MORSEL_UNROLL
    for (int k = 0; k < 2; k++) {
        __m256i four = _mm256_unpacklo_epi16(rg[k], b[k]), next = _mm256_unpackhi_epi16(rg[k], b[k]);
        _mm256_storeu_si256((void *)(out + 32 * k), _mm256_permute2x128_si256(four, next, 0x20));
        _mm256_storeu_si256((void *)(out + 64 + 32 * k), _mm256_permute2x128_si256(four, next, 0x31));
    }
}

/* The last thirty-two may be some of those before them again. */
void morsel_colors_avx2(const struct morsel_colors_args *a, uint32_t begin, uint32_t end) {
    uint32_t i = begin + begin % 2, last = (end - 32) & ~1u;
    if (end - begin < 33) {
        morsel_colors_c(a, begin, end);
        return;
    }
    if (begin < i) morsel_colors_c(a, begin, i);
    for (;; i = i + 32 < last ? i + 32 : last) {
        size_t at = i / 2 * a->step;
        colors_block(a, a->y + i, take_chroma(a->u + at, a->v + at, a->step), a->out + (size_t)4 * (i - a->first));
        if (i == last) break;
    }
    _mm256_zeroupper();
    if (end % 2) morsel_colors_c(a, end - 1, end);
}
