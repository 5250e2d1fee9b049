/* SPDX-License-Identifier: MIT */
/*
 * Tiles of seven pixels x 16 channels with everything in 16 bits, exact for any weights. They are for windows so short that a proof, and
 * the orders that it asks for, do not pay. Bytes take fewer multiplications, words fewer instructions, which count where two threads share
 * a core.
 *
 * Lines of inputs become words once for all blocks, the weights of a block once for all tiles of a run. Fourteen sums leave two registers:
 * weights are read where they are multiplied, and both halves of a block share what was read of a pixel.
 */
#ifndef MORSEL_WORDS_AVX2_H
#define MORSEL_WORDS_AVX2_H

#include "seven_avx2.h"
#include "ways_avx2.h"

#define MORSEL_WORDS_MOST 192u   /* pairs of inputs in a window */
#define MORSEL_WORDS_ROOM 16384u /* words of lines */

/* Lines as words, one behind the other. */
struct morsel_wide_lines {
    size_t line, step;        /* words from line to line, from window to window */
    uint32_t kernel_h, pairs; /* of a kernel row */
    uint16_t word[MORSEL_WORDS_ROOM];
};

/* Weights of a block: 16 channels for each pair of inputs. */
struct morsel_wide_block {
    _Alignas(64) int16_t word[MORSEL_WORDS_MOST * 32];
};

MORSEL_INLINE size_t morsel_row_taps(const struct morsel_conv_job *job) {
    return job->taps;
}

/* Words that n windows of a kernel row take, and what is written behind them. */
MORSEL_INLINE size_t morsel_line_words(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n) {
    return ((n - 1) * lines->step + morsel_row_taps(job) + 31) / 16 * 16;
}

/* Whether the job is one for these tiles: not where bytes seem to be exact as they are. */
static inline int morsel_words_serve(const struct morsel_conv_job *job, const struct morsel_lines *lines) {
    size_t pairs = job->kernel_h * ((morsel_row_taps(job) + 1) / 2);
    if (pairs > MORSEL_WORDS_MOST || lines->step > 2 * morsel_row_taps(job) || lines->across || lines->map)
        return 0; /* most words would not be used */
    if (morsel_line_words(job, lines, 7) * job->kernel_h > MORSEL_WORDS_ROOM) return 0;
    const int8_t *w = job->weights + job->begin * job->block_bytes, *end = w + job->block_bytes;
    while (w != end && !morsel_too_large(_mm256_loadu_si256((const __m256i *)(const void *)w))) w += 32;
    return w != end;
}

/* Bytes to words; the last ones are followed by zeros. */
static inline void morsel_widen_line(uint16_t *to, const uint8_t *x, size_t n) {
    uint8_t rest[16] = {0};
    for (; n >= 16; n -= 16, x += 16, to += 16)
        _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x)));
    memcpy(rest, x, n);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)rest)));
}

/* `count` windows from window `base` on. */
static inline void morsel_widen_lines(struct morsel_wide_lines *to, const struct morsel_conv_job *job, const struct morsel_lines *lines,
                                      size_t base, size_t count) {
    size_t n = (count - 1) * lines->step + morsel_row_taps(job);
    to->line = morsel_line_words(job, lines, count);
    for (uint32_t ky = 0; ky < job->kernel_h; ky++) morsel_widen_line(to->word + ky * to->line, lines->line[ky] + base * lines->step, n);
}

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

static inline void morsel_widen_block(struct morsel_wide_block *to, const struct morsel_conv_job *job, const int8_t *w, uint32_t pairs) {
    int16_t *word = to->word;
    for (uint32_t ky = 0; ky < job->kernel_h; ky++) {
        for (uint32_t left = pairs, more; left; left -= more, w += 64, word += 32 * more) {
            more = left > 1 ? 2 : 1;
            morsel_widen_weights(word, more > 1 ? word + 32 : NULL, w);
            morsel_widen_weights(word + 16, more > 1 ? word + 48 : NULL, w + 32);
        }
    }
}

/* The same weights less their zero points. Those of inputs that are not there are zero points, and the starts have them too. */
static __attribute__((noinline)) void morsel_widen_zeros(struct morsel_wide_block *block, struct morsel_part256 *part, const int32_t *zeros,
                                                         uint32_t pairs) {
    const int32_t stored = (int32_t)(part->job->block_bytes / 16) * part->job->args->x.qparams.zero;
    for (int half = 0; half < 2; half++) {
        __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(zeros + 8 * half));
        part->start[half] = _mm256_add_epi32(part->start[half], _mm256_mullo_epi32(zero, _mm256_set1_epi32(stored)));
        zero = _mm256_or_si256(_mm256_slli_epi32(zero, 16), _mm256_and_si256(zero, _mm256_set1_epi32(0xffff)));
        for (uint32_t i = 0; i < pairs * part->job->kernel_h; i++) {
            __m256i *w = (__m256i *)(void *)(block->word + i * 32 + 16 * half);
            _mm256_store_si256(w, _mm256_sub_epi16(_mm256_load_si256(w), zero));
        }
    }
}

/* x: a pair of inputs in each 32 bits. In asm, or a compiler would first load the weights to registers that it has not. */
MORSEL_INLINE __m256i morsel_add_words(__m256i acc, __m256i x, const int16_t *w) {
    __m256i t;
    __asm__("vpmaddwd %2, %1, %0" : "=x"(t) : "x"(x), "m"(*(const int16_t(*)[16])w));
    return _mm256_add_epi32(acc, t);
}

MORSEL_INLINE void morsel_add_words_2(__m256i *a, __m256i *b, const uint8_t *x, const int16_t *w, int both) {
    __m256i u = morsel_broadcast256(x);
    *a = morsel_add_words(*a, u, w);
    if (both) *b = morsel_add_words(*b, u, w + 16);
}

/* Pixels begin .. end, seven at a time, the last seven no further than pixel `last`; base: the first one of the lines. */
struct morsel_wide_run {
    size_t begin, end, last, base;
    struct morsel_places places; /* bytes of words between them */
};

/* both: whether there are more than eight channels. */
MORSEL_INLINE void morsel_tiles_words(const struct morsel_part256 *part, const struct morsel_wide_lines *lines,
                                      const struct morsel_wide_run *run, const struct morsel_wide_block *block, int both) {
    const struct morsel_places p = run->places;
    for (size_t i = run->begin; i < run->end; i += 7) {
        size_t at = i < run->last ? i : run->last;
        struct morsel_seven256 a = morsel_same7(part->start[0]), b = morsel_same7(part->start[1]);
        const int16_t *w = block->word;
        const uint16_t *line = lines->word + (at - run->base) * lines->step;
        for (uint32_t ky = lines->kernel_h; ky; ky--, line += lines->line) {
            const uint8_t *x = (const uint8_t *)line;
            for (const int16_t *end = w + lines->pairs * 32; w != end; w += 32, x += 4) {
                morsel_add_words_2(&a.p0, &b.p0, x, w, both);
                morsel_add_words_2(&a.p1, &b.p1, x + p.p1, w, both);
                morsel_add_words_2(&a.p2, &b.p2, x + p.p2, w, both);
                morsel_add_words_2(&a.p3, &b.p3, x + p.p3, w, both);
                morsel_add_words_2(&a.p4, &b.p4, x + p.p4, w, both);
                morsel_add_words_2(&a.p5, &b.p5, x + p.p5, w, both);
                morsel_add_words_2(&a.p6, &b.p6, x + p.p6, w, both);
            }
        }
        if (both) morsel_store_7x16(part, at, &a, &b);
        else morsel_store_some(part, at, &a, &a);
    }
}

static __attribute__((noinline)) void morsel_tiles_words_16(const struct morsel_part256 *part, const struct morsel_wide_lines *lines,
                                                            const struct morsel_wide_run *run, const struct morsel_wide_block *block) {
    morsel_tiles_words(part, lines, run, block, 1);
}

static __attribute__((noinline)) void morsel_tiles_words_8(const struct morsel_part256 *part, const struct morsel_wide_lines *lines,
                                                           const struct morsel_wide_run *run, const struct morsel_wide_block *block) {
    morsel_tiles_words(part, lines, run, block, 0);
}

/* Windows begin .. end of n, for all blocks. */
static inline void morsel_run_wide(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n,
                                   size_t begin, size_t end, struct morsel_wide_lines *wide) {
    const size_t last = n < 7 ? 0 : n - 7;
    const struct morsel_wide_run run = {begin, end, last, begin < last ? begin : last, morsel_places(2 * lines->step, n)};
    struct morsel_wide_block weights;
    morsel_widen_lines(wide, job, lines, run.base, end - run.base);
    for (uint32_t block = job->begin; block < job->end; block++) {
        struct morsel_part256 part = morsel_part_avx2(job, lines, block, pixel, n, NULL);
        morsel_widen_block(&weights, job, part.weights, wide->pairs);
        if (job->below) morsel_widen_zeros(&weights, &part, job->args->channels.weight_zero + job->constants + block * 16, wide->pairs);
        (part.channels > 8 ? morsel_tiles_words_16 : morsel_tiles_words_8)(&part, wide, &run, &weights);
    }
}

static inline void morsel_run_words(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    struct morsel_wide_lines wide; /* too large to be cleared each time */
    size_t most = n;
    wide.step = lines->step;
    wide.kernel_h = job->kernel_h;
    wide.pairs = (uint32_t)((morsel_row_taps(job) + 1) / 2);
    if (morsel_line_words(job, lines, n) * job->kernel_h > MORSEL_WORDS_ROOM)
        most = ((MORSEL_WORDS_ROOM / job->kernel_h - morsel_row_taps(job) - 31) / lines->step + 1) / 7 * 7;
    for (size_t begin = 0; begin < n; begin += most)
        morsel_run_wide(job, lines, pixel, n, begin, n - begin < most ? n : begin + most, &wide);
}

#endif
