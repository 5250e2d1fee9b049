/* SPDX-License-Identifier: MIT */
/*
 * Convolutions in float, eight at a time, for instruction sets that have so many at hand. Lanes are outputs or channels, so that each sum
 * keeps the order of plain C. The file that includes this says before what they are:
 *
 *     eight                              eight floats
 *     eight_load, eight_save             from and to floats, at any address
 *     eight_load_half                    from eight binary16
 *     eight_all                          one float in all places
 *     eight_add, eight_mul, eight_scale  each result rounded, nothing fused; eight_scale by one float
 *     eight_sqrt                         the root, correctly rounded
 *     eight_number(a, x, y)              a NaN in `a` gives y, all else x
 *     eight_sub, eight_div and others    float_functions.h says what
 *     struct eight_reader, eight_reader  how eight bytes become floats; eight_load_bytes reads them
 *     struct eight_writer, eight_writer  how results become elements of y; eight_write stores n of eight, from one on, and
 *                                        eight_write_steps what is in steps of y already, as bytes
 */
#ifndef MORSEL_FLOAT_LOOPS_H
#define MORSEL_FLOAT_LOOPS_H

#include "float_conv.h"
#include "float_functions.h"

EIGHT_INLINE eight eight_weights(const void *w, size_t i, uint32_t half) {
    return half ? eight_load_half((const uint16_t *)w + i) : eight_load((const float *)w + i);
}

static void eight_take_bytes(const struct morsel_input *x, size_t at, uint32_t n, float *to) {
    struct eight_reader r = eight_reader(&x->qparams);
    for (; n >= 8; n -= 8, at += 8, to += 8) eight_save(to, eight_load_bytes(&r, (const uint8_t *)x->data + at));
    if (n) morsel_load_floats(x, at, 1, n, to);
}

/* ---- outputs with inputs in common ---- */

EIGHT_INLINE eight eight_more(eight sum, eight v, float x) {
    return eight_add(sum, eight_scale(v, x));
}

/* Eight pixels, the inputs of each `step` behind those of the one before, with a block of outputs. */
static void eight_pixels(const float *x, size_t step, uint32_t taps, const void *weights, size_t at, uint32_t half, float (*sums)[8]) {
    eight s0 = eight_load(sums[0]), s1 = eight_load(sums[1]), s2 = eight_load(sums[2]), s3 = eight_load(sums[3]);
    eight s4 = eight_load(sums[4]), s5 = eight_load(sums[5]), s6 = eight_load(sums[6]), s7 = eight_load(sums[7]);
    for (; taps; taps--, x++, at += 8) {
        eight v = eight_weights(weights, at, half);
        s0 = eight_more(s0, v, x[0]);
        s1 = eight_more(s1, v, x[step]);
        s2 = eight_more(s2, v, x[2 * step]);
        s3 = eight_more(s3, v, x[3 * step]);
        s4 = eight_more(s4, v, x[4 * step]);
        s5 = eight_more(s5, v, x[5 * step]);
        s6 = eight_more(s6, v, x[6 * step]);
        s7 = eight_more(s7, v, x[7 * step]);
    }
    eight_save(sums[0], s0);
    eight_save(sums[1], s1);
    eight_save(sums[2], s2);
    eight_save(sums[3], s3);
    eight_save(sums[4], s4);
    eight_save(sums[5], s5);
    eight_save(sums[6], s6);
    eight_save(sums[7], s7);
}

/* A pixel with four blocks of outputs, the weights of each `next` behind those of the one before. Or with up to `last`, which then stands
 * for those after it too, with the same result. */
static void eight_blocks(const float *x, uint32_t taps, const void *weights, size_t at, size_t next, uint32_t half, float (*sums)[8],
                         uint32_t last) {
    size_t b1 = last < 1 ? last : 1, b2 = last < 2 ? last : 2, b3 = last < 3 ? last : 3;
    float *to1 = sums[b1 * MORSEL_FLOAT_PIXELS], *to2 = sums[b2 * MORSEL_FLOAT_PIXELS], *to3 = sums[b3 * MORSEL_FLOAT_PIXELS];
    eight s0 = eight_load(sums[0]), s1 = eight_load(to1), s2 = eight_load(to2), s3 = eight_load(to3);
    for (; taps; taps--, x++, at += 8) {
        s0 = eight_more(s0, eight_weights(weights, at, half), *x);
        s1 = eight_more(s1, eight_weights(weights, at + b1 * next, half), *x);
        s2 = eight_more(s2, eight_weights(weights, at + b2 * next, half), *x);
        s3 = eight_more(s3, eight_weights(weights, at + b3 * next, half), *x);
    }
    eight_save(sums[0], s0);
    eight_save(to1, s1);
    eight_save(to2, s2);
    eight_save(to3, s3);
}

static void eight_add_taps(struct morsel_float_strip *s, const float *x, size_t step, uint32_t k, uint32_t n) {
    const void *weights = s->args->weights;
    uint32_t half = s->args->half;
    size_t next = (size_t)s->taps * 8;
    for (uint32_t b = 0, p = 0; b < s->blocks;) {
        size_t at = (s->block + b) * next + (size_t)k * 8;
        if (s->pixels == MORSEL_FLOAT_PIXELS) {
            eight_pixels(x, step, n, weights, at, half, s->sums[b++]);
            continue;
        }
        eight_blocks(x + p * step, n, weights, at, next, half, s->sums[b] + p, s->blocks - b - 1);
        if (++p == s->pixels) p = 0, b += 4;
    }
}

static void eight_store(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t from, uint32_t end, float (*sums)[8],
                        uint32_t pixels, size_t at) {
    struct eight_writer w = eight_writer(&a->y);
    eight bias = a->bias ? eight_load(a->bias + channel) : eight_all(0); /* a sum is never -0: 0 changes none */
    uint32_t first = from > channel ? from - channel : 0, n = (end - channel < 8 ? end - channel : 8) - first;
    at = at * a->window.out_c + channel + first;
    for (uint32_t p = 0; p < pixels; p++, at += a->window.out_c)
        eight_write(&w, a->y.data, at, first, n, eight_add(eight_load(sums[p]), bias));
}

/* ---- an input for each output ---- */

#define EIGHT_COLUMNS 128u /* of all rows of a window, that are gathered */
#define EIGHT_ROWS 16u

/* Four pixels, channels c .. c + 8. x: the first pixel's inputs in each row of the window; steps from column to column, pixel to pixel. */
static void eight_four_pixels(const struct morsel_float_conv_args *a, const float *const *x, size_t column, size_t pixel, uint32_t c,
                              float (*sums)[8]) {
    const struct morsel_window *w = &a->window;
    size_t wide = (w->out_c + 7) / 8 * 8, weights = c;
    eight s0 = eight_all(0), s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const float *in = x[ky];
        for (uint32_t kx = 0; kx < w->kernel_w; kx++, in += column, weights += wide) {
            eight v = eight_weights(a->weights, weights, a->half);
            s0 = eight_add(s0, eight_mul(v, eight_load(in)));
            s1 = eight_add(s1, eight_mul(v, eight_load(in + pixel)));
            s2 = eight_add(s2, eight_mul(v, eight_load(in + 2 * pixel)));
            s3 = eight_add(s3, eight_mul(v, eight_load(in + 3 * pixel)));
        }
    }
    eight_save(sums[0], s0);
    eight_save(sums[1], s1);
    eight_save(sums[2], s2);
    eight_save(sums[3], s3);
}

/* `columns` columns of a row from the one `left` on, channels c .. c + 8, as floats: 0 for padding. */
static void eight_gather(const struct morsel_float_conv_args *a, const uint8_t *row, uint32_t left, uint32_t columns, uint32_t c,
                         float *to) {
    struct eight_reader r = eight_reader(&a->x.qparams);
    for (uint32_t end = left + columns; left != end; left++, to += 8) {
        size_t at = (size_t)left * a->window.in_c + c;
        eight v = eight_all(0);
        if (row && left < a->window.in_w)
            v = a->x.qparams.is_float ? eight_load((const float *)(const void *)row + at) : eight_load_bytes(&r, row + at);
        eight_save(to, v);
    }
}

/* Up to four pixels of a row from column ox on, channels c .. c + 8: from where they lie, or from where they are gathered. */
static void eight_four(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t columns, uint32_t whole,
                       uint32_t c, float (*sums)[8]) {
    const struct morsel_window *w = &a->window;
    uint32_t left = ox * w->stride_w - w->pad_left; /* left of the picture: huge */
    uint32_t inside = whole && left < w->in_w && left + columns - 1 < w->in_w;
    size_t step = inside ? w->in_c : 8;
    float gathered[EIGHT_COLUMNS * 8], *to = gathered;
    const float *x[EIGHT_ROWS];
    for (uint32_t ky = 0; ky < w->kernel_h; ky++, to += columns * 8) {
        x[ky] = inside ? (const float *)(const void *)rows[ky] + (size_t)left * w->in_c + c : to;
        if (!inside) eight_gather(a, rows[ky], left, columns, c, to);
    }
    eight_four_pixels(a, x, step * w->dilation_w, step * w->stride_w, c, sums);
}

/* The last eight channels overlap with those before them, and the last four pixels too, unless there are fewer. */
static void eight_each_row(const struct morsel_float_conv_args *a, const uint8_t *const *rows, size_t at) {
    const struct morsel_window *w = &a->window;
    uint32_t columns = 3 * w->stride_w + (w->kernel_w - 1) * w->dilation_w + 1, whole = a->x.qparams.is_float;
    uint32_t pixels = w->out_w < 4 ? w->out_w : 4;
    if (w->out_c < 8 || w->kernel_h > EIGHT_ROWS || columns > EIGHT_COLUMNS / w->kernel_h) {
        morsel_float_each_row_c(a, rows, at);
        return;
    }
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) whole &= rows[ky] != NULL;
    for (uint32_t first = 0; first < w->out_w; first += 4) {
        uint32_t ox = w->out_w - first < pixels ? w->out_w - pixels : first;
        for (uint32_t channel = 0; channel < w->out_c; channel += 8) {
            uint32_t c = w->out_c - channel < 8 ? w->out_c - 8 : channel;
            float sums[4][8];
            eight_four(a, rows, ox, columns, whole, c, sums);
            eight_store(a, c, c, w->out_c, sums, pixels, at + ox);
        }
    }
}

static const struct morsel_float_isa eight_isa = {eight_take_bytes, eight_add_taps, eight_store, eight_each_row};

#endif
