/* SPDX-License-Identifier: MIT */
/*
 * Activations in float: one text for plain C and for vectors. The file that includes this says what `eight` is: see float_functions.h. The
 * errors are the largest of all floats, in units in the last place: expm1 below zero 1, log 1, softplus 2.8, Mish 5 above -80, where its
 * results are normal. The Gelus are within 1.5e-7 |x| (tests/unit/kernels/test_float.c).
 */
#ifndef MORSEL_FLOAT_ACTIVATIONS_H
#define MORSEL_FLOAT_ACTIVATIONS_H

#include "ops.h"
#include <float.h>
#include <stdint.h>
#include <string.h>

/* e^x - 1 = 2^k (e^r - 1) + (2^k - 1), of e^r - 1 and k + EIGHT_SHIFT. */
EIGHT_INLINE eight eight_expm1_of(eight p, eight shifted) {
    const eight one = eight_all(1), power = eight_power(one, shifted);
    return eight_add(eight_mul(power, p), eight_sub(power, one));
}

EIGHT_INLINE eight eight_expm1(eight x) {
    eight shifted, p = eight_exp_rest(eight_exp_limit(x), &shifted);
    return eight_expm1_of(p, shifted);
}

/* ln (1 + e) for e from 0 to 1: twice the area tangent of s = e / (2 + e). */
EIGHT_INLINE eight eight_log1p(eight e) {
    const eight s = eight_div(e, eight_add(e, eight_all(2))), z = eight_mul(s, s);
    eight p = eight_all(0.2802765369415283f);
    p = eight_horner(p, z, 0.2799847424030304f);
    p = eight_horner(p, z, 0.4002174139022827f);
    p = eight_horner(p, z, 0.6666641235351562f);
    return eight_add(eight_mul(eight_mul(s, z), p), eight_add(s, s));
}

/* Of a normal x > 0: from the root of 1/2 to that of 2, times 2^exponent. */
EIGHT_INLINE eight eight_fraction(eight x, eight *exponent) {
    uint32_t bits[sizeof x / sizeof(float)];
    float whole[sizeof x / sizeof(float)];
    memcpy(bits, &x, sizeof x);
    for (uint32_t i = 0; i < sizeof x / sizeof(float); i++) {
        const int32_t n = (int32_t)((bits[i] - 0x3f3504f3u + (150u << 23)) >> 23) - 150;
        whole[i] = (float)n;
        bits[i] -= (uint32_t)n << 23;
    }
    memcpy(exponent, whole, sizeof x);
    memcpy(&x, bits, sizeof x);
    return x;
}

/* ln x = k ln 2 + ln (1 + f), with f - f^2 / 2 apart, so that it is exact where it matters. A NaN below 0, minus infinity of 0. */
EIGHT_INLINE eight eight_log(eight x) {
    const eight zero = eight_all(0), one = eight_all(1), least = eight_all(FLT_MIN);
    eight k, m = eight_fraction(eight_select(x, least, eight_mul(x, eight_all(16777216)), x), &k);
    k = eight_sub(k, eight_select(x, least, eight_all(24), zero));
    const eight f = eight_sub(m, one), s = eight_div(f, eight_add(f, eight_all(2))), z = eight_mul(s, s);
    eight p = eight_all(0.2987079620361328f);
    p = eight_horner(p, z, 0.39977583289146423f);
    p = eight_mul(eight_horner(p, z, 0.6666677594184875f), z);
    const eight half = eight_mul(eight_mul(f, f), eight_all(0.5f)), low = eight_mul(k, eight_all(-2.12194440e-4f));
    const eight rest = eight_sub(eight_add(eight_mul(s, eight_add(half, p)), low), half);
    const eight log = eight_add(eight_add(rest, f), eight_mul(k, eight_all(0.693359375f)));
    const eight infinity = eight_mul(eight_all(FLT_MAX), eight_select(x, zero, zero, eight_all(FLT_MAX)));
    const eight none = eight_sub(x, eight_mul(infinity, eight_select(x, zero, zero, one))); /* of 0, of a NaN */
    return eight_select(zero, x, eight_select(eight_all(FLT_MAX), x, x, log), eight_select(x, zero, eight_div(zero, zero), none));
}

/* ln (1 + e^x) of x and e^-|x|, so that neither end loses bits. */
EIGHT_INLINE eight eight_softplus_of(eight x, eight e) {
    const eight zero = eight_all(0);
    return eight_add(eight_select(x, zero, zero, x), eight_log1p(e));
}

/* x tanh (ln (1 + e^x)) of x and e^-|x|, without the logarithm: n = e (e + 2) of e = e^x gives x n / (n + 2), divided by e^2x above 0. */
EIGHT_INLINE eight eight_mish_of(eight x, eight e) {
    const eight zero = eight_all(0), one = eight_all(1), two = eight_all(2);
    const eight below = eight_mul(e, eight_add(e, two)), above = eight_add(eight_add(e, e), one);
    const eight n = eight_select(x, zero, below, above), rest = eight_select(x, zero, two, eight_mul(two, eight_mul(e, e)));
    return eight_mul(x, eight_div(n, eight_add(n, rest)));
}

/* tanh x, erf x, or the Gelu that is made of it: the exponential stands once in the code. */
EIGHT_INLINE eight eight_by_near(uint32_t op, eight x) {
    const int tanh = op == MORSEL_UNARY_TANH;
    const eight half = eight_mul(x, eight_all(0.5f)), v = op == MORSEL_UNARY_GELU ? eight_mul(x, eight_all(0.707106781f)) : x;
    eight exponent, part = tanh ? eight_tanh_part(v, &exponent) : eight_erf_part(v, &exponent);
    const eight e = eight_exp_near(exponent);
    if (tanh) return eight_tanh_of(v, part, e);
    const eight erf = eight_erf_of(v, part, e);
    return op == MORSEL_UNARY_ERF ? erf : eight_mul(half, eight_add(eight_all(1), erf));
}

/* A sigmoid is of this, */
EIGHT_INLINE eight eight_under_sigmoid(uint32_t op, eight x, float alpha) {
    if (op == MORSEL_UNARY_SWISH) return eight_mul(eight_all(alpha), x);
    if (op != MORSEL_UNARY_GELU_TANH) return x;
    const eight cube = eight_mul(eight_mul(eight_mul(x, x), x), eight_all(0.044715f));
    return eight_mul(eight_add(x, cube), eight_all(1.59576912f));
}

/* and stands for itself, or is multiplied by x: x / 2 (1 + tanh u) is x sigmoid(2u). */
EIGHT_INLINE eight eight_by_sigmoid(uint32_t op, eight x, float alpha) {
    const eight s = eight_sigmoid(eight_under_sigmoid(op, x, alpha));
    return op == MORSEL_UNARY_SIGMOID ? s : eight_mul(x, s);
}

EIGHT_INLINE eight eight_by_expm1(uint32_t op, eight x, eight below, eight a, eight b) {
    return eight_select(x, eight_all(0), eight_mul(a, below), op == MORSEL_UNARY_CELU ? x : eight_mul(b, x));
}

/* All that is made of e^x, e^x - 1 or e^-|u|: the polynomial stands once in the code. */
EIGHT_INLINE eight eight_by_exp(uint32_t op, eight x, float alpha, float beta) {
    const eight a = eight_all(alpha), u = eight_under_sigmoid(op, x, alpha);
    const int below = op == MORSEL_UNARY_ELU || op == MORSEL_UNARY_CELU;
    eight shifted, exponent = op == MORSEL_UNARY_CELU ? eight_div(x, a) : x;
    exponent = below || op == MORSEL_UNARY_EXP ? eight_exp_limit(exponent) : eight_signed(u, eight_all(-1));
    const eight p = eight_exp_rest(exponent, &shifted);
    if (below) return eight_by_expm1(op, x, eight_expm1_of(p, shifted), a, eight_all(beta));
    const eight e = eight_power(eight_add(p, eight_all(1)), shifted);
    if (op == MORSEL_UNARY_EXP) return e;
    if (op == MORSEL_UNARY_SOFTPLUS) return eight_softplus_of(x, e);
    if (op == MORSEL_UNARY_MISH) return eight_mish_of(x, e);
    const eight s = eight_sigmoid_of(u, e);
    return op == MORSEL_UNARY_SIGMOID ? s : eight_mul(x, s);
}

/* The nearest integer, ties to even: beyond 2^23 there is nothing else. */
EIGHT_INLINE eight eight_round(eight x) {
    const eight many = eight_all(8388608);
    return eight_select(eight_abs(x), many, eight_signed(eight_sub(eight_add(eight_abs(x), many), many), x), x);
}

EIGHT_INLINE eight eight_integer(uint32_t op, eight x) {
    const eight one = eight_all(1), from = op == MORSEL_UNARY_TRUNCATE ? eight_abs(x) : x, near = eight_round(from);
    if (op == MORSEL_UNARY_ROUND) return near;
    if (op == MORSEL_UNARY_CEIL) return eight_signed(eight_select(near, x, eight_add(near, one), near), x);
    const eight below = eight_select(from, near, eight_sub(near, one), near);
    return op == MORSEL_UNARY_TRUNCATE ? eight_signed(below, x) : below;
}

EIGHT_INLINE eight eight_truncate(eight x) {
    return eight_integer(MORSEL_UNARY_TRUNCATE, x);
}

EIGHT_INLINE eight eight_activation(uint32_t op, eight x, float alpha, float beta) {
    const eight zero = eight_all(0), one = eight_all(1), a = eight_all(alpha), b = eight_all(beta);
    switch (op) {
    case MORSEL_UNARY_EXP:
    case MORSEL_UNARY_SIGMOID:
    case MORSEL_UNARY_SILU:
    case MORSEL_UNARY_SWISH:
    case MORSEL_UNARY_GELU_TANH:
    case MORSEL_UNARY_SOFTPLUS:
    case MORSEL_UNARY_MISH:
    case MORSEL_UNARY_ELU:
    case MORSEL_UNARY_CELU: return eight_by_exp(op, x, alpha, beta);
    case MORSEL_UNARY_TANH:
    case MORSEL_UNARY_ERF:
    case MORSEL_UNARY_GELU: return eight_by_near(op, x);
    case MORSEL_UNARY_SOFTSIGN: return eight_div(x, eight_add(one, eight_abs(x)));
    case MORSEL_UNARY_THRESHOLD: return eight_select(a, x, x, zero);
    case MORSEL_UNARY_SHRINK: return eight_select(x, eight_all(-alpha), eight_add(x, b), eight_select(a, x, eight_sub(x, b), zero));
    case MORSEL_UNARY_LOG: return eight_log(x);
    case MORSEL_UNARY_RECIPROCAL: return eight_div(one, x);
    case MORSEL_UNARY_SIGN: return eight_select(zero, x, one, eight_select(x, zero, eight_all(-1), x));
    default: return eight_integer(op, x);
    }
}

#endif
