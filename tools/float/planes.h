/* SPDX-License-Identifier: MIT */
/*
 * A channel's plane cut up so that a window operator runs over it in long straight lines. It is padded, and with strides s split by the
 * remainders of row and column modulo s. Then tap t of the windows reads a plane at a fixed distance. One loop over (out_height - 1) *
 * pitch + out_width neighbours computes all results, and some between the rows that nobody wants.
 */
#ifndef MORSEL_TOOLS_FLOAT_PLANES_H
#define MORSEL_TOOLS_FLOAT_PLANES_H

#include "tools/float/loops.h"
#include "tools/float/operator.h"

/* One spatial dimension. */
struct planes_axis {
    int64_t in, out, kernel, stride, dilation, pad;
    int64_t size;       /* of a plane along it */
    int64_t count;      /* of different remainders */
    int64_t *remainder; /* [count] */
    int64_t *plane;     /* [kernel]: which remainder tap t falls on */
};

struct planes {
    struct planes_axis y, x;
    size_t taps, line; /* windows' positions; results of the long line */
    size_t plane;      /* floats of one */
    size_t *offset;    /* [taps] from the first plane */
};

/* A window's geometry in two dimensions; one-dimensional ones get a height of 1. */
struct geometry {
    int64_t height, width, out_height, out_width, kernel_height, kernel_width;
    int64_t stride_y, stride_x, dilation_y, dilation_x, top, left;
};

/* False: p->why says why. */
bool geometry_read(struct preparation *p, const int64_t *weight_kernel, struct onnx_window *window, struct geometry *g);

bool planes_prepare(struct preparation *p, const struct geometry *g, struct planes *planes);
/* Cuts a channel up into scratch memory, with `fill` round it, and says where each tap begins. */
const float *const *planes_cut(const struct planes *planes, const float *channel, float fill, float *scratch);
/* The long line's place in that memory, and its results out of it. */
float *planes_line(const struct planes *planes, float *scratch);
void planes_collect(const struct planes *planes, const float *line, float *channel);

#endif
