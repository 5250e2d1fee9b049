/* SPDX-License-Identifier: MIT */
/* The x86 kernels: each computes what its reference in kernels/reference/ does, to the byte. */
#ifndef MORSEL_X86_H
#define MORSEL_X86_H

#include "../kernels/kernels.h"

/* Before a short loop of constant length over an array of registers: it must vanish, or the array lives in memory. */
#if defined(__clang__)
#define MORSEL_UNROLL _Pragma("unroll")
#else
#define MORSEL_UNROLL _Pragma("GCC unroll 16")
#endif
#define MORSEL_INLINE static inline __attribute__((always_inline))

morsel_conv_fn morsel_conv_rows_avx2;
morsel_conv_fn morsel_depthwise_rows_avx2;
morsel_fc_fn morsel_fc_blocks_avx2;
morsel_matmul_fn morsel_matmul_rows_avx2;
morsel_binary_fn morsel_qadd_avx2;
morsel_binary_fn morsel_qmul_avx2;
morsel_mean_fn morsel_mean_avx2;
morsel_float_conv_fn morsel_float_conv_rows_avx2;
morsel_unary_fn morsel_unary_avx2, morsel_unary_avx512vnni;
morsel_unary_fn morsel_qaffine_avx2; /* of one operation */
morsel_binary_fn morsel_binary_avx2;
morsel_softmax_fn morsel_softmax_avx2, morsel_softmax_avx512vnni;
morsel_layer_norm_fn morsel_layer_norm_avx2;
morsel_float_matmul_fn morsel_float_matmul_avx2, morsel_float_matmul_avx512vnni;
morsel_resize_fn morsel_resize_avx2;
morsel_mean_fn morsel_mean_floats_avx2; /* of float x */
morsel_gather_fn morsel_gather_avx2;
morsel_pool_fn morsel_max_pool_rows_avx2;
morsel_pool_fn morsel_average_pool_rows_avx2;
morsel_lut_fn morsel_lut_avx2;

morsel_conv_fn morsel_conv_rows_avxvnni;
morsel_conv_fn morsel_depthwise_rows_avxvnni;
morsel_fc_fn morsel_fc_blocks_avxvnni;
morsel_matmul_fn morsel_matmul_rows_avxvnni;

morsel_conv_fn morsel_conv_rows_avx512vnni;
morsel_conv_fn morsel_depthwise_rows_avx512vnni;
morsel_fc_fn morsel_fc_blocks_avx512vnni;
morsel_matmul_fn morsel_matmul_rows_avx512vnni;
morsel_binary_fn morsel_qadd_avx512vnni;
morsel_lut_fn morsel_lut_avx512vbmi;

morsel_range_fn morsel_range_avx2;
morsel_factors_fn morsel_factors_avx2;
morsel_quantize_fn morsel_quantize_avx2;
morsel_quantize_fn morsel_quantize_avx512vnni;

/* Some rows of channels begin .. end, which begin with a block, or of more: for kernels that do not know zero points of weights. The
 * arguments are such that AVX2's kernel takes them, and windows fit its room or the stack. */
int morsel_depthwise_fits_avx2(const struct morsel_conv_args *args);
void morsel_depthwise_channels_avx2(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t begin,
                                    uint32_t end);

/* Whether the tiles take a convolution; else it is a matrix product. */
typedef int morsel_conv_has_tiles_fn(const struct morsel_conv_args *args);
morsel_conv_has_tiles_fn morsel_conv_has_tiles_avx2; /* those of AVX-VNNI, too */
morsel_conv_has_tiles_fn morsel_conv_has_tiles_avx512vnni;

/* One row of pixels that the tiles take. lines: scale and zero point of each pixel, as struct morsel_fc_args has them, or NULL. */
typedef void morsel_conv_lines_fn(const struct morsel_conv_args *args, const uint8_t *const *row, const float *lines);
morsel_conv_lines_fn morsel_conv_lines_avx2, morsel_conv_lines_avxvnni, morsel_conv_lines_avx512vnni;

/* Products of few rows. */
morsel_fc_fn morsel_fc_few_avx2, morsel_fc_few_avxvnni, morsel_fc_few_avx512vnni;

/* The sum of n bytes ^ flip. */
uint32_t morsel_sum_bytes_avx2(const uint8_t *x, uint32_t n, uint8_t flip);

/* Why neither the tiles nor, if `by_fc`, the matrix product take it; NULL: they do. */
const char *morsel_conv_refusal(const struct morsel_conv_args *a, int by_fc);
morsel_refusal_fn morsel_conv_refusal_avx2, morsel_conv_refusal_avxvnni, morsel_conv_refusal_avx512vnni;
morsel_refusal_fn morsel_depthwise_refusal_avx2, morsel_depthwise_refusal_avxvnni, morsel_depthwise_refusal_avx512vnni;
morsel_refusal_fn morsel_matmul_refusal_avx2;
morsel_refusal_fn morsel_max_pool_refusal_avx2;
morsel_refusal_fn morsel_lut_refusal_avx2;
morsel_refusal_fn morsel_mean_refusal_avx2;
morsel_refusal_fn morsel_gather_refusal_avx2;

#endif
