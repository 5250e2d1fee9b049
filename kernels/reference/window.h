/* SPDX-License-Identifier: MIT */
/* What the references of spatial operators share: every output of some rows, and the columns under a window. */
#ifndef MORSEL_REFERENCE_WINDOW_H
#define MORSEL_REFERENCE_WINDOW_H

#include "reference.h"

#include <stdbool.h>

/* An output: its window's rows, its place in the picture, its channel, its element of y. */
struct morsel_place {
    const uint8_t *const *rows;
    uint32_t oy, ox, channel;
    size_t element;
};
typedef void morsel_output_fn(const void *args, const struct morsel_place *at);

/* Calls fn for every output of rows y .. y + n; `bytes` are those of an element of y. */
static inline void morsel_for_outputs(const struct morsel_window *w, uint32_t bytes, const uint8_t *const *rows, uint32_t y, uint32_t n,
                                      morsel_output_fn *fn, const void *args) {
    for (uint32_t row = 0; row < n; row++)
        for (uint32_t ox = 0; ox < w->out_w; ox++)
            for (uint32_t c = 0; c < w->out_c; c++) {
                size_t pixel = (size_t)(y + row) * w->out_w + ox;
                struct morsel_place at = {rows + (size_t)row * w->kernel_h, (y + row) % w->out_h, ox, c,
                                          pixel * morsel_y_step(w, bytes) + c};
                fn(args, &at);
            }
}

/* The input column under tap column kx of output column ox; false where it is padding. */
static inline bool morsel_column(const struct morsel_window *w, uint32_t ox, uint32_t kx, size_t *ix) {
    int64_t at = (int64_t)ox * w->stride_w + (int64_t)kx * w->dilation_w - w->pad_left;
    *ix = (size_t)at;
    return at >= 0 && at < w->in_w;
}

#endif
