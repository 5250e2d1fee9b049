/* SPDX-License-Identifier: MIT */
/*
 * Tiles of six or four pixels x 16 channels with everything in 16 bits, exact for any weights. Bytes would saturate in vpmaddubsw.
 *
 * Inputs of some pixels become words once for all blocks, weights of a block once for all those pixels. Where windows are long, both are
 * pieces of them, and sums wait in memory for the next piece. Of sixteen registers twelve are sums, two are weights.
 */
#ifndef MORSEL_WORDS_AVX2_H
#define MORSEL_WORDS_AVX2_H

#include "seven_avx2.h"

/* A piece of the windows of some pixels. */
struct morsel_piece {
    uint32_t from;         /* the first quad of the window */
    uint32_t lines, pairs; /* lines of the piece, pairs of inputs in each */
    size_t step, line;     /* words from pixel to pixel, from line to line */
};

#define MORSEL_WORDS_OF(a, b) /* the bytes above bytes a and b of each four, and those */ \
    -1, a, -1, b, -1, a + 4, -1, b + 4, -1, a + 8, -1, b + 8, -1, a + 12, -1, b + 12

/* Eight channels' weights of four inputs: the first two and the last two. */
MORSEL_INLINE void morsel_widen_weights(int16_t *first, int16_t *last, const int8_t *w) {
    const __m256i low = _mm256_setr_epi8(MORSEL_WORDS_OF(0, 1), MORSEL_WORDS_OF(0, 1));
    const __m256i high = _mm256_setr_epi8(MORSEL_WORDS_OF(2, 3), MORSEL_WORDS_OF(2, 3));
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w);
    _mm256_store_si256((__m256i *)(void *)first, _mm256_srai_epi16(_mm256_shuffle_epi8(v, low), 8));
    if (last) _mm256_store_si256((__m256i *)(void *)last, _mm256_srai_epi16(_mm256_shuffle_epi8(v, high), 8));
}

/* Weights of a block: 16 channels for each pair of inputs. */
static inline void morsel_widen_block(int16_t *to, const struct morsel_piece *p, const int8_t *w) {
    for (uint32_t k = 0; k < p->lines; k++) {
        for (uint32_t left = p->pairs, more; left; left -= more, w += 64, to += 32 * more) {
            more = left > 1 ? 2 : 1;
            morsel_widen_weights(to, more > 1 ? to + 32 : NULL, w);
            morsel_widen_weights(to + 16, more > 1 ? to + 48 : NULL, w + 32);
        }
    }
}

/* What a tile multiplies. Sums count from `from`, of which pixels are `next` apart, and go to `to`. Weights at `soon`, as many bytes as are
 * multiplied now, are asked for. With a part, six pixels of all its 16 channels go to y as bytes instead. */
struct morsel_words {
    const struct morsel_piece *piece;
    const uint16_t *x;
    const int16_t *weights;
    const int8_t *soon;
    const int32_t *from;
    size_t next;
    int32_t *to;
    const struct morsel_part256 *part;
    uint8_t *y;
};

/* A tile of six pixels, else four; both: of more than eight channels. */
void morsel_words_tile_avx2(const struct morsel_words *t, int six, int both);

/* How many pixels the next tile has, of `left`: tiles of six and of four together have no more than one pixel too many. */
static inline size_t morsel_words_pixels(size_t left) {
    return left > 8 || left == 5 || left == 6 ? 6 : 4;
}

/* Sums of pixels at .. end of n to their bytes or floats. */
void morsel_store_words_avx2(const struct morsel_part256 *part, const int32_t *sums, size_t at, size_t end, size_t n);

/* Whether Winograd's products take a convolution, and n rows of it by them: a multiple of two dilations. */
int morsel_winograd_takes_avx2(const struct morsel_conv_args *args);
void morsel_winograd_rows_avx2(const struct morsel_conv_args *args, const uint8_t *const *rows, uint32_t y, uint32_t n);

/* Named fields: compilers keep arrays that long in memory. */
struct morsel_six256 {
    __m256i p0, p1, p2, p3, p4, p5;
};

MORSEL_INLINE __m256i morsel_load_sums(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

MORSEL_INLINE struct morsel_six256 morsel_load_six(const int32_t *p, size_t next, int six) {
    const size_t fifth = six ? 4 * next : 0, sixth = six ? 5 * next : 0;
    struct morsel_six256 s = {
        morsel_load_sums(p),         morsel_load_sums(p + next),  morsel_load_sums(p + 2 * next), morsel_load_sums(p + 3 * next),
        morsel_load_sums(p + fifth), morsel_load_sums(p + sixth),
    };
    return s;
}

MORSEL_INLINE void morsel_save_six(int32_t *p, const struct morsel_six256 *s, int six) {
    _mm256_storeu_si256((__m256i *)(void *)p, s->p0);
    _mm256_storeu_si256((__m256i *)(void *)(p + 16), s->p1);
    _mm256_storeu_si256((__m256i *)(void *)(p + 32), s->p2);
    _mm256_storeu_si256((__m256i *)(void *)(p + 48), s->p3);
    if (!six) return;
    _mm256_storeu_si256((__m256i *)(void *)(p + 64), s->p4);
    _mm256_storeu_si256((__m256i *)(void *)(p + 80), s->p5);
}

/* Six pixels of 16 channels to bytes. */
MORSEL_INLINE void morsel_finish_six(const struct morsel_words *t, const struct morsel_six256 *a, const struct morsel_six256 *b) {
    const size_t step = t->part->y_step;
    uint8_t *y = t->y;
    morsel_store_2x16(t->part, y, y + step, a->p0, b->p0, a->p1, b->p1, 16, NULL);
    y += 2 * step;
    morsel_store_2x16(t->part, y, y + step, a->p2, b->p2, a->p3, b->p3, 16, NULL);
    y += 2 * step;
    morsel_store_2x16(t->part, y, y + step, a->p4, b->p4, a->p5, b->p5, 16, NULL);
}

/* Two inputs of a pixel, with the weights of one half of the block or both. */
MORSEL_INLINE void morsel_add_words(__m256i *a, __m256i *b, const uint16_t *x, __m256i low, __m256i high, int both) {
    __m256i u = morsel_broadcast256((const uint8_t *)x);
    *a = _mm256_add_epi32(*a, _mm256_madd_epi16(u, low));
    if (both) *b = _mm256_add_epi32(*b, _mm256_madd_epi16(u, high));
}

/* six: of six pixels, else four; both: whether there are more than eight channels. */
MORSEL_INLINE void morsel_tile_words(const struct morsel_words *t, int six, int both) {
    const size_t step = t->piece->step, three = 3 * step, five = 5 * step;
    struct morsel_six256 a = morsel_load_six(t->from, t->next, six), b = a;
    const int16_t *w = t->weights;
    const uint16_t *line = t->x;
    const int8_t *soon = t->soon;
    if (both) b = morsel_load_six(t->from + 8, t->next, six);
    for (uint32_t k = t->piece->lines; k; k--, line += t->piece->line) {
        const uint16_t *x = line;
        for (const int16_t *end = w + t->piece->pairs * 32; w != end; w += 32, x += 2, soon += 32) {
            _mm_prefetch((const char *)soon, _MM_HINT_T0);
            const __m256i low = _mm256_load_si256((const __m256i *)(const void *)w);
            const __m256i high = _mm256_load_si256((const __m256i *)(const void *)(w + 16));
            morsel_add_words(&a.p0, &b.p0, x, low, high, both);
            morsel_add_words(&a.p1, &b.p1, x + step, low, high, both);
            morsel_add_words(&a.p2, &b.p2, x + 2 * step, low, high, both);
            morsel_add_words(&a.p3, &b.p3, x + three, low, high, both);
            if (!six) continue;
            morsel_add_words(&a.p4, &b.p4, x + 4 * step, low, high, both);
            morsel_add_words(&a.p5, &b.p5, x + five, low, high, both);
        }
    }
    if (six && both && t->part) {
        morsel_finish_six(t, &a, &b);
        return;
    }
    morsel_save_six(t->to, &a, six);
    if (both) morsel_save_six(t->to + 8, &b, six);
}

#endif
