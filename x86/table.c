/* SPDX-License-Identifier: MIT */
/* The x86 kernels, from the oldest instructions to the newest: each feature takes over the slots that it computes faster. */
#include "x86.h"

uint32_t morsel_kernels_x86(struct morsel_kernels *table, uint32_t cpu) {
    uint32_t used = 0;
    if (!(cpu & MORSEL_HAS_AVX2)) return used;
    table->refusals = (struct morsel_refusals){
        .conv = morsel_conv_refusal_avx2,
        .depthwise = morsel_depthwise_refusal_avx2,
        .max_pool = morsel_max_pool_refusal_avx2,
        .matmul = morsel_matmul_refusal_avx2,
        .qadd = morsel_lines_refusal,
        .qmul = morsel_lines_refusal,
        .binary = morsel_float_pair_refusal,
        .lut = morsel_lut_refusal_avx2,
        .softmax = morsel_softmax_refusal,
        .mean = morsel_mean_refusal_avx2,
        .gather = morsel_gather_refusal_avx2,
    };
    table->conv = morsel_conv_rows_avx2;
    table->depthwise = morsel_depthwise_rows_avx2;
    table->fc = morsel_fc_blocks_avx2;
    table->matmul = morsel_matmul_rows_avx2;
    table->qadd = morsel_qadd_avx2;
    table->qmul = morsel_qmul_avx2;
    table->mean = morsel_mean_avx2;
    table->float_conv = morsel_float_conv_rows_avx2;
    table->unary = morsel_unary_avx2;
    table->binary = morsel_binary_avx2;
    table->softmax = morsel_softmax_avx2;
    table->layer_norm = morsel_layer_norm_avx2;
    table->float_matmul = morsel_float_matmul_avx2;
    table->resize = morsel_resize_avx2;
    table->gather = morsel_gather_avx2;
    table->max_pool = morsel_max_pool_rows_avx2;
    table->average_pool = morsel_average_pool_rows_avx2;
    table->lut = morsel_lut_avx2;
    table->range = morsel_range_avx2;
    table->quantize = morsel_quantize_avx2;
    table->strided_pixels = 0;
    used |= MORSEL_HAS_AVX2;
    if (cpu & MORSEL_HAS_AVXVNNI) { /* some CPUs with AVX512-VNNI lack it */
        table->refusals.conv = morsel_conv_refusal_avxvnni;
        table->refusals.depthwise = morsel_depthwise_refusal_avxvnni;
        table->conv = morsel_conv_rows_avxvnni;
        table->depthwise = morsel_depthwise_rows_avxvnni;
        table->fc = morsel_fc_blocks_avxvnni;
        table->matmul = morsel_matmul_rows_avxvnni;
        used |= MORSEL_HAS_AVXVNNI;
    }
    if (!(cpu & MORSEL_HAS_AVX512VNNI)) return used;
    table->refusals.conv = morsel_conv_refusal_avx512vnni;
    table->refusals.depthwise = morsel_depthwise_refusal_avx512vnni;
    table->conv = morsel_conv_rows_avx512vnni;
    table->depthwise = morsel_depthwise_rows_avx512vnni;
    table->fc = morsel_fc_blocks_avx512vnni;
    table->matmul = morsel_matmul_rows_avx512vnni;
    table->float_matmul = morsel_float_matmul_avx512vnni;
    table->unary = morsel_unary_avx512vnni;
    table->softmax = morsel_softmax_avx512vnni;
    table->qadd = morsel_qadd_avx512vnni;
    table->strided_pixels = 1;
    used |= MORSEL_HAS_AVX512VNNI;
    if (!(cpu & MORSEL_HAS_AVX512VBMI)) return used;
    table->lut = morsel_lut_avx512vbmi;
    return used | MORSEL_HAS_AVX512VBMI;
}
