/* SPDX-License-Identifier: MIT */
/*
 * Quantization whose numbers are found at run time, in plain C.
 *
 * The lowest and the highest are the same in whatever order elements are compared. Both begin at +0, a -0 is neither below nor above it,
 * and a comparison with a NaN is false.
 */
#include "requant.h"

/* Elements of unit u, of pieces of `count`. */
static uint32_t piece_elements(uint32_t u, uint32_t elements, uint32_t count) {
    uint32_t left = elements - u * count;
    return left < count ? left : count;
}

void morsel_range_c(const struct morsel_range_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        const float *x = a->x + (size_t)u * a->count, *stop = x + piece_elements(u, a->elements, a->count);
        float low = 0, high = 0;
        for (; x != stop; x++) {
            low = *x < low ? *x : low;
            high = *x > high ? *x : high;
        }
        a->y[2 * (size_t)u] = low;
        a->y[2 * (size_t)u + 1] = high;
    }
}

/* The pairs may be any floats: what is made of them is finite, and the zero point within 0..255. */
static void find_numbers(const float *pairs, uint32_t pieces, float *numbers) {
    float low = 0, high = 0;
    for (; pieces; pieces--, pairs += 2) {
        low = pairs[0] < low ? pairs[0] : low;
        high = pairs[1] > high ? pairs[1] : high;
    }
    low = low < -FLT_MAX ? -FLT_MAX : low;
    high = high > FLT_MAX ? FLT_MAX : high;
    float width = high - low, scale = width <= FLT_MAX ? width / 255 : high / 255 - low / 255;
    if (scale == 0) scale = 1;
    numbers[0] = scale;
    numbers[1] = (float)morsel_round(morsel_clamp(-low / scale, 0, 255));
}

/* Down to a whole number of int32; a NaN becomes 0. */
static int32_t whole_below(float v) {
    v = v == v ? morsel_clamp(v, -2147483520.0f, 2147483520.0f) : 0;
    int32_t whole = (int32_t)v;
    return whole - ((float)whole > v);
}

void morsel_factors_c(const struct morsel_factors_args *a, uint32_t begin, uint32_t end) {
    if (begin == end) return;
    for (uint32_t l = 0; l < a->lines; l++) find_numbers(a->x + (size_t)l * a->pieces * 2, a->pieces, a->y + (size_t)l * 2);
    if (a->lines > 1) return;
    memset(a->y + 2, 0, (MORSEL_NUMBERS - 2) * sizeof *a->y);
    const float scale = a->y[0];
    float *factor = a->y + MORSEL_NUMBERS, *bias = factor + a->channels;
    for (uint32_t c = 0; c < a->channels; c++) {
        factor[c] = morsel_clamp(scale * a->factor[c], -FLT_MAX, FLT_MAX);
        int32_t whole = a->bias ? whole_below(a->bias[c] / factor[c]) : 0;
        memcpy(bias + c, &whole, sizeof whole);
    }
}

void morsel_quantize_c(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0), scale = numbers[0];
        const int32_t zero = morsel_found_zero(numbers);
        const float low = (float)-zero, high = (float)(255 - zero);
        const float *x = a->x + (size_t)u * a->count;
        uint8_t *y = a->y + (size_t)u * a->count;
        for (uint32_t i = 0, n = piece_elements(u, a->elements, a->count); i < n; i++) {
            float v = x[i] / scale;
            v = v > low ? v : low; /* a NaN, too */
            v = v < high ? v : high;
            y[i] = (uint8_t)((uint32_t)(morsel_round(v) + zero) ^ a->sign_flip);
        }
    }
}
