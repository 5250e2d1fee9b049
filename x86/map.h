/* SPDX-License-Identifier: MIT */
/*
 * Windows where their rows stand, for tiles whose pixels may be of several output rows. Each tap of a window is a line of its own, and
 * where a tile's pixels have their taps is found before the tile begins: in a row, or in zero points where it is padding.
 */
#ifndef MORSEL_X86_MAP_H
#define MORSEL_X86_MAP_H

#include "../kernels/kernels.h"

#include <stddef.h>

/* Where the pixels of a tile stand, from the first; a tile of seven has no use for the last. */
struct morsel_places {
    ptrdiff_t p1, p2, p3, p4, p5, p6, p7;
};

/* A tap of a tile's pixels: where the first one has it, where from there the others do, and whether it adds nothing for any of them. */
struct morsel_tap {
    const uint8_t *x;
    struct morsel_places places;
    int nothing;
};

/* A run of n pixels, from number `first` of the output rows on. */
struct morsel_map {
    const struct morsel_conv_args *args;
    const uint8_t *const *rows; /* kernel_h for each output row */
    const uint8_t *zeros;       /* as many zero points as a tap has bytes; they stand for padding */
    size_t first, n, channel;   /* channel: the first of the convolution group */
    struct morsel_tap *taps;    /* a place for those of two tiles, MORSEL_MAP_MOST each */
};

/* All taps of eight pixels from number `at` of the run on. Behind its end the last one stands in for those that are missing. */
void morsel_map_taps(struct morsel_tap *to, const struct morsel_map *map, size_t at);

/* Where a pixel of the run has a tap, by their numbers. */
const uint8_t *morsel_map_find(const struct morsel_map *map, uint32_t tap, size_t pixel);

#endif
