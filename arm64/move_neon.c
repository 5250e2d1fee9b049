/* SPDX-License-Identifier: MIT */
/* Gathers with NEON: pairs of bytes are interleaved. */
#include "arm64.h"

#include "../kernels/gather.h"

#include <arm_neon.h>

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
    morsel_gather_with(a, begin, end, interleave_neon);
}
