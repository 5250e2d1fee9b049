/* SPDX-License-Identifier: MIT */
/* What the tiles with SDOT share: the instruction, sums in sixteen registers, inputs of four pixels. */
#ifndef MORSEL_DOTPROD_H
#define MORSEL_DOTPROD_H

#include "arm64.h"

#define INLINE static inline __attribute__((always_inline))

struct sums {
    struct morsel_sum16 p0, p1, p2, p3;
};

/* In asm, and volatile, for the order alone: the compiler would gather the dot products of each pixel and run out of registers. */
#define DOT(sum, w, x, lane) __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[" #lane "]" : "+w"(sum) : "w"(w), "w"(x))

/* Addresses of four pixels' inputs. */
struct inputs {
    const uint8_t *a, *b, *c, *d;
};

INLINE int8x16_t load16(const uint8_t *x) {
    return vld1q_s8((const int8_t *)x);
}

INLINE int8x16_t load4(const uint8_t *x) {
    int32_t v;
    memcpy(&v, x, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(v));
}

#endif
