/* SPDX-License-Identifier: MIT */
/*
 * Windows where their rows stand, for tiles whose pixels may be of several output rows. Each tap of a window is a line of its own, and
 * where a tile's pixels have that tap is found before the tile comes to it: in a row, or in zero points where it is padding.
 */
#ifndef MORSEL_X86_MAP_H
#define MORSEL_X86_MAP_H

#include "../kernels/kernels.h"

#include <stddef.h>

/* Where the pixels of a tile stand, from the first; a tile of seven has no use for the last. */
struct morsel_places {
    ptrdiff_t p1, p2, p3, p4, p5, p6, p7;
};

/* A run of n pixels, from number `first` of the output rows on. */
struct morsel_map {
    const struct morsel_conv_args *args;
    const uint8_t *const *rows; /* kernel_h for each output row */
    const uint8_t *zeros;       /* as many zero points as a tap has bytes; they stand for padding */
    size_t first, n, channel;   /* channel: the first of the convolution group */
};

/* The pixels of a tile. Of their taps it knows the one that is next. */
struct morsel_tile {
    const struct morsel_map *map;
    const uint8_t *const *row[8]; /* the rows of each one's window */
    uint32_t column[8];           /* under the first tap; left of the picture: huge */
    uint32_t ky, kx;
    const uint8_t *first; /* where the next tap's first pixel stands, */
    uint32_t places_at;   /* and in which of these the others do, from there */
    int nothing, next;    /* whether the tap adds nothing for any pixel; of the next one */
    struct morsel_places places[2];
};

/* Eight pixels from number `at` of the run on. Behind its end the last one stands in for those that are missing. */
void morsel_map_tile(struct morsel_tile *tile, const struct morsel_map *map, size_t at);

/* Goes on to the next tap: gives where its first pixel stands, and where the others do. */
const uint8_t *morsel_map_tap(struct morsel_tile *tile, const struct morsel_places **places);

/* Where a pixel of the run has a tap, by their numbers. */
const uint8_t *morsel_map_find(const struct morsel_map *map, uint32_t tap, size_t pixel);

#endif
