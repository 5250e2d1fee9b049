/* SPDX-License-Identifier: MIT */
/* What a convolution with float weights means: the order of its additions is part of it. */
#include "../requant.h"
#include "window.h"

/* By the definition of binary16; exact in double. */
static float from_half(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double v = exponent ? 1024 + (bits & 1023) : bits & 1023;
    for (int e = exponent ? exponent : 1; e < 25; e++) v /= 2;
    for (int e = exponent; e > 25; e--) v *= 2;
    return (float)(bits >> 15 ? -v : v);
}

/* Weight k of an output, in blocks [k][8]; with one filter for each channel [k][pad8(out_c)]. */
static float weight(const struct morsel_float_conv_args *a, uint32_t channel, uint32_t k) {
    const struct morsel_window *w = &a->window;
    uint32_t taps = w->kernel_h * w->kernel_w * (w->in_c / a->groups);
    size_t at = (size_t)(channel / 8) * taps * 8 + (size_t)k * 8 + channel % 8;
    if (a->groups == w->in_c && a->groups == w->out_c) at = (size_t)k * ((w->out_c + 7) / 8 * 8) + channel;
    return a->half ? from_half(((const uint16_t *)a->weights)[at]) : ((const float *)a->weights)[at];
}

/* ky, kx, channel, each sum rounded to float; then the bias. */
static void output(const void *args, const struct morsel_place *at) {
    const struct morsel_float_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t depth = w->in_c / a->groups, first = at->channel / (w->out_c / a->groups) * depth;
    float sum = 0;
    size_t ix;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
        const struct morsel_input row = {at->rows[ky], a->x.qparams};
        for (uint32_t kx = 0; kx < w->kernel_w; kx++)
            for (uint32_t c = 0; c < depth && row.data && morsel_column(w, at->ox, kx, &ix); c++)
                sum += morsel_load_float(&row, ix * w->in_c + first + c) * weight(a, at->channel, (ky * w->kernel_w + kx) * depth + c);
    }
    morsel_store_float(&a->y, at->element, a->bias ? sum + a->bias[at->channel] : sum);
}

void morsel_float_conv_rows_reference(const struct morsel_float_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_for_outputs(&a->window, morsel_element_bytes(&a->y.qparams), rows, y, n, output, a);
}
