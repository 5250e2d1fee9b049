/* SPDX-License-Identifier: MIT */
/*
 * What a picture's resize is made of (core/picture_rows.c): pixels made of luminance and chroma, pixels weighed across a row, and rows
 * weighed down. No step of a network calls these, so that they stand in a table of their own.
 *
 * Weights have 22 bits behind the point and are never negative; those of a pixel are together 1 and half a unit for each at most. A sum is
 * rounded, and cut at 255.
 */
#ifndef MORSEL_PIXELS_H
#define MORSEL_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#define MORSEL_PIXEL_BITS 22
#define MORSEL_PIXEL_HALF (1 << (MORSEL_PIXEL_BITS - 1))
#define MORSEL_COLOR_BITS 13

/* Columns of a row. Each has 2 + 4 * groups words: the first source pixel, how many count, and their weights, four a group: the upper 14
 * bits of each, then the lower 8 of each, in 16 bits; 0 behind the last one, in all groups. */
struct morsel_across_args {
    const uint32_t *columns;
    uint32_t groups;
    uint32_t channels;   /* 1, 3, or 4, of which the last becomes 0 */
    uint32_t safe;       /* before this column, 16 bytes may be read from each fourth pixel of each group on */
    const uint8_t *line; /* source pixels */
    uint8_t *row;        /* [columns][channels] */
};

/* Bytes of rows, each weighed by one number: into `out`, or where that is NULL into `sums`. */
struct morsel_blend_args {
    const uint8_t *rows;
    size_t stride;
    const int32_t *weights;
    uint32_t count;
    uint32_t more; /* 0: sums begin with half a unit; 1: with what stands in `sums` */
    int32_t *sums;
    uint8_t *out;
};

/* What Y, and then U and V, add to red, green and blue, and what all pixels add, with 13 bits behind the point. Sums stay within 2^23: they
 * are cut to whole numbers, at 0 and at 255. */
struct morsel_color {
    int16_t y, none, chroma[3][2];
    int32_t rest[3]; /* half a unit, too */
};

/* Pixels in four bytes: red, green, blue, 0. Those of an even number share chroma with the next. */
struct morsel_colors_args {
    const uint8_t *y, *u, *v; /* of pixel 0; where `step` is 2, U and V lie side by side */
    size_t step;              /* from one chroma to the next: 1 or 2 */
    const struct morsel_color *color;
    uint8_t *out;
    uint32_t first; /* the pixel that `out` begins with */
};

typedef void morsel_across_fn(const struct morsel_across_args *a, uint32_t begin, uint32_t end); /* columns */
typedef void morsel_blend_fn(const struct morsel_blend_args *a, uint32_t begin, uint32_t end);   /* bytes */
typedef void morsel_colors_fn(const struct morsel_colors_args *a, uint32_t begin, uint32_t end); /* pixels */

struct morsel_pixel_kernels {
    morsel_across_fn *across;
    morsel_blend_fn *blend;
    morsel_colors_fn *colors;
};

morsel_across_fn morsel_across_c, morsel_across_avx2, morsel_across_neon;
morsel_blend_fn morsel_blend_c, morsel_blend_avx2, morsel_blend_neon;
morsel_colors_fn morsel_colors_c, morsel_colors_avx2, morsel_colors_neon;

/* Pixels by tables of what the bytes of their channels become: three channels, or the first alone three times. */
struct morsel_put_args {
    uint8_t *to;
    ptrdiff_t step, apart; /* from a pixel to the next, from a channel to the next */
    const uint8_t *pixel;
    ptrdiff_t pixel_step, pixel_apart;
    const uint8_t *table; /* [256] of each channel, ... */
    size_t table_apart;   /* ... so far from each other */
};

void morsel_put_bytes(const struct morsel_put_args *a, uint32_t n);

/* Those that a CPU of these features runs fastest. */
void morsel_pixels_choose(struct morsel_pixel_kernels *table, uint32_t cpu);

#endif
