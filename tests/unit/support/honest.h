/* SPDX-License-Identifier: MIT */
/* Makes what a blob states of its weights true, as a forger would who wants it to open: for blobs put together or damaged by tests. */
#ifndef HONEST_H
#define HONEST_H

#include "core/blob.h"

/* A step's weights, one by one. */
struct honest_weights {
    int8_t *values;
    int32_t *sum;        /* by channel, as the blob states it */
    const int32_t *zero; /* may be NULL */
    const int32_t *bias;
    const float *multiplier;
    uint8_t *proofs;         /* may be NULL */
    uint32_t channels, taps; /* with padding */
    uint32_t line, used;     /* of `line` taps in a row the first `used` are no padding */
    int32_t input_low;       /* how far inputs go below their zero point */
};

/* 0: the step has no such weights. They lie inside the blob, which opens with MORSEL_SKIP_CHECKSUM. */
int honest_find(uint8_t *blob, uint32_t step, struct honest_weights *w);

/* All steps: padding, then sums, then the proofs that hold; then the checksum. */
void honest_make(uint8_t *blob);

#endif
