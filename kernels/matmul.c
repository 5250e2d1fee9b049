/* SPDX-License-Identifier: MIT */
/* Matrix products: with constant weights (fc) and of two activations (matmul). */
#include "sums.h"

static void fc_block(const struct morsel_fc_args *a, uint32_t row, uint32_t block) {
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)row * a->inputs;
    const int8_t *w = a->weights + (size_t)block * ((a->inputs + 3) / 4) * 64;
    struct morsel_sums sums = {{0}, 0};
    uint32_t left = a->outputs - block * 16;
    morsel_add_line(&sums, x, a->inputs, &a->x.code, w, 0);
    morsel_store_sums(&sums, &a->y, (size_t)row * a->outputs + block * 16, &a->channels, block * 16, left < 16 ? left : 16);
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
