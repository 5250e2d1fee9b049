/* SPDX-License-Identifier: MIT */
/* Gathers with NEON: pairs of bytes are interleaved, lines that become columns turned by tiles. */
#include "arm64.h"

#include <arm_neon.h>

#define MORSEL_TURN_VECTOR uint8x16_t

static inline uint8x16_t turn_load(const void *p) {
    return vld1q_u8(p);
}

static inline void turn_store(void *p, uint8x16_t v) {
    vst1q_u8(p, v);
}

static inline uint8x16_t turn_flip(uint8x16_t v, uint32_t flip) {
    return veorq_u8(v, vdupq_n_u8((uint8_t)flip));
}

static inline uint8x16_t turn_low(uint8x16_t a, uint8x16_t b) {
    return vzip1q_u8(a, b);
}

static inline uint8x16_t turn_high(uint8x16_t a, uint8x16_t b) {
    return vzip2q_u8(a, b);
}

static inline uint8x16_t turn_low4(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}

static inline uint8x16_t turn_high4(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
}

#include "../kernels/gather.h"
#include "../kernels/turn_tiles.h"

/* Sixteen pairs at a time; the last sixteen may lie over the ones before. */
static void interleave_neon(uint8_t *y, const uint8_t *a, const uint8_t *b, uint32_t n) {
    for (uint32_t i = 0; n >= 16 && i < n; i = n - i >= 32 || n - i <= 16 ? i + 16 : n - 16) {
        uint8x16_t u = vld1q_u8(a + i), v = vld1q_u8(b + i);
        vst1q_u8(y + 2 * (size_t)i, vzip1q_u8(u, v));
        vst1q_u8(y + 2 * (size_t)i + 16, vzip2q_u8(u, v));
    }
    for (uint32_t i = 0; n < 16 && i < n; i++) {
        y[2 * (size_t)i] = a[i];
        y[2 * (size_t)i + 1] = b[i];
    }
}

void morsel_gather_neon(const struct morsel_gather_args *a, uint32_t begin, uint32_t end) {
    struct morsel_turn turn;
    if (a->line == MORSEL_LINE_ANY && morsel_turn_find(&turn, a)) morsel_turn_run(a, &turn, morsel_turn_tile, begin, end);
    else morsel_gather_with(a, begin, end, interleave_neon);
}
