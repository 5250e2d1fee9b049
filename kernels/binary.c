/* SPDX-License-Identifier: MIT */
/* Elementwise operators of two operands with broadcasting. */
#include "requant.h"
#include "walk.h"

/* A run of n elements of y from `first`, with operands from a and b in steps of their last strides. */
struct run {
    size_t first;
    uint32_t n, a, b, a_step, b_step;
};

typedef void run_fn(const struct morsel_binary_args *args, const struct run *run);

static void for_runs(const struct morsel_binary_args *args, uint32_t begin, uint32_t end, run_fn *fn) {
    struct morsel_walk walk;
    struct run run;
    run.a_step = args->a_stride[args->rank - 1];
    run.b_step = args->b_stride[args->rank - 1];
    morsel_walk_start(&walk, args->dims, args->rank, begin, end);
    while ((run.n = morsel_walk_run(&walk)) != 0) {
        run.first = walk.begin;
        run.a = morsel_walk_offset(&walk, args->a_stride);
        run.b = morsel_walk_offset(&walk, args->b_stride);
        fn(args, &run);
        morsel_walk_next(&walk, run.n);
    }
}

/* The byte's integer in the tensor's own type: 0..255 or -128..127. */
static int32_t own_integer(const struct morsel_input *x, size_t i) {
    return (int32_t)(((const uint8_t *)x->data)[i] ^ x->code.flip) - x->code.own;
}

/* `v` in y's own integers, zero point included; never a NaN, because ratios and offset are finite and small (checked at open). */
static void store_integer(const struct morsel_output *y, size_t i, float v) {
    int32_t own = y->code.own;
    int32_t u = morsel_round(morsel_clamp(v, (float)(y->out_min - own), (float)(y->out_max - own))) + own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->code.flip);
}

static void qadd_run(const struct morsel_binary_args *args, const struct run *run) {
    for (uint32_t i = 0; i < run->n; i++) {
        float a = (float)own_integer(&args->a, run->a + i * run->a_step);
        float b = (float)own_integer(&args->b, run->b + i * run->b_step);
        store_integer(&args->y, run->first + i, morsel_fma(a, args->a_ratio, morsel_fma(b, args->b_ratio, args->offset)));
    }
}

void morsel_qadd_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, qadd_run);
}

static void qmul_run(const struct morsel_binary_args *args, const struct run *run) {
    for (uint32_t i = 0; i < run->n; i++) {
        int32_t a = own_integer(&args->a, run->a + i * run->a_step) + args->a.code.own - args->a.code.zero;
        int32_t b = own_integer(&args->b, run->b + i * run->b_step) + args->b.code.own - args->b.code.zero;
        float product = (float)(a * b) * args->a_ratio;
        store_integer(&args->y, run->first + i, product + (float)(args->y.code.zero - args->y.code.own));
    }
}

void morsel_qmul_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, qmul_run);
}

static float apply(uint32_t op, float a, float b) {
    switch (op) {
    case MORSEL_DO_ADD: return a + b;
    case MORSEL_DO_SUB: return a - b;
    case MORSEL_DO_MUL: return a * b;
    case MORSEL_DO_DIV: return a / b;
    case MORSEL_DO_MAX: return a != a || a > b ? a : b; /* a NaN wins */
    default: return a != a || a < b ? a : b;
    }
}

static void float_run(const struct morsel_binary_args *args, const struct run *run) {
    for (uint32_t i = 0; i < run->n; i++) {
        float a = morsel_load_real(&args->a, run->a + i * run->a_step);
        float b = morsel_load_real(&args->b, run->b + i * run->b_step);
        morsel_store_real(&args->y, run->first + i, apply(args->op, a, b));
    }
}

void morsel_binary_c(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    for_runs(args, begin, end, float_run);
}
