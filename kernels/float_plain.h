/* SPDX-License-Identifier: MIT */
/* float_functions.h in plain C: one float stands for eight. Nothing branches, so that compilers make vectors of loops over it. */
#ifndef MORSEL_FLOAT_PLAIN_H
#define MORSEL_FLOAT_PLAIN_H

#include <stdint.h>
#include <string.h>

typedef float eight;

static inline uint32_t eight_bits(eight v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline eight eight_of_bits(uint32_t bits) {
    eight v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline eight eight_all(float v) {
    return v;
}

static inline eight eight_add(eight a, eight b) {
    return a + b;
}

static inline eight eight_sub(eight a, eight b) {
    return a - b;
}

static inline eight eight_mul(eight a, eight b) {
    return a * b;
}

static inline eight eight_div(eight a, eight b) {
    return a / b;
}

static inline eight eight_select(eight a, eight b, eight x, eight y) {
    return a < b ? x : y;
}

static inline eight eight_abs(eight a) {
    return eight_of_bits(eight_bits(a) & 0x7fffffff);
}

static inline eight eight_signed(eight a, eight from) {
    return eight_of_bits((eight_bits(a) & 0x7fffffff) | (eight_bits(from) & 0x80000000));
}

/* In two steps, since 2^-150 and 2^128 are no floats. With 512 added n is not negative, and half of it is rounded down. */
static inline eight eight_power(eight v, eight shifted) {
    uint32_t n = eight_bits(shifted) - 0x4b400000 + 512, half = (n >> 1) - 256, rest = n - 512 - half;
    return v * eight_of_bits((half + 127) << 23) * eight_of_bits((rest + 127) << 23);
}

/* The lowest nine bits of what EIGHT_SHIFT is are 0. */
static inline eight eight_power_near(eight v, eight shifted) {
    return v * eight_of_bits((eight_bits(shifted) + 127) << 23);
}

#include "float_functions.h"

#include "float_activations.h"

#endif
