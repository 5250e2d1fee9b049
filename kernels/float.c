/* SPDX-License-Identifier: MIT */
/* Exponentials and what is made of them, in double. */
#include "float.h"

#include <stdint.h>
#include <string.h>

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double infinity(void) {
    return from_bits((uint64_t)0x7ff << 52);
}

/* e^x = 2^k * e^r with k the integer nearest to x / ln 2, so that |r| <= 0.35. There the series to r^13 leaves less than 1e-16. Its
 * divisions are multiplications: a chain of divisions would be four times as slow. */
double morsel_exp_wide(double x) {
    static const double inverse[] = {1. / 2, 1. / 3, 1. / 4, 1. / 5, 1. / 6, 1. / 7, 1. / 8, 1. / 9, 1. / 10, 1. / 11, 1. / 12, 1. / 13};
    if (x != x) return x;
    if (x > 700) return infinity();
    if (x < -700) return 0;
    double scaled = x * 1.4426950408889634;
    int32_t k = (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    /* ln 2 in two parts: the first has 21 zero bits at its end, so that k times it is exact */
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double sum = 1;
    for (int n = 11; n >= 0; n--) sum = 1 + r * inverse[n] * sum;
    sum = 1 + r * sum;
    return sum * from_bits((uint64_t)(uint32_t)(k + 1023) << 52);
}

float morsel_exp(float x) {
    return (float)morsel_exp_wide((double)x);
}

float morsel_sigmoid(float x) {
    return (float)(1 / (1 + morsel_exp_wide(-(double)x)));
}

/* Below 2^-10 the series, since e^2x - 1 would cancel: its next term, 2 x^4 / 15, is below 2e-13. */
float morsel_tanh(float x) {
    double v = (double)x;
    if (v > 20) return 1;
    if (v < -20) return -1;
    if (v > -0.0009765625 && v < 0.0009765625) return (float)(v - v * v * v / 3);
    double e = morsel_exp_wide(2 * v);
    return (float)((e - 1) / (e + 1));
}

/* erf x = 2 / sqrt(pi) * e^(-x^2) * sum of x (2 x^2)^n / (1 * 3 * 5 ... (2n + 1)): all terms have one sign, nothing cancels. From 4 on, 1 -
 * erf x is below 1.6e-8, less than half a float step. The terms fall from n = x^2 on, and 80 of them leave 1e-13. Where one is too small to
 * change the sum, so are all after it. */
float morsel_erf(float x) {
    double v = (double)x;
    if (v >= 4) return 1;
    if (v <= -4) return -1;
    double term = v, sum = v;
    for (int n = 1; n <= 80; n++) {
        term = term * (2 * v * v) / (2 * n + 1);
        double next = sum + term;
        if (n > 16 && next == sum) break;
        sum = next;
    }
    return (float)(1.1283791670955126 * morsel_exp_wide(-v * v) * sum);
}

/* Newton's iteration in double from a guess that halves the exponent: 4 % off at worst, squared five times. A root of a float is never
 * closer than 2^-50 (relative) to a midpoint of floats without being one, so the conversion rounds correctly. */
float morsel_sqrt(float x) {
    double v = (double)x;
    if (!(v > 0) || v == infinity()) return v < 0 ? (float)((v - v) / (v - v)) : x;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    double root = from_bits((bits >> 1) + ((uint64_t)0x1ff8 << 48));
    for (int n = 0; n < 5; n++) root = 0.5 * (root + v / root);
    return (float)root;
}
