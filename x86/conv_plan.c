/* SPDX-License-Identifier: MIT */
/* In which order a convolution meets its pixels and its weights; the tiles of each ISA do the rest. */
#include "conv_plan.h"

#define WEIGHTS_AT_ONCE 1048576u /* bytes of weights that stay in the second-level cache while the rows pass */
#define WEIGHTS_FETCHED 262144u  /* the same where they arrive evenly (core/ahead.c): all rows use them before the next do */
#define PIXELS_AT_ONCE 65536u   /* bytes of pixels that do while the weights pass */

static struct morsel_conv_job job_of(const struct morsel_conv_args *a, uint32_t group, morsel_conv_pixels_fn *pixels) {
    const struct morsel_window *w = &a->window;
    uint32_t outs = w->out_c / a->groups, blocks = (outs + 15) / 16;
    struct morsel_conv_job job = {.args = a, .pixels = pixels, .kernel_h = w->kernel_h, .quads = morsel_row_k(a) / 4};
    job.block_bytes = (size_t)w->kernel_h * job.quads * 64;
    job.weights = a->weights + (size_t)group * blocks * job.block_bytes;
    job.constants = group * blocks * 16;
    job.first = group * outs;
    job.outs = outs;
    job.end = blocks;
    return job;
}

/* Kernels one pixel wide read the rows where they are; the last pixel of an odd depth would be read past its end. */
static int rows_serve(const struct morsel_conv_args *a) {
    const struct morsel_window *w = &a->window;
    return w->kernel_w == 1 && w->pad_left == 0 && a->groups == 1 && a->x.code.flip == 0 && w->in_c % 4 == 0 &&
           (uint64_t)(w->out_w - 1) * w->stride_w < w->in_w;
}

/* n pixels of lines that stand in the input itself. */
static void run_direct(const struct morsel_conv_job *job, struct morsel_lines *lines, size_t pixel, size_t n) {
    size_t most = PIXELS_AT_ONCE / lines->step / 14 * 14, now;
    if (most == 0) most = 14;
    for (; n; n -= now, pixel += now) {
        now = n < most ? n : most;
        job->pixels(job, lines, pixel, now);
        for (uint32_t ky = 0; ky < job->kernel_h; ky++) lines->line[ky] += now * lines->step;
    }
}

static void conv_direct(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n,
                        morsel_conv_pixels_fn *pixels_fn) {
    const struct morsel_window *w = &a->window;
    struct morsel_conv_job job = job_of(a, 0, pixels_fn);
    struct morsel_lines lines;
    lines.step = (size_t)w->stride_w * w->in_c;
    /* Rows that touch are one run of pixels. */
    int whole = w->kernel_h == 1 && w->stride_h == 1 && w->stride_w == 1 && w->pad_top == 0 && w->out_w == w->in_w && !a->outside;
    size_t pixels = whole ? (size_t)n * w->out_w : w->out_w;
    for (uint32_t i = 0; i < (whole ? 1 : n); i++) {
        memcpy(lines.line, rows + (size_t)i * w->kernel_h, w->kernel_h * sizeof *rows);
        run_direct(&job, &lines, (size_t)(y + i) * w->out_w, pixels);
    }
}

/* n rows, by windows in a buffer, for the blocks that the job names. */
static void conv_copied(const struct morsel_conv_job *job, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t group,
                        uint32_t at_once) {
    _Alignas(64) uint8_t buffer[MORSEL_WINDOW_BYTES];
    const struct morsel_window *w = &job->args->window;
    struct morsel_lines lines;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t ox = 0, now; ox < w->out_w; ox += now) {
            now = w->out_w - ox < at_once ? w->out_w - ox : at_once;
            morsel_fill_lines(&lines, buffer, job->args, rows + (size_t)i * w->kernel_h, ox, now, group);
            job->pixels(job, &lines, (size_t)(y + i) * w->out_w + ox, now);
        }
    }
}

static void conv_groups(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t at_once,
                        morsel_conv_pixels_fn *pixels) {
    for (uint32_t group = 0; group < a->groups; group++) {
        struct morsel_conv_job job = job_of(a, group, pixels);
        uint32_t blocks = job.end;
        size_t most = (a->ahead ? WEIGHTS_FETCHED : WEIGHTS_AT_ONCE) / job.block_bytes / 3 * 3;
        if (most < 3) most = 3;
        for (; job.begin < blocks; job.begin = job.end) {
            job.end = blocks - job.begin <= most + 1 ? blocks : job.begin + (uint32_t)most;
            conv_copied(&job, rows, y, n, group, at_once);
        }
    }
}

void morsel_conv_plan(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_conv_pixels_fn *pixels) {
    uint32_t at_once = morsel_windows_at_once(a);
    if (a->y.code.is_float || a->channels.weight_zero) morsel_conv_rows_c(a, rows, y, n);
    else if (rows_serve(a)) conv_direct(a, rows, y, n, pixels);
    else if (at_once) conv_groups(a, rows, y, n, at_once, pixels);
    else morsel_conv_rows_c(a, rows, y, n);
}
