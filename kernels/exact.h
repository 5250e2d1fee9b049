/* SPDX-License-Identifier: MIT */
/*
 * Products and sums are each rounded, whatever a build asks for: the bytes of float layers depend on it. Every source of the library that
 * computes with floats includes this before any function. clang obeys the pragma unless it is called with -ffp-contract=fast, and MSVC
 * without /fp:fast; gcc knows no pragma of the standard, but one of its own.
 */
#ifndef MORSEL_EXACT_H
#define MORSEL_EXACT_H

#if defined(__FAST_MATH__)
#error "Morsel is built without -ffast-math: its answers would depend on the compiler"
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#endif
