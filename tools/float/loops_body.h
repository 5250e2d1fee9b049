/* SPDX-License-Identifier: MIT */
/* The body of a loops_ISA.c, which defines LANES (floats of a vector), ROWS_AT_ONCE (of a tile, in registers) and LOOPS (the result's
 * name). */
#include "tools/float/loops.h"

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int mask __attribute__((vector_size(4 * LANES)));

static inline vector load(const float *from) {
    return *(const vector *)from;
}

static inline void store(float *to, vector v) {
    *(vector *)to = v;
}

static inline vector all(float x) {
    return x - (vector){0}; /* not +: -0 stays -0 */
}

/* ROWS_AT_ONCE rows of two vectors. */
static void tile_pair(const float *a, const float *b, size_t depth, float *y, size_t pitch, const float *start) {
    vector left[ROWS_AT_ONCE], right[ROWS_AT_ONCE];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
        left[r] = start ? all(start[r]) : load(y + r * pitch);
        right[r] = start ? left[r] : load(y + r * pitch + LANES);
    }
    for (size_t k = 0; k < depth; k++, a += TILE_ROWS, b += TILE_COLUMNS) {
        vector b0 = load(b), b1 = load(b + LANES);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS_AT_ONCE; r++) {
            left[r] += a[r] * b0;
            right[r] += a[r] * b1;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
        store(y + r * pitch, left[r]);
        store(y + r * pitch + LANES, right[r]);
    }
}

/* ROWS_AT_ONCE rows of one vector. */
static void tile_single(const float *a, const float *b, size_t depth, float *y, size_t pitch, const float *start) {
    vector sum[ROWS_AT_ONCE];
#pragma GCC unroll 8
    for (int r = 0; r < ROWS_AT_ONCE; r++) sum[r] = start ? all(start[r]) : load(y + r * pitch);
    for (size_t k = 0; k < depth; k++, a += TILE_ROWS, b += TILE_COLUMNS) {
        vector b0 = load(b);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS_AT_ONCE; r++) sum[r] += a[r] * b0;
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS_AT_ONCE; r++) store(y + r * pitch, sum[r]);
}

static void tile(const float *a, const float *b, size_t depth, float *y, size_t pitch, size_t columns, const float *start) {
    for (size_t r = 0; r < TILE_ROWS; r += ROWS_AT_ONCE) {
        const float *begin = start ? start + r : NULL;
        size_t c = 0;
        for (; c + LANES < columns; c += 2 * LANES) tile_pair(a + r, b + c, depth, y + r * pitch + c, pitch, begin);
        if (c < columns) tile_single(a + r, b + c, depth, y + r * pitch + c, pitch, begin);
    }
}

static void row(const float *a, size_t step, const float *b, size_t depth, float *y) {
    vector sum[TILE_COLUMNS / LANES];
#pragma GCC unroll 8
    for (int i = 0; i < TILE_COLUMNS / LANES; i++) sum[i] = load(y + i * LANES);
    for (size_t k = 0; k < depth; k++, a += step, b += TILE_COLUMNS) {
#pragma GCC unroll 8
        for (int i = 0; i < TILE_COLUMNS / LANES; i++) sum[i] += *a * load(b + i * LANES);
    }
#pragma GCC unroll 8
    for (int i = 0; i < TILE_COLUMNS / LANES; i++) store(y + i * LANES, sum[i]);
}

static void taps(const float *const *from, const float *weights, size_t count, float bias, float *y, size_t n) {
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vector a = all(bias), b = a, c = a, d = a;
        for (size_t t = 0; t < count; t++) {
            const float *x = from[t] + i;
            a += weights[t] * load(x);
            b += weights[t] * load(x + LANES);
            c += weights[t] * load(x + 2 * LANES);
            d += weights[t] * load(x + 3 * LANES);
        }
        store(y + i, a);
        store(y + i + LANES, b);
        store(y + i + 2 * LANES, c);
        store(y + i + 3 * LANES, d);
    }
    for (; i + LANES <= n; i += LANES) {
        vector a = all(bias);
        for (size_t t = 0; t < count; t++) a += weights[t] * load(from[t] + i);
        store(y + i, a);
    }
    for (; i < n; i++) {
        float a = bias;
        for (size_t t = 0; t < count; t++) a += weights[t] * from[t][i];
        y[i] = a;
    }
}

static void largest(const float *const *from, size_t count, float *y, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vector a = load(from[0] + i);
        for (size_t t = 1; t < count; t++) {
            vector x = load(from[t] + i);
            mask more = x > a;
            a = (vector)(((mask)x & more) | ((mask)a & ~more));
        }
        store(y + i, a);
    }
    for (; i < n; i++) {
        float a = from[0][i];
        for (size_t t = 1; t < count; t++) a = from[t][i] > a ? from[t][i] : a;
        y[i] = a;
    }
}

const struct loops LOOPS = {tile, row, taps, largest};
