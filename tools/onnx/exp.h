/* SPDX-License-Identifier: MIT */
/* The exponential function in a form that compilers make vectors of, the same bits on every machine. */
#ifndef MORSEL_TOOLS_ONNX_EXP_H
#define MORSEL_TOOLS_ONNX_EXP_H

#include <stdint.h>

/*
 * exp(x) within 2 units in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, and a polynomial for exp(r). 2^n comes in two factors: what
 * is too large becomes infinite, and what is too small fades into zero. No number stays no number.
 */
static inline float exp_float(float x) {
    union bits {
        float number;
        uint32_t whole;
    } rounded, left, right;
    /* Beyond these it is 0 or infinite; n stays within -151 to 131. */
    x = x < -104.0F ? -104.0F : x;
    x = x > 90.0F ? 90.0F : x;
    /* Adding 1.5 * 2^23 rounds to whole numbers, which then stand in the low bits. */
    rounded.number = x * 1.44269504F + 12582912.0F;
    const float n = rounded.number - 12582912.0F;
    const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F; /* n * 0.693145752 is exact: 16 bits times 8 */
    float p = 1.0F / 5040;
    p = p * r + 1.0F / 720;
    p = p * r + 1.0F / 120;
    p = p * r + 1.0F / 24;
    p = p * r + 1.0F / 6;
    p = p * r + 0.5F;
    p = p * r + 1;
    p = p * r + 1;
    const uint32_t whole = rounded.whole - 0x4B400000u + 512; /* n + 512 */
    left.whole = (whole / 2 - 256 + 127) << 23;
    right.whole = (whole - whole / 2 - 256 + 127) << 23;
    return p * left.number * right.number;
}

#endif
