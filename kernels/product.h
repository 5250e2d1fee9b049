/* SPDX-License-Identifier: MIT */
/*
 * Products of lines of inputs with outputs' weights, as convolutions and matrix products need them: y[line][output] is the sum over k of
 * line[k] * weights[output][k]. The caller says how a line becomes 16-bit integers without their zero point, and where sums go. This keeps
 * as many lines as there is room for and four outputs at hand, so that neither is loaded or converted often.
 *
 * A sum of 16-bit products along two arrays is what compilers know to make of the vector instructions that any CPU has (pmaddwd, smlal).
 */
#ifndef MORSEL_PRODUCT_H
#define MORSEL_PRODUCT_H

#include "requant.h"

/* What lines are multiplied by. A machine without vectors multiplies with bytes as well, and takes weights where they lie. */
#if MORSEL_ROOMY_STACK || defined(__ARM_FEATURE_MVE)
#define MORSEL_WIDE_FACTORS 1
typedef int16_t morsel_factor;
#else
#define MORSEL_WIDE_FACTORS 0
typedef int8_t morsel_factor;
#endif

struct morsel_product {
    const void *args; /* the caller's */
    uint32_t lines, taps;
    uint32_t first, end; /* outputs; `first` is a multiple of 16 */
    /* Taps k .. k + n of `count` lines from `line` on, one every n entries. k and n are multiples of 8; past the taps stands 0. */
    void (*take_lines)(const struct morsel_product *p, int16_t *to, uint32_t line, uint32_t count, uint32_t k, uint32_t n);
    /* The first n of sixteen sums of a line, of outputs `output` and on; modulo 2^32. */
    void (*store)(const struct morsel_product *p, uint32_t line, uint32_t output, uint32_t n, const uint32_t *sums);
    struct morsel_room room;
    /* [outputs / 16][taps / 4][16][4], as blobs have them; zero points of outputs, or NULL. */
    const int8_t *weights;
    const int32_t *weight_zero;
    /* NULL, or what gives taps k .. k + n of four outputs, or of those that there are, in place of weights: wide ones one output every n
     * entries, less their zero point, 0 past the taps; else [n / 4][4][4] with `weight_zero`, that of any four, still to be taken off. */
    void (*take_columns)(const struct morsel_product *p, morsel_factor *to, uint32_t output, uint32_t k, uint32_t n);
};

void morsel_multiply(const struct morsel_product *p);

/* n bytes less their zero point. */
void morsel_widen(int16_t *to, const uint8_t *x, uint32_t n, const struct morsel_qparams *qparams);

#endif
