/* SPDX-License-Identifier: MIT */
/*
 * How AVX2 multiplies each quad of inputs, k0..k3, with eight channels' weights: the cheapest way that a proof allows.
 *
 * vpmaddubsw adds two products of a byte each in 16 bits and saturates. With inputs up to 255 it is exact where the two weights add up to
 * -128..128, as 255 * 128 = 32640. Weights of different signs do no worse than the larger of them alone. Most pairs of weights do, so most
 * quads have one of three pairings in which all 16 pairs do. What is left is multiplied as 16-bit integers. Where all quads of the eight
 * channels are proven as they are, two that stay exact together are added in 16 bits too.
 */
#ifndef MORSEL_WAYS_AVX2_H
#define MORSEL_WAYS_AVX2_H

#include "x86.h"

#include <immintrin.h>

#define MORSEL_WAYS_MOST 2048u /* quads */
#define MORSEL_WAYS_LEAST 6u   /* that are worth lists */
#define MORSEL_WAYS_TRIED 32u  /* of those, before hope is given up */

/* Pairings beside (k0, k1), (k2, k3). */
#define MORSEL_SWAP 1u /* (k0, k2), (k1, k3) */
#define MORSEL_TURN 2u /* (k1, k2), (k3, k0) */

/*
 * Numbers of quads by their way, in two lists of `quads` places. The first has those that are multiplied as they are, from the front, and
 * words, from the back. The second has those to swap, from the front, and to turn, from the back. There are no lists where all quads are
 * words. Where all are as they are, `second` says of each two quads whether they are added in 16 bits.
 */
struct morsel_ways {
    uint16_t *first, *second;
    uint32_t quads;
    uint32_t plain, words, swap, turn; /* how many */
};

#define MORSEL_SWAP_BYTES 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15
#define MORSEL_TURN_BYTES 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12

MORSEL_INLINE __m256i morsel_swap256(__m256i v) {
    return _mm256_shuffle_epi8(v, _mm256_setr_epi8(MORSEL_SWAP_BYTES, MORSEL_SWAP_BYTES));
}

MORSEL_INLINE __m256i morsel_turn256(__m256i v) {
    return _mm256_shuffle_epi8(v, _mm256_setr_epi8(MORSEL_TURN_BYTES, MORSEL_TURN_BYTES));
}

/* Whether the pairs of 16 weights do not all fit. */
MORSEL_INLINE uint32_t morsel_too_large(__m256i w) {
    __m256i size = _mm256_abs_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), w));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(size, _mm256_set1_epi16(128))) != 0;
}

/* Finds the ways of quads begin .. end of eight channels, every 64 bytes; `pairings` are those to be had beside the first. */
MORSEL_INLINE void morsel_find_ways_of(struct morsel_ways *to, const int8_t *w, uint32_t pairings, uint32_t begin, uint32_t end) {
    const uint32_t no_swap = !(pairings & MORSEL_SWAP), no_turn = !(pairings & MORSEL_TURN), n = to->quads;
    uint16_t *plain = to->first + to->plain, *words = to->first + n - 1 - to->words;
    uint16_t *swap = to->second + to->swap, *turn = to->second + n - 1 - to->turn;
    w += begin * (size_t)64;
    for (uint32_t i = begin; i < end; i++, w += 64) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w);
        uint32_t not_plain = morsel_too_large(v), not_swap = morsel_too_large(morsel_swap256(v)) | no_swap;
        uint32_t not_turn = morsel_too_large(morsel_turn256(v)) | no_turn;
        /* Without branches, which could not be foreseen: each list is written at its free end, and one of the ends moves. */
        *plain = *words = *swap = *turn = (uint16_t)i;
        plain += !not_plain;
        swap += not_plain & !not_swap;
        turn -= not_plain & not_swap & !not_turn;
        words -= not_plain & not_swap & not_turn;
    }
    to->plain = (uint32_t)(plain - to->first);
    to->words = (uint32_t)(to->first + n - 1 - words);
    to->swap = (uint32_t)(swap - to->second);
    to->turn = (uint32_t)(to->second + n - 1 - turn);
}

/* The same, where the second pairing is all there is. */
static __attribute__((noinline)) void morsel_find_swaps(struct morsel_ways *to, const int8_t *w, uint32_t begin, uint32_t end) {
    morsel_find_ways_of(to, w, MORSEL_SWAP, begin, end);
}

static __attribute__((noinline)) void morsel_find_all(struct morsel_ways *to, const int8_t *w, uint32_t pairings, uint32_t begin,
                                                      uint32_t end) {
    morsel_find_ways_of(to, w, pairings, begin, end);
}

static inline void morsel_find_ways(struct morsel_ways *to, const int8_t *w, uint32_t pairings, uint32_t begin, uint32_t end) {
    if (pairings == MORSEL_SWAP) morsel_find_swaps(to, w, begin, end);
    else morsel_find_all(to, w, pairings, begin, end);
}

/* Largest sums of the positive and of the negative weights of pairs, as 16-bit integers. */
struct morsel_extent {
    __m256i most, least;
};

MORSEL_INLINE struct morsel_extent morsel_extent(const int8_t *w) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w), zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    struct morsel_extent e = {_mm256_maddubs_epi16(ones, _mm256_max_epi8(v, zero)), _mm256_maddubs_epi16(ones, _mm256_min_epi8(v, zero))};
    return e;
}

MORSEL_INLINE int morsel_extent_fits(struct morsel_extent e) {
    __m256i bad = _mm256_or_si256(_mm256_cmpgt_epi16(e.most, _mm256_set1_epi16(128)), _mm256_cmpgt_epi16(_mm256_set1_epi16(-128), e.least));
    return _mm256_testz_si256(bad, bad);
}

/* Whether all quads can be multiplied as they are, and then, which two of them together; a kernel row has `row` quads. */
static inline int morsel_all_plain(struct morsel_ways *to, const int8_t *w, uint32_t row) {
    struct morsel_extent all = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    uint16_t *two = to->second;
    for (uint32_t i = 0, left = row; i < to->quads; w += 64) {
        struct morsel_extent a = morsel_extent(w), b = a;
        int more = left > 1;
        if (more) b = morsel_extent(w += 64);
        all.most = _mm256_max_epi16(all.most, _mm256_max_epi16(a.most, b.most));
        all.least = _mm256_min_epi16(all.least, _mm256_min_epi16(a.least, b.least));
        a.most = _mm256_add_epi16(a.most, b.most);
        a.least = _mm256_add_epi16(a.least, b.least);
        *two = (uint16_t)morsel_extent_fits(a);
        two += more;
        i += 1 + (uint32_t)more;
        left = left > 2 ? left - 2 : row;
        if (i % 4 < 2 && !morsel_extent_fits(all)) return 0;
    }
    for (uint32_t i = 0; i < to->quads; i++) to->first[i] = (uint16_t)i;
    to->plain = to->quads;
    to->words = to->swap = to->turn = 0;
    return morsel_extent_fits(all);
}

static inline void morsel_all_words(struct morsel_ways *to) {
    to->plain = to->swap = to->turn = 0;
    to->words = to->quads;
}

/* Whether so many of n quads are words that lists do not pay. */
static inline int morsel_mostly_words(const struct morsel_ways *to, uint32_t n) {
    return to->words * 2 > n;
}

/* The ways that the weights `w` are proven for; a kernel row has `row` quads. */
static inline void morsel_choose_ways(struct morsel_ways *to, const int8_t *w, uint32_t row, uint32_t pairings) {
    uint32_t n = to->quads, tried = n < MORSEL_WAYS_TRIED ? n : MORSEL_WAYS_TRIED;
    if (morsel_all_plain(to, w, row)) return;
    to->plain = to->words = to->swap = to->turn = 0;
    if (n >= MORSEL_WAYS_LEAST) morsel_find_ways(to, w, pairings, 0, tried);
    int hopeless = n < MORSEL_WAYS_LEAST || morsel_mostly_words(to, tried);
    if (!hopeless) morsel_find_ways(to, w, pairings, tried, n);
    if (hopeless || morsel_mostly_words(to, n)) morsel_all_words(to);
}

#endif
