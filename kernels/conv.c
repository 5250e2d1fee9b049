/* SPDX-License-Identifier: MIT */
/* Convolution: rows of output pixels, sixteen channels at a time. */
#include "sums.h"

/* The window of output column ox; taps outside the picture add (zero - zero) * w = 0. */
static void add_window(struct morsel_sums *sums, const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t group,
                       const int8_t *w) {
    const struct morsel_window *win = &a->window;
    uint32_t depth = win->in_c / a->groups;
    uint32_t row_k = (win->kernel_w * depth + 3) / 4 * 4;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < win->kernel_w; kx++) {
            uint32_t ix = ox * win->stride_w + kx * win->dilation_w - win->pad_left; /* left of the picture: huge */
            if (ix >= win->in_w) continue;
            const uint8_t *x = rows[ky] + (size_t)ix * win->in_c + group * depth;
            morsel_add_line(sums, x, depth, &a->x.code, w, ky * row_k + kx * depth);
        }
    }
}

static void conv_pixel(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, size_t pixel) {
    const struct morsel_window *win = &a->window;
    uint32_t outs = win->out_c / a->groups;
    uint32_t blocks = (outs + 15) / 16;
    uint32_t row_k = (win->kernel_w * (win->in_c / a->groups) + 3) / 4 * 4;
    size_t block_bytes = (size_t)win->kernel_h * row_k * 16;
    for (uint32_t g = 0; g < a->groups; g++) {
        for (uint32_t i = 0; i < blocks; i++) {
            struct morsel_sums sums = {{0}, 0};
            uint32_t left = outs - i * 16;
            add_window(&sums, a, rows, ox, g, a->weights + (g * blocks + i) * block_bytes);
            size_t first = pixel * win->out_c + g * outs + i * 16;
            morsel_store_sums(&sums, &a->y, first, &a->channels, (g * blocks + i) * 16, left < 16 ? left : 16);
        }
    }
}

void morsel_conv_rows_c(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t ox = 0; ox < a->window.out_w; ox++)
            conv_pixel(a, rows + (size_t)i * a->window.kernel_h, ox, (size_t)(y + i) * a->window.out_w + ox);
}
