/* SPDX-License-Identifier: MIT */
/* Products of two activations with the kernel of each instruction set for constant weights. */
#include "arm64.h"

static inline void pack_quad(uint8_t *to, const uint8_t *const *rows, uint8_t flip) {
    const uint8x16_t f = vdupq_n_u8(flip);
    uint8x16x4_t v = {
        {veorq_u8(vld1q_u8(rows[0]), f), veorq_u8(vld1q_u8(rows[1]), f), veorq_u8(vld1q_u8(rows[2]), f), veorq_u8(vld1q_u8(rows[3]), f)}};
    vst4q_u8(to, v);
}

static inline void sum_quad(int32_t *sum, const int8_t *w) {
    for (uint32_t c = 0; c < 16; c += 4) vst1q_s32(sum + c, vpadalq_s16(vld1q_s32(sum + c), vpaddlq_s8(vld1q_s8(w + 4 * c))));
}

#include "../kernels/matmul_packed.h"

const char *morsel_matmul_refusal_neon(const void *args) {
    return packed_refusal(args);
}

static __attribute__((noinline)) void multiply(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end, packed_fn *by) {
    if (packs(a, begin, end)) matmul_packed(a, begin, end, by);
    else morsel_matmul_rows_c(a, begin, end);
}

void morsel_matmul_rows_neon(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, morsel_fc_short_neon);
}

void morsel_matmul_rows_dotprod(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, morsel_fc_short_dotprod);
}

void morsel_matmul_rows_i8mm(const struct morsel_matmul_args *a, uint32_t begin, uint32_t end) {
    multiply(a, begin, end, morsel_fc_short_i8mm);
}
