/* SPDX-License-Identifier: MIT */
/*
 * Functions of one number. + - * / and the square root in double, rounded to float once, give exactly what they give in float. Such a
 * function needs a float form for speed alone. For others both forms stand here, and differ in the last place.
 */
#include "tools/onnx/functions.h"
#include "tools/onnx/exp.h"
#include <math.h>

/* Loops over functions of x, and of x and the parameters. */
#define MANY(run, f) \
    static void run(const struct onnx_parameters *p, const float *x, float *y, size_t count) { \
        (void)p; \
        for (size_t i = 0; i < count; i++) y[i] = f(x[i]); \
    }
#define MANY_WITH(run, f) \
    static void run(const struct onnx_parameters *p, const float *x, float *y, size_t count) { \
        const float alpha = p->alpha, beta = p->beta; \
        for (size_t i = 0; i < count; i++) y[i] = f(x[i], alpha, beta); \
    }
#define INLINE static inline __attribute__((always_inline))

/* ---- bounds ---- */

static double relu(double x) {
    return x < 0 ? 0 : x;
}
static int64_t relu_integer(int64_t x) {
    return x < 0 ? 0 : x;
}
INLINE float relu_float(float x) {
    return x < 0 ? 0 : x;
}
MANY(relu_many, relu_float)
const struct onnx_function onnx_relu = {.number = relu, .many = relu_many, .integer = relu_integer};

/* What is no number stays so. */
INLINE float between(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
}
MANY_WITH(clip_many, between)
static double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
const struct onnx_function onnx_clip = {.with = clip, .many = clip_many, .parameters = {{NULL, -INFINITY}, {NULL, INFINITY}}};

INLINE float leaky_float(float x, float alpha, float beta) {
    return (void)beta, x < 0 ? alpha * x : x;
}
MANY_WITH(leaky_many, leaky_float)
static double leaky_relu(double x, double alpha, double beta) {
    return (void)beta, x < 0 ? alpha * x : x;
}
const struct onnx_function onnx_leaky_relu = {.with = leaky_relu, .many = leaky_many, .parameters = {{"alpha", 0.01F}}};

static double thresholded(double x, double alpha, double beta) {
    return (void)beta, x > alpha ? x : 0;
}
const struct onnx_function onnx_thresholded_relu = {.with = thresholded, .parameters = {{"alpha", 1}}};

static double shrink(double x, double lambd, double bias) {
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}
const struct onnx_function onnx_shrink = {.with = shrink, .parameters = {{"lambd", 0.5F}, {"bias", 0}}};

INLINE float hard_sigmoid_float(float x, float alpha, float beta) {
    return between(alpha * x + beta, 0, 1);
}
MANY_WITH(hard_sigmoid_many, hard_sigmoid_float)
static double hard_sigmoid(double x, double alpha, double beta) {
    return clip(alpha * x + beta, 0, 1);
}
const struct onnx_function onnx_hard_sigmoid = {.with = hard_sigmoid,
                                                .many = hard_sigmoid_many,
                                                .rounds_each = true,
                                                .parameters = {{"alpha", 0.2F}, {"beta", 0.5F}}};

INLINE float hard_swish_float(float x, float alpha, float beta) {
    return x * between(alpha * x + beta, 0, 1);
}
MANY_WITH(hard_swish_many, hard_swish_float)
static double hard_swish(double x) {
    return x * clip(x / 6 + 0.5, 0, 1);
}
const struct onnx_function onnx_hard_swish = {.number = hard_swish,
                                              .many = hard_swish_many,
                                              .rounds_each = true,
                                              .parameters = {{NULL, 1 / 6.0F}, {NULL, 0.5F}}};

/* ---- by the exponential function ---- */

MANY(exp_many, exp_float)
const struct onnx_function onnx_exp = {.number = exp, .many = exp_many};

INLINE float sigmoid_float(float x) {
    return 1 / (1 + exp_float(-x));
}
MANY(sigmoid_many, sigmoid_float)
static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
const struct onnx_function onnx_sigmoid = {.number = sigmoid, .many = sigmoid_many};

INLINE float swish_float(float x, float alpha, float beta) {
    return (void)beta, x / (1 + exp_float(-alpha * x));
}
MANY_WITH(swish_many, swish_float)
static double swish(double x, double alpha, double beta) {
    return (void)beta, x / (1 + exp(-alpha * x));
}
const struct onnx_function onnx_swish = {.with = swish, .many = swish_many, .parameters = {{"alpha", 1}}};
const struct onnx_function onnx_quick_gelu = {.with = swish, .many = swish_many, .parameters = {{"alpha", 1.702F}}};

INLINE float elu_float(float x, float alpha, float beta) {
    return (void)beta, x < 0 ? alpha * expm1f(x) : x;
}
MANY_WITH(elu_many, elu_float)
static double elu(double x, double alpha, double beta) {
    return (void)beta, x < 0 ? alpha * expm1(x) : x;
}
const struct onnx_function onnx_elu = {.with = elu, .many = elu_many, .parameters = {{"alpha", 1}}};

INLINE float selu_float(float x, float alpha, float gamma) {
    return x > 0 ? gamma * x : gamma * alpha * expm1f(x);
}
MANY_WITH(selu_many, selu_float)
static double selu(double x, double alpha, double gamma) {
    return gamma * (x > 0 ? x : alpha * expm1(x));
}
const struct onnx_function onnx_selu = {.with = selu, .many = selu_many, .parameters = {{"alpha", 1.67326319F}, {"gamma", 1.05070102F}}};

INLINE float celu_float(float x, float alpha, float beta) {
    return (void)beta, x > 0 ? x : alpha * expm1f(x / alpha);
}
MANY_WITH(celu_many, celu_float)
static double celu(double x, double alpha, double beta) {
    return (void)beta, fmax(0, x) + fmin(0, alpha * expm1(x / alpha));
}
const struct onnx_function onnx_celu = {.with = celu, .many = celu_many, .parameters = {{"alpha", 1}}};

INLINE float softplus_float(float x) {
    return (x > 0 ? x : 0) + log1pf(exp_float(-fabsf(x)));
}
MANY(softplus_many, softplus_float)
static double softplus(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}
const struct onnx_function onnx_softplus = {.number = softplus, .many = softplus_many};

INLINE float mish_float(float x) {
    return x * tanhf(softplus_float(x));
}
MANY(mish_many, mish_float)
static double mish(double x) {
    return x * tanh(softplus(x));
}
const struct onnx_function onnx_mish = {.number = mish, .many = mish_many};

/* ---- elementary functions ---- */

MANY(tanh_many, tanhf)
const struct onnx_function onnx_tanh = {.number = tanh, .many = tanh_many};

MANY(erf_many, erff)
const struct onnx_function onnx_erf = {.number = erf, .many = erf_many};

INLINE float gelu_float(float x) {
    return 0.5F * x * (1 + erff(x * 0.70710678F));
}
MANY(gelu_many, gelu_float)
static double gelu(double x) {
    return 0.5 * x * (1 + erf(x * 0.7071067811865476));
}
INLINE float gelu_tanh_float(float x) {
    return 0.5F * x * (1 + tanhf(0.79788456F * (x + 0.044715F * x * x * x)));
}
MANY(gelu_tanh_many, gelu_tanh_float)
static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}
const struct onnx_function onnx_fast_gelu = {.number = gelu_tanh, .many = gelu_tanh_many};
const struct onnx_function onnx_gelu = {.number = gelu, .many = gelu_many, .tanh_form = &onnx_fast_gelu};

MANY(log_many, logf)
const struct onnx_function onnx_log = {.number = log, .many = log_many};

MANY(sqrt_many, sqrtf)
const struct onnx_function onnx_sqrt = {.number = sqrt, .many = sqrt_many};

INLINE float reciprocal_float(float x) {
    return 1 / x;
}
MANY(reciprocal_many, reciprocal_float)
static double reciprocal(double x) {
    return 1 / x;
}
const struct onnx_function onnx_reciprocal = {.number = reciprocal, .many = reciprocal_many};

INLINE float softsign_float(float x) {
    return x / (1 + fabsf(x));
}
MANY(softsign_many, softsign_float)
static double softsign(double x) {
    return x / (1 + fabs(x));
}
const struct onnx_function onnx_softsign = {.number = softsign, .many = softsign_many, .rounds_each = true};

/* ---- angles, and those of the hyperbola ---- */

const struct onnx_function onnx_sin = {.number = sin}, onnx_cos = {.number = cos}, onnx_tan = {.number = tan};
const struct onnx_function onnx_asin = {.number = asin}, onnx_acos = {.number = acos}, onnx_atan = {.number = atan};
const struct onnx_function onnx_sinh = {.number = sinh}, onnx_cosh = {.number = cosh};
const struct onnx_function onnx_asinh = {.number = asinh}, onnx_acosh = {.number = acosh}, onnx_atanh = {.number = atanh};

/* ---- signs and whole numbers: exact in every form ---- */

static int64_t neg_integer(int64_t x) {
    return (int64_t)(0 - (uint64_t)x);
}
INLINE float neg_float(float x) {
    return -x;
}
MANY(neg_many, neg_float)
static double neg(double x) {
    return -x;
}
const struct onnx_function onnx_neg = {.number = neg, .many = neg_many, .integer = neg_integer};

static int64_t abs_integer(int64_t x) {
    return x < 0 ? neg_integer(x) : x;
}
MANY(abs_many, fabsf)
const struct onnx_function onnx_abs = {.number = fabs, .many = abs_many, .integer = abs_integer};

static int64_t sign_integer(int64_t x) {
    return (x > 0) - (x < 0);
}
static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
const struct onnx_function onnx_sign = {.number = sign, .integer = sign_integer};

MANY(floor_many, floorf)
const struct onnx_function onnx_floor = {.number = floor, .many = floor_many};

MANY(ceil_many, ceilf)
const struct onnx_function onnx_ceil = {.number = ceil, .many = ceil_many};

MANY(round_many, nearbyintf)
const struct onnx_function onnx_round = {.number = nearbyint, .many = round_many};

static double is_zero(double x) {
    return x == 0;
}
static int64_t is_zero_integer(int64_t x) {
    return !x;
}
const struct onnx_function onnx_not = {.number = is_zero, .integer = is_zero_integer};

/* ---- calls ---- */

double onnx_function_number(const struct onnx_function *f, const struct onnx_parameters *p, double x) {
    return f->number ? f->number(x) : f->with(x, (double)p->alpha, (double)p->beta);
}

float onnx_function_in_table(const struct onnx_function *f, const struct onnx_parameters *p, float x) {
    float y = x;
    if (!f->rounds_each) return (float)onnx_function_number(f, p, (double)x);
    f->many(p, &x, &y, 1);
    return y;
}

void onnx_function_many(const struct onnx_function *f, const struct onnx_parameters *p, const float *x, float *y, size_t count) {
    if (f->many) f->many(p, x, y, count);
    for (size_t i = 0; i < count && !f->many; i++) y[i] = (float)onnx_function_number(f, p, (double)x[i]);
}
