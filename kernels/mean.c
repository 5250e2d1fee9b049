/* SPDX-License-Identifier: MIT */
/* The mean over a dimension. Bytes are summed exactly (count is below 2^31 / 255), floats in order. */
#include "requant.h"

static int32_t byte_sum(const struct morsel_mean_args *a, size_t first) {
    const uint8_t *x = (const uint8_t *)a->x.data + first;
    int32_t sum = 0;
    for (uint32_t i = 0; i < a->count; i++) sum += (int32_t)(x[(size_t)i * a->inner] ^ a->x.code.flip) - a->x.code.zero;
    return sum;
}

static float float_sum(const struct morsel_mean_args *a, size_t first) {
    const float *x = (const float *)a->x.data + first;
    float sum = 0;
    for (uint32_t i = 0; i < a->count; i++) sum += x[(size_t)i * a->inner];
    return sum;
}

void morsel_mean_c(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t first = (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
        if (a->x.code.is_float) morsel_store_real(&a->y, u, float_sum(a, first) / (float)a->count);
        else morsel_store_sum(&a->y, u, byte_sum(a, first), a->multiplier, NULL);
    }
}
