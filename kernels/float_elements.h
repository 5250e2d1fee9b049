/* SPDX-License-Identifier: MIT */
/* Eight elements of an operand as floats, and of a result. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_ELEMENTS_H
#define MORSEL_FLOAT_ELEMENTS_H

#include "float.h"
#include "float_functions.h"
#include "requant.h"

#include <string.h>

EIGHT_INLINE eight eight_read(const struct eight_reader *r, const struct morsel_input *x, size_t i) {
    return x->qparams.is_float ? eight_load((const float *)x->data + i) : eight_load_bytes(r, (const uint8_t *)x->data + i);
}

/* The first n of eight; what is in the other places is finite. For what is read once a line: see eight_read_few. */
static inline eight eight_read_some(const struct morsel_input *x, size_t i, uint32_t n) {
    float v[MORSEL_LANES];
    morsel_load_floats(x, i, 1, n, v);
    return eight_load(v);
}

static __attribute__((noinline)) eight eight_some(const float *v, uint32_t n) {
    float some[8] = {0};
    memcpy(some, v, n * sizeof *some);
    return eight_load(some);
}

/* The first n of eight floats, 0 in the other places. */
EIGHT_INLINE eight eight_first(const float *v, uint32_t n) {
    return n == 8 ? eight_load(v) : eight_some(v, n);
}

/* eight_write by a call, for what is behind much work or rare: the code of it stands once. */
static __attribute__((noinline)) void eight_put(const struct eight_writer *w, void *y, size_t i, uint32_t n, eight v) {
    eight_write(w, y, i, 0, n, v);
}

static float eight_sum(eight v) {
    float partial[8];
    eight_save(partial, v);
    return morsel_add_eight(partial);
}

#endif
