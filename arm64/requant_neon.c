/* SPDX-License-Identifier: MIT */
/* What a span of channels needs before its sums: constants, and whether the cheap arithmetic is proven to be exact for it. */
#include "requant_neon.h"

#include "../kernels/requant.h"

/* Sixteen channels from `at` on, channel `first` of all. */
static void fill_block(struct morsel_span *span, uint32_t at, const struct morsel_channels *c, uint32_t first, int32_t shift,
                       int32_t begin) {
    const int32_t *bias = c->bias + first, *sum = c->weight_sum + first;
    const float *multiplier = c->multiplier + first;
    int32x4_t all = vdupq_n_s32(begin);
    for (uint32_t i = 0; i < 16; i += 8) {
        float32x4_t m0 = vld1q_f32(multiplier + i), m1 = vld1q_f32(multiplier + i + 4);
        vst1q_s32(span->start + at + i, vaddq_s32(vmlaq_n_s32(vld1q_s32(bias + i), vld1q_s32(sum + i), shift), all));
        vst1q_s32(span->start + at + i + 4, vaddq_s32(vmlaq_n_s32(vld1q_s32(bias + i + 4), vld1q_s32(sum + i + 4), shift), all));
        vst1q_f32(span->multiplier + at + i, m0);
        vst1q_f32(span->multiplier + at + i + 4, m1);
        if (span->requant.mode != MORSEL_REQUANT_RELU) continue;
        vst1q_f32(span->offset + at + i, vmulq_n_f32(m0, -8388608.0f));
        vst1q_f32(span->offset + at + i + 4, vmulq_n_f32(m1, -8388608.0f));
    }
}

void morsel_requant_describe(struct morsel_requant *f, const struct morsel_output *y) {
    f->mode = y->qparams.is_float ? MORSEL_REQUANT_RAW : MORSEL_REQUANT_CLAMPED;
    f->round = MORSEL_MAGIC_FLOAT;
    f->low = (float)(y->out_min - y->qparams.zero);
    f->high = (float)(y->out_max - y->qparams.zero);
    f->zero = y->qparams.zero - 128;
    f->sign_flip = y->qparams.sign_flip ^ 0x80;
    f->whole = y->out_min == 0 && y->out_max == 255 && y->qparams.sign_flip == 0x80;
}

/* Returns what all sums of the span begin with. */
static int32_t use_magic(struct morsel_requant *f, int relu) {
    f->mode = relu ? MORSEL_REQUANT_RELU : MORSEL_REQUANT_SHIFTED;
    if (relu) f->round = MORSEL_MAGIC_FLOAT + (float)f->zero;
    return relu ? 0x4b000000 : MORSEL_MAGIC_BITS;
}

void morsel_span_prepare(struct morsel_span *span, const struct morsel_channels *c, const struct morsel_input *x,
                         const struct morsel_output *y, uint32_t first, uint32_t blocks) {
    uint32_t proven = c->proofs ? MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE : 0; /* of all channels of the span */
    int32_t begin = 0;
    morsel_requant_describe(&span->requant, y);
    span->pairs = span->ready = 0;
    if (c->float_bias) span->requant.mode = MORSEL_REQUANT_RAW;
    if (span->requant.mode == MORSEL_REQUANT_RAW || !span->requant.whole) proven = 0;
    for (uint32_t b = 0; proven && b < blocks; b++) proven &= c->proofs[first / 16 + b];
    if (proven & MORSEL_PROOF_SMALL) begin = use_magic(&span->requant, span->requant.zero == -128 && proven & MORSEL_PROOF_POSITIVE);
    for (uint32_t b = 0; b < blocks; b++) fill_block(span, b * 16, c, first + b * 16, 128 - x->qparams.zero, begin);
}

static inline float32x4_t scaled(int32x4_t sum, const float *multiplier) {
    return vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(multiplier));
}

static inline int16x8_t whole(float32x4_t a, float32x4_t b, int32x4_t add) {
    return vcombine_s16(vmovn_s32(vaddq_s32(vcvtnq_s32_f32(a), add)), vmovn_s32(vaddq_s32(vcvtnq_s32_f32(b), add)));
}

/* The first n of sixteen floats, within y's limits, become elements `first` and on. */
static inline void store_floats(const struct morsel_output *y, float32x4_t v0, float32x4_t v1, float32x4_t v2, float32x4_t v3, uint32_t n,
                                size_t first) {
    const float32x4_t low = vdupq_n_f32(y->float_min), high = vdupq_n_f32(y->float_max);
    const float32x4x4_t v = {
        {morsel_limit4(v0, low, high), morsel_limit4(v1, low, high), morsel_limit4(v2, low, high), morsel_limit4(v3, low, high)}};
    float *to = (float *)y->data + first;
    if (n >= 16) vst1q_f32_x4(to, v);
    else memcpy(to, &v, n * sizeof *to);
}

void morsel_store_raw(const struct morsel_output *y, const struct morsel_channels *c, struct morsel_sum16 s, uint32_t channel, uint32_t n,
                      size_t first) {
    const float *m = c->multiplier + channel;
    float32x4_t v0 = scaled(s.s0, m), v1 = scaled(s.s1, m + 4), v2 = scaled(s.s2, m + 8), v3 = scaled(s.s3, m + 12);
    if (c->float_bias) {
        const float *bias = c->float_bias + channel;
        v0 = vaddq_f32(v0, vld1q_f32(bias)), v1 = vaddq_f32(v1, vld1q_f32(bias + 4));
        v2 = vaddq_f32(v2, vld1q_f32(bias + 8)), v3 = vaddq_f32(v3, vld1q_f32(bias + 12));
    }
    if (y->qparams.is_float) {
        store_floats(y, v0, v1, v2, v3, n, first);
        return;
    }
    const struct morsel_qparams *q = &y->qparams;
    const float32x4_t low = vdupq_n_f32((float)(y->out_min - q->zero)), high = vdupq_n_f32((float)(y->out_max - q->zero));
    /* `x ^ 0x80` and `x + 0x80` end in the same byte, so that this and the zero point are one number. */
    const int32x4_t add = vdupq_n_s32(q->zero + (int32_t)q->sign_flip);
    v0 = morsel_limit4(v0, low, high), v1 = morsel_limit4(v1, low, high);
    v2 = morsel_limit4(v2, low, high), v3 = morsel_limit4(v3, low, high);
    const int8x8_t a = vmovn_s16(whole(v0, v1, add)), b = vmovn_s16(whole(v2, v3, add));
    morsel_store_part((uint8_t *)y->data + first, vcombine_s8(a, b), n);
}
