/* SPDX-License-Identifier: MIT */
/* Functions of one float. */
#include "float.h"

#include "float_plain.h"

static double from_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double infinity(void) {
    return from_bits((uint64_t)0x7ff << 52);
}

float morsel_exp(float x) {
    return eight_exp(x);
}

float morsel_sigmoid(float x) {
    return eight_sigmoid(x);
}

float morsel_tanh(float x) {
    return eight_tanh(x);
}

float morsel_erf(float x) {
    return eight_erf(x);
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

/* ---- powers ---- */

static double absolute(double v) {
    return v < 0 ? -v : v;
}

/* ln v for a normal v > 0, within 2^-44 of it: v = 2^k m, and twice the area tangent of (m - 1) / (m + 1). */
static double logarithm(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int32_t k = (int32_t)((bits - 0x3fe6a09e667f3bcdu + ((uint64_t)2048 << 52)) >> 52) - 2048;
    double m = from_bits(bits - ((uint64_t)(int64_t)k << 52)), s = (m - 1) / (m + 1), z = s * s, sum = 0;
    for (int n = 15; n >= 3; n -= 2) sum = (sum + 1.0 / n) * z;
    return k * 0.6931471805599453 + 2 * (s + s * sum);
}

/* e^v, or what leads to 0 or infinity as a float. */
static double exponential(double v) {
    v = v < -110 ? -110 : v > 90 ? 90 : v;
    double shifted = v * 1.4426950408889634 + 6755399441055744.0, k = shifted - 6755399441055744.0, r = v - k * 0.6931471805599453, sum = 1;
    for (int n = 12; n >= 1; n--) sum = 1 + sum * r / n;
    return sum * from_bits((uint64_t)((int64_t)k + 1023) << 52);
}

/* 0: no integer, 1: odd, 2: even. */
static int parity(double y) {
    if (!(absolute(y) < 16777216)) return 2; /* or a NaN, which none asks for */
    int64_t whole = (int64_t)y;
    return (double)whole != y ? 0 : whole & 1 ? 1 : 2;
}

float morsel_pow(float x, float y) {
    double a = (double)x, size = absolute(a), e = (double)y;
    int whole = parity(e);
    if (y == 0 || x == 1) return 1;
    if (x != x || y != y) return x + y;
    if (size == 1) return absolute(e) == infinity() || whole == 2 ? 1 : whole ? -1 : (float)((a - a) / (a - a));
    if (absolute(e) == infinity()) return (size > 1) == (e > 0) ? (float)infinity() : 0;
    float result =
        size == 0 || size == infinity() ? ((size > 1) == (e > 0) ? (float)infinity() : 0) : (float)exponential(e * logarithm(size));
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (bits >> 31 && whole == 1) return -result;
    return a < 0 && !whole && size != infinity() ? (float)((a - a) / (a - a)) : result;
}
