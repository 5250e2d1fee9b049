/* SPDX-License-Identifier: MIT */
/* A convolution as runs of pixels, for the tiles of each ISA. */
#ifndef MORSEL_CONV_PLAN_H
#define MORSEL_CONV_PLAN_H

#include "window.h"

struct morsel_conv_job;

/* All blocks begin .. end of the job for n pixels, of which the first is pixel `pixel` of y. */
typedef void morsel_conv_pixels_fn(const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t pixel, size_t n);

/* Channels of one convolution group. */
struct morsel_conv_job {
    const struct morsel_conv_args *args;
    morsel_conv_pixels_fn *pixels;
    void *kept;              /* AVX-512: by `pixels` from call to call; else scale and zero point of each pixel of the step, or NULL */
    const int8_t *weights;   /* of the group */
    size_t block_bytes;      /* of a channel block */
    uint32_t kernel_h;       /* lines of a window */
    uint32_t taps, quads;    /* bytes of a line's window, and fours of them */
    uint32_t constants;      /* first entry of the group in the channel constants */
    uint32_t first, outs;    /* the group's channels in y */
    uint32_t begin, end;     /* channel blocks to do */
    struct morsel_room room; /* what is left of it */
    const int32_t *below;    /* of each pixel where weights have zero points, else NULL: as morsel_sum_below_avx2 gives them */
};

/* The job of a convolution group, with all its blocks. `buffered`: windows are copied into a part of the room. */
struct morsel_conv_job morsel_conv_job_of(const struct morsel_conv_args *a, uint32_t group, morsel_conv_pixels_fn *pixels, void *kept,
                                          int buffered);

/* Rows of a convolution of bytes: by `pixels` where that can be, else by plain C. */
void morsel_conv_plan(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_conv_pixels_fn *pixels);
/* tall: pixels of a tile, which may be of several output rows. */
void morsel_conv_plan_keep(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, uint32_t tall,
                           morsel_conv_pixels_fn *pixels, void *kept);

/* The only row of windows 1 x 1 without gaps, if its pixels fit where they are copied. */
int morsel_conv_line_fits(const struct morsel_conv_args *a);
void morsel_conv_plan_line(const struct morsel_conv_args *a, const uint8_t *const *row, uint32_t tall, morsel_conv_pixels_fn *pixels,
                           void *kept);

/* Whether the sums below fit. */
static inline int morsel_conv_is_summed(const struct morsel_conv_args *a) {
    return (uint64_t)a->window.kernel_h * morsel_row_k(a) <= 32768;
}

/* For n pixels what a zero point of 1 of the weights adds to their sums: the zero points of the bytes that weights are multiplied with,
 * less those bytes. As two int16s: its low byte, and the rest / 256. At most 32768 * 255. */
void morsel_sum_below_avx2(int32_t *below, const struct morsel_conv_job *job, const struct morsel_lines *lines, size_t n);

/* Any convolution, by the kernel of matrix products. */
void morsel_conv_by_fc(const struct morsel_conv_args *a, const uint8_t *const *rows, uint32_t y, uint32_t n, morsel_fc_fn *run);

/* Whether a window fits that, with a large enough room. */
int morsel_conv_fits_fc(const struct morsel_conv_args *a);

#endif
