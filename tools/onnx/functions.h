/* SPDX-License-Identifier: MIT */
/*
 * The functions behind elementwise operators, each written once for all rooms: constant folding and passes in double, the tables of
 * quantized values, the float executor.
 *
 * To add an operator of one number: its function in functions.c, declared here, and its row in operators.c.
 */
#ifndef MORSEL_TOOLS_ONNX_FUNCTIONS_H
#define MORSEL_TOOLS_ONNX_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a function of one number takes beside it. */
struct onnx_parameters {
    float alpha, beta;
};

/* In double there is one form of the first two, rounded to float once where a float is wanted. */
struct onnx_function {
    double (*number)(double x);
    double (*with)(double x, double alpha, double beta);
    /* In float, as the executor runs it, so that compilers make vectors of it; y may be x. NULL: as in double. */
    void (*many)(const struct onnx_parameters *p, const float *x, float *y, size_t count);
    int64_t (*integer)(int64_t x); /* of integer constants; NULL: for real numbers only */
    bool rounds_each;              /* tables round after each operation, as `many` does and ONNX Runtime */
    struct {
        const char *attribute; /* NULL: it is always this number */
        float otherwise;
    } parameters[2];
    const struct onnx_function *tanh_form; /* what attribute `approximate` = tanh makes of it */
};

/* A run of neighbours for functions of two; a step is 1, or 0 where one number serves all. */
struct onnx_line {
    float *y;
    const float *a, *b;
    int64_t a_step, b_step, count;
};

struct onnx_function_of_two {
    double (*number)(double a, double b);     /* NULL: for integers only */
    int64_t (*integer)(int64_t a, int64_t b); /* NULL: for real numbers only */
    void (*line)(const struct onnx_line *l);  /* in float, as the executor runs it; y may be a. NULL: it does not */
    bool divides;                             /* integers by b, which must not be 0 */
};

double onnx_function_number(const struct onnx_function *f, const struct onnx_parameters *p, double x);
float onnx_function_in_table(const struct onnx_function *f, const struct onnx_parameters *p, float x);
void onnx_function_many(const struct onnx_function *f, const struct onnx_parameters *p, const float *x, float *y, size_t count);

extern const struct onnx_function onnx_sin, onnx_cos, onnx_tan, onnx_asin, onnx_acos, onnx_atan, onnx_sinh, onnx_cosh, onnx_asinh,
    onnx_acosh, onnx_atanh;
extern const struct onnx_function onnx_abs, onnx_ceil, onnx_celu, onnx_clip, onnx_elu, onnx_erf, onnx_exp, onnx_fast_gelu, onnx_floor,
    onnx_gelu, onnx_hard_sigmoid, onnx_hard_swish, onnx_leaky_relu, onnx_log, onnx_mish, onnx_neg, onnx_not, onnx_quick_gelu,
    onnx_reciprocal, onnx_relu, onnx_round, onnx_selu, onnx_shrink, onnx_sigmoid, onnx_sign, onnx_softplus, onnx_softsign, onnx_sqrt,
    onnx_swish, onnx_tanh, onnx_thresholded_relu;

extern const struct onnx_function_of_two onnx_add, onnx_and, onnx_div, onnx_div_integers, onnx_equal, onnx_fmod, onnx_greater,
    onnx_greater_or_equal, onnx_less, onnx_less_or_equal, onnx_mask, onnx_max, onnx_min, onnx_mod, onnx_mul, onnx_or, onnx_pow, onnx_prelu,
    onnx_sub, onnx_xor;

#endif
