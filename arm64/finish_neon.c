/* SPDX-License-Identifier: MIT */
/* What a group of channels needs before its sums: constants, and the proof that the cheap arithmetic is exact for it. */
#include "finish_neon.h"

#include "../kernels/requant.h"

/* Adds |w| of sixteen weights in pairs, for up to 255 calls; |-128| is 128 as an unsigned byte. */
static inline uint16x8_t add_absolute(uint16x8_t sum, const int8_t *w) {
    return vpadalq_u8(sum, vreinterpretq_u8_s8(vabsq_s8(vld1q_s8(w))));
}

/* Four channels: |s| <= |start| + 128 * sum |w|. There are at most 4096 * 4 weights, so the sum is at most 2^21 and its multiple 2^28. */
static void bound_four(struct morsel_bound *bound, const int32_t *start, const float *multiplier, uint32x4_t absolute) {
    int32x4_t most = vqaddq_s32(vqabsq_s32(vld1q_s32(start)), vshlq_n_s32(vreinterpretq_s32_u32(absolute), 7));
    int32_t sum = vmaxvq_s32(most);
    float product = vmaxvq_f32(vabsq_f32(vmulq_f32(vcvtq_f32_s32(most), vld1q_f32(multiplier))));
    if (sum > bound->sum) bound->sum = sum;
    float least = vminvq_f32(vld1q_f32(multiplier));
    if (product > bound->product) bound->product = product;
    if (least < bound->least) bound->least = least;
}

static void bound_block(struct morsel_bound *bound, const int32_t *start, const float *multiplier, const int8_t *w, uint32_t quads) {
    uint32x4_t s0 = vdupq_n_u32(0), s1 = s0, s2 = s0, s3 = s0;
    for (uint32_t part; quads; quads -= part) {
        uint16x8_t h0 = vdupq_n_u16(0), h1 = h0, h2 = h0, h3 = h0;
        part = quads < 255 ? quads : 255;
        for (uint32_t k = 0; k < part; k++, w += 64) {
            h0 = add_absolute(h0, w);
            h1 = add_absolute(h1, w + 16);
            h2 = add_absolute(h2, w + 32);
            h3 = add_absolute(h3, w + 48);
        }
        s0 = vpadalq_u16(s0, h0), s1 = vpadalq_u16(s1, h1), s2 = vpadalq_u16(s2, h2), s3 = vpadalq_u16(s3, h3);
    }
    bound_four(bound, start, multiplier, s0);
    bound_four(bound, start + 4, multiplier + 4, s1);
    bound_four(bound, start + 8, multiplier + 8, s2);
    bound_four(bound, start + 12, multiplier + 12, s3);
}

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
static void use_magic(struct morsel_group *g, const struct morsel_bound *bound, uint32_t blocks) {
    struct morsel_finish *f = &g->finish;
    int relu = f->zero == -128 && bound->least >= 0;
    for (uint32_t i = 0; i < blocks * 16; i += 4) {
        vst1q_s32(g->start + i, vaddq_s32(vld1q_s32(g->start + i), vdupq_n_s32(relu ? 0x4b000000 : MORSEL_MAGIC_BITS)));
        vst1q_f32(g->offset + i, vmulq_n_f32(vld1q_f32(g->multiplier + i), -8388608.0f));
    }
    f->mode = relu ? MORSEL_FINISH_RELU : f->zero % 2 ? MORSEL_FINISH_SHIFTED : MORSEL_FINISH_FOLDED;
    if (f->zero % 2 == 0) f->round = MORSEL_MAGIC_FLOAT + (float)f->zero;
}

void morsel_group_prepare(struct morsel_group *g, const struct morsel_channels *c, const struct morsel_input *x,
                          const struct morsel_output *y, const int8_t *weights, uint32_t first, uint32_t blocks, uint32_t quads,
                          uint32_t uses) {
    struct morsel_bound bound = {0, 0, 0};
    morsel_finish_describe(&g->finish, y);
    g->pairs = g->ready = 0;
    g->uses = uses;
    if (c->float_bias) g->finish.mode = MORSEL_FINISH_RAW;
    for (uint32_t b = 0; b < blocks; b++) start_block(g, b * 16, c, first, 128 - x->code.zero);
    if (g->finish.mode == MORSEL_FINISH_RAW || !g->finish.whole || quads > 4096 || quads > 2 * uses) return;
    for (uint32_t b = 0; b < blocks; b++)
        bound_block(&bound, g->start + b * 16, g->multiplier + b * 16, weights + (size_t)b * quads * 64, quads);
    if (bound.sum < 1 << 22 && bound.product < 32000.0f) use_magic(g, &bound, blocks);
}

void morsel_store_raw(const struct morsel_output *y, const struct morsel_channels *c, const int32_t *sums, uint32_t channel, uint32_t n,
                      size_t first) {
    for (uint32_t i = 0; i < n; i++)
        morsel_store_sum(y, first + i, sums[i], c->multiplier[channel + i], c->float_bias ? &c->float_bias[channel + i] : NULL);
}
