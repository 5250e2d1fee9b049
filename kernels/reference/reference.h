/* SPDX-License-Identifier: MIT */
/*
 * The meaning of every operator: one output at a time, in the plainest code. Nothing is blocked, nothing is unrolled, nothing is fast.
 *
 * Every kernel is held against these functions byte by byte, those in plain C included; tests/check_kernels does it. They stand in no
 * library. The arguments, and which range a call computes, are those of ../kernels.h; how a sum becomes a byte is ../requant.h.
 */
#ifndef MORSEL_REFERENCE_H
#define MORSEL_REFERENCE_H

#include "../kernels.h"
#include "../pixels.h"

morsel_conv_fn morsel_conv_rows_reference;
morsel_conv_fn morsel_depthwise_rows_reference;
morsel_float_conv_fn morsel_float_conv_rows_reference;
morsel_pool_fn morsel_average_pool_rows_reference;
morsel_pool_fn morsel_max_pool_rows_reference;
morsel_fc_fn morsel_fc_blocks_reference;
morsel_matmul_fn morsel_matmul_rows_reference;
morsel_float_matmul_fn morsel_float_matmul_reference;
morsel_binary_fn morsel_qadd_reference;
morsel_binary_fn morsel_qmul_reference;
morsel_binary_fn morsel_binary_reference;
morsel_unary_fn morsel_unary_reference;
morsel_lut_fn morsel_lut_reference;
morsel_mean_fn morsel_mean_reference;
morsel_softmax_fn morsel_softmax_reference;
morsel_layer_norm_fn morsel_layer_norm_reference;
morsel_resize_fn morsel_resize_reference;
morsel_copy_fn morsel_copy_reference;
morsel_gather_fn morsel_gather_reference;
morsel_range_fn morsel_range_reference;
morsel_factors_fn morsel_factors_reference;
morsel_quantize_fn morsel_quantize_reference;
morsel_lookup_fn morsel_lookup_reference;
morsel_cast_fn morsel_cast_reference;
morsel_grid_sample_fn morsel_grid_sample_reference;
morsel_non_max_suppression_fn morsel_non_max_suppression_reference;

morsel_across_fn morsel_across_reference;
morsel_blend_fn morsel_blend_reference;
morsel_colors_fn morsel_colors_reference;

/* All of them, as tables of kernels. */
extern const struct morsel_kernels morsel_kernels_reference;
extern const struct morsel_pixel_kernels morsel_pixels_reference;

#endif
