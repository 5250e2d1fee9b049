/* SPDX-License-Identifier: MIT */
/* Products of two float activations in plain C, sixteen columns of a row at a time. Columns that lie apart are put into a panel first. */
#include "requant.h"

enum { N = 16, TAPS = 128, STACK_TAPS = MORSEL_ROOMY_STACK ? 48 : 4 };

/* Columns `column` .. column + n with k from .. from + taps. */
struct block {
    const float *b; /* sixteen elements for each k, `step` apart */
    size_t step;
    uint32_t column, n, from, taps;
};

static void add_columns(const struct block *p, const float *x, float *restrict sums) {
    const float *restrict b = p->b;
    for (uint32_t k = 0; k < p->taps; k++, b += p->step)
        for (uint32_t o = 0; o < N; o++) sums[o] += x[k] * b[o];
}

/* Sums of earlier k stand in y. */
static void add_row(const struct morsel_float_matmul_args *a, const struct block *p, const float *x, const float *term, float *y) {
    float sums[N] = {0};
    if (p->from) memcpy(sums, y, p->n * sizeof *sums);
    add_columns(p, x + p->from, sums);
    if (p->from + p->taps < a->views.inner) {
        memcpy(y, sums, p->n * sizeof *sums);
        return;
    }
    for (uint32_t o = 0; o < p->n; o++) {
        sums[o] *= a->factor;
        if (term) sums[o] += term[o * a->views.term_stride[3]];
    }
    morsel_store_floats(&a->y, (size_t)(y - (float *)a->y.data), p->n, sums);
}

static void pack(const struct block *p, const struct morsel_float_matmul_args *a, const float *b, float *panel) {
    const size_t step = a->views.b_stride[2], apart = a->views.b_stride[3];
    for (uint32_t c = 0; c < N; c++) {
        const float *from = b + p->from * step + (p->column + (c < p->n ? c : 0)) * apart;
        for (uint32_t k = 0; k < p->taps; k++) panel[k * N + c] = from[k * step];
    }
}

static void multiply_rows(const struct morsel_float_matmul_args *a, const struct morsel_float_rows *rows) {
    float stack[STACK_TAPS * N];
    const uint32_t most = a->room.bytes >= TAPS * N * sizeof *stack ? TAPS : STACK_TAPS;
    float *panel = most == TAPS ? (float *)(void *)a->room.data : stack;
    for (uint32_t c = 0; c < a->views.columns; c += N) {
        struct block p = {.column = c, .n = a->views.columns - c < N ? a->views.columns - c : N};
        const int lies = a->views.b_stride[3] == 1 && p.n == N;
        for (; p.from < a->views.inner; p.from += p.taps) {
            p.taps = lies || a->views.inner - p.from < most ? a->views.inner - p.from : most;
            p.b = lies ? rows->b + c : panel;
            p.step = lies ? a->views.b_stride[2] : N;
            if (!lies) pack(&p, a, rows->b, panel);
            for (size_t r = 0; r < rows->n; r++) {
                const float *term = rows->term ? rows->term + r * a->views.term_stride[2] + (size_t)c * a->views.term_stride[3] : NULL;
                add_row(a, &p, rows->a + r * a->views.a_stride[2], term, rows->y + r * a->views.y_stride[2] + c);
            }
        }
    }
}

void morsel_float_matmul_c(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    while (begin < end) {
        const struct morsel_float_rows rows = morsel_float_rows(a, begin, end);
        multiply_rows(a, &rows);
        begin += rows.n;
    }
}
