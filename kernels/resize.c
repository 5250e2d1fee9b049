/* SPDX-License-Identifier: MIT */
/* Linear interpolation in plain C, sixteen channels at a time. */
#include "float.h"
#include "float_plain.h"
#include "requant.h"

enum { N = MORSEL_LANES };

/* Some channels of a row of y: the elements of x that are above and below its first column, and how far below it lies. */
struct strip {
    const struct morsel_resize_args *args;
    size_t above, below;
    float part;
    uint32_t channels; /* 1 .. 16 */
};

static void blend(float *restrict to, const float *restrict a, const float *restrict b, float part) {
    for (uint32_t i = 0; i < N; i++) to[i] = a[i] * (1 - part) + b[i] * part;
}

/* A column of x, between its two rows. */
static void take_column(const struct strip *s, uint32_t column, float *v) {
    const size_t at = (size_t)column * s->args->channels;
    float above[N] = {0}, below[N] = {0};
    morsel_load_floats(&s->args->x, s->above + at, 1, s->channels, above);
    morsel_load_floats(&s->args->x, s->below + at, 1, s->channels, below);
    blend(v, above, below, s->part);
}

/* The strip, from element `to` of y on. Columns of y that lie between the same two of x take them once. */
static void resize_strip(const struct strip *s, size_t to) {
    const struct morsel_resize_args *a = s->args;
    float left[N], right[N], v[N];
    for (uint32_t ox = 0, last = a->in_w; ox < a->out_w; ox++, to += a->channels) {
        const uint32_t near = (uint32_t)a->columns[ox];
        if (near != last) {
            take_column(s, near, left);
            take_column(s, near + 1 < a->in_w ? near + 1 : near, right);
        }
        last = near;
        blend(v, left, right, a->columns[ox] - (float)near);
        for (uint32_t i = 0; a->truncate && i < N; i++) v[i] = eight_truncate(v[i]);
        morsel_store_floats(&a->y, to, s->channels, v);
    }
}

void morsel_resize_c(const struct morsel_resize_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) {
        const float at = a->rows[begin % a->out_h];
        const uint32_t near = (uint32_t)at;
        const size_t row = (size_t)a->in_w * a->channels, above = (begin / a->out_h * (size_t)a->in_h + near) * row;
        for (uint32_t c = 0; c < a->channels; c += N) {
            const uint32_t n = a->channels - c < N ? a->channels - c : N;
            const struct strip s = {a, above + c, above + c + (near + 1 < a->in_h ? row : 0), at - (float)near, n};
            resize_strip(&s, (size_t)begin * a->out_w * a->channels + c);
        }
    }
}
