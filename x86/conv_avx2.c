/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX2, exact for every weight: tiles of seven pixels x 8 channels.
 *
 * vpmaddubsw adds two products of a byte each in 16 bits and saturates. It is used for blocks of weights that a proof holds for: with
 * inputs up to 255, no pair's sum leaves the 16 bits if in each pair of weights the positive ones add up to at most 128 and the negative
 * ones to at least -128 (255 * 128 = 32640). Where that holds for two pairs together, their sums are added in 16 bits too. All other
 * blocks are multiplied as 16-bit integers: four weights k0..k3 of a channel become the pairs (k0, k2) and (k1, k3), and so do the
 * inputs, once for all blocks.
 */
#define MORSEL_BELOW_1
#include "conv_plan.h"
#include "dot_avx2.h"
#include "requant_avx2.h"
#include "seven_avx2.h"
#include "x86.h"

#define WIDE_BYTES 16384u /* of seven windows as 16-bit integers */
#define BLOCKS 2048u      /* that the list of proofs has room for */
#define TWICE 512u        /* of groups of eight weights that the proof of a block has room for */

/* What is known of a block: for each half, whether the groups 2 i and 2 i + 1 of a kernel row, i counted on through the rows, may be added
 * in 16 bits. */
struct proof {
    uint8_t twice[2][TWICE];
};

/* Largest sums of the positive and of the negative weights of pairs, as 16-bit integers. */
struct extent {
    __m256i most, least;
};

MORSEL_INLINE struct extent extent_of(const int8_t *w) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w), zero = _mm256_setzero_si256(), ones = _mm256_set1_epi8(1);
    struct extent e = {_mm256_maddubs_epi16(ones, _mm256_max_epi8(v, zero)), _mm256_maddubs_epi16(ones, _mm256_min_epi8(v, zero))};
    return e;
}

MORSEL_INLINE int extent_fits(struct extent e) {
    __m256i bad = _mm256_or_si256(_mm256_cmpgt_epi16(e.most, _mm256_set1_epi16(128)), _mm256_cmpgt_epi16(_mm256_set1_epi16(-128), e.least));
    return _mm256_testz_si256(bad, bad);
}

/* Whether vpmaddubsw cannot saturate with the weights of a block; where so, what else is known. */
static int prove(struct proof *proof, const struct morsel_conv_job *job, const int8_t *w) {
    struct extent all = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    uint32_t i = 0;
    for (uint32_t ky = 0; ky < job->kernel_h; ky++) {
        for (uint32_t q = 0; q < job->quads; q++, w += 64) {
            int two = q + 1 < job->quads && q % 2 == 0 && i < TWICE;
            for (uint32_t half = 0; half < 2; half++) {
                struct extent e = extent_of(w + 32 * half), next;
                all.most = _mm256_max_epi16(all.most, e.most);
                all.least = _mm256_min_epi16(all.least, e.least);
                if (!two) continue;
                next = extent_of(w + 64 + 32 * half);
                next.most = _mm256_add_epi16(next.most, e.most);
                next.least = _mm256_add_epi16(next.least, e.least);
                proof->twice[half][i] = (uint8_t)extent_fits(next);
            }
            i += two ? 1 : 0;
        }
        if (!extent_fits(all)) return 0;
    }
    return 1;
}

MORSEL_INLINE __m256i add_bytes(__m256i acc, const uint8_t *x, __m256i w, __m256i ones) {
    __m256i pairs = _mm256_maddubs_epi16(morsel_broadcast256(x), w);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, ones));
}

MORSEL_INLINE void add_bytes_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, const int8_t *w) {
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)w), ones = _mm256_set1_epi16(1);
    s->p0 = add_bytes(s->p0, x, v, ones);
    s->p1 = add_bytes(s->p1, x + o->p1, v, ones);
    s->p2 = add_bytes(s->p2, x + o->p2, v, ones);
    s->p3 = add_bytes(s->p3, x + o->p3, v, ones);
    s->p4 = add_bytes(s->p4, x + o->p4, v, ones);
    s->p5 = add_bytes(s->p5, x + o->p5, v, ones);
    s->p6 = add_bytes(s->p6, x + o->p6, v, ones);
}

/* Eight inputs. */
MORSEL_INLINE __m256i add_twice(__m256i acc, const uint8_t *x, __m256i w0, __m256i w1, __m256i ones) {
    __m256i a = _mm256_maddubs_epi16(morsel_broadcast256(x), w0), b = _mm256_maddubs_epi16(morsel_broadcast256(x + 4), w1);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_add_epi16(a, b), ones));
}

MORSEL_INLINE void add_twice_7(struct morsel_seven256 *s, const uint8_t *x, const struct morsel_places *o, const int8_t *w) {
    __m256i w0 = _mm256_loadu_si256((const __m256i *)(const void *)w), w1 = _mm256_loadu_si256((const __m256i *)(const void *)(w + 64));
    __m256i ones = _mm256_set1_epi16(1);
    s->p0 = add_twice(s->p0, x, w0, w1, ones);
    s->p1 = add_twice(s->p1, x + o->p1, w0, w1, ones);
    s->p2 = add_twice(s->p2, x + o->p2, w0, w1, ones);
    s->p3 = add_twice(s->p3, x + o->p3, w0, w1, ones);
    s->p4 = add_twice(s->p4, x + o->p4, w0, w1, ones);
    s->p5 = add_twice(s->p5, x + o->p5, w0, w1, ones);
    s->p6 = add_twice(s->p6, x + o->p6, w0, w1, ones);
}

/* Seven pixels of eight channels, with weights that are proven safe. */
MORSEL_INLINE struct morsel_seven256 sum_bytes(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at, int half,
                                               const struct proof *proof) {
    const struct morsel_places o = part->x_places;
    const int8_t *w = part->weights + 32 * half;
    const uint8_t *twice = proof->twice[half], *twice_end = twice + TWICE;
    struct morsel_seven256 s = morsel_same7(part->start[half]);
    const uint8_t *const *line = lines->line, *const *end = line + part->job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step;
        uint32_t quads = part->job->quads;
        for (; quads >= 2 && twice < twice_end; quads -= 2, w += 128, x += 8) {
            if (*twice++) {
                add_twice_7(&s, x, &o, w);
                continue;
            }
            add_bytes_7(&s, x, &o, w);
            add_bytes_7(&s, x + 4, &o, w + 64);
        }
        for (; quads; quads--, w += 64, x += 4) add_bytes_7(&s, x, &o, w);
    } while (++line != end);
    return s;
}

/* x: the pairs (k0, k2) and (k1, k3) of four inputs. */
MORSEL_INLINE __m256i add_words(__m256i acc, const uint8_t *x, struct morsel_pairs w) {
    acc = _mm256_add_epi32(acc, _mm256_madd_epi16(morsel_broadcast256(x), w.even));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(morsel_broadcast256(x + 4), w.odd));
}

/* Seven pixels of eight channels; `wide` holds their windows, `step` bytes apart. */
MORSEL_INLINE struct morsel_seven256 sum_words(const struct morsel_part256 *part, const uint8_t *wide, size_t step, int half) {
    const int8_t *w = part->weights + 32 * half, *stop = w + part->job->block_bytes;
    struct morsel_seven256 s = morsel_same7(part->start[half]);
    const uint8_t *wide3 = wide + 3 * step, *wide6 = wide + 6 * step;
    for (; w != stop; w += 64, wide += 8, wide3 += 8, wide6 += 8) {
        struct morsel_pairs v = morsel_pairs(_mm256_loadu_si256((const __m256i *)(const void *)w));
        s.p0 = add_words(s.p0, wide, v);
        s.p1 = add_words(s.p1, wide + step, v);
        s.p2 = add_words(s.p2, wide + 2 * step, v);
        s.p3 = add_words(s.p3, wide3, v);
        s.p4 = add_words(s.p4, wide3 + step, v);
        s.p5 = add_words(s.p5, wide3 + 2 * step, v);
        s.p6 = add_words(s.p6, wide6, v);
    }
    return s;
}

/* Where windows are too long for that: inputs are widened each time. */
MORSEL_INLINE struct morsel_seven256 sum_long(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at, int half) {
    const struct morsel_places o = part->x_places;
    const int8_t *w = part->weights + 32 * half;
    struct morsel_seven256 s = morsel_same7(part->start[half]);
    const uint8_t *const *line = lines->line, *const *end = line + part->job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step;
        for (const int8_t *stop = w + (size_t)part->job->quads * 64; w != stop; w += 64, x += 4) {
            struct morsel_pairs v = morsel_pairs(_mm256_loadu_si256((const __m256i *)(const void *)w));
            s.p0 = morsel_dot_pairs(s.p0, morsel_broadcast256(x), v);
            s.p1 = morsel_dot_pairs(s.p1, morsel_broadcast256(x + o.p1), v);
            s.p2 = morsel_dot_pairs(s.p2, morsel_broadcast256(x + o.p2), v);
            s.p3 = morsel_dot_pairs(s.p3, morsel_broadcast256(x + o.p3), v);
            s.p4 = morsel_dot_pairs(s.p4, morsel_broadcast256(x + o.p4), v);
            s.p5 = morsel_dot_pairs(s.p5, morsel_broadcast256(x + o.p5), v);
            s.p6 = morsel_dot_pairs(s.p6, morsel_broadcast256(x + o.p6), v);
        }
    } while (++line != end);
    return s;
}

static __attribute__((noinline)) void tile_bytes(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at,
                                                 const struct proof *proof) {
    struct morsel_seven256 a = sum_bytes(part, lines, at, 0, proof), b = a;
    if (part->channels > 8) b = sum_bytes(part, lines, at, 1, proof);
    morsel_store_7x16(part, at, &a, &b);
}

static __attribute__((noinline)) void tile_words(const struct morsel_part256 *part, const uint8_t *wide, size_t step, size_t at) {
    struct morsel_seven256 a = sum_words(part, wide, step, 0), b = a;
    if (part->channels > 8) b = sum_words(part, wide, step, 1);
    morsel_store_7x16(part, at, &a, &b);
}

static __attribute__((noinline)) void tile_long(const struct morsel_part256 *part, const struct morsel_lines *lines, size_t at) {
    struct morsel_seven256 a = sum_long(part, lines, at, 0), b = a;
    if (part->channels > 8) b = sum_long(part, lines, at, 1);
    morsel_store_7x16(part, at, &a, &b);
}

/* `quads` groups of four inputs as pairs of 16-bit integers. */
static uint8_t *widen(uint8_t *to, const uint8_t *x, uint32_t quads) {
    __m128i even = _mm_set1_epi16(255);
    for (; quads >= 4; quads -= 4, x += 16, to += 32) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)x);
        __m128i a = _mm_and_si128(v, even), b = _mm_srli_epi16(v, 8);
        _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi32(a, b));
        _mm_storeu_si128((__m128i *)(void *)(to + 16), _mm_unpackhi_epi32(a, b));
    }
    for (; quads; quads--, x += 4, to += 8) {
        int32_t four;
        memcpy(&four, x, sizeof four);
        __m128i v = _mm_cvtsi32_si128(four);
        _mm_storel_epi64((__m128i *)(void *)to, _mm_unpacklo_epi32(_mm_and_si128(v, even), _mm_srli_epi16(v, 8)));
    }
    return to;
}

/* Windows of seven pixels from `at`, kernel rows one behind the other. */
static void widen_seven(uint8_t *wide, const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t at, size_t n) {
    for (size_t p = 0; p < 7; p++)
        for (uint32_t ky = 0; ky < job->kernel_h; ky++)
            wide = widen(wide, lines->line[ky] + (at + p < n ? at + p : n - 1) * lines->step, job->quads);
}

static int is_safe(const uint8_t *safe, uint32_t i) {
    return safe[i / 8] >> i % 8 & 1;
}

/* Blocks that are not marked as safe, pixels begin .. end in tiles of seven; `last` is where the last tile of all begins. */
static void run_wide(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n, const uint8_t *safe,
                     size_t begin, size_t end) {
    _Alignas(32) uint8_t wide[WIDE_BYTES];
    size_t step = (size_t)job->kernel_h * job->quads * 8, last = n < 7 ? 0 : n - 7;
    uint8_t *to = wide;
    for (size_t at = begin; at < end; at += 7, to += 7 * step) widen_seven(to, job, lines, at < last ? at : last, n);
    for (uint32_t block = job->begin; block < job->end; block++) {
        if (is_safe(safe, block - job->begin)) continue;
        struct morsel_part256 part = morsel_part256(job, lines, block, pixel, n);
        const uint8_t *from = wide;
        for (size_t at = begin; at < end; at += 7, from += 7 * step) tile_words(&part, from, step, at < last ? at : last);
    }
}

/* The same for windows that are too long to be widened beforehand. */
static void run_long(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n, const uint8_t *safe) {
    size_t last = n < 7 ? 0 : n - 7;
    for (uint32_t block = job->begin; block < job->end; block++) {
        if (is_safe(safe, block - job->begin)) continue;
        struct morsel_part256 part = morsel_part256(job, lines, block, pixel, n);
        for (size_t at = 0; at < n; at += 7) tile_long(&part, lines, at < last ? at : last);
    }
}

static void run_words(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n, const uint8_t *safe) {
    size_t most = WIDE_BYTES / ((size_t)job->kernel_h * job->quads * 8 * 7) * 7;
    if (most == 0) run_long(job, lines, pixel, n, safe);
    for (size_t at = 0; most && at < n; at += most) run_wide(job, lines, pixel, n, safe, at, at + most < n ? at + most : n);
}

/* Marks the blocks that are proven safe and does them. Returns how many there are. */
static uint32_t run_bytes(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n, uint8_t *safe) {
    size_t last = n < 7 ? 0 : n - 7;
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->end - job->begin && i < BLOCKS; i++) {
        struct proof proof;
        if (!prove(&proof, job, job->weights + (job->begin + i) * job->block_bytes)) continue;
        struct morsel_part256 part = morsel_part256(job, lines, job->begin + i, pixel, n);
        safe[i / 8] = (uint8_t)(safe[i / 8] | 1u << i % 8);
        count++;
        for (size_t at = 0; at < n; at += 7) tile_bytes(&part, lines, at < last ? at : last, &proof);
    }
    return count;
}

static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    uint8_t safe[BLOCKS / 8] = {0};
    struct morsel_conv_job part = *job;
    for (; part.begin < job->end; part.begin = part.end) {
        part.end = job->end - part.begin < BLOCKS ? job->end : part.begin + BLOCKS;
        memset(safe, 0, sizeof safe);
        if (run_bytes(&part, lines, pixel, n, safe) < part.end - part.begin) run_words(&part, lines, pixel, n, safe);
    }
}

void morsel_conv_rows_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    uint32_t constants = (a->window.out_c / a->groups + 15) / 16 * 16 * a->groups;
    if (morsel_fits256(a->channels.multiplier, a->channels.float_bias, constants)) morsel_conv_plan(a, rows, y, n, run_pixels);
    else morsel_conv_rows_c(a, rows, y, n);
}
