/* SPDX-License-Identifier: MIT */
/* Sixteen sums, each plus four products of unsigned and signed bytes. */
#ifndef MORSEL_DOT_AVX512_H
#define MORSEL_DOT_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* GCC copies every sum to another register and back around its own form of this instruction; not around ours. */
static inline __attribute__((always_inline)) __m512i morsel_dot512(__m512i acc, __m512i u, __m512i w) {
#if defined(__clang__)
    return _mm512_dpbusd_epi32(acc, u, w);
#else
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "vm"(w));
    return acc;
#endif
}

static inline __attribute__((always_inline)) __m512i morsel_broadcast512(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, sizeof v);
    return _mm512_set1_epi32(v);
}

#endif
