/* SPDX-License-Identifier: MIT */
/* What the references of sums of bytes share: an input's integer, a weight, a sum that becomes a result. */
#ifndef MORSEL_REFERENCE_SUMS_H
#define MORSEL_REFERENCE_SUMS_H

#include "../requant.h"

/* A byte less the zero point. */
static inline int32_t morsel_integer(const struct morsel_qparams *qparams, uint8_t byte) {
    return (int32_t)(byte ^ qparams->sign_flip) - qparams->zero;
}

/* Weight k of output o, less its zero point; the weights stand in blocks [taps / 4][16][4]. */
static inline int32_t morsel_weight(const int8_t *weights, const struct morsel_channels *c, uint32_t taps, uint32_t o, uint32_t k) {
    int32_t w = weights[(size_t)(o / 16) * taps * 16 + (size_t)(k / 4) * 64 + o % 16 * 4 + k % 4];
    return c->weight_zero ? w - c->weight_zero[o] : w;
}

/* Sums wrap as two's complement does; `o` chooses the constants. */
static inline void morsel_put_sum(const struct morsel_output *y, size_t i, uint32_t sum, const struct morsel_channels *c, uint32_t o) {
    const float *bias = c->float_bias ? &c->float_bias[o] : NULL;
    morsel_store_sum(y, i, morsel_signed(sum + (uint32_t)c->bias[o]), c->multiplier[o], bias);
}

#endif
