/* SPDX-License-Identifier: MIT */
/* Average pools of floats and bytes, eight channels at a time. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_POOLS_H
#define MORSEL_FLOAT_POOLS_H

#include "float_few.h"
#include "pool.h"

/* The cells of a window inside the picture. */
struct eight_cells {
    const uint8_t *row[64];
    uint32_t rows, first, columns; /* first: input column; one every dilation_w */
};

/* Columns of the window at `ix`, which is huge where it begins left of the picture. */
static void eight_find_columns(struct eight_cells *cells, const struct morsel_window *w, uint32_t ix) {
    uint32_t n = w->kernel_w;
    for (; n && ix >= w->in_w; n--) ix += w->dilation_w;
    cells->first = ix;
    for (cells->columns = 0; n && ix < w->in_w; n--, ix += w->dilation_w) cells->columns++;
}

/* The sums of channels c .. c + 8 and of the eight from c + second on: row by row, each addition rounded. */
static void eight_pool_sums(const struct morsel_pool_args *a, const struct eight_reader *r, const struct eight_cells *cells, uint32_t c,
                            uint32_t second, eight *low, eight *high) {
    const size_t step = (size_t)a->window.dilation_w * a->window.in_c, first = (size_t)cells->first * a->window.in_c + c;
    const struct eight_reader reader = *r;
    eight sum = eight_all(0), next = sum;
    for (uint32_t k = 0; k < cells->rows; k++) {
        const uint8_t *bytes = cells->row[k] + first;
        const float *floats = (const float *)(const void *)cells->row[k] + first;
        for (uint32_t i = 0; a->x.qparams.is_float && i < cells->columns; i++, floats += step) {
            sum = eight_add(sum, eight_load(floats));
            next = eight_add(next, eight_load(floats + second));
        }
        for (uint32_t i = 0; !a->x.qparams.is_float && i < cells->columns; i++, bytes += step) {
            sum = eight_add(sum, eight_load_bytes(&reader, bytes));
            next = eight_add(next, eight_load_bytes(&reader, bytes + second));
        }
    }
    *low = sum, *high = next;
}

/* The same of all channels, fewer than eight. */
static eight eight_pool_some(const struct morsel_pool_args *a, const struct eight_reader *r, const struct eight_cells *cells) {
    struct morsel_input x = a->x;
    const uint32_t n = a->window.out_c;
    size_t step = (size_t)a->window.dilation_w * a->window.in_c, first = (size_t)cells->first * a->window.in_c;
    eight sum = eight_all(0);
    for (uint32_t k = 0; k < cells->rows; k++) {
        x.data = cells->row[k];
        for (uint32_t i = 0; i < cells->columns; i++) sum = eight_add(sum, eight_read_few(r, &x, first + i * step, n));
    }
    return sum;
}

/* Sums to means, for bytes in steps of y's scale: the zero point is added in float before rounding, and a NaN becomes it. */
EIGHT_INLINE eight eight_pool_mean(const struct morsel_qparams *y, eight sum, uint32_t count) {
    const eight zero = eight_all((float)(y->zero - y->own)), mean = count ? eight_div(sum, eight_all((float)count)) : eight_all(0);
    if (y->is_float) return mean;
    const eight v = eight_add(eight_div(mean, eight_all(y->scale)), zero);
    return eight_number(v, v, zero);
}

/* `w` writes bytes in steps of 1 from their own type's 0. */
static void eight_pool_pixel(const struct morsel_pool_args *a, const struct eight_reader *r, const struct eight_writer *w,
                             const struct eight_cells *cells, uint32_t count, size_t pixel) {
    const struct morsel_qparams *q = &a->y.qparams;
    const size_t at = pixel * a->window.out_c;
    const uint32_t channels = a->window.out_c, second = channels < 16 ? channels - 8 : 8, both = second + 8;
    eight low, high;
    if (channels < 8) {
        eight_put(w, a->y.data, at, channels, eight_pool_mean(q, eight_pool_some(a, r, cells), count));
        return;
    }
    for (uint32_t c = 0; c < channels; c += both) {
        if (channels - c < both) c = channels - both; /* some are done twice */
        eight_pool_sums(a, r, cells, c, second, &low, &high);
        eight_put(w, a->y.data, at + c, 8, eight_pool_mean(q, low, count));
        eight_put(w, a->y.data, at + c + second, 8, eight_pool_mean(q, high, count));
    }
}

static void eight_average_pool(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct morsel_output to = a->y;
    struct eight_cells cells;
    if (!to.qparams.is_float) {
        to.qparams.scale = 1;
        to.qparams.zero = to.qparams.own;
        to.float_min = -FLT_MAX, to.float_max = FLT_MAX;
    }
    const struct eight_reader r = eight_reader(&a->x.qparams);
    const struct eight_writer writer = eight_writer(&to);
    for (uint32_t i = 0; i < n; i++, rows += w->kernel_h) {
        cells.rows = 0;
        for (uint32_t ky = 0; ky < w->kernel_h; ky++)
            if (rows[ky]) cells.row[cells.rows++] = rows[ky];
        for (uint32_t ox = 0; ox < w->out_w; ox++) {
            eight_find_columns(&cells, w, ox * w->stride_w - w->pad_left);
            uint32_t count = morsel_pool_divisor(a, cells.rows * cells.columns, (y + i) % w->out_h, ox);
            eight_pool_pixel(a, &r, &writer, &cells, count, (size_t)(y + i) * w->out_w + ox);
        }
    }
}

#endif
