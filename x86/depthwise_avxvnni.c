/* SPDX-License-Identifier: MIT */
/* Depthwise convolution with AVX-VNNI: four taps of a byte each. */
#define MORSEL_BELOW_1
#include "dot_avxvnni.h"

#include <string.h>

#define DW_VECTORS 4

MORSEL_INLINE void dw_keep(__m256i *to, const __m256i *q) {
    MORSEL_UNROLL
    for (int j = 0; j < 4; j++) to[j] = q[j];
}

#define dw_keep_taps dw_keep
#define dw_dot(acc, x, taps, j) morsel_dot256(acc, (x)->v[j], (taps)->v[j])

#include "depthwise_256.h"

const char *morsel_depthwise_refusal_avxvnni(const void *args) {
    return dw_refusal(args) ? morsel_depthwise_refusal_avx2(args) : NULL;
}

void morsel_depthwise_rows_avxvnni(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    dw_rows(a, rows, y, n);
}
