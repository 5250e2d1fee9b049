/* SPDX-License-Identifier: MIT */
/*
 * round_half_even(x / scale) without a division, as a true division would give it.
 *
 * With r = 1 / scale, rounded, and q = x * r: q + (x - q * scale) * r, where the rest x - q * scale is rounded once and so is the sum. That
 * is the quotient up to one unit in the last place at most, and rounds to the same integer: tests/unit/kernels/test_quotient.c compares
 * both, for all scales, next to where a result changes. Powers of two change nothing, while nothing underflows.
 *
 * From above x is limited, so that no quotient leaves the int32s; from below they become the lowest int32, as a NaN does.
 */
#ifndef MORSEL_QUOTIENT_256_H
#define MORSEL_QUOTIENT_256_H

#include "x86.h"

#include <immintrin.h>

/* Scales between 2^-60 and 2^60. */
static inline int morsel_quotient_fits(float scale) {
    return scale >= 8.6736174e-19f && scale <= 1.1529215e18f;
}

struct morsel_quotient256 {
    __m256 scale, inverse, most;
};

static inline struct morsel_quotient256 morsel_quotient256(float scale) {
    struct morsel_quotient256 q = {_mm256_set1_ps(scale), _mm256_set1_ps(1 / scale), _mm256_set1_ps(scale * 1024)};
    return q;
}

MORSEL_INLINE __m256i morsel_steps256(const struct morsel_quotient256 *q, __m256 x) {
    x = _mm256_min_ps(q->most, x); /* a NaN stays */
    __m256 v = _mm256_mul_ps(x, q->inverse);
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_fnmadd_ps(v, q->scale, x), q->inverse, v));
}

#endif
