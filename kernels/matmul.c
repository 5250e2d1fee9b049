/* SPDX-License-Identifier: MIT */
/* Matrix products: with constant weights (fc) and of two activations (matmul). */
#include "requant.h"

static void fc_block(const struct morsel_fc_args *a, uint32_t row, uint32_t block) {
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)row * a->inputs;
    const int8_t *w = a->weights + (size_t)block * ((a->inputs + 3) / 4) * 64;
    uint32_t acc[16] = {0}, x_sum = 0;
    for (uint32_t k = 0; k < a->inputs; k++) {
        uint32_t v = (x[k] ^ a->x.code.flip) - (uint32_t)a->x.code.zero;
        const int8_t *taps = w + (size_t)(k / 4) * 64 + k % 4;
        x_sum += v;
        for (uint32_t o = 0; o < 16; o++) acc[o] += v * (uint32_t)(int32_t)taps[4 * o];
    }
    const struct morsel_channels *c = &a->channels;
    for (uint32_t o = block * 16; o < a->outputs && o < block * 16 + 16; o++) {
        uint32_t zero = c->weight_zero ? (uint32_t)c->weight_zero[o] : 0;
        int32_t sum = morsel_signed(acc[o % 16] - zero * x_sum + (uint32_t)c->bias[o]);
        morsel_store_sum(&a->y, (size_t)row * a->outputs + o, sum, c->multiplier[o], c->float_bias ? &c->float_bias[o] : NULL);
    }
}

void morsel_fc_blocks_c(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) fc_block(a, u / a->blocks, u % a->blocks);
}

/* Columns c .. c + n (at most 16) of a row: `x` is [inner], `w` is [inner][columns]. */
static void matmul_block(const struct morsel_matmul_args *a, const uint8_t *x, const uint8_t *w, size_t first, uint32_t c, uint32_t n) {
    uint32_t acc[16] = {0};
    for (uint32_t k = 0; k < a->inner; k++) {
        uint32_t v = (x[k] ^ a->a.code.flip) - (uint32_t)a->a.code.zero;
        const uint8_t *line = w + (size_t)k * a->columns + c;
        for (uint32_t o = 0; o < n; o++) acc[o] += v * ((line[o] ^ a->b.code.flip) - (uint32_t)a->b.code.zero);
    }
    for (uint32_t o = 0; o < n; o++) morsel_store_sum(&a->y, first + c + o, morsel_signed(acc[o]), a->multiplier, NULL);
}

void morsel_matmul_rows_c(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        uint32_t batch = u / a->rows, row = u % a->rows;
        size_t a_start = (size_t)(batch / a->a_divide % a->a_batch) * a->rows + row;
        size_t b_start = (size_t)(batch / a->b_divide % a->b_batch) * a->inner;
        const uint8_t *x = (const uint8_t *)a->a.data + a_start * a->inner;
        const uint8_t *w = (const uint8_t *)a->b.data + b_start * a->columns;
        for (uint32_t c = 0; c < a->columns; c += 16) {
            uint32_t left = a->columns - c;
            matmul_block(a, x, w, (size_t)u * a->columns, c, left < 16 ? left : 16);
        }
    }
}
