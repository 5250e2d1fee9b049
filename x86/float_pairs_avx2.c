/* SPDX-License-Identifier: MIT */
/* Floats of two operands, their means, pools and resizes with AVX2: a small part of a run. */
#include "eight_avx2.h"

#include "../kernels/float_pairs.h"
#include "../kernels/float_pools.h"
#include "../kernels/float_resize.h"

void morsel_resize_avx2(const struct morsel_resize_args *a, uint32_t begin, uint32_t end) {
    eight_resize(a, begin, end);
    _mm256_zeroupper();
}

void morsel_mean_floats_avx2(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    eight_mean(a, begin, end);
    _mm256_zeroupper();
}

void morsel_average_pool_rows_avx2(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    eight_average_pool(a, rows, y, n);
    _mm256_zeroupper();
}

void morsel_binary_avx2(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    eight_binary(a, begin, end);
    _mm256_zeroupper();
}
