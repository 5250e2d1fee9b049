/* SPDX-License-Identifier: MIT */
/* What a convolution of bytes means, with groups of channels or with one filter for each channel. */
#include "sums.h"
#include "window.h"

/* Outputs of a convolution group are padded to 16 among the weights, taps of a row to 4. */
static void conv_output(const void *args, const struct morsel_place *at) {
    const struct morsel_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t depth = w->in_c / a->groups, outs = w->out_c / a->groups, group = at->channel / outs;
    uint32_t o = group * ((outs + 15) / 16 * 16) + at->channel % outs, row = (w->kernel_w * depth + 3) / 4 * 4, sum = 0;
    size_t ix;
    for (uint32_t ky = 0; ky < w->kernel_h; ky++)
        for (uint32_t kx = 0; kx < w->kernel_w; kx++)
            for (uint32_t c = 0; c < depth && morsel_column(w, at->ox, kx, &ix); c++) {
                int32_t x = morsel_integer(&a->x.qparams, at->rows[ky][ix * w->in_c + group * depth + c]);
                sum += (uint32_t)(x * morsel_weight(a->weights, &a->channels, w->kernel_h * row, o, ky * row + kx * depth + c));
            }
    morsel_put_sum(&a->y, at->element, sum, &a->channels, o);
}

void morsel_conv_rows_reference(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_for_outputs(&a->window, morsel_element_bytes(&a->y.qparams), rows, y, n, conv_output, a);
}

/* Taps stand column by column, each padded to 4. */
static void depthwise_output(const void *args, const struct morsel_place *at) {
    const struct morsel_conv_args *a = args;
    const struct morsel_window *w = &a->window;
    uint32_t column = (w->kernel_h + 3) / 4 * 4, sum = 0;
    size_t ix;
    for (uint32_t kx = 0; kx < w->kernel_w; kx++)
        for (uint32_t ky = 0; ky < w->kernel_h && morsel_column(w, at->ox, kx, &ix); ky++) {
            int32_t x = morsel_integer(&a->x.qparams, at->rows[ky][ix * morsel_x_step(w) + at->channel]);
            sum += (uint32_t)(x * morsel_weight(a->weights, &a->channels, w->kernel_w * column, at->channel, kx * column + ky));
        }
    morsel_put_sum(&a->y, at->element, sum, &a->channels, at->channel);
}

void morsel_depthwise_rows_reference(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    morsel_for_outputs(&a->window, morsel_element_bytes(&a->y.qparams), rows, y, n, depthwise_output, a);
}
