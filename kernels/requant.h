/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of results: how a sum or a float becomes a byte. Every ISA has its vector twin of these few functions.
 *
 *     sums      byte = round_half_even(clamp(float(acc) * multiplier, out_min - zero, out_max - zero)) + zero
 *     floats    the same with value / scale (a true division) for the product; a NaN gives the lowest byte
 *
 * float(acc) is the nearest float, ties to even, for any int32. The product is rounded once and never fused with anything. Clamping before
 * rounding equals rounding before clamping: the limits are integers, rounding is monotone and keeps integers. An infinite product (a
 * multiplier may be as large as FLT_MAX) is clamped like any other. Where both factors are finite, no NaN arises. One multiplier need not
 * be: of a row with a scale of its own (fc by lines), which is a product itself. Times a sum of 0 an infinite one is a NaN, which is stored
 * as the CPU makes it; such results are floats. A float bias (of quantizers that leave biases in float) is in steps of y, and is added to
 * the product in float.
 *
 * Round half to even without libm: for |v| <= 2^22, v + 1.5 * 2^23 lies in [2^23, 2^24], where floats are exactly the integers. So the
 * addition itself rounds to an integer, ties to even. The low bits of the sum are that integer above those of 1.5 * 2^23. Limits minus zero
 * points lie within -255..255, so the clamped value is always in range. Proven: tests/prove, round and limit.
 */
#ifndef MORSEL_REQUANT_H
#define MORSEL_REQUANT_H

#include "kernels.h"

#include <float.h>
#include <string.h>

/* 16: only what is shorter, as binary16, has its own precision, too. Big-endian machines compute nothing: morsel_open() tells them so. */
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,
               "float arithmetic must be done in float: with x87, build with -msse2 -mfpmath=sse");
#endif
_Static_assert(FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53, "IEEE floats");

/* In front of a loop: clang makes vectors of so many elements, where it would stop at four or unroll the loop first. Checks and profiles
 * may leave no vectors, which is no fault. */
#if defined(__clang__) && (defined(__SSE2__) || defined(__aarch64__))
#pragma clang diagnostic ignored "-Wpass-failed"
#define MORSEL_PRAGMA(text) _Pragma(#text)
#define MORSEL_VECTORS_OF(n) MORSEL_PRAGMA(clang loop vectorize_width(n) interleave_count(1) unroll(disable))
#else
#define MORSEL_VECTORS_OF(n)
#endif

/* |v| <= 2^22 */
static inline int32_t morsel_round(float v) {
    float shifted = v + 12582912.0f; /* 1.5 * 2^23 = 0x4b400000 */
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return bits - 0x4b400000;
}

/* A NaN stays one. */
static inline float morsel_clamp(float v, float low, float high) {
    return v < low ? low : v > high ? high : v;
}

/* `v` is in steps of y's scale, without the zero point; never a NaN. The result is in the unsigned domain. */
static inline uint8_t morsel_limit(const struct morsel_output *y, float v) {
    float low = (float)(y->out_min - y->qparams.zero);
    float high = (float)(y->out_max - y->qparams.zero);
    return (uint8_t)(morsel_round(morsel_clamp(v, low, high)) + y->qparams.zero);
}

/* A sum into element i; `channel` chooses the constants. */
static inline void morsel_store_sum(const struct morsel_output *y, size_t i, int32_t acc, float multiplier, const float *bias) {
    float v = (float)acc * multiplier;
    if (bias) v = v + *bias;
    if (!y->qparams.is_float) {
        ((uint8_t *)y->data)[i] = (uint8_t)(morsel_limit(y, v) ^ y->qparams.sign_flip);
        return;
    }
    ((float *)y->data)[i] = morsel_clamp(v, y->float_min, y->float_max);
}

/* A float into element i. CPUs differ in the NaN that they make, so it is stored as 0x7fc00000. */
static inline void morsel_store_float(const struct morsel_output *y, size_t i, float v) {
    static const uint32_t nan_bits = 0x7fc00000;
    v = morsel_clamp(v, y->float_min, y->float_max);
    if (y->qparams.is_float) {
        if (v != v) memcpy(&v, &nan_bits, sizeof v);
        ((float *)y->data)[i] = v;
        return;
    }
    float steps = v / y->qparams.scale;
    ((uint8_t *)y->data)[i] = (uint8_t)(morsel_limit(y, steps == steps ? steps : -FLT_MAX) ^ y->qparams.sign_flip);
}

/* Element i as a float. */
static inline float morsel_load_float(const struct morsel_input *x, size_t i) {
    if (x->qparams.is_float) return ((const float *)x->data)[i];
    return x->qparams.scale * (float)((int32_t)(((const uint8_t *)x->data)[i] ^ x->qparams.sign_flip) - x->qparams.zero);
}

/* An unsigned sum that wrapped as two's complement does, back to int32. */
static inline int32_t morsel_signed(uint32_t v) {
    int32_t s;
    memcpy(&s, &v, sizeof s);
    return s;
}

/*
 * a * b + c rounded once to float, for finite arguments, on any CPU.
 *
 * The product of two floats has at most 48 bits and an exponent of -298 or more: exact in double. Knuth's two-sum splits the sum with c
 * into s = double(p + c) and the exact rest e. No step can overflow: all are below 2^257. Where e is not 0, s is rounded to odd. Of the two
 * doubles around the exact sum the one is taken whose last bit is 1. That is s itself if it is odd, else its neighbour in the direction of
 * e. It lies on the same side of every float and of every midpoint of floats as the exact sum: those have their last 53 - 25 bits 0 and are
 * even. So the last conversion rounds as the exact sum would.
 */
static inline float morsel_fma(float a, float b, float c) {
    double p = (double)a * (double)b;
    double s = p + (double)c;
    double part = s - p;
    double rest = (p - (s - part)) + ((double)c - part);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    if (rest != 0 && !(bits & 1)) {
        bits += (rest > 0) == (s > 0) ? 1 : (uint64_t)-1;
        memcpy(&s, &bits, sizeof s);
    }
    return (float)s;
}

#define MORSEL_LANES 16 /* elements that the functions below work on at a time; arrays have as many entries */

/* n elements, at most sixteen, from element i on, `step` elements apart: as bytes in the unsigned domain, or as floats. */
void morsel_load_bytes(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n, uint8_t *to);
void morsel_load_floats(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n, float *to);

/* morsel_store_float of the first n of sixteen. */
void morsel_store_floats(const struct morsel_output *y, size_t i, uint32_t n, const float *v);

/* The first n of sixteen values in steps of y's scale, without `zero`, into bytes i and on; never a NaN. */
void morsel_store_steps(const struct morsel_output *y, size_t i, uint32_t n, const float *v, int32_t zero);

/* The first n of sixteen sums, modulo 2^32, with the constants of sixteen channels from `channel` on, into elements i and on. */
void morsel_store_sums(const struct morsel_output *y, size_t i, uint32_t n, const uint32_t *sums, const struct morsel_channels *c,
                       uint32_t channel);

#endif
