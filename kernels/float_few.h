/* SPDX-License-Identifier: MIT */
/* Pixels of fewer than eight channels. The file that includes this says what `eight` is: see float_loops.h. */
#ifndef MORSEL_FLOAT_FEW_H
#define MORSEL_FLOAT_FEW_H

#include "float_elements.h"

/* The first n of eight; what is in the other places is finite. */
static __attribute__((noinline)) eight eight_read_few(const struct eight_reader *r, const struct morsel_input *x, size_t i, uint32_t n) {
    float few[8] = {0};
    const size_t size = x->qparams.is_float ? sizeof *few : 1;
    memcpy(few, (const uint8_t *)x->data + i * size, n * size);
    return x->qparams.is_float ? eight_load(few) : eight_load_bytes(r, (const uint8_t *)few);
}

#endif
