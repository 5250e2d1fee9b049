/* SPDX-License-Identifier: MIT */
/* Depthwise convolution in plain C: one filter for each channel, sixteen channels at a time. */
#include "product.h"

#include <stdbool.h>

/* Sums of pixels in a room that has as much, and on the stack: there it may be that of a task of a microcontroller. */
enum { PIXELS = 32, STACK_TAPS = MORSEL_ROOMY_STACK ? 64 : 9, STACK_PIXELS = MORSEL_ROOMY_STACK ? 32 : 1 };

struct job {
    const struct morsel_conv_args *args;
    const uint8_t *const *rows;
    uint32_t channel, n;             /* n channels from `channel` on */
    uint32_t first, taps;            /* taps of the window from `first` on, `taps` of them: by column, then row */
    uint32_t most_taps, most_pixels; /* for which there is room */
    int16_t (*weights)[16];          /* of each tap */
    uint32_t (*sums)[16];            /* of each pixel */
    uint8_t padding[16];             /* zero points */
};

/* The block's weights are [kernel_w][pad4(kernel_h) / 4][16][4]; channels need not start with a block. */
static MORSEL_OWN_FRAME void take_weights(struct job *j) {
    const struct morsel_conv_args *a = j->args;
    uint32_t kernel_h = a->window.kernel_h, quads = (kernel_h + 3) / 4;
    for (uint32_t o = 0; o < j->n; o++) {
        uint32_t c = j->channel + o, kx = j->first / kernel_h, ky = j->first % kernel_h;
        int32_t zero = a->channels.weight_zero ? a->channels.weight_zero[c] : 0;
        const int8_t *w = a->weights + ((size_t)(c / 16) * a->window.kernel_w + kx) * quads * 64 + c % 16 * 4;
        for (uint32_t t = 0; t < j->taps; t++) {
            j->weights[t][o] = (int16_t)(w[ky / 4 * 64 + ky % 4] - zero);
            if (++ky == kernel_h) ky = 0, w += quads * 64;
        }
    }
}

/* |x - zero| and |w - zero| are at most 255. */
static inline int32_t product(uint8_t x, int16_t w, uint8_t flip, int16_t zero) {
    return (int16_t)((x ^ flip) - zero) * w;
}

static inline void add_tap(int32_t *restrict acc, const uint8_t *restrict x, const int16_t *restrict w, uint8_t flip, int16_t zero,
                           uint32_t n) {
    MORSEL_VECTORS_OF(8)
    for (uint32_t o = 0; o < n; o++) acc[o] += product(x[o], w[o], flip, zero);
}

/* Three in one go, which sums wait for once. */
static inline void add_three_taps(int32_t *restrict acc, const uint8_t *restrict x0, const uint8_t *restrict x1, const uint8_t *restrict x2,
                                  int16_t (*restrict w)[16], uint8_t flip, int16_t zero, uint32_t n) {
    MORSEL_VECTORS_OF(8)
    for (uint32_t o = 0; o < n; o++)
        acc[o] += product(x0[o], w[0][o], flip, zero) + product(x1[o], w[1][o], flip, zero) + product(x2[o], w[2][o], flip, zero);
}

/* n channels of the pixel whose rows of taps these are, in column ox. Beside the picture, also left of it where ix is huge, is padding. */
static inline void add_taps(const struct job *j, uint32_t *restrict sums, const uint8_t *const *rows, uint32_t ox, uint32_t n) {
    const struct morsel_window *w = &j->args->window;
    uint8_t flip = (uint8_t)j->args->x.qparams.sign_flip;
    int16_t zero = (int16_t)j->args->x.qparams.zero;
    int32_t acc[16] = {0};
    uint32_t step = morsel_x_step(w), ky = j->first % w->kernel_h;
    uint32_t ix = ox * w->stride_w + j->first / w->kernel_h * w->dilation_w - w->pad_left;
    for (uint32_t t = 0; t < j->taps; ky = 0, ix += w->dilation_w) {
        bool inside = ix < w->in_w;
        size_t at = (size_t)ix * step + j->channel;
        for (; ky + 3 <= w->kernel_h && t + 3 <= j->taps; ky += 3, t += 3) {
            const uint8_t *x0 = inside ? rows[ky] + at : j->padding, *x1 = inside ? rows[ky + 1] + at : j->padding;
            add_three_taps(acc, x0, x1, inside ? rows[ky + 2] + at : j->padding, j->weights + t, flip, zero, n);
        }
        for (; ky < w->kernel_h && t < j->taps; ky++, t++) add_tap(acc, inside ? rows[ky] + at : j->padding, j->weights[t], flip, zero, n);
    }
    for (uint32_t o = 0; o < 16; o++) sums[o] += (uint32_t)acc[o];
}

static MORSEL_OWN_FRAME void add_taps_of_sixteen(const struct job *j, uint32_t *restrict sums, const uint8_t *const *rows, uint32_t ox) {
    add_taps(j, sums, rows, ox, 16);
}

static MORSEL_OWN_FRAME void add_taps_of_few(const struct job *j, uint32_t *restrict sums, const uint8_t *const *rows, uint32_t ox) {
    add_taps(j, sums, rows, ox, j->n);
}

/* `count` pixels of n rows' pixels from `first` on; y is the first row. */
static void pixels(struct job *j, uint32_t y, uint32_t first, uint32_t count) {
    const struct morsel_conv_args *a = j->args;
    const struct morsel_window *w = &a->window;
    uint32_t all = w->kernel_h * w->kernel_w;
    memset(j->sums, 0, count * sizeof j->sums[0]);
    for (j->first = 0; j->first < all; j->first += j->taps) {
        j->taps = all - j->first < j->most_taps ? all - j->first : j->most_taps;
        if (!first || all > j->most_taps) take_weights(j);
        uint32_t oy = first / w->out_w, ox = first % w->out_w;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *const *at = j->rows + (size_t)oy * w->kernel_h;
            if (j->n == 16) add_taps_of_sixteen(j, j->sums[i], at, ox);
            else add_taps_of_few(j, j->sums[i], at, ox);
            if (++ox == w->out_w) ox = 0, oy++;
        }
    }
    uint32_t step = morsel_y_step(w, morsel_element_bytes(&a->y.qparams));
    for (uint32_t i = 0; i < count; i++) {
        size_t pixel = (size_t)y * w->out_w + first + i;
        morsel_store_sums(&a->y, pixel * step + j->channel, j->n, j->sums[i], &a->channels, j->channel);
    }
}

/* The last channels are taken together with as many before them as make sixteen. */
void morsel_depthwise_rows_c(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    int16_t weights[STACK_TAPS][16];
    uint32_t sums[STACK_PIXELS][16];
    struct job j = {.args = a, .rows = rows, .most_taps = STACK_TAPS, .most_pixels = STACK_PIXELS, .weights = weights, .sums = sums};
    if (PIXELS > STACK_PIXELS && a->room.bytes >= PIXELS * sizeof *sums) {
        j.most_pixels = PIXELS;
        j.sums = (void *)a->room.data;
    }
    memset(j.padding, (int)((uint32_t)a->x.qparams.zero ^ a->x.qparams.sign_flip), sizeof j.padding);
    for (uint32_t c = 0; c < w->out_c; c += 16) {
        j.n = w->out_c < 16 ? w->out_c : 16;
        j.channel = c < w->out_c - j.n ? c : w->out_c - j.n;
        for (uint32_t first = 0, all = n * w->out_w; first < all; first += j.most_pixels)
            pixels(&j, y, first, all - first < j.most_pixels ? all - first : j.most_pixels);
    }
}
