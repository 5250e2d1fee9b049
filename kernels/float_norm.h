/* SPDX-License-Identifier: MIT */
/* Layer normalization eight floats at a time. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_NORM_H
#define MORSEL_FLOAT_NORM_H

#include "float_loops.h"

/* A line, and what becomes of it. */
struct eight_line {
    const struct morsel_layer_norm_args *args;
    struct eight_reader reader;
    size_t first;
    eight mean;
};

/* Eight elements from element i on, less the mean. */
EIGHT_INLINE eight eight_off_mean(const struct eight_line *l, uint32_t i) {
    return eight_sub(eight_read(&l->reader, &l->args->x, l->first + i), l->mean);
}

/* Up to 32, the last of a line; behind its end, 0. Out of the way, as it comes once. */
static __attribute__((noinline)) void eight_last_off_mean(const struct eight_line *l, uint32_t i, float *to) {
    const uint32_t n = l->args->count - i;
    for (uint32_t o = 0; o < 32; o += 8) {
        const uint32_t now = n < o ? 0 : n - o < 8 ? n - o : 8;
        eight v = now ? eight_sub(eight_read_some(&l->args->x, l->first + i + o, 1, now), l->mean) : l->mean;
        eight_save(to + o, v);
        for (uint32_t k = now; k < 8; k++) to[o + k] = 0;
    }
}

EIGHT_INLINE eight eight_summand(eight d, int squares) {
    return squares ? eight_mul(d, d) : d;
}

/* The mean of the elements less l->mean, or of their squares. Both in one function, which is as fast and half as long. */
static __attribute__((noinline)) float eight_mean_off(const struct eight_line *l, int squares) {
    const uint32_t count = l->args->count;
    eight s0 = eight_all(0), s1 = s0, s2 = s0, s3 = s0;
    float last[32];
    uint32_t i = 0;
    for (; count - i >= 32; i += 32) {
        s0 = eight_add(s0, eight_summand(eight_off_mean(l, i), squares));
        s1 = eight_add(s1, eight_summand(eight_off_mean(l, i + 8), squares));
        s2 = eight_add(s2, eight_summand(eight_off_mean(l, i + 16), squares));
        s3 = eight_add(s3, eight_summand(eight_off_mean(l, i + 24), squares));
    }
    if (i < count) {
        eight_last_off_mean(l, i, last);
        s0 = eight_add(s0, eight_summand(eight_load(last), squares));
        s1 = eight_add(s1, eight_summand(eight_load(last + 8), squares));
        s2 = eight_add(s2, eight_summand(eight_load(last + 16), squares));
        s3 = eight_add(s3, eight_summand(eight_load(last + 24), squares));
    }
    return eight_sum(eight_add(eight_add(s0, s2), eight_add(s1, s3))) / (float)count;
}

/* Elements i .. i + n, of which d holds the distances from the mean. */
EIGHT_INLINE void eight_store_norm(const struct eight_line *l, const struct eight_writer *w, uint32_t i, uint32_t n, eight d,
                                   float inverse) {
    const struct morsel_layer_norm_args *a = l->args;
    eight v = eight_scale(d, inverse);
    if (a->factor) v = eight_mul(v, n == 8 ? eight_load(a->factor + i) : eight_first(a->factor + i, n));
    if (a->term) v = eight_add(v, n == 8 ? eight_load(a->term + i) : eight_first(a->term + i, n));
    eight_write(w, a->y.data, l->first + i, 0, n, v);
}

static void eight_layer_norm_line(const struct morsel_layer_norm_args *a, size_t first) {
    const struct eight_writer w = eight_writer(&a->y);
    struct eight_line l = {a, eight_reader(&a->x.qparams), first, eight_all(0)};
    if (a->centred) l.mean = eight_all(eight_mean_off(&l, 0));
    const float inverse = 1 / morsel_sqrt(eight_mean_off(&l, 1) + a->epsilon);
    uint32_t i = 0;
    for (; a->count - i >= 8; i += 8) eight_store_norm(&l, &w, i, 8, eight_off_mean(&l, i), inverse);
    const uint32_t n = a->count - i;
    if (n) eight_store_norm(&l, &w, i, n, eight_sub(eight_read_some(&a->x, first + i, 1, n), l.mean), inverse);
}

static void eight_layer_norm(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) eight_layer_norm_line(a, (size_t)begin * a->count);
}

#endif
