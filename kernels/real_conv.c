/* SPDX-License-Identifier: MIT */
/* Convolution of real numbers. The order of the additions is part of the meaning: ky, kx, channel, each sum rounded to float. */
#include "requant.h"

/* One output: the taps inside the picture, then the bias. */
static float window_sum(const struct morsel_real_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t channel) {
    const struct morsel_window *win = &a->window;
    uint32_t depth = win->in_c / a->groups, group = channel / (win->out_c / a->groups);
    const float *w = a->weights + (size_t)channel * win->kernel_h * win->kernel_w * depth;
    float sum = 0;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < win->kernel_w; kx++, w += depth) {
            uint32_t ix = ox * win->stride_w + kx * win->dilation_w - win->pad_left; /* left of the picture: huge */
            if (!rows[ky] || ix >= win->in_w) continue;
            struct morsel_input row = {rows[ky], a->x.code};
            size_t first = (size_t)ix * win->in_c + group * depth;
            for (uint32_t c = 0; c < depth; c++) sum += morsel_load_real(&row, first + c) * w[c];
        }
    }
    return a->bias ? sum + a->bias[channel] : sum;
}

void morsel_real_conv_rows_c(const struct morsel_real_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *win = &a->window;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0; ox < win->out_w; ox++) {
            size_t first = ((size_t)(y + i) * win->out_w + ox) * win->out_c;
            for (uint32_t c = 0; c < win->out_c; c++)
                morsel_store_real(&a->y, first + c, window_sum(a, rows + (size_t)i * win->kernel_h, ox, c));
        }
    }
}
