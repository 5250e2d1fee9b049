/* SPDX-License-Identifier: MIT */
/*
 * Products of lines of inputs with outputs' weights, as convolutions and matrix products need them: y[line][output] is the sum over k of
 * line[k] * weights[output][k]. The caller says how a line and how weights become 16-bit integers without their zero points, and where sums
 * go. This keeps as many lines as there is room for and four outputs at hand, so that neither is loaded or converted often.
 *
 * A sum of 16-bit products along two arrays is what compilers know to make of the vector instructions that any CPU has (pmaddwd, smlal).
 */
#ifndef MORSEL_PRODUCT_H
#define MORSEL_PRODUCT_H

#include "requant.h"

struct morsel_product {
    const void *args; /* the caller's */
    uint32_t lines, taps;
    uint32_t first, end; /* outputs; `first` is a multiple of 16 */
    /* Taps k .. k + n of `count` lines from `line` on, one every n entries. k and n are multiples of 8; past the taps stands 0. */
    void (*take_lines)(const struct morsel_product *p, int16_t *to, uint32_t line, uint32_t count, uint32_t k, uint32_t n);
    /* Taps k .. k + n of four outputs, or of those that there are, one every n entries; past the taps stands 0. */
    void (*take_weights)(const struct morsel_product *p, int16_t *to, uint32_t output, uint32_t k, uint32_t n);
    /* The first n of sixteen sums of a line, of outputs `output` and on; modulo 2^32. */
    void (*store)(const struct morsel_product *p, uint32_t line, uint32_t output, uint32_t n, const uint32_t *sums);
    struct morsel_room room;
    /* Where taps k and on of four outputs lie, [taps / 4][16][4] as in the blob: for machines without vectors, to whom it is the same to
     * multiply with bytes. NULL, or returning NULL: only take_weights() has them. */
    const int8_t *(*find_weights)(const struct morsel_product *p, uint32_t output, uint32_t k);
};

void morsel_multiply(const struct morsel_product *p);

/* n bytes less their zero point. */
void morsel_widen(int16_t *to, const uint8_t *x, uint32_t n, const struct morsel_qparams *qparams);

/* The next n of `taps` weights of four outputs. They are laid out [taps / 4][16][4], the first output's first at `w`. Each output's have n
 * entries, 0 past the taps. `zero`: of the four, or NULL. */
void morsel_take_weights(int16_t *to, const int8_t *w, uint32_t taps, uint32_t n, const int32_t *zero);

#endif
