/* SPDX-License-Identifier: MIT */
/* Pixels between pixels, eight channels at a time. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_RESIZE_H
#define MORSEL_FLOAT_RESIZE_H

#include "float_few.h"

#include "float_activations.h"

/* Some channels of a row of y: the elements of x that are above and below its first column, and how far below it lies. */
struct eight_strip {
    const struct morsel_resize_args *args;
    struct eight_reader reader;
    size_t above, below;
    float part;
    uint32_t channels; /* 1 .. 8 */
};

EIGHT_INLINE eight eight_between(eight a, eight b, float part) {
    return eight_add(eight_scale(a, 1 - part), eight_scale(b, part));
}

/* A column of x, between its two rows. */
static __attribute__((noinline)) eight eight_column(const struct eight_strip *s, uint32_t column) {
    const struct morsel_input *x = &s->args->x;
    const size_t above = s->above + (size_t)column * s->args->channels, below = s->below + (size_t)column * s->args->channels;
    if (s->channels == 8) return eight_between(eight_read(&s->reader, x, above), eight_read(&s->reader, x, below), s->part);
    return eight_between(eight_read_few(&s->reader, x, above, s->channels), eight_read_few(&s->reader, x, below, s->channels), s->part);
}

/* The strip, from element `to` of y on. Columns of y that lie between the same two of x take them once. */
static void eight_resize_strip(const struct eight_strip *s, const struct eight_writer *w, size_t to) {
    const struct morsel_resize_args *a = s->args;
    eight left = eight_all(0), right = left;
    for (uint32_t ox = 0, last = a->in_w; ox < a->out_w; ox++, to += a->channels) {
        const uint32_t near = (uint32_t)a->columns[ox];
        if (near != last) {
            left = near == last + 1 ? right : eight_column(s, near);
            right = near + 1 < a->in_w ? eight_column(s, near + 1) : left;
        }
        last = near;
        eight v = eight_between(left, right, a->columns[ox] - (float)near);
        if (a->truncate) v = eight_truncate(v);
        eight_put(w, a->y.data, to, s->channels, v);
    }
}

/* The last eight channels overlap with those before them. */
static void eight_resize(const struct morsel_resize_args *a, uint32_t begin, uint32_t end) {
    const struct eight_writer w = eight_writer(&a->y);
    const size_t row = (size_t)a->in_w * a->channels;
    for (; begin < end; begin++) {
        const float at = a->rows[begin % a->out_h];
        const uint32_t near = (uint32_t)at;
        const size_t above = (begin / a->out_h * (size_t)a->in_h + near) * row, below = above + (near + 1 < a->in_h ? row : 0);
        for (uint32_t c = 0; c < a->channels; c += 8) {
            const uint32_t n = a->channels < 8 ? a->channels : 8, first = a->channels - c < n ? a->channels - n : c;
            const struct eight_strip s = {a, eight_reader(&a->x.qparams), above + first, below + first, at - (float)near, n};
            eight_resize_strip(&s, &w, (size_t)begin * a->out_w * a->channels + first);
        }
    }
}

#endif
