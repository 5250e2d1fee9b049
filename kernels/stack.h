/* SPDX-License-Identifier: MIT */
/* What the library may take of the stack. */
#ifndef MORSEL_STACK_H
#define MORSEL_STACK_H

#include <stdint.h>

/* Whether this machine has kernels of its own. Those in plain C are all there is elsewhere; they prefetch nothing. */
#if defined(MORSEL_PLAIN_C) || !(defined(__aarch64__) || defined(__x86_64__))
#define MORSEL_OWN_KERNELS 0
#else
#define MORSEL_OWN_KERNELS 1
#endif

/* Whether the stack is not that of a task of a microcontroller: MORSEL_STACK_BYTES of core/morsel.h says the same. */
#if defined(MORSEL_ROOMY_STACK)
#elif MORSEL_OWN_KERNELS || defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__) || UINTPTR_MAX > 0xffffffffu
#define MORSEL_ROOMY_STACK 1
#else
#define MORSEL_ROOMY_STACK 0
#endif

/* Of what calls no further: its frame is gone when others come, where the stack is small. */
#if MORSEL_ROOMY_STACK
#define MORSEL_OWN_FRAME
#else
#define MORSEL_OWN_FRAME __attribute__((noinline))
#endif

#endif
