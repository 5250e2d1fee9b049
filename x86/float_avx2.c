/* SPDX-License-Identifier: MIT */
/* Floats with AVX2: convolutions, products, and what is element by element or along lines (float_pairs_avx2.c has the rest). */
#include "eight_avx2.h"

MORSEL_INLINE void product_turn(float *to, const float *x, size_t apart) {
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + apart), c = _mm_loadu_ps(x + 2 * apart), d = _mm_loadu_ps(x + 3 * apart);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + 16, b);
    _mm_storeu_ps(to + 32, c);
    _mm_storeu_ps(to + 48, d);
}

#include "../kernels/float_lines.h"
#include "../kernels/float_loops.h"
#include "../kernels/float_norm.h"
#include "../kernels/float_product.h"

void morsel_float_conv_rows_avx2(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_float_conv(&eight_isa, a, rows, y, n);
}

void morsel_float_matmul_avx2(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    product_range(a, begin, end);
}

void morsel_unary_avx2(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    struct morsel_quantize_args quantize;
    float numbers[2];
    if (morsel_is_quantize(a, begin, end, numbers, &quantize)) morsel_quantize_avx2(&quantize, 0, 1);
    else if (a->op == MORSEL_UNARY_QAFFINE) morsel_qaffine_avx2(a, begin, end);
    else eight_unary(a, begin, end);
}

void morsel_layer_norm_avx2(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    eight_layer_norm(a, begin, end);
}

void morsel_softmax_avx2(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    eight_softmax(a, begin, end);
}
