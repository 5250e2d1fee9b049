/* SPDX-License-Identifier: MIT */
/* What a group of channels needs before its sums: constants, and whether the cheap arithmetic is proven to be exact for it. */
#include "finish_neon.h"

#include "../kernels/requant.h"

static void start_block(struct morsel_group *g, uint32_t at, const struct morsel_channels *c, uint32_t first, int32_t shift) {
    for (uint32_t i = 0; i < 16; i += 4) {
        int32x4_t start = vmlaq_n_s32(vld1q_s32(c->bias + first + at + i), vld1q_s32(c->weight_sum + first + at + i), shift);
        vst1q_s32(g->start + at + i, start);
        vst1q_f32(g->multiplier + at + i, vld1q_f32(c->multiplier + first + at + i));
    }
}

void morsel_finish_describe(struct morsel_finish *f, const struct morsel_output *y) {
    f->mode = y->code.is_float ? MORSEL_FINISH_RAW : MORSEL_FINISH_CLAMPED;
    f->round = MORSEL_MAGIC_FLOAT;
    f->low = (float)(y->out_min - y->code.zero);
    f->high = (float)(y->out_max - y->code.zero);
    f->zero = y->code.zero - 128;
    f->flip = y->code.flip ^ 0x80;
    f->whole = y->out_min == 0 && y->out_max == 255 && y->code.flip == 0x80;
}

/* The proof holds for all channels of the group. */
static void use_magic(struct morsel_group *g, int relu, uint32_t blocks) {
    struct morsel_finish *f = &g->finish;
    for (uint32_t i = 0; i < blocks * 16; i += 4) {
        vst1q_s32(g->start + i, vaddq_s32(vld1q_s32(g->start + i), vdupq_n_s32(relu ? 0x4b000000 : MORSEL_MAGIC_BITS)));
        if (relu) vst1q_f32(g->offset + i, vmulq_n_f32(vld1q_f32(g->multiplier + i), -8388608.0f));
    }
    f->mode = relu ? MORSEL_FINISH_RELU : f->zero % 2 ? MORSEL_FINISH_SHIFTED : MORSEL_FINISH_FOLDED;
    if (f->zero % 2 == 0) f->round = MORSEL_MAGIC_FLOAT + (float)f->zero;
}

void morsel_group_prepare(struct morsel_group *g, const struct morsel_channels *c, const struct morsel_input *x,
                          const struct morsel_output *y, uint32_t first, uint32_t blocks) {
    uint32_t proven = c->proofs ? MORSEL_SUMS_SMALL | MORSEL_SUMS_POSITIVE : 0;
    morsel_finish_describe(&g->finish, y);
    g->pairs = g->ready = 0;
    if (c->float_bias) g->finish.mode = MORSEL_FINISH_RAW;
    for (uint32_t b = 0; b < blocks; b++) {
        start_block(g, b * 16, c, first, 128 - x->code.zero);
        if (proven) proven &= c->proofs[first / 16 + b];
    }
    if (g->finish.mode == MORSEL_FINISH_RAW || !g->finish.whole || !(proven & MORSEL_SUMS_SMALL)) return;
    use_magic(g, g->finish.zero == -128 && proven & MORSEL_SUMS_POSITIVE, blocks);
}

void morsel_store_raw(const struct morsel_output *y, const struct morsel_channels *c, const int32_t *sums, uint32_t channel, uint32_t n,
                      size_t first) {
    for (uint32_t i = 0; i < n; i++)
        morsel_store_sum(y, first + i, sums[i], c->multiplier[channel + i], c->float_bias ? &c->float_bias[channel + i] : NULL);
}
