/* SPDX-License-Identifier: MIT */
/*
 * Products of two float activations, six rows and sixteen columns at a time: lanes are columns, so that sums keep the order of plain C.
 * The second operand is read where it lies if its columns lie side by side and rows are few, else from a panel.
 * The file that includes this says before what sixteen floats are, SIXTEEN, or has `eight` (float_loops.h), of which two are sixteen:
 *
 *     sixteen_load, sixteen_save   from and to floats, at any address
 *     sixteen_zero                 sixteen times 0
 *     sixteen_more                 a sum plus products with one float, each rounded
 *     sixteen_finish               a sum times the factor, plus the term at an address if there is one, within the limits; a NaN as ever
 *
 * and product_turn, which puts four floats of each of four lines, `apart` from each other, as columns into lines of sixteen.
 */
#ifndef MORSEL_FLOAT_PRODUCT_H
#define MORSEL_FLOAT_PRODUCT_H

#include "kernels.h"

#include <string.h>

#define SIXTEEN_INLINE static inline __attribute__((always_inline))

#ifndef SIXTEEN
#define SIXTEEN

typedef struct {
    eight a, b;
} sixteen;

SIXTEEN_INLINE sixteen sixteen_of(eight a, eight b) {
    const sixteen v = {a, b};
    return v;
}

SIXTEEN_INLINE sixteen sixteen_load(const float *x) {
    return sixteen_of(eight_load(x), eight_load(x + 8));
}

SIXTEEN_INLINE void sixteen_save(float *to, sixteen v) {
    eight_save(to, v.a);
    eight_save(to + 8, v.b);
}

SIXTEEN_INLINE sixteen sixteen_zero(void) {
    return sixteen_of(eight_all(0), eight_all(0));
}

SIXTEEN_INLINE sixteen sixteen_more(sixteen sum, sixteen v, float x) {
    return sixteen_of(eight_more(sum.a, v.a, x), eight_more(sum.b, v.b, x));
}

static eight eight_finish(eight v, const struct morsel_float_matmul_args *a, const float *term) {
    static const uint32_t nan_bits = 0x7fc00000;
    const eight low = eight_all(a->y.float_min), high = eight_all(a->y.float_max);
    float nan;
    memcpy(&nan, &nan_bits, sizeof nan);
    v = eight_scale(v, a->factor);
    if (term) v = eight_add(v, eight_load(term));
    v = eight_select(v, low, low, v);
    v = eight_select(high, v, high, v);
    return eight_number(v, v, eight_all(nan));
}

SIXTEEN_INLINE sixteen sixteen_finish(sixteen v, const struct morsel_float_matmul_args *a, const float *term) {
    return sixteen_of(eight_finish(v.a, a, term), eight_finish(v.b, a, term ? term + 8 : NULL));
}
#endif

enum { PRODUCT_ROWS = 6, PRODUCT_TAPS = 128, PRODUCT_STACK = 48 }; /* taps of a panel in the room, and on the stack */

/* Before a loop over the sums of a tile, which must stay in registers. */
#if defined(__clang__)
#define PRODUCT_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define PRODUCT_UNROLL _Pragma("GCC unroll 8")
#else
#define PRODUCT_UNROLL
#endif

/* Sixteen columns with some of the k. */
struct product_block {
    const struct morsel_float_matmul_args *args;
    const float *b; /* sixteen elements for each k, `step` apart */
    size_t step;
    uint32_t column, n;  /* n columns, sixteen at most */
    uint32_t from, taps; /* k from .. from + taps */
};

/* Rows of a tile; those that there are not stand for the first. */
struct product_tile {
    const float *x[PRODUCT_ROWS], *term[PRODUCT_ROWS];
    float *y[PRODUCT_ROWS];
};

/* Sums of earlier k stand in y. */
static void product_tile(const struct product_block *p, const struct product_tile *t) {
    const float *b = p->b, *x0 = t->x[0], *x1 = t->x[1], *x2 = t->x[2], *x3 = t->x[3], *x4 = t->x[4], *x5 = t->x[5];
    const uint32_t more = p->from > 0, last = p->from + p->taps == p->args->views.inner;
    sixteen s[PRODUCT_ROWS];
    PRODUCT_UNROLL
    for (int r = 0; r < PRODUCT_ROWS; r++) s[r] = sixteen_zero();
    PRODUCT_UNROLL
    for (int r = 0; r < PRODUCT_ROWS; r++)
        if (more) s[r] = sixteen_load(t->y[r]);
    for (size_t k = 0; k < p->taps; k++, b += p->step) {
        const sixteen v = sixteen_load(b);
        s[0] = sixteen_more(s[0], v, x0[k]);
        s[1] = sixteen_more(s[1], v, x1[k]);
        s[2] = sixteen_more(s[2], v, x2[k]);
        s[3] = sixteen_more(s[3], v, x3[k]);
        s[4] = sixteen_more(s[4], v, x4[k]);
        s[5] = sixteen_more(s[5], v, x5[k]);
    }
    if (!last) {
        PRODUCT_UNROLL
        for (int r = 0; r < PRODUCT_ROWS; r++) sixteen_save(t->y[r], s[r]);
    } else {
        PRODUCT_UNROLL
        for (int r = 0; r < PRODUCT_ROWS; r++) sixteen_save(t->y[r], sixteen_finish(s[r], p->args, t->term[r]));
    }
}

/* The terms of n columns, which may be one that repeats. */
static void product_terms(float *to, const float *term, size_t stride, uint32_t n) {
    for (uint32_t c = 0; c < n; c++) to[c] = term[c * stride];
}

/* Rows `row` and on, as many as a tile has or there are. What is narrower than sixteen columns goes through `edge`, and so do terms that
 * repeat. */
static void product_some(const struct product_block *p, const struct morsel_float_rows *rows, uint32_t row) {
    const struct morsel_float_matmul_args *a = p->args;
    const uint32_t count = rows->n - row < PRODUCT_ROWS ? rows->n - row : PRODUCT_ROWS;
    float edge[PRODUCT_ROWS][16], terms[PRODUCT_ROWS][16];
    struct product_tile t;
    for (uint32_t r = 0; r < PRODUCT_ROWS; r++) {
        const size_t at = row + (r < count ? r : 0);
        float *y = rows->y + at * a->views.y_stride[2] + p->column;
        const float *term = rows->term ? rows->term + at * a->views.term_stride[2] + (size_t)p->column * a->views.term_stride[3] : NULL;
        const int narrow = p->n < 16;
        t.x[r] = rows->a + at * a->views.a_stride[2] + p->from;
        t.y[r] = narrow ? edge[r] : y;
        t.term[r] = term;
        if (narrow) memset(edge[r], 0, sizeof edge[r]);
        if (narrow && p->from) memcpy(edge[r], y, p->n * sizeof *y);
        if (!term || (!narrow && a->views.term_stride[3])) continue;
        memset(terms[r], 0, sizeof terms[r]);
        product_terms(terms[r], term, a->views.term_stride[3], p->n);
        t.term[r] = terms[r];
    }
    product_tile(p, &t);
    for (uint32_t r = 0; p->n < 16 && r < count; r++)
        memcpy(rows->y + (row + r) * (size_t)a->views.y_stride[2] + p->column, edge[r], p->n * sizeof(float));
}

/* The panel of a block's columns, column by column, as these are what lies side by side where rows do not. What there is not is 0. */
static void product_pack(const struct product_block *p, const float *b, float *panel) {
    const size_t step = p->args->views.b_stride[2], apart = p->args->views.b_stride[3];
    const uint32_t turned = step == 1 && p->n == 16 ? p->taps / 4 * 4 : 0;
    b += p->from * step + p->column * apart;
    if (apart == 1 && p->n == 16) {
        for (uint32_t k = 0; k < p->taps; k++) memcpy(panel + 16 * k, b + k * step, 16 * sizeof *panel);
        return;
    }
    if (p->n < 16) memset(panel, 0, 16 * p->taps * sizeof *panel);
    for (uint32_t k = 0; k < turned; k += 4)
        for (uint32_t c = 0; c < 16; c += 4) product_turn(panel + 16 * k + c, b + c * apart + k, apart);
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t k = turned; k < p->taps; k++) panel[16 * k + c] = b[c * apart + k * step];
}

static void product_rows(const struct morsel_float_matmul_args *a, const struct morsel_float_rows *rows) {
    float stack[PRODUCT_STACK * 16];
    const uint32_t most = a->room.bytes >= PRODUCT_TAPS * 16 * sizeof *stack ? PRODUCT_TAPS : PRODUCT_STACK;
    float *panel = most == PRODUCT_TAPS ? (float *)(void *)a->room.data : stack;
    for (uint32_t c = 0; c < a->views.columns; c += 16) {
        struct product_block p = {.args = a, .column = c, .n = a->views.columns - c < 16 ? a->views.columns - c : 16};
        const int lies = a->views.b_stride[3] == 1 && p.n == 16 && rows->n <= 2 * PRODUCT_ROWS;
        for (; p.from < a->views.inner; p.from += p.taps) {
            p.taps = lies || a->views.inner - p.from < most ? a->views.inner - p.from : most;
            p.b = lies ? rows->b + c : panel;
            p.step = lies ? a->views.b_stride[2] : 16;
            if (!lies) product_pack(&p, rows->b, panel);
            for (uint32_t row = 0; row < rows->n; row += PRODUCT_ROWS) product_some(&p, rows, row);
        }
    }
}

static void product_range(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    while (begin < end) {
        const struct morsel_float_rows rows = morsel_float_rows(a, begin, end);
        product_rows(a, &rows);
        begin += rows.n;
    }
}

#endif
