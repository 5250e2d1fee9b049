/* SPDX-License-Identifier: MIT */
/* The kernels of this folder, and what their files share. */
#ifndef MORSEL_ARM64_H
#define MORSEL_ARM64_H

#include "requant_neon.h"

/* Asks for the cache line at p. It is a hint that the CPU may drop, and it never faults. A build may say what stands in for it. */
#ifndef MORSEL_PREFETCH
#define MORSEL_PREFETCH(p) __builtin_prefetch(p)
#endif

/*
 * A tile's own copy of a span's weights and constants, made at the span's first tile (conv_i8mm.c). Spans are as wide as the room holds.
 * Where it does not hold even sixteen channels, they are given piece by piece. The sums of up to MORSEL_STRIP tiles wait in between.
 */
#define MORSEL_ROOM_BYTES 18432u /* sixteen channels of 3x3x128: what pays, at most */
#define MORSEL_ROOM_LEAST 4096u  /* and at least */
#define MORSEL_ROOM_PIXELS 8u    /* with fewer it does not pay */
#define MORSEL_STRIP 16u
struct morsel_pairs {
    int32_t sums[MORSEL_STRIP][64];
    int32_t start[2 * MORSEL_SPAN];
    float multiplier[2 * MORSEL_SPAN], offset[2 * MORSEL_SPAN];
    uint32_t bytes; /* of weights */
    _Alignas(64) int8_t weights[];
};

/*
 * Four output pixels of a span of channels, as a matrix product. Pixel p's inputs are `segments` pieces of `depth` bytes (a multiple of 4)
 * in the signed domain at x[4 * segment + p]. All four addresses can be read, also where there are fewer than four pixels. Weights
 * [blocks][segments * depth / 4][16][4].
 */
struct morsel_tile {
    const uint8_t *const *x;
    uint32_t segments, depth;
    const int8_t *weights;
    struct morsel_span *span;
    uint32_t channels;
    uint32_t pixels; /* 1..4 */
    uint32_t tiles;  /* more than 1: whole tiles of one segment, each x_step behind the one before; never with RAW */
    size_t x_step;
    uint8_t *y;                 /* first channel of the first pixel */
    size_t y_step;              /* from pixel to pixel */
    int32_t (*raw)[MORSEL_RAW]; /* RAW: sums [pixel][channel], or NULL: results are stored, as follows */
    const struct morsel_conv_args *conv;
    uint32_t channel; /* the tile's first .. */
    size_t first;     /* .. and its first element */
    struct morsel_pairs *room;
    int32_t *sums; /* of earlier pieces, if `begun`; not `ended`: where sums go instead of results */
    uint32_t begun, ended;
    const int8_t *next; /* the weights that come after these, or NULL: worth a prefetch meanwhile */
    size_t next_bytes;
    const int32_t *zero;  /* zero points of the channels' weights, or NULL: all 0 */
    const int32_t *below; /* then for each pixel of all tiles, always four of each: what a zero point of 1 adds to its sums */
};
typedef void morsel_tile_fn(const struct morsel_tile *t);

/* Where the sums of four pixels and sixteen channels from c on start where weights have zero points: sixteen of each pixel. */
void morsel_start_zeros(const struct morsel_tile *t, const int32_t *below, uint32_t c, int32_t *to);

/* Of n bytes in the signed domain, a multiple of 4. */
int32_t morsel_sum_signed(const uint8_t *x, uint32_t n);

/* RAW: sums of the sixteen channels of the tile from c on, of pixel p. */
void morsel_put_sums(const struct morsel_tile *t, struct morsel_sum16 s, uint32_t p, uint32_t c);

/* A tile's kept sums as floats. lines: scale and zero point of each pixel; sums begin with a zero point of 128. Weights with zero points
 * are `taps` a sum. */
void morsel_store_tile_floats(const struct morsel_conv_args *a, const struct morsel_tile *t, const float *lines, int32_t taps);

/* Convolutions in tiles; what they do not take goes to plain C. room: for the tiles that want one, else NULL. */
void morsel_conv_tiles(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_tile_fn *tile,
                       struct morsel_pairs *room);
/* The same for matrix products. Of short rows, which they always take, none goes to plain C and its frames; rows of x are `apart` times
 * their length apart, rows of results `y_step` elements. */
void morsel_fc_tiles(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, morsel_tile_fn *tile, struct morsel_pairs *room);
void morsel_fc_short_tiles(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step, morsel_tile_fn *tile,
                           struct morsel_pairs *room);
void morsel_fc_short_neon(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step);
void morsel_fc_short_dotprod(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step);
void morsel_fc_short_i8mm(const struct morsel_fc_args *a, uint32_t apart, uint32_t y_step);

morsel_conv_fn morsel_conv_rows_i8mm;
morsel_fc_fn morsel_fc_blocks_i8mm;
morsel_matmul_fn morsel_matmul_rows_i8mm;

/* The channels, from the first on, that it took: those of several tiles with few inputs, or none. */
uint32_t morsel_shallow_dotprod(const struct morsel_tile *t);

/* The channels behind the last whole sixteen, if they are at most eight, of pairs of tiles in one piece of more than 16 inputs. */
morsel_tile_fn morsel_eights_dotprod;

morsel_tile_fn morsel_tile_dotprod;
morsel_conv_fn morsel_conv_rows_dotprod;
morsel_conv_fn morsel_depthwise_rows_dotprod;
morsel_fc_fn morsel_fc_blocks_dotprod;
morsel_matmul_fn morsel_matmul_rows_dotprod;

morsel_conv_fn morsel_conv_rows_neon;
morsel_conv_fn morsel_depthwise_rows_neon;
/* Channels begin .. end alone, which begin with a block, of a window that it takes. */
void morsel_depthwise_channels_neon(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t begin,
                                    uint32_t end);
morsel_fc_fn morsel_fc_blocks_neon;
morsel_matmul_fn morsel_matmul_rows_neon;
morsel_binary_fn morsel_qadd_neon;
morsel_binary_fn morsel_qmul_neon;
morsel_mean_fn morsel_mean_neon;
morsel_lut_fn morsel_lut_neon;
morsel_gather_fn morsel_gather_neon;
morsel_float_conv_fn morsel_float_conv_rows_neon;
morsel_unary_fn morsel_unary_neon;
morsel_unary_fn morsel_qaffine_neon; /* of one operation */
morsel_binary_fn morsel_binary_neon;
morsel_softmax_fn morsel_softmax_neon;
morsel_layer_norm_fn morsel_layer_norm_neon;
morsel_float_matmul_fn morsel_float_matmul_neon;
morsel_resize_fn morsel_resize_neon;
morsel_range_fn morsel_range_neon;
morsel_factors_fn morsel_factors_neon;
morsel_quantize_fn morsel_quantize_neon;
morsel_mean_fn morsel_mean_floats_neon; /* of float x */
morsel_pool_fn morsel_max_pool_rows_neon;
morsel_pool_fn morsel_average_pool_rows_neon;

morsel_refusal_fn morsel_conv_refusal_neon; /* of the tiles of every ISA */
morsel_refusal_fn morsel_fc_refusal_neon;
morsel_refusal_fn morsel_depthwise_refusal_neon, morsel_depthwise_refusal_dotprod;
morsel_refusal_fn morsel_matmul_refusal_neon;
morsel_refusal_fn morsel_max_pool_refusal_neon;
morsel_refusal_fn morsel_lut_refusal_neon;
morsel_refusal_fn morsel_mean_refusal_neon;

#endif
