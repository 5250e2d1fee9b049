/* SPDX-License-Identifier: MIT */
/* Eight sums, each plus four products of unsigned and signed bytes. */
#ifndef MORSEL_DOT_AVXVNNI_H
#define MORSEL_DOT_AVXVNNI_H

#include "x86.h"

#include <immintrin.h>

/* AVX512-VNNI has the same instructions in another encoding: a build with MORSEL_AVXVNNI_EVEX tries these kernels on CPUs that have no
 * AVX-VNNI. */
#if defined(MORSEL_AVXVNNI_EVEX)
#define MORSEL_DPBUSD "%{evex%} vpdpbusd"
#else
#define MORSEL_DPBUSD "%{vex%} vpdpbusd"
#endif

/* GCC copies every sum to another register and back around its own form of this instruction; not around ours. */
MORSEL_INLINE __m256i morsel_dot256(__m256i acc, __m256i u, __m256i w) {
#if defined(__clang__)
    return _mm256_dpbusd_avx_epi32(acc, u, w);
#else
    __asm__(MORSEL_DPBUSD " %2, %1, %0" : "+x"(acc) : "x"(u), "xm"(w));
    return acc;
#endif
}

/* Weights straight from memory, for want of registers. */
MORSEL_INLINE __m256i morsel_dot256_memory(__m256i acc, __m256i u, const int8_t *w) {
#if defined(__clang__)
    return _mm256_dpbusd_avx_epi32(acc, u, _mm256_loadu_si256((const __m256i *)(const void *)w));
#else
    __asm__(MORSEL_DPBUSD " %2, %1, %0" : "+x"(acc) : "x"(u), "m"(*(const int8_t(*)[32])w));
    return acc;
#endif
}

#endif
