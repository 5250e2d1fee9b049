/* SPDX-License-Identifier: MIT */
/* What quantization means whose numbers are found at run time. */
#include "../requant.h"
#include "reference.h"

void morsel_range_reference(const struct morsel_range_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        float low = 0, high = 0;
        for (uint64_t i = (uint64_t)u * a->count; i < a->elements && i < ((uint64_t)u + 1) * a->count; i++) {
            if (a->x[i] < low) low = a->x[i];
            if (a->x[i] > high) high = a->x[i];
        }
        a->y[2 * (size_t)u] = low;
        a->y[2 * (size_t)u + 1] = high;
    }
}

/* The scale and the zero point of so many pairs. */
static void find_numbers(const float *pairs, uint32_t pieces, float *numbers) {
    float low = 0, high = 0;
    for (uint32_t p = 0; p < pieces; p++) {
        if (pairs[2 * (size_t)p] < low) low = pairs[2 * (size_t)p];
        if (pairs[2 * (size_t)p + 1] > high) high = pairs[2 * (size_t)p + 1];
    }
    if (low < -FLT_MAX) low = -FLT_MAX;
    if (high > FLT_MAX) high = FLT_MAX;
    float scale = high - low <= FLT_MAX ? (high - low) / 255 : high / 255 - low / 255;
    if (scale == 0) scale = 1;
    numbers[0] = scale;
    numbers[1] = (float)morsel_round(morsel_clamp(-low / scale, 0, 255));
}

/* Of a NaN 0; within what an int32 holds. */
static int32_t floor_of(float v) {
    if (v != v) return 0;
    int64_t whole = (int64_t)morsel_clamp(v, -2147483520.0f, 2147483520.0f);
    return (int32_t)((float)whole > v && v > -2147483520.0f ? whole - 1 : whole);
}

void morsel_factors_reference(const struct morsel_factors_args *a, uint32_t begin, uint32_t end) {
    if (begin == end) return;
    for (uint32_t l = 0; l < a->lines; l++) find_numbers(a->x + (size_t)l * a->pieces * 2, a->pieces, a->y + (size_t)l * 2);
    for (uint32_t i = 2; a->lines == 1 && i < MORSEL_NUMBERS; i++) a->y[i] = 0;
    for (uint32_t c = 0; c < a->channels; c++) {
        float factor = morsel_clamp(a->y[0] * a->factor[c], -FLT_MAX, FLT_MAX);
        a->y[MORSEL_NUMBERS + c] = factor;
        int32_t whole = a->bias ? floor_of(a->bias[c] / factor) : 0;
        memcpy(a->y + MORSEL_NUMBERS + a->channels + c, &whole, sizeof whole);
    }
}

void morsel_quantize_reference(const struct morsel_quantize_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        const float *numbers = a->numbers + (a->by_line ? 2 * (size_t)u : 0);
        int32_t zero = morsel_found_zero(numbers);
        for (uint64_t i = (uint64_t)u * a->count; i < a->elements && i < ((uint64_t)u + 1) * a->count; i++) {
            float steps = a->x[i] / numbers[0];
            int32_t byte = steps != steps ? 0 : morsel_round(morsel_clamp(steps, (float)-zero, (float)(255 - zero))) + zero;
            a->y[i] = (uint8_t)((uint32_t)byte ^ a->sign_flip);
        }
    }
}
