/* SPDX-License-Identifier: MIT */
/* Tiles of seven pixels with 256-bit registers: where the pixels stand, and how their sums become bytes. */
#ifndef MORSEL_SEVEN_AVX2_H
#define MORSEL_SEVEN_AVX2_H

#include "conv_plan.h"
#include "requant_avx2.h"
#include "x86.h"

/* A value for each of seven pixels. Named fields: compilers keep arrays that long in memory. */
struct morsel_seven256 {
    __m256i p0, p1, p2, p3, p4, p5, p6;
};

/* A block of 16 channels of a job, for n pixels. */
struct morsel_part256 {
    const struct morsel_conv_job *job;
    const int8_t *weights;
    const float *multiplier, *bias; /* bias: NULL where there is none */
    struct morsel_requant256 requant;
    struct morsel_places x_places, y_places;
    __m256i start[2];      /* bias - zero * weight_sum */
    const __m256i *starts; /* where weights have zero points, those of seven pixels, for each half of the block; else NULL */
    uint32_t channels;     /* that exist */
    uint32_t seldom;       /* whether there is a float bias, or results are floats */
    uint32_t last;         /* pixel of a tile: of a run shorter than one it stands in for those that are missing */
    const float *lines;    /* scale and zero point of each pixel, or NULL */
    uint8_t *y;            /* of pixel 0 */
    size_t y_step;
};

MORSEL_INLINE __m256i morsel_broadcast256(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm256_set1_epi32(v);
}

/* Of a run shorter than seven the last pixel stands in for those that are missing. */
static inline struct morsel_places morsel_places(size_t bytes, size_t pixels) {
    const ptrdiff_t step = (ptrdiff_t)bytes, last = (ptrdiff_t)pixels - 1;
    struct morsel_places o = {
        step * (last < 1 ? last : 1),
        step * (last < 2 ? last : 2),
        step * (last < 3 ? last : 3),
        step * (last < 4 ? last : 4),
        step * (last < 5 ? last : 5),
        step * (last < 6 ? last : 6),
        0,
    };
    return o;
}

static inline ptrdiff_t morsel_signed_place(const struct morsel_lines *lines, ptrdiff_t p) {
    return (ptrdiff_t)morsel_place(lines, (size_t)p);
}

/* The same for windows. */
static inline struct morsel_places morsel_places_in(const struct morsel_lines *lines, size_t n) {
    struct morsel_places o = morsel_places(1, n);
    if (!lines->across) return morsel_places(lines->step, n);
    o.p1 = morsel_signed_place(lines, o.p1), o.p2 = morsel_signed_place(lines, o.p2), o.p3 = morsel_signed_place(lines, o.p3);
    o.p4 = morsel_signed_place(lines, o.p4), o.p5 = morsel_signed_place(lines, o.p5), o.p6 = morsel_signed_place(lines, o.p6);
    return o;
}

/* bias - zero * weight_sum of eight channels. */
static inline __m256i morsel_start256(const struct morsel_channels *c, uint32_t channel, int32_t zero) {
    __m256i sum = _mm256_loadu_si256((const __m256i *)(const void *)(c->weight_sum + channel));
    __m256i bias = _mm256_loadu_si256((const __m256i *)(const void *)(c->bias + channel));
    return _mm256_sub_epi32(bias, _mm256_mullo_epi32(sum, _mm256_set1_epi32(zero)));
}

/* A block of a job for n pixels, the first of which is pixel `pixel` of y. starts: room for 14, if weights have zero points. Without lines
 * no places are looked for. */
void morsel_take_part_avx2(struct morsel_part256 *part, const struct morsel_conv_job *job, const struct morsel_lines *lines, uint32_t block,
                           size_t pixel, size_t n, const __m256i *starts);

static inline struct morsel_part256 morsel_part_avx2(const struct morsel_conv_job *job, const struct morsel_lines *lines, uint32_t block,
                                                     size_t pixel, size_t n, const __m256i *starts) {
    struct morsel_part256 part;
    morsel_take_part_avx2(&part, job, lines, block, pixel, n, starts);
    return part;
}

/* Where the sums of seven pixels from `at` on start whose weights have zero points: seven for each half of the block. */
void morsel_start_zeros_avx2(const struct morsel_part256 *part, __m256i *room, size_t at);

/* Where those of eight channels start. Loads, from one place or seven, take no longer than copies. */
MORSEL_INLINE struct morsel_seven256 morsel_start7(const struct morsel_part256 *part, int half) {
    const __m256i *p = part->starts ? part->starts + 7 * half : part->start + half;
    const size_t step = part->starts != NULL;
    struct morsel_seven256 s = {p[0], p[step], p[2 * step], p[3 * step], p[4 * step], p[5 * step], p[6 * step]};
    return s;
}

/* Two pixels of 16 channels: a holds the first eight of each, b the others; bias: part->bias. */
MORSEL_INLINE void morsel_store_2x16(const struct morsel_part256 *part, uint8_t *y0, uint8_t *y1, __m256i a0, __m256i b0, __m256i a1,
                                     __m256i b1, uint32_t channels, const float *bias) {
    const struct morsel_requant256 *r = &part->requant;
    __m256 ma = _mm256_loadu_ps(part->multiplier), mb = _mm256_loadu_ps(part->multiplier + 8);
    if (bias) {
        __m256 ba = _mm256_loadu_ps(bias), bb = _mm256_loadu_ps(bias + 8);
        a0 = morsel_scale256_bias(r, a0, ma, ba);
        b0 = morsel_scale256_bias(r, b0, mb, bb);
        a1 = morsel_scale256_bias(r, a1, ma, ba);
        b1 = morsel_scale256_bias(r, b1, mb, bb);
    } else {
        a0 = morsel_scale256(r, a0, ma);
        b0 = morsel_scale256(r, b0, mb);
        a1 = morsel_scale256(r, a1, ma);
        b1 = morsel_scale256(r, b1, mb);
    }
    __m256i v = morsel_pack256_in_order(r, a0, b0, a1, b1);
    morsel_store_first(y0, _mm256_castsi256_si128(v), channels);
    morsel_store_first(y1, _mm256_extracti128_si256(v, 1), channels);
}

MORSEL_INLINE void morsel_store_7(const struct morsel_part256 *part, uint8_t *y, const struct morsel_seven256 *a,
                                  const struct morsel_seven256 *b, uint32_t channels, const float *bias) {
    const struct morsel_places *o = &part->y_places;
    morsel_store_2x16(part, y, y + o->p1, a->p0, b->p0, a->p1, b->p1, channels, bias);
    morsel_store_2x16(part, y + o->p2, y + o->p3, a->p2, b->p2, a->p3, b->p3, channels, bias);
    morsel_store_2x16(part, y + o->p4, y + o->p5, a->p4, b->p4, a->p5, b->p5, channels, bias);
    morsel_store_2x16(part, y + o->p6, y + o->p6, a->p6, b->p6, a->p6, b->p6, channels, bias);
}

/* The same for all channels of the part, with its float biases if it has some, or in float. */
void morsel_store_copies_avx2(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *a,
                              const struct morsel_seven256 *b);

/* n pixels of at most eight channels in float, from channel `first` of the part on. Pixels of scales of their own have zero points of
 * their own, too. */
void morsel_store_floats_avx2(const struct morsel_part256 *part, size_t at, const __m256i *sums, size_t n, uint32_t first);

/* Any number of channels, or with float biases, out of the way. Copies are handed over: sums whose address is taken would live in
 * memory from the start. */
MORSEL_INLINE void morsel_store_some(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *a,
                                     const struct morsel_seven256 *b) {
    struct morsel_seven256 copy_a = *a, copy_b = *b;
    morsel_store_copies_avx2(part, at, &copy_a, &copy_b);
}

MORSEL_INLINE void morsel_store_7x16(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *a,
                                     const struct morsel_seven256 *b) {
    uint8_t *y = part->y + at * part->y_step;
    if (part->channels == 16 && !part->seldom) morsel_store_7(part, y, a, b, 16, NULL);
    else morsel_store_some(part, at, a, b);
}

/* No more than eight channels. */
MORSEL_INLINE void morsel_store_7x8(const struct morsel_part256 *part, size_t at, const struct morsel_seven256 *a) {
    uint8_t *y = part->y + at * part->y_step;
    if (part->channels == 8 && !part->seldom) morsel_store_7(part, y, a, a, 8, NULL);
    else morsel_store_some(part, at, a, a);
}

#endif
