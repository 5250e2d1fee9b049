/* SPDX-License-Identifier: MIT */
/* The kernels of this folder, and what their files share. */
#ifndef MORSEL_ARM64_H
#define MORSEL_ARM64_H

#include "finish_neon.h"

/*
 * Four output pixels of a group of channels, as a matrix product. Pixel p's inputs are `segments` pieces of `depth` bytes (a multiple
 * of 4) in the signed domain at x[4 * segment + p]; where there are fewer than four pixels, all four addresses can still be read.
 * Weights [blocks][segments * depth / 4][16][4].
 */
struct morsel_tile {
    const uint8_t *const *x;
    uint32_t segments, depth;
    const int8_t *weights;
    struct morsel_group *group;
    uint32_t channels;
    uint32_t pixels; /* 1..4 */
    uint32_t tiles;  /* more than 1: whole tiles of one segment, each x_step behind the one before; never with RAW */
    size_t x_step;
    uint8_t *y;      /* first channel of the first pixel */
    size_t y_step;   /* from pixel to pixel */
    int32_t (*raw)[MORSEL_GROUP]; /* RAW: sums [pixel][channel] */
};
typedef void morsel_tile_fn(const struct morsel_tile *t);

/* Convolutions and matrix products in tiles; what they do not take goes to plain C. */
void morsel_conv_tiles(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_tile_fn *tile);
void morsel_fc_tiles(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, morsel_tile_fn *tile);

morsel_conv_fn morsel_conv_rows_dotprod;
morsel_conv_fn morsel_depthwise_rows_dotprod;
morsel_fc_fn morsel_fc_blocks_dotprod;

morsel_conv_fn morsel_conv_rows_neon;
morsel_conv_fn morsel_depthwise_rows_neon;
morsel_fc_fn morsel_fc_blocks_neon;
morsel_binary_fn morsel_qadd_neon;
morsel_mean_fn morsel_mean_neon;
morsel_lut_fn morsel_lut_neon;
morsel_gather_fn morsel_gather_neon;
morsel_pool_fn morsel_max_pool_rows_neon;

#endif
