/* SPDX-License-Identifier: MIT */
/*
 * Convolution with AVX512-VNNI. A block of weights [16 out][4 in] is one register; four input bytes are broadcast against it. Tiles are
 * 14 pixels x 16 channels, 7 x 32 and 7 x 48: at least fourteen independent sums hide the latency of vpdpbusd, and seven divides the
 * rows of the usual pictures. What is left of a run of pixels is done by a tile that begins earlier, over results that are
 * already there and come out the same.
 */
#include "conv_plan.h"
#include "dot_avx512.h"
#include "requant_avx512.h"
#include "x86.h"

/* Some blocks of a job. */
struct part {
    const struct morsel_conv_job *job;
    struct morsel_requant512 requant;
    const int8_t *weights;
    const float *multiplier;
    __m512i start[3]; /* bias - zero * weight_sum */
    __mmask64 mask;   /* channels that exist */
    uint8_t *y;       /* of pixel 0 */
    size_t y_step;
};

static struct part part_of(const struct morsel_conv_job *job, uint32_t block, uint32_t nb, size_t pixel) {
    const struct morsel_channels *c = &job->args->channels;
    uint32_t channel = job->constants + block * 16, left = job->outs - block * 16;
    struct part part = {.job = job, .requant = morsel_requant512(&job->args->y), .y_step = job->args->window.out_c};
    part.weights = job->weights + block * job->block_bytes;
    part.multiplier = c->multiplier + channel;
    for (uint32_t b = 0; b < nb; b++) {
        __m512i sum = _mm512_loadu_si512(c->weight_sum + channel + 16 * b);
        __m512i zero = _mm512_mullo_epi32(sum, _mm512_set1_epi32(job->args->x.code.zero));
        part.start[b] = _mm512_sub_epi32(_mm512_loadu_si512(c->bias + channel + 16 * b), zero);
    }
    part.mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
    part.y = (uint8_t *)job->args->y.data + pixel * part.y_step + job->first + block * 16;
    return part;
}

/* A value for each of seven pixels. Named fields: compilers keep arrays that long in memory. */
struct seven {
    __m512i p0, p1, p2, p3, p4, p5, p6;
};

/* Where seven pixels stand, from the first. Of a run shorter than seven the last pixel stands in for those that are missing. */
struct places {
    size_t p1, p2, p3, p4, p5, p6;
};

static struct places places_of(size_t step, size_t n) {
    size_t last = n - 1;
    struct places o = {
        step * (last < 1 ? last : 1), step * (last < 2 ? last : 2), step * (last < 3 ? last : 3),
        step * (last < 4 ? last : 4), step * (last < 5 ? last : 5), step * (last < 6 ? last : 6),
    };
    return o;
}

MORSEL_INLINE struct seven load7(const uint8_t *x, const struct places *o) {
    struct seven u = {
        morsel_broadcast512(x),         morsel_broadcast512(x + o->p1), morsel_broadcast512(x + o->p2), morsel_broadcast512(x + o->p3),
        morsel_broadcast512(x + o->p4), morsel_broadcast512(x + o->p5), morsel_broadcast512(x + o->p6),
    };
    return u;
}

MORSEL_INLINE struct seven same7(__m512i v) {
    struct seven s = {v, v, v, v, v, v, v};
    return s;
}

MORSEL_INLINE void dot7(struct seven *s, const struct seven *u, __m512i w) {
    s->p0 = morsel_dot512(s->p0, u->p0, w);
    s->p1 = morsel_dot512(s->p1, u->p1, w);
    s->p2 = morsel_dot512(s->p2, u->p2, w);
    s->p3 = morsel_dot512(s->p3, u->p3, w);
    s->p4 = morsel_dot512(s->p4, u->p4, w);
    s->p5 = morsel_dot512(s->p5, u->p5, w);
    s->p6 = morsel_dot512(s->p6, u->p6, w);
}

MORSEL_INLINE void scale7(struct seven *s, const float *multiplier) {
    __m512 m = _mm512_loadu_ps(multiplier);
    s->p0 = morsel_scale512(s->p0, m);
    s->p1 = morsel_scale512(s->p1, m);
    s->p2 = morsel_scale512(s->p2, m);
    s->p3 = morsel_scale512(s->p3, m);
    s->p4 = morsel_scale512(s->p4, m);
    s->p5 = morsel_scale512(s->p5, m);
    s->p6 = morsel_scale512(s->p6, m);
}

/* One pixel of 48 channels. */
MORSEL_INLINE void store_48(const struct part *part, uint8_t *y, __m512i a, __m512i b, __m512i c) {
    _mm512_mask_storeu_epi8(y, part->mask & 0xffffffffffff, morsel_pack512_apart(&part->requant, a, b, c, c));
}

/* Two pixels of 32 channels. */
MORSEL_INLINE void store_32(const struct part *part, uint8_t *y0, uint8_t *y1, __m512i a0, __m512i b0, __m512i a1, __m512i b1) {
    __m512i v = morsel_pack512_apart(&part->requant, a0, b0, a1, b1);
    _mm256_mask_storeu_epi8(y0, (__mmask32)part->mask, _mm512_castsi512_si256(v));
    _mm256_mask_storeu_epi8(y1, (__mmask32)part->mask, _mm512_extracti64x4_epi64(v, 1));
}

/* Seven pixels of 16 channels. */
MORSEL_INLINE void store_7x16(const struct part *part, uint8_t *y, const struct places *o, const struct seven *s) {
    __m512i v = morsel_pack512_apart(&part->requant, s->p0, s->p1, s->p2, s->p3);
    __m512i w = morsel_pack512_apart(&part->requant, s->p4, s->p5, s->p6, s->p6);
    __mmask16 mask = (__mmask16)part->mask;
    _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(v));
    _mm_mask_storeu_epi8(y + o->p1, mask, _mm512_extracti32x4_epi32(v, 1));
    _mm_mask_storeu_epi8(y + o->p2, mask, _mm512_extracti32x4_epi32(v, 2));
    _mm_mask_storeu_epi8(y + o->p3, mask, _mm512_extracti32x4_epi32(v, 3));
    _mm_mask_storeu_epi8(y + o->p4, mask, _mm512_castsi512_si128(w));
    _mm_mask_storeu_epi8(y + o->p5, mask, _mm512_extracti32x4_epi32(w, 1));
    _mm_mask_storeu_epi8(y + o->p6, mask, _mm512_extracti32x4_epi32(w, 2));
}

static void tile_7x48(const struct part *part, const struct morsel_lines *lines, size_t at, const struct places *o,
                      const struct places *oy) {
    const struct morsel_conv_job *job = part->job;
    size_t block = job->block_bytes;
    const int8_t *w = part->weights;
    struct seven a = same7(part->start[0]), b = same7(part->start[1]), c = same7(part->start[2]);
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step;
        for (const int8_t *stop = w + (size_t)job->quads * 64; w != stop; w += 64, x += 4) {
            struct seven u = load7(x, o);
            dot7(&a, &u, _mm512_loadu_si512(w));
            dot7(&b, &u, _mm512_loadu_si512(w + block));
            dot7(&c, &u, _mm512_loadu_si512(w + 2 * block));
        }
    } while (++line != end);
    uint8_t *y = part->y + at * part->y_step;
    scale7(&a, part->multiplier);
    scale7(&b, part->multiplier + 16);
    scale7(&c, part->multiplier + 32);
    store_48(part, y, a.p0, b.p0, c.p0);
    store_48(part, y + oy->p1, a.p1, b.p1, c.p1);
    store_48(part, y + oy->p2, a.p2, b.p2, c.p2);
    store_48(part, y + oy->p3, a.p3, b.p3, c.p3);
    store_48(part, y + oy->p4, a.p4, b.p4, c.p4);
    store_48(part, y + oy->p5, a.p5, b.p5, c.p5);
    store_48(part, y + oy->p6, a.p6, b.p6, c.p6);
}

static void tile_7x32(const struct part *part, const struct morsel_lines *lines, size_t at, const struct places *o,
                      const struct places *oy) {
    const struct morsel_conv_job *job = part->job;
    size_t block = job->block_bytes;
    const int8_t *w = part->weights;
    struct seven a = same7(part->start[0]), b = same7(part->start[1]);
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step;
        for (const int8_t *stop = w + (size_t)job->quads * 64; w != stop; w += 64, x += 4) {
            struct seven u = load7(x, o);
            dot7(&a, &u, _mm512_loadu_si512(w));
            dot7(&b, &u, _mm512_loadu_si512(w + block));
        }
    } while (++line != end);
    uint8_t *y = part->y + at * part->y_step;
    scale7(&a, part->multiplier);
    scale7(&b, part->multiplier + 16);
    store_32(part, y, y + oy->p1, a.p0, b.p0, a.p1, b.p1);
    store_32(part, y + oy->p2, y + oy->p3, a.p2, b.p2, a.p3, b.p3);
    store_32(part, y + oy->p4, y + oy->p5, a.p4, b.p4, a.p5, b.p5);
    store_32(part, y + oy->p6, y + oy->p6, a.p6, b.p6, a.p6, b.p6);
}

/* Seven pixels from `at` and seven from `next`, which may be the same. */
static void tile_14x16(const struct part *part, const struct morsel_lines *lines, size_t at, size_t next, const struct places *o,
                       const struct places *oy) {
    const struct morsel_conv_job *job = part->job;
    const int8_t *w = part->weights;
    struct seven a = same7(part->start[0]), b = a;
    const uint8_t *const *line = lines->line, *const *end = line + job->kernel_h;
    do {
        const uint8_t *x = *line + at * lines->step, *x2 = *line + next * lines->step;
        for (const int8_t *stop = w + (size_t)job->quads * 64; w != stop; w += 64, x += 4, x2 += 4) {
            __m512i v = _mm512_loadu_si512(w);
            struct seven u = load7(x, o), u2 = load7(x2, o);
            dot7(&a, &u, v);
            dot7(&b, &u2, v);
        }
    } while (++line != end);
    scale7(&a, part->multiplier);
    scale7(&b, part->multiplier);
    store_7x16(part, part->y + at * part->y_step, oy, &a);
    store_7x16(part, part->y + next * part->y_step, oy, &b);
}

/* A part's n pixels, nb blocks. The last tile may lie over the end of the one before. */
static void run_part(const struct part *part, const struct morsel_lines *lines, size_t n, uint32_t nb) {
    struct places o = places_of(lines->step, n), oy = places_of(part->y_step, n);
    size_t last = n < 7 ? 0 : n - 7, step = nb == 1 ? 14 : 7;
    for (size_t at = 0; at < n; at += step) {
        size_t from = at < last ? at : last, next = at + 7 < last ? at + 7 : last;
        if (nb == 3) tile_7x48(part, lines, from, &o, &oy);
        else if (nb == 2) tile_7x32(part, lines, from, &o, &oy);
        else tile_14x16(part, lines, from, next, &o, &oy);
    }
}

/* How many of `left` blocks to do together: threes, and twos at the end so that no single one is left. */
static uint32_t blocks_together(uint32_t left) {
    return left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
}

/* All the job's blocks of n pixels, of which the first is pixel `pixel` of y. */
static void run_pixels(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n) {
    for (uint32_t block = job->begin, nb; block < job->end; block += nb) {
        nb = blocks_together(job->end - block);
        struct part part = part_of(job, block, nb, pixel);
        run_part(&part, lines, n, nb);
    }
}

void morsel_conv_rows_avx512vnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    uint32_t constants = (a->window.out_c / a->groups + 15) / 16 * 16 * a->groups;
    if (morsel_small512(a->channels.multiplier, constants)) morsel_conv_plan(a, rows, y, n, run_pixels);
    else morsel_conv_rows_c(a, rows, y, n);
}
