/* SPDX-License-Identifier: MIT */
/* Depthwise convolution: one filter for each channel. */
#include "requant.h"

/* A tap of n channels: `x` is [n], `taps` is [n][4] with the tap's own column in front. */
static inline void add_tap(uint32_t *restrict acc, const uint8_t *x, const struct morsel_code *code, const int8_t *taps,
                           const int32_t *zero, uint32_t n) {
    for (uint32_t o = 0; o < n; o++) {
        int32_t v = (int32_t)(x[o] ^ code->flip) - code->zero;
        acc[o] += (uint32_t)(v * (taps[4 * o] - zero[o])); /* |v| and |w - zero| are at most 255 */
    }
}

/* Channels c .. c + n of one output pixel; `w` is the block's weights [kernel_w][pad4(kernel_h) / 4][16][4]. */
static void depthwise_block(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, size_t pixel, uint32_t c, uint32_t n,
                            const int8_t *w) {
    static const int32_t no_zero[16] = {0};
    const struct morsel_window *win = &a->window;
    const int32_t *zero = a->channels.weight_zero ? a->channels.weight_zero + c : no_zero;
    uint32_t quads = (win->kernel_h + 3) / 4;
    uint32_t acc[16] = {0};
    for (uint32_t kx = 0; kx < win->kernel_w; kx++) {
        uint32_t ix = ox * win->stride_w + kx * win->dilation_w - win->pad_left; /* left of the picture: huge */
        if (ix >= win->in_w) continue;
        for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
            const uint8_t *x = rows[ky] + (size_t)ix * win->in_c + c;
            add_tap(acc, x, &a->x.code, w + (size_t)(kx * quads + ky / 4) * 64 + ky % 4, zero, n);
        }
    }
    for (uint32_t o = 0; o < n; o++) {
        const float *bias = a->channels.float_bias ? &a->channels.float_bias[c + o] : NULL;
        int32_t sum = morsel_signed(acc[o] + (uint32_t)a->channels.bias[c + o]);
        morsel_store_sum(&a->y, pixel * win->out_c + c + o, sum, a->channels.multiplier[c + o], bias);
    }
}

void morsel_depthwise_rows_c(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *win = &a->window;
    size_t block_bytes = (size_t)win->kernel_w * ((win->kernel_h + 3) / 4) * 64;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0; ox < win->out_w; ox++) {
            size_t pixel = (size_t)(y + i) * win->out_w + ox;
            for (uint32_t c = 0; c < win->out_c; c += 16) {
                uint32_t left = win->out_c - c;
                const int8_t *w = a->weights + c / 16 * block_bytes;
                depthwise_block(a, rows + (size_t)i * win->kernel_h, ox, pixel, c, left < 16 ? left : 16, w);
            }
        }
    }
}
