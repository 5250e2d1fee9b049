/* SPDX-License-Identifier: MIT */
/* Floats with NEON: convolutions, products, and what is element by element or along lines (float_pairs_neon.c has the rest). */
#include "eight_neon.h"

MORSEL_INLINE void product_turn(float *to, const float *x, size_t apart) {
    const float32x4x2_t v = vtrnq_f32(vld1q_f32(x), vld1q_f32(x + apart)),
                        w = vtrnq_f32(vld1q_f32(x + 2 * apart), vld1q_f32(x + 3 * apart));
    vst1q_f32(to, vcombine_f32(vget_low_f32(v.val[0]), vget_low_f32(w.val[0])));
    vst1q_f32(to + 16, vcombine_f32(vget_low_f32(v.val[1]), vget_low_f32(w.val[1])));
    vst1q_f32(to + 32, vcombine_f32(vget_high_f32(v.val[0]), vget_high_f32(w.val[0])));
    vst1q_f32(to + 48, vcombine_f32(vget_high_f32(v.val[1]), vget_high_f32(w.val[1])));
}

#include "../kernels/float_lines.h"
#include "../kernels/float_loops.h"
#include "../kernels/float_norm.h"
#include "../kernels/float_product.h"

void morsel_float_conv_rows_neon(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_float_conv(&eight_isa, a, rows, y, n);
}

void morsel_float_matmul_neon(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    product_range(a, begin, end);
}

void morsel_unary_neon(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    struct morsel_quantize_args quantize;
    float numbers[2];
    if (morsel_is_quantize(a, begin, end, numbers, &quantize)) morsel_quantize_neon(&quantize, 0, 1);
    else if (a->op == MORSEL_UNARY_QAFFINE) morsel_qaffine_neon(a, begin, end);
    else eight_unary(a, begin, end);
}

void morsel_layer_norm_neon(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    eight_layer_norm(a, begin, end);
}

void morsel_softmax_neon(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    eight_softmax(a, begin, end);
}
