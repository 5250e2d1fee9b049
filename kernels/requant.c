/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of requant.h for sixteen elements at a time. Loops count to sixteen, whatever is asked for, and stand on arrays of their
 * own: so any compiler makes vectors of them, with no other instructions than the CPU's least.
 */
#include "requant.h"

enum { LANES = MORSEL_LANES };

/* low <= high, so that the order of the two comparisons does not matter. A NaN stays one. */
static inline float clamp(float v, float low, float high) {
    v = v < low ? low : v;
    return v > high ? high : v;
}

static inline void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t n) {
    if (n == LANES) memcpy(to, from, LANES);
    else memcpy(to, from, n);
}

static inline void copy_floats(float *to, const float *from, uint32_t n) {
    if (n == LANES) memcpy(to, from, LANES * sizeof *to);
    else memcpy(to, from, n * sizeof *to);
}

void morsel_store_steps(const struct morsel_output *y, size_t i, uint32_t n, const float *v, int32_t zero) {
    uint8_t bytes[LANES];
    float low = (float)(y->out_min - zero), high = (float)(y->out_max - zero);
    for (uint32_t o = 0; o < LANES; o++) bytes[o] = (uint8_t)((uint32_t)(morsel_round(clamp(v[o], low, high)) + zero) ^ y->code.flip);
    copy_bytes((uint8_t *)y->data + i, bytes, n);
}

void morsel_store_sums(const struct morsel_output *y, size_t i, uint32_t n, const uint32_t *sums, const struct morsel_channels *c,
                       uint32_t channel) {
    uint32_t with_bias[LANES];
    const int32_t *bias = c->bias + channel, *total = (const int32_t *)with_bias; /* the same bits: sums wrap */
    const float *multiplier = c->multiplier + channel;
    float v[LANES];
    for (uint32_t o = 0; o < LANES; o++) with_bias[o] = sums[o] + (uint32_t)bias[o];
    for (uint32_t o = 0; o < LANES; o++) v[o] = (float)total[o] * multiplier[o];
    for (uint32_t o = 0; c->float_bias && o < LANES; o++) v[o] = v[o] + c->float_bias[channel + o];
    if (!y->code.is_float) {
        morsel_store_steps(y, i, n, v, y->code.zero);
        return;
    }
    for (uint32_t o = 0; o < LANES; o++) v[o] = clamp(v[o], y->float_min, y->float_max);
    copy_floats((float *)y->data + i, v, n);
}
