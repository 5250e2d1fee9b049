/* SPDX-License-Identifier: MIT */
/* Pixels made of luminance and chroma, weighed across and down, in plain C, and who does it on this machine. */
#include "pixels.h"

#include "kernels.h"
#include "stack.h"

#include <string.h>

#define COLOR_PIXELS (MORSEL_ROOMY_STACK ? 32u : 8u) /* on the stack */

/* Sums stay below 2^31. Proven: tests/prove, picture_sum. */
static uint8_t to_pixel(int32_t sum) {
    int32_t pixel = sum >> MORSEL_PIXEL_BITS;
    return (uint8_t)(pixel > 255 ? 255 : pixel);
}

static int32_t weight_of(const int16_t *weights, uint32_t tap) {
    uint32_t at = 2 * tap - (tap & 3);
    return weights[at] * 256 + weights[at + 4];
}

static void column_of_three(const uint32_t *column, const uint8_t *line, uint32_t channels, uint8_t *row) {
    const uint8_t *pixel = line + (size_t)channels * column[0];
    const int16_t *weights = (const int16_t *)(const void *)(column + 2);
    int32_t red = MORSEL_PIXEL_HALF, green = MORSEL_PIXEL_HALF, blue = MORSEL_PIXEL_HALF;
    for (uint32_t k = 0; k < column[1]; k++, pixel += channels) {
        int32_t weight = weight_of(weights, k);
        red += weight * pixel[0];
        green += weight * pixel[1];
        blue += weight * pixel[2];
    }
    row[0] = to_pixel(red);
    row[1] = to_pixel(green);
    row[2] = to_pixel(blue);
    if (channels == 4) row[3] = 0;
}

void morsel_across_c(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t *column = a->columns + (size_t)i * (2 + 4 * a->groups);
        if (a->channels > 1) {
            column_of_three(column, a->line, a->channels, a->row + (size_t)a->channels * i);
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

/* Cut at 0 and at 255 without a branch: sums are within 2^23, so that a shift leaves the sign alone. Proven: tests/prove, picture_color. */
static inline uint32_t to_color(int32_t sum) {
    int32_t value = sum >> MORSEL_COLOR_BITS;
    value &= ~(value >> 16);
    return (uint32_t)(value | (255 - value) >> 16) & 255;
}

/* Pixels side by side: what compilers make vectors of. The one in front may be the second of two that share chroma. */
struct color_pixels {
    int16_t y[COLOR_PIXELS], u[COLOR_PIXELS + 2], v[COLOR_PIXELS + 2];
    uint32_t rgb[COLOR_PIXELS]; /* red + 256 * green + 65536 * blue: what computes is little-endian */
};

/* The first `pairs` chroma values, each for two pixels. */
static void take_chroma(int16_t *to, const uint8_t *from, size_t step, uint32_t pairs) {
    for (uint32_t k = 0; k < pairs; k++, from += step) to[2 * k] = to[2 * k + 1] = *from;
}

/* `second`: 1 where the first pixel is the second of two. */
static void make_rgb(struct color_pixels *p, const struct morsel_color *color, uint32_t second) {
    const int16_t *u = p->u + second, *v = p->v + second;
    const struct morsel_color c = *color;
    for (uint32_t i = 0; i < COLOR_PIXELS; i++) {
        int32_t y = p->y[i] * c.y;
        uint32_t red = to_color(y + v[i] * c.chroma[0][1] + c.rest[0]), blue = to_color(y + u[i] * c.chroma[2][0] + c.rest[2]);
        p->rgb[i] = red | to_color(y + u[i] * c.chroma[1][0] + v[i] * c.chroma[1][1] + c.rest[1]) << 8 | blue << 16;
    }
}

void morsel_colors_c(const struct morsel_colors_args *a, uint32_t begin, uint32_t end) {
    struct color_pixels p = {.y = {0}};
    for (uint32_t i = begin, some; i < end; i += some) {
        uint32_t second = i % 2;
        some = end - i < COLOR_PIXELS ? end - i : COLOR_PIXELS;
        for (uint32_t k = 0; k < some; k++) p.y[k] = a->y[i + k];
        take_chroma(p.u, a->u + i / 2 * a->step, a->step, (second + some + 1) / 2);
        take_chroma(p.v, a->v + i / 2 * a->step, a->step, (second + some + 1) / 2);
        make_rgb(&p, a->color, second);
        memcpy(a->out + (size_t)4 * (i - a->first), p.rgb, (size_t)4 * some);
    }
}

void morsel_put_bytes(const struct morsel_put_args *a, uint32_t n) {
    const ptrdiff_t step = a->step, apart = a->apart, pixel_step = a->pixel_step, pixel_apart = a->pixel_apart;
    const uint8_t *pixel = a->pixel, *first = a->table, *second = first + a->table_apart, *third = second + a->table_apart;
    for (uint8_t *to = a->to; n; n--, to += step, pixel += pixel_step) {
        uint8_t one = first[pixel[0]], two = second[pixel[pixel_apart]], three = third[pixel[2 * pixel_apart]];
        to[0] = one;
        to[apart] = two;
        to[2 * apart] = three;
    }
}

void morsel_pixels_choose(struct morsel_pixel_kernels *table, uint32_t cpu) {
    (void)cpu;
    table->across = morsel_across_c;
    table->blend = morsel_blend_c;
    table->colors = morsel_colors_c;
#if defined(MORSEL_PLAIN_C)
#elif defined(__aarch64__)
    if (!(cpu & MORSEL_HAS_NEON)) return;
    table->across = morsel_across_neon;
    table->blend = morsel_blend_neon;
    table->colors = morsel_colors_neon;
#elif defined(__x86_64__)
    if (!(cpu & MORSEL_HAS_AVX2)) return;
    table->across = morsel_across_avx2;
    table->blend = morsel_blend_avx2;
    table->colors = morsel_colors_avx2;
#endif
}
