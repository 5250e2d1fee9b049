/* SPDX-License-Identifier: MIT */
/* Plain C in every slot; then the machine's own kernels take over those that they do faster. */
#include "kernels.h"

static void fill_c(struct morsel_kernels *t) {
    t->conv = morsel_conv_rows_c;
    t->depthwise = morsel_depthwise_rows_c;
    t->float_conv = morsel_float_conv_rows_c;
    t->average_pool = morsel_average_pool_rows_c;
    t->max_pool = morsel_max_pool_rows_c;
    t->fc = morsel_fc_blocks_c;
    t->matmul = morsel_matmul_rows_c;
    t->qadd = morsel_qadd_c;
    t->qmul = morsel_qmul_c;
    t->binary = morsel_binary_c;
    t->unary = morsel_unary_c;
    t->lut = morsel_lut_c;
    t->mean = morsel_mean_c;
    t->softmax = morsel_softmax_c;
    t->float_matmul = morsel_float_matmul_c;
    t->layer_norm = morsel_layer_norm_c;
    t->resize = morsel_resize_c;
    t->copy = morsel_copy_c;
    t->gather = morsel_gather_c;
    t->range = morsel_range_c;
    t->factors = morsel_factors_c;
    t->quantize = morsel_quantize_c;
    t->lookup = morsel_lookup_c;
    t->cast = morsel_cast_c;
    t->refusals = (struct morsel_refusals){0};
    t->store_flip = 0;
    t->strided_pixels = 1;
}

uint32_t morsel_kernels_choose(struct morsel_kernels *table, uint32_t cpu) {
    fill_c(table);
#if defined(MORSEL_PLAIN_C) /* one file has all of it: no other kernels */
    (void)cpu;
    return 0;
#elif defined(__aarch64__)
    return morsel_kernels_arm64(table, cpu);
#elif defined(__x86_64__)
    return morsel_kernels_x86(table, cpu);
#else
    (void)cpu;
    return 0;
#endif
}
