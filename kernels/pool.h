/* SPDX-License-Identifier: MIT */
/* What sums of an average pool are divided by. */
#ifndef MORSEL_POOL_H
#define MORSEL_POOL_H

#include "kernels.h"

/* How many of the `kernel` cells from `start` (counted from the edge of the padding) lie before `padded`. */
static inline uint32_t morsel_cells_within(uint32_t start, uint32_t kernel, uint32_t padded) {
    if (start >= padded) return 0;
    return padded - start < kernel ? padded - start : kernel;
}

/* What the sum is divided by: ONNX Runtime counts padding differently for bytes (all cells) and floats (cells that ceil_mode adds not). */
static inline uint32_t morsel_pool_divisor(const struct morsel_pool_args *a, uint32_t inside, uint32_t oy, uint32_t ox) {
    const struct morsel_window *w = &a->window;
    if (!a->count_include_pad) return inside;
    if (!a->x.qparams.is_float) return w->kernel_h * w->kernel_w;
    return morsel_cells_within(oy * w->stride_h, w->kernel_h, a->padded_h) *
           morsel_cells_within(ox * w->stride_w, w->kernel_w, a->padded_w);
}

#endif
