/* SPDX-License-Identifier: MIT */
/* The arm64 kernels, from the oldest instructions to the newest: each feature takes over the slots that it computes faster. What all listed
 * sets (MORSEL_ISA) take over is not referred to. */
#include "arm64.h"

uint32_t morsel_faster_start(struct morsel_kernels *table, uint32_t cpu) {
    if (!(cpu & MORSEL_HAS_NEON)) return 0;
    if (!(cpu & MORSEL_HAS_DOTPROD)) cpu &= ~(uint32_t)MORSEL_HAS_I8MM; /* those call these */
    cpu &= MORSEL_LISTED & (MORSEL_HAS_NEON | MORSEL_HAS_DOTPROD | MORSEL_HAS_I8MM);
    if (!cpu) return 0;
    if (cpu & MORSEL_HAS_I8MM) cpu |= MORSEL_HAS_DOTPROD;
    table->store_flip = 0x80;
    table->strided_pixels = 0;
    return cpu | MORSEL_HAS_NEON;
}

void morsel_faster_conv(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->refusals.conv = morsel_conv_refusal_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_NEON) table->conv = morsel_conv_rows_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_DOTPROD) table->conv = morsel_conv_rows_dotprod;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_I8MM) table->conv = morsel_conv_rows_i8mm;
}

void morsel_faster_depthwise(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->refusals.depthwise = morsel_depthwise_refusal_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_NEON) table->depthwise = morsel_depthwise_rows_neon;
    if (cpu & MORSEL_HAS_DOTPROD && (MORSEL_LISTED & (MORSEL_HAS_DOTPROD | MORSEL_HAS_I8MM)) != 0) {
        table->refusals.depthwise = morsel_depthwise_refusal_dotprod;
        table->depthwise = morsel_depthwise_rows_dotprod;
    }
}

void morsel_faster_float_conv(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->float_conv = morsel_float_conv_rows_neon;
}

void morsel_faster_average_pool(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->average_pool = morsel_average_pool_rows_neon;
}

void morsel_faster_max_pool(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.max_pool = morsel_max_pool_refusal_neon;
        table->max_pool = morsel_max_pool_rows_neon;
    }
}

void morsel_faster_fc(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->refusals.fc = morsel_fc_refusal_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_NEON) table->fc = morsel_fc_blocks_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_DOTPROD) table->fc = morsel_fc_blocks_dotprod;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_I8MM) table->fc = morsel_fc_blocks_i8mm;
}

void morsel_faster_matmul(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->refusals.matmul = morsel_matmul_refusal_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_NEON) table->matmul = morsel_matmul_rows_neon;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_DOTPROD) table->matmul = morsel_matmul_rows_dotprod;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_I8MM) table->matmul = morsel_matmul_rows_i8mm;
}

void morsel_faster_float_matmul(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->float_matmul = morsel_float_matmul_neon;
}

void morsel_faster_qadd(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.qadd = morsel_lines_refusal;
        table->qadd = morsel_qadd_neon;
    }
}

void morsel_faster_binary(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.qmul = morsel_lines_refusal;
        table->qmul = morsel_qmul_neon;
        table->refusals.binary = morsel_float_pair_refusal;
        table->binary = morsel_binary_neon;
    }
}

void morsel_faster_unary(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->unary = morsel_unary_neon;
}

void morsel_faster_lut(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.lut = morsel_lut_refusal_neon;
        table->lut = morsel_lut_neon;
    }
}

void morsel_faster_mean(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.mean = morsel_mean_refusal_neon;
        table->mean = morsel_mean_neon;
    }
}

void morsel_faster_softmax(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) {
        table->refusals.softmax = morsel_softmax_refusal;
        table->softmax = morsel_softmax_neon;
    }
}

void morsel_faster_layer_norm(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->layer_norm = morsel_layer_norm_neon;
}

void morsel_faster_resize(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->resize = morsel_resize_neon;
}

void morsel_faster_gather(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->gather = morsel_gather_neon;
}

void morsel_faster_range(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->range = morsel_range_neon;
}

void morsel_faster_factors(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->factors = morsel_factors_neon;
}

void morsel_faster_quantize(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_NEON) table->quantize = morsel_quantize_neon;
}
