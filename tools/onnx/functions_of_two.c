/* SPDX-License-Identifier: MIT */
/* Functions of two numbers. Integers wrap as two's complement does; truth values are 0 and 1. */
#include "tools/onnx/functions.h"
#include <math.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void each(float (*f)(float a, float b), const struct onnx_line *l) {
    float *y = l->y;
    const float *a = l->a, *b = l->b;
    const int64_t count = l->count;
    if (l->a_step && l->b_step) {
        for (int64_t i = 0; i < count; i++) y[i] = f(a[i], b[i]);
    } else if (l->a_step) {
        const float right = *b;
        for (int64_t i = 0; i < count; i++) y[i] = f(a[i], right);
    } else {
        const float left = *a;
        for (int64_t i = 0; i < count; i++) y[i] = f(left, b[l->b_step ? i : 0]);
    }
}

/* The forms of one expression of a and b: of integers; in float, over a line; in double and in float. */
#define INTEGER(name, expression) \
    static int64_t name(int64_t a, int64_t b) { \
        return expression; \
    }
#define LINE(in_float, line, expression) \
    INLINE float in_float(float a, float b) { \
        return expression; \
    } \
    static void line(const struct onnx_line *l) { \
        each(in_float, l); \
    }
#define REAL(in_double, in_float, line, expression) \
    static double in_double(double a, double b) { \
        return expression; \
    } \
    LINE(in_float, line, expression)

/* ---- arithmetic ---- */

INTEGER(add_integer, (int64_t)((uint64_t)a + (uint64_t)b))
REAL(add, add_float, add_line, a + b)
const struct onnx_function_of_two onnx_add = {add, add_integer, add_line, false};

INTEGER(sub_integer, (int64_t)((uint64_t)a - (uint64_t)b))
REAL(sub, sub_float, sub_line, a - b)
const struct onnx_function_of_two onnx_sub = {sub, sub_integer, sub_line, false};

static int64_t mul_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
REAL(mul, mul_float, mul_line, (a * b))
const struct onnx_function_of_two onnx_mul = {mul, mul_integer, mul_line, false};

INTEGER(quotient_integer, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
REAL(quotient, quotient_float, quotient_line, a / b)
const struct onnx_function_of_two onnx_div = {quotient, quotient_integer, quotient_line, true};
LINE(cut_float, cut_line, truncf(a / b))
const struct onnx_function_of_two onnx_div_integers = {NULL, quotient_integer, cut_line, true};

/* The sign of the divisor, as Python has it; with fmod = 1 that of the dividend. */
INTEGER(rest, b == -1 ? 0 : a % b)
INTEGER(rest_of_sign, rest(a, b) && (rest(a, b) < 0) != (b < 0) ? rest(a, b) + b : rest(a, b))
LINE(mod_float, mod_line, a - b * floorf(a / b))
LINE(fmod_float, fmod_line, fmodf(a, b))
const struct onnx_function_of_two onnx_mod = {NULL, rest_of_sign, mod_line, true};
const struct onnx_function_of_two onnx_fmod = {fmod, rest, fmod_line, true};

static int64_t pow_integer(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return (int64_t)result;
}
LINE(pow_float, pow_line, b == 2 ? a * a : b == 3 ? a * a * a : powf(a, b))
const struct onnx_function_of_two onnx_pow = {pow, pow_integer, pow_line, false};

/* ---- one of both; what is no number stays so ---- */

INTEGER(larger_integer, a > b ? a : b)
REAL(larger, larger_float, larger_line, a != a || a > b ? a : b)
const struct onnx_function_of_two onnx_max = {larger, larger_integer, larger_line, false};

INTEGER(smaller_integer, a < b ? a : b)
REAL(smaller, smaller_float, smaller_line, a != a || a < b ? a : b)
const struct onnx_function_of_two onnx_min = {smaller, smaller_integer, smaller_line, false};

REAL(prelu, prelu_float, prelu_line, a < 0 ? a * b : a)
const struct onnx_function_of_two onnx_prelu = {prelu, NULL, prelu_line, false};

REAL(mask, mask_float, mask_line, b > 0 ? a : 0)
const struct onnx_function_of_two onnx_mask = {mask, NULL, mask_line, false};

/* ---- truth values ---- */

INTEGER(equal_integer, a == b)
REAL(equal, equal_float, equal_line, a == b)
const struct onnx_function_of_two onnx_equal = {equal, equal_integer, equal_line, false};

INTEGER(greater_integer, a > b)
REAL(greater, greater_float, greater_line, a > b)
const struct onnx_function_of_two onnx_greater = {greater, greater_integer, greater_line, false};

INTEGER(less_integer, a < b)
REAL(less, less_float, less_line, a < b)
const struct onnx_function_of_two onnx_less = {less, less_integer, less_line, false};

INTEGER(not_less_integer, a >= b)
REAL(not_less, not_less_float, not_less_line, a >= b)
const struct onnx_function_of_two onnx_greater_or_equal = {not_less, not_less_integer, not_less_line, false};

INTEGER(not_greater_integer, a <= b)
REAL(not_greater, not_greater_float, not_greater_line, a <= b)
const struct onnx_function_of_two onnx_less_or_equal = {not_greater, not_greater_integer, not_greater_line, false};

INTEGER(both, a &&b)
LINE(both_float, both_line, a != 0 && b != 0)
const struct onnx_function_of_two onnx_and = {NULL, both, both_line, false};

INTEGER(either, a || b)
LINE(either_float, either_line, a != 0 || b != 0)
const struct onnx_function_of_two onnx_or = {NULL, either, either_line, false};

INTEGER(one_of, !a != !b)
LINE(one_of_float, one_of_line, (a != 0) != (b != 0))
const struct onnx_function_of_two onnx_xor = {NULL, one_of, one_of_line, false};
