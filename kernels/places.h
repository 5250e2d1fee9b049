/* SPDX-License-Identifier: MIT */
/* Lines of tables, places in pictures, boxes of objects: arguments that stand beside those of kernels.h, which includes them. */
#ifndef MORSEL_PLACES_H
#define MORSEL_PLACES_H

#include <stdint.h>

/* Line i of y is line x[i] of the table, each byte ^ sign_flip; a unit is a line. -1 is the last line, and so on; beyond either end the
 * nearest line is taken. Floats are rounded, and a NaN is the first line. Of floats, rows are up to 2^22. */
#define MORSEL_WHOLE_FLOATS 0x4b400000u
struct morsel_lookup_args {
    const void *x; /* int32, or floats */
    const uint8_t *table;
    uint8_t *y;
    uint32_t rows, bytes; /* of the table; of a line */
    uint32_t sign_flip;   /* 0 or 0x80; 0 for floats */
    uint32_t floats;      /* MORSEL_WHOLE_FLOATS where x has floats, or 0 */
};
typedef void morsel_lookup_fn(const struct morsel_lookup_args *args, uint32_t begin, uint32_t end);

/* Pixels of x at places of the grid: core/format.h, GRID_SAMPLE. A unit is a pixel of y. */
struct morsel_grid_sample_args {
    const float *x, *grid; /* [images][sides[1]][sides[0]][channels], [images][pixels][2] */
    float *y;              /* [images][pixels][channels] */
    uint32_t sides[2];     /* W and H of x: below 2^22 */
    uint32_t channels, pixels;
    uint32_t nearest, beyond, corners; /* enum morsel_beyond; the others 0 or 1 */
};
typedef void morsel_grid_sample_fn(const struct morsel_grid_sample_args *args, uint32_t begin, uint32_t end);

/* Which objects are left of those that overlap: core/format.h, NON_MAX_SUPPRESSION. Everything is one unit. */
struct morsel_non_max_suppression_args {
    const float *boxes, *scores; /* [images][count][4], [images][classes][count] */
    int32_t *y;                  /* [images * classes * most][3] */
    uint8_t *gone;               /* [count], whatever it holds */
    uint32_t images, classes, count;
    uint32_t most;   /* 1 .. count */
    uint32_t centre; /* 0 or 1 */
    float overlap, least;
};
typedef void morsel_non_max_suppression_fn(const struct morsel_non_max_suppression_args *args, uint32_t begin, uint32_t end);

#endif
