/* SPDX-License-Identifier: MIT */
/*
 * A layer with constant weights as a matrix product: each of its outputs is a row of weights times a patch of its input. A patch is what
 * the window covers; for Gemm and MatMul it is a whole row of the input. Convolution groups share nothing.
 */
#ifndef MORSEL_TOOLS_QUANT_ROUND_PATCH_H
#define MORSEL_TOOLS_QUANT_ROUND_PATCH_H

#include "tools/quant/insert/scheme.h"

struct patch {
    int64_t images, groups, channels; /* channels of one group */
    int64_t in_h, in_w, out_h, out_w; /* rows of a product are columns of a picture: in_h is 1 then, and out_w is in_w */
    int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int64_t length;                                          /* of a patch: channels * kernel_h * kernel_w, in this order */
    int64_t rows;                                            /* outputs of one group */
    int64_t positions;                                       /* of the window, over all images */
    int64_t channel_step, column_step, row_step, image_step; /* of the input, in elements */
    int64_t weight_row, weight_column, weight_group;         /* weight of row r, element k, group g: r * .. + k * .. + g * .. */
};

/* False: a layer of another kind (ConvTranspose, three dimensions). */
bool patch_of(const struct scheme_layer *layer, struct patch *patch);

/* Elements of the patches at `count` positions: to[k * stride + i] is element k of the patch at positions[i], 0 outside of the picture. */
void patch_gather(const struct patch *patch, const float *x, int64_t group, const int64_t *positions, int count, float *to, int stride);

/* Patches that patch_gather() takes at a time, at most. */
enum { PATCH_BLOCK = 64 };

#endif
