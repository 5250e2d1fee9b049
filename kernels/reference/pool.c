/* SPDX-License-Identifier: MIT */
/* What pools mean: padding enters neither a maximum nor a sum. */
#include "../requant.h"
#include "window.h"

/* Cells of a window along one axis that lie within the padded picture. */
static uint32_t cells_within(uint32_t start, uint32_t kernel, uint32_t padded) {
    if (start >= padded) return 0;
    return padded - start < kernel ? padded - start : kernel;
}

/* Whether padding counts, and how much of it, as ONNX Runtime does: whole windows for bytes, the padded picture for floats. */
static uint32_t divisor(const struct morsel_pool_args *a, const struct morsel_place *at, uint32_t inside) {
    const struct morsel_window *w = &a->window;
    if (!a->count_include_pad) return inside;
    if (!a->x.qparams.is_float) return w->kernel_h * w->kernel_w;
    return cells_within(at->oy * w->stride_h, w->kernel_h, a->padded_h) * cells_within(at->ox * w->stride_w, w->kernel_w, a->padded_w);
}

/* The zero point is added in float, before rounding, in the integers of y's own type. A NaN becomes the zero point. */
static void store_mean(const struct morsel_output *y, size_t i, float mean) {
    float zero = (float)(y->qparams.zero - y->qparams.own), steps = mean / y->qparams.scale + zero;
    float low = (float)(y->out_min - y->qparams.own), high = (float)(y->out_max - y->qparams.own);
    int32_t u = morsel_round(morsel_clamp(steps == steps ? steps : zero, low, high)) + y->qparams.own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->qparams.sign_flip);
}

/* The sum is taken row by row in float. */
static void average_output(const void *args, const struct morsel_place *at) {
    const struct morsel_pool_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t inside = 0;
    float sum = 0;
    size_t ix;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const struct morsel_input row = {at->rows[ky], a->x.qparams};
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            if (!row.data || !morsel_column(w, at->ox, kx, &ix)) continue;
            sum += morsel_load_float(&row, ix * w->in_c + at->channel);
            inside++;
        }
    }
    uint32_t count = divisor(a, at, inside);
    float mean = count ? sum / (float)count : 0;
    if (a->y.qparams.is_float) morsel_store_float(&a->y, at->element, mean);
    else store_mean(&a->y, at->element, mean);
}

void morsel_average_pool_rows_reference(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_for_outputs(&a->window, morsel_element_bytes(&a->y.qparams), rows, y, n, average_output, a);
}

/* Both tensors have the same quantization parameters but for the sign flip: bytes are compared as they are. A NaN is never the largest. */
static void max_output(const void *args, const struct morsel_place *at) {
    const struct morsel_pool_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t most = (uint32_t)a->y.out_min;
    float float_most = a->y.float_min;
    size_t ix;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++)
        for (uint32_t kx = 0; kx < w->kernel_w; kx++) {
            if (!at->rows[ky] || !morsel_column(w, at->ox, kx, &ix)) continue;
            ix = ix * w->in_c + at->channel;
            if (a->y.qparams.is_float) {
                float v = ((const float *)(const void *)at->rows[ky])[ix];
                if (v > float_most) float_most = v;
            } else if ((at->rows[ky][ix] ^ a->x.qparams.sign_flip) > most) {
                most = at->rows[ky][ix] ^ a->x.qparams.sign_flip;
            }
        }
    if (most > (uint32_t)a->y.out_max) most = (uint32_t)a->y.out_max;
    if (a->y.qparams.is_float) ((float *)a->y.data)[at->element] = float_most;
    else ((uint8_t *)a->y.data)[at->element] = (uint8_t)(most ^ a->y.qparams.sign_flip);
}

void morsel_max_pool_rows_reference(const struct morsel_pool_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_for_outputs(&a->window, morsel_element_bytes(&a->y.qparams), rows, y, n, max_output, a);
}
