/* SPDX-License-Identifier: MIT */
/*
 * Products and sums are each rounded, whatever a build asks for: the bytes of float layers depend on it. Every source of the library that
 * computes with floats includes this before any function. clang obeys the pragma unless it is called with -ffp-contract=fast, and MSVC
 * without /fp:fast; gcc knows no pragma of the standard, but one of its own.
 */
#ifndef MORSEL_EXACT_H
#define MORSEL_EXACT_H

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(_M_FP_FAST) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "Compile Morsel without -ffast-math, -Ofast, -funsafe-math-optimizations, -ffinite-math-only, /fp:fast: they change its answers"
#endif

/* Float vectors of MVE, as Cortex-M55 has, flush subnormal numbers to zero; scalars do not. gcc gets vectors of integers alone; clang has
 * no pragma that holds to the end of a file. */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#if defined(__clang__)
#error "Compile Morsel without float vectors of MVE, as by -mcpu=cortex-m55+nomve.fp: they flush subnormal numbers to zero"
#else
#pragma GCC target("arch=armv8.1-m.main+mve+fp.dp")
#endif
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#endif
