/* SPDX-License-Identifier: MIT */
/* Any function of a byte, by table, in plain C. */
#include "kernels.h"

/* n elements from `first` that share a table. */
static void look_up(const struct morsel_lut_args *a, size_t first, uint32_t n, size_t table) {
    const uint8_t *x = a->x + first, x_flip = (uint8_t)a->x_flip, y_flip = (uint8_t)a->y_flip;
    if (a->is_float) {
        const float *floats = (const float *)a->table + table * 256;
        for (uint32_t i = 0; i < n; i++) ((float *)a->y)[first + i] = floats[x[i] ^ x_flip];
        return;
    }
    const uint8_t *bytes = (const uint8_t *)a->table + table * 256;
    uint8_t *y = (uint8_t *)a->y + first;
    for (uint32_t i = 0; i < n; i++) y[i] = (uint8_t)(bytes[x[i] ^ x_flip] ^ y_flip);
}

void morsel_lut_c(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    while (begin < end) {
        uint32_t n = a->channels == 1 ? end - begin : a->inner - begin % a->inner;
        n = n < end - begin ? n : end - begin;
        look_up(a, begin, n, begin / a->inner % a->channels);
        begin += n;
    }
}
