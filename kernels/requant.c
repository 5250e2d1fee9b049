/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of requant.h for sixteen elements at a time. Loops always count to sixteen and stand on arrays of their own. So any
 * compiler makes vectors of them, with the instructions that every CPU has.
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

/* What becomes of steps: as `x ^ 0x80` and `x + 0x80` end in the same byte, the zero point and how bytes are stored are one number. */
struct steps {
    float low, high;
    uint32_t add;
};

static inline struct steps steps_of(const struct morsel_output *y, int32_t zero) {
    struct steps s = {(float)(y->out_min - zero), (float)(y->out_max - zero), (uint32_t)zero + y->qparams.sign_flip};
    return s;
}

static inline uint8_t byte_of(float v, const struct steps *s) {
    return (uint8_t)((uint32_t)morsel_round(clamp(v, s->low, s->high)) + s->add);
}

void morsel_store_steps(const struct morsel_output *y, size_t i, uint32_t n, const float *v, int32_t zero) {
    uint8_t bytes[LANES];
    const struct steps s = steps_of(y, zero);
    MORSEL_VECTORS_OF(16)
    for (uint32_t o = 0; o < LANES; o++) bytes[o] = byte_of(v[o], &s);
    copy_bytes((uint8_t *)y->data + i, bytes, n);
}

/* Of morsel_store_sums(), with nothing beside: in one loop, which keeps all in registers. */
static void store_bytes(const struct morsel_output *y, size_t i, uint32_t n, const uint32_t *restrict sums, const int32_t *restrict bias,
                        const float *restrict multiplier) {
    uint8_t bytes[LANES];
    const struct steps s = steps_of(y, y->qparams.zero);
    MORSEL_VECTORS_OF(16)
    for (uint32_t o = 0; o < LANES; o++) bytes[o] = byte_of((float)morsel_signed(sums[o] + (uint32_t)bias[o]) * multiplier[o], &s);
    copy_bytes((uint8_t *)y->data + i, bytes, n);
}

void morsel_store_sums(const struct morsel_output *y, size_t i, uint32_t n, const uint32_t *sums, const struct morsel_channels *c,
                       uint32_t channel) {
    const int32_t *bias = c->bias + channel;
    const float *multiplier = c->multiplier + channel;
    float v[LANES];
    if (!y->qparams.is_float && !c->float_bias) {
        store_bytes(y, i, n, sums, bias, multiplier);
        return;
    }
    for (uint32_t o = 0; o < LANES; o++) v[o] = (float)morsel_signed(sums[o] + (uint32_t)bias[o]) * multiplier[o];
    for (uint32_t o = 0; c->float_bias && o < LANES; o++) v[o] = v[o] + c->float_bias[channel + o];
    if (!y->qparams.is_float) {
        morsel_store_steps(y, i, n, v, y->qparams.zero);
        return;
    }
    for (uint32_t o = 0; o < LANES; o++) v[o] = clamp(v[o], y->float_min, y->float_max);
    copy_floats((float *)y->data + i, v, n);
}

void morsel_load_bytes(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n, uint8_t *to) {
    const uint8_t *from = (const uint8_t *)x->data + i;
    uint8_t flip = (uint8_t)x->qparams.sign_flip, raw[LANES] = {0};
    if (step == 1) copy_bytes(raw, from, n);
    else
        for (uint32_t o = 0; o < n; o++) raw[o] = from[(size_t)o * step];
    for (uint32_t o = 0; o < LANES; o++) to[o] = raw[o] ^ flip;
}

void morsel_load_floats(const struct morsel_input *x, size_t i, uint32_t step, uint32_t n, float *to) {
    const float *from = (const float *)x->data + i;
    uint8_t bytes[LANES];
    if (!x->qparams.is_float) {
        morsel_load_bytes(x, i, step, n, bytes);
        for (uint32_t o = 0; o < LANES; o++) to[o] = x->qparams.scale * (float)(bytes[o] - x->qparams.zero);
        return;
    }
    memset(to, 0, LANES * sizeof *to);
    if (step == 1) copy_floats(to, from, n);
    else
        for (uint32_t o = 0; o < n; o++) to[o] = from[(size_t)o * step];
}

void morsel_store_floats(const struct morsel_output *y, size_t i, uint32_t n, const float *v) {
    float limited[LANES];
    for (uint32_t o = 0; o < LANES; o++) limited[o] = clamp(v[o], y->float_min, y->float_max);
    if (!y->qparams.is_float) {
        for (uint32_t o = 0; o < LANES; o++) limited[o] = limited[o] / y->qparams.scale;
        for (uint32_t o = 0; o < LANES; o++) limited[o] = limited[o] == limited[o] ? limited[o] : -FLT_MAX;
        morsel_store_steps(y, i, n, limited, y->qparams.zero);
        return;
    }
    for (uint32_t o = 0; o < LANES; o++) {
        uint32_t bits;
        memcpy(&bits, &limited[o], sizeof bits);
        bits = limited[o] == limited[o] ? bits : 0x7fc00000;
        memcpy(&limited[o], &bits, sizeof bits);
    }
    memcpy((float *)y->data + i, limited, n * sizeof *limited);
}
