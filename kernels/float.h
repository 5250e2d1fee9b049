/* SPDX-License-Identifier: MIT */
/*
 * Functions of floats without libm: the same bits on every CPU, because they are made of IEEE additions, multiplications and divisions in
 * one order (float_functions.h, which states their errors).
 */
#ifndef MORSEL_FLOAT_H
#define MORSEL_FLOAT_H

#include "exact.h"
#include <stdint.h>
#include <string.h>

float morsel_exp(float x);
float morsel_sigmoid(float x);
float morsel_tanh(float x);
float morsel_erf(float x);
/* Eight partial sums of a line, element i being in number i % 8. */
static inline float morsel_add_eight(const float *partial) {
    const float even = (partial[0] + partial[4]) + (partial[2] + partial[6]), odd = (partial[1] + partial[5]) + (partial[3] + partial[7]);
    return even + odd;
}

/* Of 32 partial sums of a line, element i being in number i % 32. */
static inline float morsel_add_32(const float *partial) {
    float eight[8];
    for (int i = 0; i < 8; i++) eight[i] = (partial[i] + partial[i + 16]) + (partial[i + 8] + partial[i + 24]);
    return morsel_add_eight(eight);
}

float morsel_sqrt(float x);         /* correctly rounded; a NaN below 0 */
float morsel_pow(float x, float y); /* within 0.5002 units in the last place; special values as C's powf() has them */

/* A finite binary16 by its bits, exactly. Its fraction has ten bits and its exponent a bias of 15, those of a float 23 and 127. What is
 * below 2^-14 is a count of steps of 2^-24: an integer made a float and divided in the exponent. So no float on the way is one that a CPU
 * may take for 0. */
static inline float morsel_from_half(uint16_t half) {
    uint32_t size = half & 0x7fffu, bits = (size << 13) + ((127u - 15) << 23);
    float v = (float)size;
    if (size && size < 0x400) {
        memcpy(&bits, &v, sizeof bits);
        bits -= 24u << 23;
    }
    bits = (size ? bits : 0) | (uint32_t)(half & 0x8000u) << 16;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
