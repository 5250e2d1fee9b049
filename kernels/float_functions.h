/* SPDX-License-Identifier: MIT */
/*
 * Exponentials and what is made of them: one text for plain C and for vectors, so that all give the same bits. Polynomials are minimax
 * fits of ours. The errors are the largest of all floats, in units in the last place: exp 1, sigmoid 2.4, tanh 1.4, erf 1.4
 * (tests/unit/kernels/test_float.c). A NaN stays one.
 *
 * `eight` is eight floats, or one in plain C. The file that includes this says what these are:
 *
 *     eight_all                                    one float in all places
 *     eight_add, eight_sub, eight_mul, eight_div   each result rounded, nothing fused
 *     eight_select(a, b, x, y)                     a < b ? x : y
 *     eight_abs, eight_signed(a, from)             without a sign; with the sign of `from`
 *     eight_power(v, shifted)                      v * 2^n, n the integer that EIGHT_SHIFT was added to; |n| <= 150
 *     eight_power_near(v, shifted)                 the same for |n| <= 126
 */
#ifndef MORSEL_FLOAT_FUNCTIONS_H
#define MORSEL_FLOAT_FUNCTIONS_H

#define EIGHT_SHIFT 12582912.0f /* 1.5 * 2^23: adding it rounds to an integer (requant.h) */

#if defined(__GNUC__)
#define EIGHT_INLINE static inline __attribute__((always_inline))
#else
#define EIGHT_INLINE static inline
#endif

EIGHT_INLINE eight eight_horner(eight sum, eight x, float next) {
    return eight_add(eight_mul(sum, x), eight_all(next));
}

/* e^r - 1 of e^x = 2^k e^r, |r| <= ln 2 / 2, and k + EIGHT_SHIFT; for x from -104 to 89. The first part of ln 2 has nine bits: k times it
 * is exact. */
EIGHT_INLINE eight eight_exp_part(eight x, eight *shifted) {
    *shifted = eight_horner(x, eight_all(1.44269504f), EIGHT_SHIFT);
    const eight k = eight_sub(*shifted, eight_all(EIGHT_SHIFT));
    const eight r = eight_sub(eight_sub(x, eight_mul(k, eight_all(0.693359375f))), eight_mul(k, eight_all(-2.12194440e-4f)));
    eight p = eight_all(0.0013814318226650357f);
    p = eight_horner(p, r, 0.008368851616978645f);
    p = eight_horner(p, r, 0.041668400168418884f);
    p = eight_horner(p, r, 0.1666651964187622f);
    p = eight_horner(p, r, 0.4999999403953552f);
    return eight_add(eight_mul(eight_mul(r, r), p), r);
}

/* For any x up to 89: below the limit lies 0. */
EIGHT_INLINE eight eight_exp_rest(eight x, eight *shifted) {
    const eight low = eight_all(-104);
    return eight_exp_part(eight_select(x, low, low, x), shifted);
}

EIGHT_INLINE eight eight_exp_below(eight x) {
    eight shifted, p = eight_exp_rest(x, &shifted);
    return eight_power(eight_add(p, eight_all(1)), shifted);
}

/* The same for any x: above the limit lies infinity. */
EIGHT_INLINE eight eight_exp_limit(eight x) {
    const eight high = eight_all(89);
    return eight_select(high, x, high, x);
}

EIGHT_INLINE eight eight_exp(eight x) {
    return eight_exp_below(eight_exp_limit(x));
}

/* The same for x from -87 to 87. */
EIGHT_INLINE eight eight_exp_near(eight x) {
    eight shifted, p = eight_exp_part(x, &shifted);
    return eight_power_near(eight_add(p, eight_all(1)), shifted);
}

/* That of a Softmax, of x up to 0. What is below e^-64 counts as 0: 2^-92 of the largest, whose step is 2^-24. CPUs of x86 are slow with
 * subnormals, and so there are none: not here, not divided by a sum up to 512, nor in the rest of a quantization, 2^-24 of what it has. */
EIGHT_INLINE eight eight_exp_weight(eight x) {
    const eight low = eight_all(-64);
    return eight_select(x, low, eight_all(0), eight_exp_near(eight_select(x, low, low, x)));
}

/* e^-|x| */
EIGHT_INLINE eight eight_decay(eight x) {
    return eight_exp_below(eight_signed(x, eight_all(-1)));
}

/* Of x and that: e^x / (1 + e^x) below 0, so that small results keep their bits. */
EIGHT_INLINE eight eight_sigmoid_of(eight x, eight e) {
    const eight one = eight_all(1);
    return eight_div(eight_select(x, eight_all(0), e, one), eight_add(one, e));
}

EIGHT_INLINE eight eight_sigmoid(eight x) {
    return eight_sigmoid_of(x, eight_decay(x));
}

/* x + x^3 P(x^2), and from 0.625 on 1 - 2 / (e^2x + 1): the first and the exponent, */
EIGHT_INLINE eight eight_tanh_part(eight x, eight *exponent) {
    const eight a = eight_abs(x), t = eight_mul(x, x), most = eight_all(10), near = eight_select(most, a, most, a);
    eight p = eight_all(-0.005704990588128567f);
    p = eight_horner(p, t, 0.02063908986747265f);
    p = eight_horner(p, t, -0.05373971536755562f);
    p = eight_horner(p, t, 0.13331441581249237f);
    p = eight_horner(p, t, -0.3333328068256378f);
    *exponent = eight_add(near, near);
    return eight_add(eight_mul(eight_mul(t, p), x), x);
}

/* and what e^exponent makes of them. */
EIGHT_INLINE eight eight_tanh_of(eight x, eight part, eight e) {
    const eight one = eight_all(1), large = eight_sub(one, eight_div(eight_all(2), eight_add(e, one)));
    return eight_select(eight_abs(x), eight_all(0.625f), part, eight_signed(large, x));
}

EIGHT_INLINE eight eight_tanh(eight x) {
    eight exponent, part = eight_tanh_part(x, &exponent);
    return eight_tanh_of(x, part, eight_exp_near(exponent));
}

/* x + x P(x^2), and from 0.92 on 1 - e^Q(x): Q is the logarithm of 1 - erf x. From 4 on that is less than half a step from 1. */
EIGHT_INLINE eight eight_erf_part(eight x, eight *exponent) {
    const eight a = eight_abs(x), t = eight_mul(x, x), most = eight_all(4);
    eight p = eight_all(-0.0005999532295390964f);
    p = eight_horner(p, t, 0.004994859918951988f);
    p = eight_horner(p, t, -0.02676774561405182f);
    p = eight_horner(p, t, 0.11281847208738327f);
    p = eight_horner(p, t, -0.3761249780654907f);
    p = eight_horner(p, t, 0.12837915122509003f);
    const eight near = eight_select(most, a, most, a);
    eight q = eight_all(-2.1095051124575548e-05f);
    q = eight_horner(q, near, 0.0004344626213423908f);
    q = eight_horner(q, near, -0.00417106319218874f);
    q = eight_horner(q, near, 0.02511942759156227f);
    q = eight_horner(q, near, -0.10828009247779846f);
    q = eight_horner(q, near, -0.6333469152450562f);
    q = eight_horner(q, near, -1.1295149326324463f);
    *exponent = eight_horner(q, near, 0.00017468445003032684f);
    return eight_add(eight_mul(p, x), x);
}

EIGHT_INLINE eight eight_erf_of(eight x, eight part, eight e) {
    return eight_select(eight_abs(x), eight_all(0.92f), part, eight_signed(eight_sub(eight_all(1), e), x));
}

EIGHT_INLINE eight eight_erf(eight x) {
    eight exponent, part = eight_erf_part(x, &exponent);
    return eight_erf_of(x, part, eight_exp_near(exponent));
}

#endif
