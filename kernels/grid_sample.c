/* SPDX-License-Identifier: MIT */
/* GridSample in plain C: where each pixel of y lies is found once, and its channels are summed up pixel by pixel of x. */
#include "ops.h"
#include "requant.h"

#include <string.h>

#define FAR 4194304.0f /* 2^22, as far as morsel_round() goes */

/* A place along one side: the pixels before and behind it, -1 for none, and what each weighs. */
struct place {
    int32_t at[2];
    float weight[2];
};

/* The pixel that stands for number i; -1: none. */
static int32_t pixel(const struct morsel_grid_sample_args *a, int32_t i, int32_t side) {
    const int32_t corners = (int32_t)a->corners, period = 2 * (side - corners);
    if ((uint32_t)i < (uint32_t)side) return i;
    if (a->beyond == MORSEL_BEYOND_NOTHING) return -1;
    if (a->beyond == MORSEL_BEYOND_EDGE || !period) return i < 0 ? 0 : side - 1;
    i %= period;
    if (i < 0) i += period;
    return i < side ? i : period - 1 + corners - i;
}

/* Halves are exact: with `corners` this is (g + 1) / 2 * (side - 1). */
static void find_place(const struct morsel_grid_sample_args *a, struct place *p, float g, int32_t side) {
    const int32_t corners = (int32_t)a->corners;
    float at = ((g + 1) * (float)(side - corners) - (float)(1 - corners)) / 2;
    if (!(at > -FAR)) at = -FAR; /* a NaN, too */
    if (at > FAR) at = FAR;
    if (a->nearest) at = (float)morsel_round(at);
    int32_t before = (int32_t)at;
    before -= (float)before > at;
    p->weight[0] = (float)(before + 1) - at;
    p->weight[1] = at - (float)before;
    p->at[1] = -1;
    for (uint32_t k = 0; k < 2 - a->nearest; k++) p->at[k] = pixel(a, before + (int32_t)k, side);
}

/* No tensor has as many as 2^30 elements. */
void morsel_grid_sample_c(const struct morsel_grid_sample_args *a, uint32_t begin, uint32_t end) {
    static const uint32_t nan_bits = 0x7fc00000; /* as morsel_store_float() has it */
    for (; begin < end; begin++) {
        struct place p[2];
        const uint32_t image = begin / a->pixels * a->sides[1];
        float *restrict y = a->y + begin * a->channels;
        for (uint32_t k = 0; k < 2; k++) find_place(a, &p[k], a->grid[2 * begin + k], (int32_t)a->sides[k]);
        memset(y, 0, a->channels * sizeof *y);
        for (uint32_t k = 0; k < 4; k++) {
            const int32_t row = p[1].at[k / 2], column = p[0].at[k % 2];
            const float weight = p[1].weight[k / 2] * p[0].weight[k % 2];
            if ((row | column) < 0) continue;
            const float *restrict x = a->x + ((image + (uint32_t)row) * a->sides[0] + (uint32_t)column) * a->channels;
            for (uint32_t c = 0; c < a->channels; c++) y[c] += weight * x[c];
        }
        for (uint32_t c = 0; c < a->channels; c++)
            if (y[c] != y[c]) memcpy(y + c, &nan_bits, sizeof *y);
    }
}
