/* SPDX-License-Identifier: MIT */
/* The references as a table: one for every slot of struct morsel_kernels. */
#include "reference.h"

const struct morsel_kernels morsel_kernels_reference = {
    .conv = morsel_conv_rows_reference,
    .depthwise = morsel_depthwise_rows_reference,
    .float_conv = morsel_float_conv_rows_reference,
    .average_pool = morsel_average_pool_rows_reference,
    .max_pool = morsel_max_pool_rows_reference,
    .fc = morsel_fc_blocks_reference,
    .matmul = morsel_matmul_rows_reference,
    .float_matmul = morsel_float_matmul_reference,
    .qadd = morsel_qadd_reference,
    .qmul = morsel_qmul_reference,
    .binary = morsel_binary_reference,
    .unary = morsel_unary_reference,
    .lut = morsel_lut_reference,
    .mean = morsel_mean_reference,
    .softmax = morsel_softmax_reference,
    .layer_norm = morsel_layer_norm_reference,
    .resize = morsel_resize_reference,
    .copy = morsel_copy_reference,
    .gather = morsel_gather_reference,
    .range = morsel_range_reference,
    .factors = morsel_factors_reference,
    .quantize = morsel_quantize_reference,
    .lookup = morsel_lookup_reference,
    .cast = morsel_cast_reference,
    .grid_sample = morsel_grid_sample_reference,
    .non_max_suppression = morsel_non_max_suppression_reference,
    .strided_pixels = 1,
};

const struct morsel_pixel_kernels morsel_pixels_reference = {.across = morsel_across_reference,
                                                             .blend = morsel_blend_reference,
                                                             .colors = morsel_colors_reference};
