/* SPDX-License-Identifier: MIT */
/* Many rows of a matrix product are a convolution 1 x 1 over a picture of one row, which has faster tiles. */
#ifndef MORSEL_FC_ROWS_H
#define MORSEL_FC_ROWS_H

#include "x86.h"

#include <immintrin.h>

#define MORSEL_FC_LEAST 4u /* rows that are worth it */

/* Zero point and scale of a row; the scale is 1 where the multipliers have it already. */
static inline int32_t morsel_fc_zero(const struct morsel_fc_args *a, size_t row) {
    return a->lines ? morsel_found_zero(a->lines + 2 * row) : a->x.qparams.zero;
}

static inline float morsel_fc_scale(const struct morsel_fc_args *a, size_t row) {
    return a->lines ? a->lines[2 * row] : 1;
}

/* Of a row whose weights have a zero point: K zero - the sum of its K bytes, with the padding, which is 0 ^ flip. */
static inline int32_t morsel_fc_below(const struct morsel_fc_args *a, const uint8_t *x, int32_t zero) {
    const uint8_t flip = (uint8_t)a->x.qparams.sign_flip;
    uint32_t wide = (a->inputs + 3) / 4 * 4;
    return (int32_t)(wide * (uint32_t)zero - (wide - a->inputs) * flip - morsel_sum_bytes_avx2(x, a->inputs, flip));
}

/* n rows from x, whose results are `step` elements apart. */
static inline struct morsel_conv_args morsel_fc_as_conv(const struct morsel_fc_args *a, uint32_t n, uint32_t step) {
    const struct morsel_window w = {
        1, n, a->inputs, 1, n, a->outputs, 1, 1, 1, 1, 1, 1, 0, 0, n * a->inputs, n * step * morsel_element_bytes(&a->y.qparams)};
    struct morsel_conv_args args = {.window = w, .x = a->x, .y = a->y, .weights = a->weights, .channels = a->channels, .groups = 1};
    args.room = a->room;
    if (a->lines) args.x.qparams.zero = 0; /* zero points come with the results */
    return args;
}

/* The units begin .. end: rows that are whole, and at least `least`, by `conv` where its tiles take them; the others by `few`. */
void morsel_fc_rows(const struct morsel_fc_args *a, uint32_t begin, uint32_t end, uint32_t least, morsel_conv_has_tiles_fn *tiles,
                    morsel_conv_lines_fn *conv, morsel_fc_fn *few);

#endif
