/* SPDX-License-Identifier: MIT */
/* Any function of a byte, by table. */
#include "kernels.h"

void morsel_lut_c(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    const uint8_t *bytes = a->table;
    const float *floats = a->table;
    for (uint32_t i = begin; i < end; i++) {
        size_t entry = (size_t)(i / a->inner % a->channels) * 256 + (a->x[i] ^ a->x_flip);
        if (a->is_float) ((float *)a->y)[i] = floats[entry];
        else ((uint8_t *)a->y)[i] = (uint8_t)(bytes[entry] ^ a->y_flip);
    }
}
