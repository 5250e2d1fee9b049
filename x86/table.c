/* SPDX-License-Identifier: MIT */
/* The x86 kernels, from the oldest instructions to the newest: each feature takes over the slots that it computes faster. What all listed
 * sets (MORSEL_ISA) take over is not referred to. */
#include "x86.h"

uint32_t morsel_faster_start(struct morsel_kernels *table, uint32_t cpu) {
    if (!(cpu & MORSEL_HAS_AVX2)) return 0;
    if (!(cpu & MORSEL_HAS_AVX512VNNI)) cpu &= ~(uint32_t)MORSEL_HAS_AVX512VBMI;
    cpu &= MORSEL_LISTED & (MORSEL_HAS_AVX2 | MORSEL_HAS_AVXVNNI | MORSEL_HAS_AVX512VNNI | MORSEL_HAS_AVX512VBMI);
    if (!cpu) return 0;
    table->strided_pixels = cpu & MORSEL_HAS_AVX512VNNI; /* some CPUs with it lack AVXVNNI */
    return cpu | MORSEL_HAS_AVX2;
}

void morsel_faster_conv(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->refusals.conv = morsel_conv_refusal_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX2) table->conv = morsel_conv_rows_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVXVNNI) {
        table->refusals.conv = morsel_conv_refusal_avxvnni;
        table->conv = morsel_conv_rows_avxvnni;
    }
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) {
        table->refusals.conv = morsel_conv_refusal_avx512vnni;
        table->conv = morsel_conv_rows_avx512vnni;
    }
}

void morsel_faster_depthwise(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->refusals.depthwise = morsel_depthwise_refusal_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX2) table->depthwise = morsel_depthwise_rows_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVXVNNI) {
        table->refusals.depthwise = morsel_depthwise_refusal_avxvnni;
        table->depthwise = morsel_depthwise_rows_avxvnni;
    }
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) {
        table->refusals.depthwise = morsel_depthwise_refusal_avx512vnni;
        table->depthwise = morsel_depthwise_rows_avx512vnni;
    }
}

void morsel_faster_float_conv(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->float_conv = morsel_float_conv_rows_avx2;
}

void morsel_faster_average_pool(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->average_pool = morsel_average_pool_rows_avx2;
}

void morsel_faster_max_pool(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) {
        table->refusals.max_pool = morsel_max_pool_refusal_avx2;
        table->max_pool = morsel_max_pool_rows_avx2;
    }
}

void morsel_faster_fc(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX2) table->fc = morsel_fc_blocks_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVXVNNI) table->fc = morsel_fc_blocks_avxvnni;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->fc = morsel_fc_blocks_avx512vnni;
}

void morsel_faster_matmul(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->refusals.matmul = morsel_matmul_refusal_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX2) table->matmul = morsel_matmul_rows_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVXVNNI) table->matmul = morsel_matmul_rows_avxvnni;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->matmul = morsel_matmul_rows_avx512vnni;
}

void morsel_faster_float_matmul(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2 && (MORSEL_LISTED & (MORSEL_HAS_AVX2 | MORSEL_HAS_AVXVNNI)) != 0)
        table->float_matmul = morsel_float_matmul_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->float_matmul = morsel_float_matmul_avx512vnni;
}

void morsel_faster_qadd(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) {
        table->refusals.qadd = morsel_lines_refusal;
        table->qadd = morsel_qadd_avx2;
    }
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->qadd = morsel_qadd_avx512vnni;
}

void morsel_faster_binary(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) {
        table->refusals.qmul = morsel_lines_refusal;
        table->qmul = morsel_qmul_avx2;
        table->refusals.binary = morsel_float_pair_refusal;
        table->binary = morsel_binary_avx2;
    }
}

void morsel_faster_unary(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2 && (MORSEL_LISTED & (MORSEL_HAS_AVX2 | MORSEL_HAS_AVXVNNI)) != 0) table->unary = morsel_unary_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->unary = morsel_unary_avx512vnni;
}

void morsel_faster_lut(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->refusals.lut = morsel_lut_refusal_avx2;
    if (cpu & MORSEL_HAS_AVX2) table->lut = morsel_lut_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VBMI) table->lut = morsel_lut_avx512vbmi;
}

void morsel_faster_mean(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) {
        table->refusals.mean = morsel_mean_refusal_avx2;
        table->mean = morsel_mean_avx2;
    }
}

void morsel_faster_softmax(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->refusals.softmax = morsel_softmax_refusal;
    if (cpu & MORSEL_HAS_AVX2 && (MORSEL_LISTED & (MORSEL_HAS_AVX2 | MORSEL_HAS_AVXVNNI)) != 0) table->softmax = morsel_softmax_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->softmax = morsel_softmax_avx512vnni;
}

void morsel_faster_layer_norm(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->layer_norm = morsel_layer_norm_avx2;
}

void morsel_faster_resize(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->resize = morsel_resize_avx2;
}

void morsel_faster_gather(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) {
        table->refusals.gather = morsel_gather_refusal_avx2;
        table->gather = morsel_gather_avx2;
    }
}

void morsel_faster_range(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->range = morsel_range_avx2;
}

void morsel_faster_factors(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->factors = morsel_factors_avx2;
}

void morsel_faster_quantize(struct morsel_kernels *table, uint32_t cpu) {
    if (cpu & MORSEL_HAS_AVX2) table->quantize = morsel_quantize_avx2;
    if (cpu & MORSEL_LISTED & MORSEL_HAS_AVX512VNNI) table->quantize = morsel_quantize_avx512vnni;
}
