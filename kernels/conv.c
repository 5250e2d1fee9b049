/* SPDX-License-Identifier: MIT */
/* Convolution in plain C: the window of each output pixel is a line of the product with its convolution group's weights. */
#include "product.h"

struct job {
    const struct morsel_conv_args *args;
    const uint8_t *const *rows;
    uint32_t y, group;
    uint32_t depth;  /* channels of the group */
    uint32_t row_k;  /* weights of a row of taps, with their padding */
    uint32_t blocks; /* of sixteen outputs in a group */
    uint32_t beside; /* taps of a row that stand side by side in the picture and in the weights */
    uint32_t outs;   /* of a group */
    size_t step;     /* elements from pixel to pixel of the output */
};

/* `beside` taps from row ky, column kx of a window that starts at column `left`: what is inside the picture and in k .. k + n. */
static void take_taps(const struct job *j, const uint8_t *row, int64_t left, uint32_t ky, uint32_t kx, int16_t *to, uint32_t k,
                      uint32_t n) {
    const struct morsel_window *w = &j->args->window;
    int64_t ix = left + (int64_t)kx * w->dilation_w;
    int64_t begin = ix < 0 ? -ix : 0, end = w->in_w - ix < j->beside ? w->in_w - ix : j->beside;
    int64_t start = (int64_t)ky * j->row_k + (int64_t)kx * j->depth - k; /* where the first tap's first channel goes */
    int64_t low = start + begin * j->depth, high = start + end * j->depth;
    if (low < 0) low = 0;
    if (high > n) high = n;
    if (low >= high) return;
    size_t at = (size_t)(ix * w->in_c + j->group * j->depth + (low - start));
    morsel_widen(to + low, row + at, (uint32_t)(high - low), &j->args->x.qparams);
}

static void take_window(const struct job *j, const uint8_t *const *rows, uint32_t ox, int16_t *to, uint32_t k, uint32_t n) {
    const struct morsel_window *w = &j->args->window;
    int64_t left = (int64_t)ox * w->stride_w - w->pad_left;
    memset(to, 0, n * sizeof *to);
    for (uint32_t ky = k / j->row_k; ky < w->kernel_h && ky * j->row_k < k + n; ky++)
        for (uint32_t kx = 0; kx < w->kernel_w; kx += j->beside) take_taps(j, rows[ky], left, ky, kx, to, k, n);
}

static void take_windows(const struct morsel_product *p, int16_t *to, uint32_t line, uint32_t count, uint32_t k, uint32_t n) {
    const struct job *j = p->args;
    const struct morsel_window *w = &j->args->window;
    uint32_t oy = line / w->out_w, ox = line % w->out_w;
    for (uint32_t i = 0; i < count; i++, to += n) {
        take_window(j, j->rows + (size_t)oy * w->kernel_h, ox, to, k, n);
        if (++ox == w->out_w) ox = 0, oy++;
    }
}

/* Outputs of this group from `output` on, among the constants of all groups. */
static uint32_t channel_of(const struct job *j, uint32_t output) {
    return j->group * j->blocks * 16 + output;
}

static void store(const struct morsel_product *p, uint32_t line, uint32_t output, uint32_t n, const uint32_t *sums) {
    const struct job *j = p->args;
    size_t pixel = (size_t)j->y * j->args->window.out_w + line, first = pixel * j->step + j->group * j->outs + output;
    morsel_store_sums(&j->args->y, first, n, sums, &j->args->channels, channel_of(j, output));
}

void morsel_conv_rows_c(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n) {
    const struct morsel_window *w = &a->window;
    struct job job = {.args = a, .rows = rows, .y = y, .depth = w->in_c / a->groups, .outs = w->out_c / a->groups};
    job.row_k = (w->kernel_w * job.depth + 3) / 4 * 4;
    job.blocks = (job.outs + 15) / 16;
    job.step = morsel_y_step(w, morsel_element_bytes(&a->y.qparams));
    job.beside = a->groups == 1 && w->dilation_w == 1 ? w->kernel_w : 1;
    struct morsel_product p = {&job,    n * w->out_w, w->kernel_h * job.row_k, 0,   job.outs, take_windows, store,
                               a->room, a->weights,   a->channels.weight_zero, NULL};
    for (; job.group < a->groups; job.group++) {
        const uint32_t channel = channel_of(&job, 0);
        p.weights = a->weights + (size_t)channel * p.taps;
        p.weight_zero = a->channels.weight_zero ? a->channels.weight_zero + channel : NULL;
        morsel_multiply(&p);
    }
}
