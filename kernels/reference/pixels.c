/* SPDX-License-Identifier: MIT */
/* What weighing pixels means: a sum of products, rounded, cut at 255. And what colors are: sums of products, cut at 0 and 255. */
#include "reference.h"

static uint8_t pixel_of(int64_t sum) {
    int64_t pixel = (sum + MORSEL_PIXEL_HALF) >> MORSEL_PIXEL_BITS;
    return (uint8_t)(pixel > 255 ? 255 : pixel);
}

void morsel_across_reference(const struct morsel_across_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin * a->channels; i < end * a->channels; i++) {
        const uint32_t *column = a->columns + (size_t)(i / a->channels) * (2 + 4 * a->groups);
        const int16_t *parts = (const int16_t *)(const void *)(column + 2);
        int64_t sum = 0;
        for (uint32_t k = 0; k < column[1]; k++) {
            int64_t weight = (int64_t)parts[k / 4 * 8 + k % 4] * 256 + parts[k / 4 * 8 + 4 + k % 4];
            sum += weight * a->line[(size_t)(column[0] + k) * a->channels + i % a->channels];
        }
        a->row[i] = i % a->channels < 3 ? pixel_of(sum) : 0;
    }
}

void morsel_blend_reference(const struct morsel_blend_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int64_t sum = a->more ? a->sums[i] - MORSEL_PIXEL_HALF : 0;
        for (uint32_t k = 0; k < a->count; k++) sum += (int64_t)a->weights[k] * a->rows[k * a->stride + i];
        if (a->out) a->out[i] = pixel_of(sum);
        else a->sums[i] = (int32_t)(sum + MORSEL_PIXEL_HALF);
    }
}

void morsel_colors_reference(const struct morsel_colors_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        uint8_t *pixel = a->out + (size_t)4 * (i - a->first);
        pixel[3] = 0;
        for (uint32_t c = 0; c < 3; c++) {
            const int16_t *chroma = a->color->chroma[c];
            double sum = a->y[i] * a->color->y + a->u[i / 2 * a->step] * chroma[0] + a->v[i / 2 * a->step] * chroma[1] + a->color->rest[c];
            pixel[c] = (uint8_t)(sum < 0 ? 0 : sum >= 256.0 * (1 << MORSEL_COLOR_BITS) ? 255 : sum / (1 << MORSEL_COLOR_BITS));
        }
    }
}
