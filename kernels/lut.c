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

/* Elements side by side have tables of their own: n of them from `first`, which has table `channel`, as far as the tables go. */
static void look_up_each(const struct morsel_lut_args *a, size_t first, uint32_t n, uint32_t channel) {
    const uint8_t *x = a->x + first, x_flip = (uint8_t)a->x_flip, y_flip = (uint8_t)a->y_flip;
    const uint8_t *bytes = (const uint8_t *)a->table + (size_t)channel * 256;
    uint8_t *y = (uint8_t *)a->y + first;
    uint32_t i = 0;
    for (; n - i >= 4; i += 4, bytes += 1024) {
        const uint8_t y0 = bytes[x[i] ^ x_flip], y1 = bytes[256 + (x[i + 1] ^ x_flip)];
        const uint8_t y2 = bytes[512 + (x[i + 2] ^ x_flip)], y3 = bytes[768 + (x[i + 3] ^ x_flip)];
        y[i] = y0 ^ y_flip, y[i + 1] = y1 ^ y_flip, y[i + 2] = y2 ^ y_flip, y[i + 3] = y3 ^ y_flip;
    }
    for (; i < n; i++, bytes += 256) y[i] = (uint8_t)(bytes[x[i] ^ x_flip] ^ y_flip);
}

/* The same with tables of floats. */
static void look_up_floats(const struct morsel_lut_args *a, size_t first, uint32_t n, uint32_t channel) {
    const uint8_t *x = a->x + first, x_flip = (uint8_t)a->x_flip;
    const float *floats = (const float *)a->table + (size_t)channel * 256;
    float *y = (float *)a->y + first;
    for (uint32_t i = 0; i < n; i++, floats += 256) y[i] = floats[x[i] ^ x_flip];
}

/* Elements begin .. end, where one lies beside that of the next channel. */
static void look_up_channels(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t n; begin < end; begin += n) {
        uint32_t channel = begin % a->channels;
        n = a->channels - channel < end - begin ? a->channels - channel : end - begin;
        if (a->is_float) look_up_floats(a, begin, n, channel);
        else look_up_each(a, begin, n, channel);
    }
}

void morsel_lut_c(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    if (a->inner == 1 && a->channels > 1) {
        look_up_channels(a, begin, end);
        return;
    }
    while (begin < end) {
        uint32_t n = a->channels == 1 ? end - begin : a->inner - begin % a->inner;
        n = n < end - begin ? n : end - begin;
        look_up(a, begin, n, begin / a->inner % a->channels);
        begin += n;
    }
}
