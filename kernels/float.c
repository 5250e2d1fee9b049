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
