/* SPDX-License-Identifier: MIT */
/* The geometry of windows over planes, read from a node once. */
#include "tools/float/planes.h"

#include <string.h>

bool geometry_read(struct preparation *p, const int64_t *weight_kernel, struct onnx_window *window, struct geometry *g) {
    const struct onnx_shape *x = shape_in(p, 0);
    const char *why;
    if (x->rank != 3 && x->rank != 4) return cannot(p, "it runs over %d dimensions; 1 and 2 are supported", x->rank - 2);
    if (!onnx_window(p->node, x, weight_kernel, window, &why)) return cannot(p, "%s", why);
    int last = x->rank - 3;
    *g = (struct geometry){1, x->dims[x->rank - 1], 1, window->out[last],      1, window->kernel[last],
                           1, window->stride[last], 1, window->dilation[last], 0, window->pad_begin[last]};
    if (last) {
        g->height = x->dims[2];
        g->out_height = window->out[0];
        g->kernel_height = window->kernel[0];
        g->stride_y = window->stride[0];
        g->dilation_y = window->dilation[0];
        g->top = window->pad_begin[0];
    }
    if (g->kernel_height > FLOAT_MOST || g->kernel_width > FLOAT_MOST || g->kernel_height * g->kernel_width > 1 << 16)
        return cannot(p, "its window is too large");
    return true;
}

/* Taps t and t + period fall into the same plane: the first multiple of the dilation that is one of the stride, too, begins anew. */
static void prepare_axis(struct preparation *p, struct planes_axis *a) {
    int64_t reach = 0, period = a->kernel;
    a->remainder = prepare_alloc(p, (size_t)a->kernel * sizeof *a->remainder);
    a->plane = prepare_alloc(p, (size_t)a->kernel * sizeof *a->plane);
    for (int64_t t = 0; t < a->kernel; t++) {
        const int64_t remainder = t * a->dilation % a->stride;
        reach = t * a->dilation / a->stride > reach ? t * a->dilation / a->stride : reach;
        if (t && !remainder && t < period) period = t;
        if (t < period) a->remainder[a->count++] = remainder;
        a->plane[t] = t % period;
    }
    a->size = a->out + reach;
}

/* Scratch memory holds in this order the addresses of the taps, the planes, the long line. */
static size_t address_floats(const struct planes *planes) {
    return (planes->taps * sizeof(float *) + 63) / 64 * 16;
}

static size_t planes_floats(const struct planes *planes) {
    return (size_t)(planes->y.count * planes->x.count) * planes->plane + 16;
}

static int64_t scratch_floats(const struct planes *planes) {
    return (int64_t)(address_floats(planes) + planes_floats(planes) + planes->line);
}

/* Kernels are at most 2^16, dilations below 2^31, so sizes stay below 2^48. */
bool planes_prepare(struct preparation *p, const struct geometry *g, struct planes *planes) {
    planes->y = (struct planes_axis){g->height, g->out_height, g->kernel_height, g->stride_y, g->dilation_y, g->top, 0, 0, NULL, NULL};
    planes->x = (struct planes_axis){g->width, g->out_width, g->kernel_width, g->stride_x, g->dilation_x, g->left, 0, 0, NULL, NULL};
    prepare_axis(p, &planes->y);
    prepare_axis(p, &planes->x);
    const struct planes_axis *y = &planes->y, *x = &planes->x;
    /* Planes hold about the input, padded; those that are nearly all padding would only cost time. */
    int64_t most = (1 << 20) + 8 * (y->in * x->in + y->out * x->out);
    if (y->size > FLOAT_MOST || x->size > FLOAT_MOST || y->size * x->size > most || y->size * x->size * y->count > most / x->count)
        return cannot(p, "its window reaches too far");
    planes->plane = (size_t)(y->size * x->size);
    planes->taps = (size_t)(y->kernel * x->kernel);
    planes->line = y->out && x->out ? (size_t)((y->out - 1) * x->size + x->out) : 0;
    planes->offset = prepare_alloc(p, planes->taps * sizeof *planes->offset);
    for (int64_t i = 0; i < y->kernel; i++)
        for (int64_t j = 0; j < x->kernel; j++)
            planes->offset[i * x->kernel + j] = (size_t)(y->plane[i] * x->count + x->plane[j]) * planes->plane +
                                                (size_t)(i * y->dilation / y->stride * x->size + j * x->dilation / x->stride);
    return prepare_scratch(p, scratch_floats(planes));
}

/* A row of the planes of one column remainder. */
static void cut_row(const struct planes_axis *x, const float *from, float fill, float *to, int64_t remainder) {
    int64_t first = remainder - x->pad; /* the column of the input that element 0 is */
    int64_t begin = first < 0 ? (-first + x->stride - 1) / x->stride : 0, i = 0;
    int64_t end = first < x->in ? (x->in - first + x->stride - 1) / x->stride : 0;
    end = end < x->size ? end : x->size;
    begin = begin < end ? begin : end;
    for (; i < begin; i++) to[i] = fill;
    if (x->stride == 2)
        for (; i < end; i++) to[i] = from[first + 2 * i];
    else
        for (; i < end; i++) to[i] = from[first + i * x->stride];
    for (; i < x->size; i++) to[i] = fill;
}

static void cut_plane(const struct planes *planes, const float *channel, float fill, float *to, int64_t row_remainder,
                      int64_t column_remainder) {
    const struct planes_axis *y = &planes->y, *x = &planes->x;
    for (int64_t r = 0; r < y->size; r++, to += x->size) {
        int64_t row = r * y->stride + row_remainder - y->pad, first = column_remainder - x->pad;
        if (row < 0 || row >= y->in) {
            for (int64_t i = 0; i < x->size; i++) to[i] = fill;
        } else if (x->stride == 1 && first <= 0 && first + x->size >= x->in) {
            int64_t i = 0;
            for (; i < -first; i++) to[i] = fill;
            memcpy(to + i, channel + row * x->in, (size_t)x->in * sizeof *to);
            for (i += x->in; i < x->size; i++) to[i] = fill;
        } else {
            cut_row(x, channel + row * x->in, fill, to, column_remainder);
        }
    }
}

const float *const *planes_cut(const struct planes *planes, const float *channel, float fill, float *scratch) {
    const float **taps = (const float **)(void *)scratch;
    float *first = scratch + address_floats(planes), *to = first;
    for (int64_t i = 0; i < planes->y.count; i++)
        for (int64_t j = 0; j < planes->x.count; j++, to += planes->plane)
            cut_plane(planes, channel, fill, to, planes->y.remainder[i], planes->x.remainder[j]);
    for (size_t t = 0; t < planes->taps; t++) taps[t] = first + planes->offset[t];
    return taps;
}

float *planes_line(const struct planes *planes, float *scratch) {
    return scratch + address_floats(planes) + planes_floats(planes);
}

void planes_collect(const struct planes *planes, const float *line, float *channel) {
    for (int64_t r = 0; r < planes->y.out; r++)
        memcpy(channel + r * planes->x.out, line + r * planes->x.size, (size_t)planes->x.out * sizeof *line);
}
