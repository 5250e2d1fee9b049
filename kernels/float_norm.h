/* SPDX-License-Identifier: MIT */
/* Layer normalization eight floats at a time. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_NORM_H
#define MORSEL_FLOAT_NORM_H

#include "float_elements.h"

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

/* The last of a line, n of them, and 0 behind its end. Out of the way, as it comes once. */
static __attribute__((noinline)) eight eight_last_off_mean(const struct eight_line *l, uint32_t i, uint32_t n) {
    float last[8];
    eight_save(last, eight_sub(eight_read_some(&l->args->x, l->first + i, n), l->mean));
    return eight_some(last, n);
}

/* Four times eight of a line. Named fields: compilers keep arrays in memory. */
struct eight_four {
    eight a, b, c, d;
};

EIGHT_INLINE eight eight_add_one(eight s, eight v, int squares) {
    return eight_add(s, squares ? eight_mul(v, v) : v);
}

EIGHT_INLINE struct eight_four eight_add_four(struct eight_four s, struct eight_four v, int squares) {
    s.a = eight_add_one(s.a, v.a, squares), s.b = eight_add_one(s.b, v.b, squares);
    s.c = eight_add_one(s.c, v.c, squares), s.d = eight_add_one(s.d, v.d, squares);
    return s;
}

/* From element i on, less the mean. */
EIGHT_INLINE struct eight_four eight_four_off_mean(const struct eight_line *l, uint32_t i) {
    const struct morsel_input *x = &l->args->x;
    const float *floats = (const float *)x->data + l->first + i;
    const uint8_t *bytes = (const uint8_t *)x->data + l->first + i;
    struct eight_four v;
    if (x->qparams.is_float) {
        v.a = eight_load(floats), v.b = eight_load(floats + 8), v.c = eight_load(floats + 16), v.d = eight_load(floats + 24);
    } else {
        v.a = eight_load_bytes(&l->reader, bytes), v.b = eight_load_bytes(&l->reader, bytes + 8);
        v.c = eight_load_bytes(&l->reader, bytes + 16), v.d = eight_load_bytes(&l->reader, bytes + 24);
    }
    v.a = eight_sub(v.a, l->mean), v.b = eight_sub(v.b, l->mean), v.c = eight_sub(v.c, l->mean), v.d = eight_sub(v.d, l->mean);
    return v;
}

/* Eight more at a line's end, which go to the first sum. All four change places then; their sum, (a + c) + (b + d), is the same bytes. */
EIGHT_INLINE struct eight_four eight_add_next(struct eight_four s, eight v, int squares) {
    const struct eight_four next = {s.b, s.c, s.d, eight_add_one(s.a, v, squares)};
    return next;
}

/* The mean of the elements less l->mean, or of their squares. Both in one function, which is as fast and half as long. */
static __attribute__((noinline)) float eight_mean_off(const struct eight_line *l, int squares) {
    const uint32_t count = l->args->count;
    const eight zero = eight_all(0);
    struct eight_four s = {zero, zero, zero, zero};
    uint32_t i = 0;
    for (; count - i >= 32; i += 32) s = eight_add_four(s, eight_four_off_mean(l, i), squares);
    for (; count - i >= 8; i += 8) s = eight_add_next(s, eight_off_mean(l, i), squares);
    if (i < count) s = eight_add_next(s, eight_last_off_mean(l, i, count - i), squares);
    return eight_sum(eight_add(eight_add(s.a, s.c), eight_add(s.b, s.d))) / (float)count;
}

/* Elements i .. i + n, of which d holds the distances from the mean. */
EIGHT_INLINE void eight_store_norm(const struct eight_line *l, const struct eight_writer *w, uint32_t i, uint32_t n, eight d,
                                   float inverse) {
    const struct morsel_layer_norm_args *a = l->args;
    eight v = eight_scale(d, inverse);
    if (a->factor) v = eight_mul(v, eight_first(a->factor + i, n));
    if (a->term) v = eight_add(v, eight_first(a->term + i, n));
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
    if (n) eight_store_norm(&l, &w, i, n, eight_sub(eight_read_some(&a->x, first + i, n), l.mean), inverse);
}

static void eight_layer_norm(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) eight_layer_norm_line(a, (size_t)begin * a->count);
}

#endif
