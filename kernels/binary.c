/* SPDX-License-Identifier: MIT */
/* Elementwise operators of two operands with broadcasting, in plain C, sixteen elements at a time. */
#include "float.h"
#include "requant.h"
#include "walk.h"

#include <stdbool.h>

/* Up to sixteen elements of y from `first`, with operands from a and b in steps of their last strides. */
struct run {
    size_t first, a, b;
    uint32_t n, a_step, b_step;
    bool exact; /* doubles need no care */
};

typedef void run_fn(const struct morsel_binary_args *args, const struct run *run);

/* An operand in place is y at the same elements: they are read before they are written. */
static void for_runs(const struct morsel_binary_args *args, uint32_t begin, uint32_t end, bool exact, run_fn *fn) {
    struct morsel_walk walk;
    struct run run = {.exact = exact};
    run.a_step = args->a_stride[args->rank - 1];
    run.b_step = args->b_stride[args->rank - 1];
    morsel_walk_start(&walk, args->dims, args->rank, begin, end);
    for (uint32_t n; (n = morsel_walk_run(&walk)) != 0; morsel_walk_next(&walk, n)) {
        run.first = walk.begin;
        run.a = morsel_walk_offset(&walk, args->a_stride);
        run.b = morsel_walk_offset(&walk, args->b_stride);
        for (uint32_t left = n; left; left -= run.n) {
            run.n = left < MORSEL_LANES ? left : MORSEL_LANES;
            fn(args, &run);
            run.first += run.n;
            run.a += (size_t)run.n * run.a_step;
            run.b += (size_t)run.n * run.b_step;
        }
    }
}

/* Bytes less `zero`. */
static __attribute__((noinline)) void take_integers(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n, int32_t zero,
                                                    int32_t *to) {
    uint8_t bytes[MORSEL_LANES];
    morsel_load_bytes(x, i, step, n, bytes);
    for (uint32_t o = 0; o < MORSEL_LANES; o++) to[o] = bytes[o] - zero;
}

/* ---- sums of bytes ---- */

/* The exponent of the last bit of v, and one that |v| is below the power of. */
struct extent {
    int32_t low, high;
};

static struct extent extent_of(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 23 & 255);
    if (v == 0) return (struct extent){1000, -1000};
    return exponent ? (struct extent){exponent - 150, exponent - 126} : (struct extent){-149, -126};
}

/*
 * Whether a * a_ratio + (b * b_ratio + offset) is exact in double for all integers below 2^8. Its inner sum may be rounded to float or not.
 * All terms are multiples of 2^low, since rounding only clears last bits. Three terms below 2^high stay below 2^(high + 2). Then rounding
 * to float once is all that a fused multiply-add does.
 */
static bool exact_in_double(const struct morsel_binary_args *args) {
    struct extent a = extent_of(args->a_ratio), b = extent_of(args->b_ratio), offset = extent_of(args->offset);
    int32_t low = a.low < b.low ? a.low : b.low, high = (a.high > b.high ? a.high : b.high) + 8;
    if (offset.low < low) low = offset.low;
    if (offset.high > high) high = offset.high;
    return high + 2 - low <= 53;
}

/* Never a NaN, because ratios and offset are finite and small (checked at open). */
static void qadd_run(const struct morsel_binary_args *args, const struct run *run) {
    int32_t a[MORSEL_LANES], b[MORSEL_LANES];
    float v[MORSEL_LANES];
    double a_ratio = (double)args->a_ratio, b_ratio = (double)args->b_ratio, offset = (double)args->offset;
    take_integers(&args->a, run->a, run->a_step, run->n, args->a.qparams.own, a);
    take_integers(&args->b, run->b, run->b_step, run->n, args->b.qparams.own, b);
    for (uint32_t o = 0; run->exact && o < MORSEL_LANES; o++) v[o] = (float)(b[o] * b_ratio + offset);
    for (uint32_t o = 0; run->exact && o < MORSEL_LANES; o++) v[o] = (float)(a[o] * a_ratio + (double)v[o]);
    for (uint32_t o = 0; !run->exact && o < MORSEL_LANES; o++)
        v[o] = morsel_fma((float)a[o], args->a_ratio, morsel_fma((float)b[o], args->b_ratio, args->offset));
    morsel_store_steps(&args->y, run->first, run->n, v, args->y.qparams.own);
}

void morsel_qadd_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, exact_in_double(args), qadd_run);
}

/* ---- products of bytes ---- */

static void qmul_run(const struct morsel_binary_args *args, const struct run *run) {
    int32_t a[MORSEL_LANES], b[MORSEL_LANES];
    float v[MORSEL_LANES], zero = (float)(args->y.qparams.zero - args->y.qparams.own);
    take_integers(&args->a, run->a, run->a_step, run->n, args->a.qparams.zero, a);
    take_integers(&args->b, run->b, run->b_step, run->n, args->b.qparams.zero, b);
    for (uint32_t o = 0; o < MORSEL_LANES; o++) v[o] = (float)((int16_t)a[o] * (int16_t)b[o]) * args->a_ratio + zero;
    morsel_store_steps(&args->y, run->first, run->n, v, args->y.qparams.own);
}

void morsel_qmul_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, true, qmul_run);
}

/* ---- floats ---- */

static void apply(uint32_t op, float *restrict v, const float *restrict b) {
    enum { N = MORSEL_LANES };
    switch (op) {
    case MORSEL_BINARY_ADD:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] + b[o];
        break;
    case MORSEL_BINARY_SUB:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] - b[o];
        break;
    case MORSEL_BINARY_MUL:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] * b[o];
        break;
    case MORSEL_BINARY_DIV:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] / b[o];
        break;
    case MORSEL_BINARY_PRELU:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] < 0 ? v[o] * b[o] : v[o];
        break;
    case MORSEL_BINARY_MASK:
        for (uint32_t o = 0; o < N; o++) v[o] = b[o] > 0 ? v[o] : 0;
        break;
    case MORSEL_BINARY_POW:
        for (uint32_t o = 0; o < N; o++) v[o] = morsel_pow(v[o], b[o]);
        break;
    case MORSEL_BINARY_MAX:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] != v[o] || v[o] > b[o] ? v[o] : b[o];
        break; /* a NaN wins */
    default:
        for (uint32_t o = 0; o < N; o++) v[o] = v[o] != v[o] || v[o] < b[o] ? v[o] : b[o];
    }
}

static void float_run(const struct morsel_binary_args *args, const struct run *run) {
    float a[MORSEL_LANES], b[MORSEL_LANES];
    morsel_load_floats(&args->a, run->a, run->a_step, run->n, a);
    morsel_load_floats(&args->b, run->b, run->b_step, run->n, b);
    apply(args->op, a, b);
    morsel_store_floats(&args->y, run->first, run->n, a);
}

void morsel_binary_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, true, float_run);
}

const char *morsel_lines_refusal(const void *args) {
    const struct morsel_binary_args *a = args;
    const uint32_t last = a->rank - 1;
    if (morsel_is_in_order(a)) return NULL;
    return a->a_stride[last] <= 1 && a->b_stride[last] <= 1 ? NULL : MORSEL_REFUSES_STRIDED;
}

const char *morsel_float_pair_refusal(const void *args) {
    return ((const struct morsel_binary_args *)args)->op == MORSEL_BINARY_POW ? MORSEL_REFUSES_POWERS : NULL;
}

int morsel_is_contiguous(const uint32_t *dims, const uint32_t *strides, uint32_t rank) {
    uint32_t step = 1;
    for (uint32_t k = rank; k-- > 0; step *= dims[k])
        if (dims[k] != 1 && strides[k] != step) return 0;
    return 1;
}

int morsel_is_in_order(const struct morsel_binary_args *args) {
    return morsel_is_contiguous(args->dims, args->a_stride, args->rank) && morsel_is_contiguous(args->dims, args->b_stride, args->rank);
}

/* The line lies where it is not copied: it moves nowhere. */
static void operand_line(struct morsel_operand *line, const struct morsel_input *x, size_t at, int repeats, uint32_t piece) {
    line->x = (const uint8_t *)x->data + at;
    line->step = repeats ? 0 : piece;
    if (!repeats) return;
    memset(line->copies, *line->x, sizeof line->copies);
    line->x = line->copies;
}

void morsel_for_pairs(const struct morsel_binary_args *args, uint32_t begin, uint32_t end, uint32_t piece, morsel_pair_fn *fn,
                      const void *how, morsel_binary_fn *plain) {
    const uint32_t last = args->rank - 1;
    struct morsel_operand a, b;
    struct morsel_walk walk;
    if (morsel_is_in_order(args)) {
        operand_line(&a, &args->a, begin, 0, piece);
        operand_line(&b, &args->b, begin, 0, piece);
        fn(args, how, &a, &b, begin, end - begin);
        return;
    }
    if (morsel_lines_refusal(args)) {
        plain(args, begin, end);
        return;
    }
    morsel_walk_start(&walk, args->dims, args->rank, begin, end);
    for (uint32_t n; (n = morsel_walk_run(&walk)) != 0; morsel_walk_next(&walk, n)) {
        operand_line(&a, &args->a, morsel_walk_offset(&walk, args->a_stride), !args->a_stride[last], piece);
        operand_line(&b, &args->b, morsel_walk_offset(&walk, args->b_stride), !args->b_stride[last], piece);
        fn(args, how, &a, &b, walk.begin, n);
    }
}
