/* SPDX-License-Identifier: MIT */
/* Matrix products in plain C: with constant weights (fc) and of two activations (matmul). */
#include "product.h"

/* ---- constant weights ---- */

struct fc_job {
    const struct morsel_fc_args *args;
    uint32_t row; /* the first one */
};

static __attribute__((noinline)) void take_row(const uint8_t *x, uint32_t inputs, const struct morsel_qparams *qparams, int16_t *to,
                                               uint32_t k, uint32_t n) {
    uint32_t present = inputs - k < n ? inputs - k : n;
    morsel_widen(to, x + k, present, qparams);
    memset(to + present, 0, (n - present) * sizeof *to);
}

static void fc_lines(const struct morsel_product *p, int16_t *to, uint32_t line, uint32_t count, uint32_t k, uint32_t n) {
    const struct fc_job *j = p->args;
    const uint8_t *x = (const uint8_t *)j->args->x.data + (size_t)(j->row + line) * p->taps;
    struct morsel_qparams qparams = j->args->x.qparams;
    for (uint32_t i = 0; i < count; i++, x += p->taps, to += n) {
        if (j->args->lines) qparams.zero = morsel_found_zero(j->args->lines + 2 * (size_t)(j->row + line + i));
        take_row(x, p->taps, &qparams, to, k, n);
    }
}

static void fc_store(const struct morsel_product *p, uint32_t line, uint32_t output, uint32_t n, const uint32_t *sums) {
    const struct fc_job *j = p->args;
    const struct morsel_fc_args *a = j->args;
    size_t first = (size_t)(j->row + line) * a->outputs + output;
    struct morsel_channels c = a->channels;
    float multiplier[16];
    if (!a->lines) {
        morsel_store_sums(&a->y, first, n, sums, &c, output);
        return;
    }
    for (uint32_t o = 0; o < 16; o++) multiplier[o] = a->lines[2 * (size_t)(j->row + line)] * c.multiplier[output + o];
    c.multiplier = multiplier;
    c.bias += output;
    if (c.float_bias) c.float_bias += output;
    morsel_store_sums(&a->y, first, n, sums, &c, 0);
}

/* Blocks `first` .. `end` of rows row .. row + n. */
static void fc_rows(const struct morsel_fc_args *a, uint32_t row, uint32_t n, uint32_t first, uint32_t end) {
    const struct fc_job job = {a, row};
    const uint32_t last = end * 16 < a->outputs ? end * 16 : a->outputs;
    const struct morsel_product p = {&job, n, a->inputs, first * 16, last, fc_lines, fc_store, a->room, a->weights, a->channels.weight_zero,
                                     NULL};
    morsel_multiply(&p);
}

/* A part of a row, whole rows, a part of a row. */
void morsel_fc_blocks_c(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    while (begin < end) {
        uint32_t row = begin / a->blocks, first = begin % a->blocks;
        uint32_t whole = first ? 0 : (end - begin) / a->blocks;
        uint32_t left = a->blocks - first < end - begin ? a->blocks - first : end - begin;
        fc_rows(a, row, whole ? whole : 1, first, whole ? a->blocks : first + left);
        begin += whole ? whole * a->blocks : left;
    }
}

/* ---- two activations ---- */

struct matmul_job {
    const struct morsel_matmul_args *args;
    struct morsel_view_rows at;
};

static void matmul_lines(const struct morsel_product *p, int16_t *to, uint32_t line, uint32_t count, uint32_t k, uint32_t n) {
    const struct matmul_job *j = p->args;
    const size_t step = j->args->views.a_stride[2];
    const uint8_t *x = (const uint8_t *)j->args->a.data + j->at.a + line * step;
    for (uint32_t i = 0; i < count; i++) take_row(x + i * step, p->taps, &j->args->a.qparams, to + (size_t)i * n, k, n);
}

/* Bytes are less 128, which their zero point makes good. */
static void matmul_columns(const struct morsel_product *p, morsel_factor *to, uint32_t output, uint32_t k, uint32_t n) {
    const struct matmul_job *j = p->args;
    const struct morsel_qparams *qparams = &j->args->b.qparams;
    const int32_t zero = MORSEL_WIDE_FACTORS ? qparams->zero : 128;
    const size_t down = j->args->views.b_stride[2], right = j->args->views.b_stride[3];
    uint32_t columns = p->end - output < 4 ? p->end - output : 4, present = p->taps - k < n ? p->taps - k : n;
    const uint8_t *w = (const uint8_t *)j->args->b.data + j->at.b + k * down + output * right;
    memset(to, 0, 4 * n * sizeof *to);
    for (uint32_t i = 0; i < present; i++, w += down)
        for (uint32_t c = 0; c < columns; c++)
            to[MORSEL_WIDE_FACTORS ? c * n + i : i / 4 * 16 + c * 4 + i % 4] =
                (morsel_factor)((int32_t)(w[c * right] ^ qparams->sign_flip) - zero);
}

static void matmul_store(const struct morsel_product *p, uint32_t line, uint32_t output, uint32_t n, const uint32_t *sums) {
    static const int32_t no_bias[16] = {0};
    const struct matmul_job *j = p->args;
    float multiplier[16];
    const struct morsel_channels constants = {.bias = no_bias, .multiplier = multiplier};
    for (uint32_t o = 0; o < 16; o++) multiplier[o] = j->args->multiplier;
    morsel_store_sums(&j->args->y, j->at.y + (size_t)line * j->args->views.y_stride[2] + output, n, sums, &constants, 0);
}

/* The rows of a batch at a time. */
void morsel_matmul_rows_c(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    const int32_t zero = a->b.qparams.zero - 128, zeros[4] = {zero, zero, zero, zero};
    struct matmul_job job = {.args = a};
    for (; begin < end; begin += job.at.n) {
        morsel_view_rows(&a->views, begin, end, &job.at);
        const struct morsel_product p = {&job,         job.at.n, a->views.inner, 0,     a->views.columns, matmul_lines,
                                         matmul_store, a->room,  NULL,           zeros, matmul_columns};
        morsel_multiply(&p);
    }
}
