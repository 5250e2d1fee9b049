/* SPDX-License-Identifier: MIT */
/* Pixels weighed across and down, in plain C, and who does it on this machine. */
#include "pixels.h"

#include "kernels.h"

/* Sums stay below 2^31. Proven: tests/prove, picture_sum. */
static uint8_t to_pixel(int32_t sum) {
    int32_t pixel = sum >> MORSEL_PIXEL_BITS;
    return (uint8_t)(pixel > 255 ? 255 : pixel);
}

static int32_t weight_of(const int16_t *weights, uint32_t tap) {
    uint32_t at = 2 * tap - (tap & 3);
    return weights[at] * 256 + weights[at + 4];
}

static void column_of_three(const uint32_t *column, const uint8_t *line, uint8_t *row) {
    const uint8_t *pixel = line + (size_t)3 * column[0];
    const int16_t *weights = (const int16_t *)(const void *)(column + 2);
    int32_t red = MORSEL_PIXEL_HALF, green = MORSEL_PIXEL_HALF, blue = MORSEL_PIXEL_HALF;
    for (uint32_t k = 0; k < column[1]; k++, pixel += 3) {
        int32_t weight = weight_of(weights, k);
        red += weight * pixel[0];
        green += weight * pixel[1];
        blue += weight * pixel[2];
    }
    row[0] = to_pixel(red);
    row[1] = to_pixel(green);
    row[2] = to_pixel(blue);
}

void morsel_across_c(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t *column = a->columns + (size_t)i * (2 + 4 * a->groups);
        if (a->channels == 3) {
            column_of_three(column, a->line, a->row + (size_t)3 * i);
            continue;
        }
        int32_t gray = MORSEL_PIXEL_HALF;
        for (uint32_t k = 0; k < column[1]; k++)
            gray += weight_of((const int16_t *)(const void *)(column + 2), k) * a->line[(size_t)column[0] + k];
        a->row[i] = to_pixel(gray);
    }
}

void morsel_blend_c(const struct morsel_blend_args *a, uint32_t begin, uint32_t end) {
    const uint8_t *row = a->rows;
    for (uint32_t i = begin; !a->more && i < end; i++) a->sums[i] = MORSEL_PIXEL_HALF;
    for (uint32_t k = 0; k < a->count; k++, row += a->stride)
        for (uint32_t i = begin; i < end; i++) a->sums[i] += a->weights[k] * row[i];
    for (uint32_t i = begin; a->out && i < end; i++) a->out[i] = to_pixel(a->sums[i]);
}

void morsel_pixels_choose(struct morsel_pixel_kernels *table, uint32_t cpu) {
    (void)cpu;
    table->across = morsel_across_c;
    table->blend = morsel_blend_c;
#if defined(MORSEL_PLAIN_C)
#elif defined(__aarch64__)
    if (!(cpu & MORSEL_HAS_NEON)) return;
    table->across = morsel_across_neon;
    table->blend = morsel_blend_neon;
#elif defined(__x86_64__)
    if (!(cpu & MORSEL_HAS_AVX2)) return;
    table->across = morsel_across_avx2;
    table->blend = morsel_blend_avx2;
#endif
}
