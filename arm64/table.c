/* SPDX-License-Identifier: MIT */
/* The arm64 kernels, from the oldest instructions to the newest: each feature takes over the slots that it computes faster. */
#include "arm64.h"

static void use_neon(struct morsel_kernels *table) {
    table->refusals = (struct morsel_refusals){
        .conv = morsel_conv_refusal_neon,
        .depthwise = morsel_depthwise_refusal_neon,
        .max_pool = morsel_max_pool_refusal_neon,
        .fc = morsel_fc_refusal_neon,
        .matmul = morsel_matmul_refusal_neon,
        .qadd = morsel_lines_refusal,
        .qmul = morsel_lines_refusal,
        .binary = morsel_float_pair_refusal,
        .lut = morsel_lut_refusal_neon,
        .softmax = morsel_softmax_refusal,
        .mean = morsel_mean_refusal_neon,
    };
    table->conv = morsel_conv_rows_neon;
    table->depthwise = morsel_depthwise_rows_neon;
    table->fc = morsel_fc_blocks_neon;
    table->matmul = morsel_matmul_rows_neon;
    table->max_pool = morsel_max_pool_rows_neon;
    table->average_pool = morsel_average_pool_rows_neon;
    table->qadd = morsel_qadd_neon;
    table->qmul = morsel_qmul_neon;
    table->lut = morsel_lut_neon;
    table->gather = morsel_gather_neon;
    table->mean = morsel_mean_neon;
    table->float_conv = morsel_float_conv_rows_neon;
    table->unary = morsel_unary_neon;
    table->binary = morsel_binary_neon;
    table->softmax = morsel_softmax_neon;
    table->layer_norm = morsel_layer_norm_neon;
    table->float_matmul = morsel_float_matmul_neon;
    table->resize = morsel_resize_neon;
    table->range = morsel_range_neon;
    table->quantize = morsel_quantize_neon;
    table->store_flip = 0x80;
    table->strided_pixels = 0;
}

static void use_dotprod(struct morsel_kernels *table) {
    table->conv = morsel_conv_rows_dotprod;
    table->refusals.depthwise = morsel_depthwise_refusal_dotprod;
    table->depthwise = morsel_depthwise_rows_dotprod;
    table->fc = morsel_fc_blocks_dotprod;
    table->matmul = morsel_matmul_rows_dotprod;
    table->store_flip = 0x80;
}

static void use_i8mm(struct morsel_kernels *table) {
    table->conv = morsel_conv_rows_i8mm;
    table->fc = morsel_fc_blocks_i8mm;
    table->matmul = morsel_matmul_rows_i8mm;
}

uint32_t morsel_kernels_arm64(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) use_neon(table);
    if (cpu & MORSEL_HAS_DOTPROD) use_dotprod(table);
    if (!(cpu & MORSEL_HAS_DOTPROD)) cpu &= ~(uint32_t)MORSEL_HAS_I8MM; /* those call these */
    if (cpu & MORSEL_HAS_I8MM) use_i8mm(table);
    return cpu & (MORSEL_HAS_NEON | MORSEL_HAS_DOTPROD | MORSEL_HAS_I8MM);
}
