/* SPDX-License-Identifier: MIT */
/* The kernels of each family: plain C in its slots, then the machine's own take over those that they do faster. */
#include "kernels.h"

#if MORSEL_OWN_KERNELS
#define FASTER(family) family(table, cpu)
#else
#define FASTER(family) (void)cpu
#endif

uint32_t morsel_kernels_start(struct morsel_kernels *table, uint32_t cpu) {
    *table = (struct morsel_kernels){.strided_pixels = 1};
#if MORSEL_OWN_KERNELS
    return morsel_faster_start(table, cpu);
#else
    (void)cpu;
    return 0;
#endif
}

void morsel_kernels_conv(struct morsel_kernels *table, uint32_t cpu) {
    table->conv = morsel_conv_rows_c;
    FASTER(morsel_faster_conv);
}

void morsel_kernels_depthwise(struct morsel_kernels *table, uint32_t cpu) {
    table->depthwise = morsel_depthwise_rows_c;
    FASTER(morsel_faster_depthwise);
}

void morsel_kernels_float_conv(struct morsel_kernels *table, uint32_t cpu) {
    table->float_conv = morsel_float_conv_rows_c;
    FASTER(morsel_faster_float_conv);
}

void morsel_kernels_average_pool(struct morsel_kernels *table, uint32_t cpu) {
    table->average_pool = morsel_average_pool_rows_c;
    FASTER(morsel_faster_average_pool);
}

void morsel_kernels_max_pool(struct morsel_kernels *table, uint32_t cpu) {
    table->max_pool = morsel_max_pool_rows_c;
    FASTER(morsel_faster_max_pool);
}

void morsel_kernels_fc(struct morsel_kernels *table, uint32_t cpu) {
    table->fc = morsel_fc_blocks_c;
    FASTER(morsel_faster_fc);
}

void morsel_kernels_matmul(struct morsel_kernels *table, uint32_t cpu) {
    table->matmul = morsel_matmul_rows_c;
    FASTER(morsel_faster_matmul);
}

void morsel_kernels_float_matmul(struct morsel_kernels *table, uint32_t cpu) {
    table->float_matmul = morsel_float_matmul_c;
    FASTER(morsel_faster_float_matmul);
}

void morsel_kernels_qadd(struct morsel_kernels *table, uint32_t cpu) {
    table->qadd = morsel_qadd_c;
    FASTER(morsel_faster_qadd);
}

void morsel_kernels_binary(struct morsel_kernels *table, uint32_t cpu) {
    morsel_kernels_qadd(table, cpu);
    table->qmul = morsel_qmul_c;
    table->binary = morsel_binary_c;
    FASTER(morsel_faster_binary);
}

void morsel_kernels_unary(struct morsel_kernels *table, uint32_t cpu) {
    table->unary = morsel_unary_c;
    FASTER(morsel_faster_unary);
}

void morsel_kernels_lut(struct morsel_kernels *table, uint32_t cpu) {
    table->lut = morsel_lut_c;
    FASTER(morsel_faster_lut);
}

void morsel_kernels_mean(struct morsel_kernels *table, uint32_t cpu) {
    table->mean = morsel_mean_c;
    FASTER(morsel_faster_mean);
}

void morsel_kernels_softmax(struct morsel_kernels *table, uint32_t cpu) {
    table->softmax = morsel_softmax_c;
    FASTER(morsel_faster_softmax);
}

void morsel_kernels_layer_norm(struct morsel_kernels *table, uint32_t cpu) {
    table->layer_norm = morsel_layer_norm_c;
    FASTER(morsel_faster_layer_norm);
}

void morsel_kernels_resize(struct morsel_kernels *table, uint32_t cpu) {
    table->resize = morsel_resize_c;
    FASTER(morsel_faster_resize);
}

void morsel_kernels_copy(struct morsel_kernels *table, uint32_t cpu) {
    table->copy = morsel_copy_c;
    (void)cpu;
}

void morsel_kernels_gather(struct morsel_kernels *table, uint32_t cpu) {
    table->gather = morsel_gather_c;
    FASTER(morsel_faster_gather);
}

void morsel_kernels_range(struct morsel_kernels *table, uint32_t cpu) {
    table->range = morsel_range_c;
    FASTER(morsel_faster_range);
}

void morsel_kernels_factors(struct morsel_kernels *table, uint32_t cpu) {
    table->factors = morsel_factors_c;
    FASTER(morsel_faster_factors);
}

void morsel_kernels_quantize(struct morsel_kernels *table, uint32_t cpu) {
    table->quantize = morsel_quantize_c;
    FASTER(morsel_faster_quantize);
}

void morsel_kernels_lookup(struct morsel_kernels *table, uint32_t cpu) {
    table->lookup = morsel_lookup_c;
    (void)cpu;
}

void morsel_kernels_cast(struct morsel_kernels *table, uint32_t cpu) {
    table->cast = morsel_cast_c;
    (void)cpu;
}

void morsel_kernels_grid_sample(struct morsel_kernels *table, uint32_t cpu) {
    table->grid_sample = morsel_grid_sample_c;
    (void)cpu;
}

void morsel_kernels_non_max_suppression(struct morsel_kernels *table, uint32_t cpu) {
    table->non_max_suppression = morsel_non_max_suppression_c;
    (void)cpu;
}
