/* SPDX-License-Identifier: MIT */
/*
 * The loops that take the time, once for each instruction set (loops_plain.c, loops_avx2.c, loops_avx512f.c include loops_body.h). All give
 * the same bits: vectors run over neighbouring results, each of which is summed up alone, in order, without fused multiply-add.
 */
#ifndef MORSEL_TOOLS_FLOAT_LOOPS_H
#define MORSEL_TOOLS_FLOAT_LOOPS_H

#include <stddef.h>

enum { TILE_ROWS = 8, TILE_COLUMNS = 32 };

struct loops {
    /* y[r * pitch + c] = what is there, or start[r] where start is not NULL, plus a[k * TILE_ROWS + r] * b[k * TILE_COLUMNS + c] for k from
     * 0 to depth - 1; for TILE_ROWS rows and the first `columns` columns or more of them, up to TILE_COLUMNS. */
    void (*tile)(const float *a, const float *b, size_t depth, float *y, size_t pitch, size_t columns, const float *start);
    /* The same for one row and all TILE_COLUMNS columns: a[k * step]. */
    void (*row)(const float *a, size_t step, const float *b, size_t depth, float *y);
    /* y[i] = bias + the sum of weights[t] * from[t][i], t from 0 to taps - 1. */
    void (*taps)(const float *const *from, const float *weights, size_t taps, float bias, float *y, size_t count);
    /* y[i] = the largest of from[t][i]. */
    void (*largest)(const float *const *from, size_t taps, float *y, size_t count);
};

extern const struct loops loops_plain;
#if defined(__x86_64__)
extern const struct loops loops_avx2, loops_avx512f;
#endif

/* The fastest for this CPU. */
const struct loops *loops_here(void);

#endif
