/* SPDX-License-Identifier: MIT */
/* Packed weights, [blocks of 16 channels][quads][16][4]: their sums, and what these prove. Who writes a blob and who checks it ask here. */
#ifndef MORSEL_WEIGHTS_H
#define MORSEL_WEIGHTS_H

#include "../kernels/exact.h"
#include "format.h"

/* Of one channel's stored weights w, plus 128: their sum, and the sum of all w - zero above 0. */
struct morsel_weighed {
    uint64_t sum, above;
};

/* Weighs the 16 channels of a block. `words`: 4 weights each, 16 words a quad. `zero`: -128..127, or NULL. A sum is below 255 * 2^29. */
void morsel_weigh_block(struct morsel_weighed *weighed, const uint32_t *words, uint32_t quads, const int32_t *zero);

/* Constants of the 16 channels of a block. */
struct morsel_block_channels {
    const int32_t *bias, *zero; /* zero may be NULL */
    const float *multiplier;
};

/* The bits of enum morsel_proof that hold of a block's 16 channels, of `taps` weights with their padding. Inputs reach from `low` below
 * their zero point to 255 - low above it. */
uint32_t morsel_find_proofs(const struct morsel_weighed *weighed, const struct morsel_block_channels *k, uint64_t taps, int32_t low);

#endif
