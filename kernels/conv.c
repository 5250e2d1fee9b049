/* SPDX-License-Identifier: MIT */
/* Convolution: rows of output pixels, sixteen channels at a time. */
#include "requant.h"

struct block {
    uint32_t acc[16]; /* sums of (x - zero) * w, modulo 2^32: the same bits as int32 */
    uint32_t x_sum;   /* sum of (x - zero), for weights with a zero point */
};

/* `n` inputs that stand in a row meet weights k, k + 1 ... of a block laid out [k / 4][16][k % 4]. */
static void add_products(struct block *b, const uint8_t *x, uint32_t n, const struct morsel_code *code, const int8_t *w, uint32_t k) {
    for (uint32_t j = 0; j < n; j++, k++) {
        uint32_t v = (x[j] ^ code->flip) - (uint32_t)code->zero;
        const int8_t *taps = w + (size_t)(k / 4) * 64 + k % 4;
        b->x_sum += v;
        for (uint32_t o = 0; o < 16; o++) b->acc[o] += v * (uint32_t)(int32_t)taps[4 * o];
    }
}

/* The window of output column ox; taps outside the picture add (zero - zero) * w = 0. */
static void add_window(struct block *b, const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t ox, uint32_t group, const int8_t *w) {
    const struct morsel_window *win = &a->window;
    uint32_t depth = win->in_c / a->groups;
    uint32_t row_k = (win->kernel_w * depth + 3) / 4 * 4;
    for (uint32_t ky = 0; ky < win->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < win->kernel_w; kx++) {
            uint32_t ix = ox * win->stride_w + kx * win->dilation_w - win->pad_left; /* left of the picture: huge */
            if (ix >= win->in_w) continue;
            const uint8_t *x = rows[ky] + (size_t)ix * win->in_c + group * depth;
            add_products(b, x, depth, &a->x.code, w, ky * row_k + kx * depth);
        }
    }
}

static void store_block(const struct block *b, const struct morsel_conv_args *a, size_t first, uint32_t channel, uint32_t n) {
    const struct morsel_channels *c = &a->channels;
    for (uint32_t o = 0; o < n; o++) {
        uint32_t zero = c->weight_zero ? (uint32_t)c->weight_zero[channel + o] : 0;
        uint32_t acc = b->acc[o] - zero * b->x_sum + (uint32_t)c->bias[channel + o];
        const float *bias = c->float_bias ? &c->float_bias[channel + o] : NULL;
        morsel_store_sum(&a->y, first + o, morsel_signed(acc), c->multiplier[channel + o], bias);
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
            struct block b = {{0}, 0};
            uint32_t left = outs - i * 16;
            add_window(&b, a, rows, ox, g, a->weights + (g * blocks + i) * block_bytes);
            store_block(&b, a, pixel * win->out_c + g * outs + i * 16, (g * blocks + i) * 16, left < 16 ? left : 16);
        }
    }
}

void morsel_conv_rows_c(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t ox = 0; ox < a->window.out_w; ox++)
            conv_pixel(a, rows + (size_t)i * a->window.kernel_h, ox, (size_t)(y + i) * a->window.out_w + ox);
}
