/* SPDX-License-Identifier: MIT */
/* What linear interpolation means, one element at a time. */
#include "../requant.h"
#include "reference.h"

/* Towards zero, whose sign stays. */
static float whole(float v) {
    if (!(v > -8388608 && v < 8388608)) return v;
    return (int32_t)v ? (float)(int32_t)v : v * 0;
}

static float between(float a, float b, float part) {
    float first = a * (1 - part), second = b * part;
    return first + second;
}

/* Channel c of a column of image `n` at row y. */
static float at_row(const struct morsel_resize_args *a, uint32_t n, float y, uint32_t column, uint32_t c) {
    const uint32_t above = (uint32_t)y, below = above + 1 < a->in_h ? above + 1 : above;
    const size_t image = (size_t)n * a->in_h;
    const float v = morsel_load_float(&a->x, ((image + above) * a->in_w + column) * a->channels + c);
    return between(v, morsel_load_float(&a->x, ((image + below) * a->in_w + column) * a->channels + c), y - (float)above);
}

void morsel_resize_reference(const struct morsel_resize_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++)
        for (uint32_t ox = 0; ox < a->out_w; ox++)
            for (uint32_t c = 0; c < a->channels; c++) {
                const float x = a->columns[ox], y = a->rows[u % a->out_h];
                const uint32_t left = (uint32_t)x, right = left + 1 < a->in_w ? left + 1 : left;
                float v = between(at_row(a, u / a->out_h, y, left, c), at_row(a, u / a->out_h, y, right, c), x - (float)left);
                morsel_store_float(&a->y, ((size_t)u * a->out_w + ox) * a->channels + c, a->truncate ? whole(v) : v);
            }
}
