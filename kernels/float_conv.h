/* SPDX-License-Identifier: MIT */
/*
 * What the kernels of float convolutions share. float_strip.c walks over a picture and gathers what a strip of pixels needs as floats. How
 * that is multiplied, added and stored each instruction set says by itself.
 */
#ifndef MORSEL_FLOAT_CONV_H
#define MORSEL_FLOAT_CONV_H

#include "requant.h"

#define MORSEL_FLOAT_PIXELS 8u /* of a strip */

struct morsel_float_isa;

/* A strip of pixels with blocks of outputs. */
struct morsel_float_strip {
    const struct morsel_float_conv_args *args;
    const struct morsel_float_isa *isa;
    const uint8_t *const *rows;
    const float *line;      /* all pixels' inputs where they lie: 1 x 1, row behind row without a gap; else NULL */
    uint32_t taps;          /* of an output */
    uint32_t cell, cells;   /* taps that lie side by side in a row of the picture; how many times so many a row of the window has */
    uint32_t first_channel; /* the first input channel */
    uint32_t first, pixels;
    uint32_t block, blocks;
    float (*sums)[MORSEL_FLOAT_PIXELS][8]; /* of each block */
    float *inputs;                         /* of some taps of all pixels, and room for MORSEL_LANES more */
    uint32_t most_blocks, most_taps;       /* blocks of eight outputs that inputs are gathered for; taps that are gathered at a time */
};

struct morsel_float_isa {
    /* n bytes as floats; up to fifteen floats behind them may change too. */
    void (*take_bytes)(const struct morsel_input *x, size_t at, uint32_t n, float *to);
    /* Adds taps k .. k + n to the sums: those of pixel p stand at x + p * step. */
    void (*add_taps)(struct morsel_float_strip *s, const float *x, size_t step, uint32_t k, uint32_t n);
    /* Of sums of eight outputs, a block or any where each has an input channel of its own, those of outputs from .. end, with their bias,
     * into y: those of pixel p for pixel `at` + p. */
    void (*store)(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t from, uint32_t end, float (*sums)[8], uint32_t pixels,
                  size_t at);
    /* A row of pixels where every output has an input channel of its own, from pixel `at` of y on. */
    void (*each_row)(const struct morsel_float_conv_args *a, const uint8_t *const *rows, size_t at);
};

void morsel_float_conv(const struct morsel_float_isa *isa, const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y,
                       uint32_t n);
void morsel_float_each_row_c(const struct morsel_float_conv_args *a, const uint8_t *const *rows, size_t at);

#endif
