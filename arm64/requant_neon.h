/* SPDX-License-Identifier: MIT */
/*
 * Sums of sixteen channels become sixteen bytes: kernels/requant.h in vectors, to the bit.
 *
 * "Magic" is 1.5 * 2^23, the float whose bits are 0x4b400000. For |s| < 2^22 the integer 0x4b400000 + s is the float magic + s, so a
 * subtraction converts s exactly. Adding magic to a float below 2^22 rounds it half to even and leaves the integer in the low bits. On a
 * Cortex-A76 both cost a quarter of the conversions they replace. So sums start at bias + 0x4b400000 wherever the blob states that the
 * channels' weights prove |s| < 2^22 and |s * multiplier| < 32000. Then the low 16 bits hold the rounded product.
 *
 * Results that are cut at their zero point (ReLU: the lowest byte stands for 0) need no subtraction either. There sums start at bias +
 * 0x4b000000, the float 2^23 + s for s >= 0. One fused operation computes (2^23 + s) * m - 2^23 * m = s * m, rounded once, because 2^23 * m
 * is exact. Below 2^23 floats are half as far from each other, so a negative s gives s / 2 * m. That is the same byte, as m is not
 * negative.
 *
 * All that is computed in the signed domain: byte ^ 0x80, -128..127. An even zero point may be added together with magic: it moves no tie.
 */
#ifndef MORSEL_REQUANT_NEON_H
#define MORSEL_REQUANT_NEON_H

#include "../kernels/kernels.h"

#include <arm_neon.h>
#include <string.h>

#define MORSEL_MAGIC_FLOAT 12582912.0f
#define MORSEL_MAGIC_BITS 0x4b400000

enum morsel_requant_mode {
    MORSEL_REQUANT_RELU,    /* sums hold 2^23, zero point -128; this and the next: all 256 values allowed, stored signed */
    MORSEL_REQUANT_SHIFTED, /* sums hold magic */
    MORSEL_REQUANT_CLAMPED, /* any sum, any multiplier */
    MORSEL_REQUANT_RAW      /* sums stay sums: float results, float biases */
};

struct morsel_requant {
    uint32_t mode;
    float round;        /* magic; RELU: plus the zero point */
    float low, high;    /* limits of the product */
    int32_t zero;       /* signed domain */
    uint32_t sign_flip; /* signed domain to stored byte */
    uint32_t whole;     /* all 256 values allowed, stored signed */
};

/* A span: the constants of up to 64 channels, four channel blocks, prepared together. */
#define MORSEL_SPAN 64u
#define MORSEL_RAW (MORSEL_SPAN / 2) /* channels of a span whose sums are kept, at most */
struct morsel_span {
    struct morsel_requant requant;
    uint32_t uses;              /* about how many sums each channel has */
    uint32_t pairs;             /* whether two products of bytes fit 16 bits: 0 unknown, 1 no, 2 yes; for the tiles that ask */
    uint32_t ready;             /* whether the tile's room holds the span: 0 unknown, 1 never, 2 yes */
    int32_t start[MORSEL_SPAN]; /* where sums begin: bias and zero point, magic too where it is proven */
    union {
        struct {
            float multiplier[MORSEL_SPAN];
            float offset[MORSEL_SPAN]; /* RELU: -2^23 * multiplier */
        };
        int32_t raw[4][MORSEL_RAW]; /* RAW: the sums of a tile, where they are kept */
    };
};

/* How sums become y: RAW or CLAMPED. */
void morsel_requant_describe(struct morsel_requant *f, const struct morsel_output *y);

/* Prepares `blocks` blocks from channel constant `first` on. */
void morsel_span_prepare(struct morsel_span *span, const struct morsel_channels *c, const struct morsel_input *x,
                         const struct morsel_output *y, uint32_t first, uint32_t blocks);

/* Chosen by comparisons, as in plain C: a minimum or maximum would make 0 of a -0 at a limit of 0. A NaN stays. */
static inline __attribute__((always_inline)) float32x4_t morsel_limit4(float32x4_t v, float32x4_t low, float32x4_t high) {
    v = vbslq_f32(vcltq_f32(v, low), low, v);
    return vbslq_f32(vcgtq_f32(v, high), high, v);
}

struct morsel_sum16 {
    int32x4_t s0, s1, s2, s3;
};

/* Raw sums of sixteen channels from `channel` on become elements `first` and on, n at most. Constants are read in sixteens. */
void morsel_store_raw(const struct morsel_output *y, const struct morsel_channels *c, struct morsel_sum16 s, uint32_t channel, uint32_t n,
                      size_t first);

/* Two vectors at p + at, loaded here and not where the compiler would rather have them. Single loads right before their use cost more to
 * decode; copies of what is loaded already take the arithmetic's pipes. */
#define MORSEL_LOAD_PAIR(a, b, p, at) \
    __asm__ volatile("ldp %q0, %q1, [%2, #" #at "]" : "=w"(a), "=w"(b) : "r"(p), "m"(*(const int8_t(*)[at + 32])(const void *)(p)))

static inline __attribute__((always_inline)) struct morsel_sum16 morsel_load_start(const int32_t *start) {
    struct morsel_sum16 s;
    MORSEL_LOAD_PAIR(s.s0, s.s1, start, 0);
    MORSEL_LOAD_PAIR(s.s2, s.s3, start, 32);
    return s;
}

static inline int16x8_t morsel_low_halves(float32x4_t a, float32x4_t b) {
    return vuzp1q_s16(vreinterpretq_s16_f32(a), vreinterpretq_s16_f32(b));
}

static inline float32x4_t morsel_scale_magic(int32x4_t s, const float *multiplier, float32x4_t round) {
    float32x4_t v = vsubq_f32(vreinterpretq_f32_s32(s), vdupq_n_f32(MORSEL_MAGIC_FLOAT));
    return vaddq_f32(vmulq_f32(v, vld1q_f32(multiplier)), round);
}

static inline float32x4_t morsel_scale_clamped(int32x4_t s, const float *multiplier, const struct morsel_requant *f) {
    float32x4_t v = vmulq_f32(vcvtq_f32_s32(s), vld1q_f32(multiplier));
    v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(f->low)), vdupq_n_f32(f->high));
    return vaddq_f32(v, vdupq_n_f32(MORSEL_MAGIC_FLOAT));
}

static inline int8x16_t morsel_narrow(int16x8_t a, int16x8_t b) {
    return vqmovn_high_s16(vqmovn_s16(a), b);
}

/* In one piece of asm: the compiler would copy the offsets, which the fused operation overwrites, instead of loading them for each
 * pixel. */
static inline __attribute__((always_inline)) int8x16_t morsel_requant_relu(struct morsel_sum16 s, const float *m, const float *o,
                                                                           float32x4_t round) {
    int8x16_t v;
    float32x4_t t1, t2, t3, m0 = vld1q_f32(m), m1 = vld1q_f32(m + 4), m2 = vld1q_f32(m + 8), m3 = vld1q_f32(m + 12);
    __asm__ volatile("ldp %q0, %q1, [%8]\n\tldp %q2, %q3, [%8, #32]\n\t"
                     "fmla %0.4s, %4.4s, %9.4s\n\tfmla %1.4s, %5.4s, %10.4s\n\t"
                     "fmla %2.4s, %6.4s, %11.4s\n\tfmla %3.4s, %7.4s, %12.4s\n\t"
                     "fadd %0.4s, %0.4s, %13.4s\n\tfadd %1.4s, %1.4s, %13.4s\n\t"
                     "fadd %2.4s, %2.4s, %13.4s\n\tfadd %3.4s, %3.4s, %13.4s\n\t"
                     "uzp1 %0.8h, %0.8h, %1.8h\n\tuzp1 %2.8h, %2.8h, %3.8h\n\t"
                     "sqxtn %0.8b, %0.8h\n\tsqxtn2 %0.16b, %2.8h"
                     : "=&w"(v), "=&w"(t1), "=&w"(t2), "=&w"(t3)
                     : "w"(s.s0), "w"(s.s1), "w"(s.s2), "w"(s.s3), "r"(o), "w"(m0), "w"(m1), "w"(m2), "w"(m3), "w"(round),
                       "m"(*(const float(*)[16])(const void *)o));
    return v;
}

/* Any mode but RAW; a constant at every hot call, so that the work of several pixels stands in one piece without branches.
 * m, o: multipliers and offsets of the sixteen channels. */
static inline __attribute__((always_inline)) int8x16_t morsel_requant16(struct morsel_sum16 s, const float *m, const float *o,
                                                                        const struct morsel_requant *f, uint32_t mode) {
    int16x8_t zero = vdupq_n_s16((int16_t)f->zero);
    float32x4_t round = vdupq_n_f32(f->round);
    if (mode == MORSEL_REQUANT_RELU) return morsel_requant_relu(s, m, o, round);
    if (mode == MORSEL_REQUANT_CLAMPED) {
        int16x8_t a = morsel_low_halves(morsel_scale_clamped(s.s0, m, f), morsel_scale_clamped(s.s1, m + 4, f));
        int16x8_t b = morsel_low_halves(morsel_scale_clamped(s.s2, m + 8, f), morsel_scale_clamped(s.s3, m + 12, f));
        return veorq_s8(morsel_narrow(vaddq_s16(a, zero), vaddq_s16(b, zero)), vdupq_n_s8((int8_t)f->sign_flip));
    }
    int16x8_t a = morsel_low_halves(morsel_scale_magic(s.s0, m, round), morsel_scale_magic(s.s1, m + 4, round));
    int16x8_t b = morsel_low_halves(morsel_scale_magic(s.s2, m + 8, round), morsel_scale_magic(s.s3, m + 12, round));
    return morsel_narrow(vaddq_s16(a, zero), vaddq_s16(b, zero));
}

/* Eight channels: what all their pixels share, in registers. */
struct morsel_sum8 {
    int32x4_t s0, s1;
};
struct morsel_requant8 {
    float32x4_t m0, m1, round, low, high;
    int16x8_t zero;
    int8x8_t sign_flip;
};

/* For RELU, SHIFTED or CLAMPED; what a mode has no use for vanishes. */
static inline __attribute__((always_inline)) struct morsel_requant8 morsel_keep_requant8(const struct morsel_requant *f, const float *m) {
    struct morsel_requant8 k = {vld1q_f32(m),
                                vld1q_f32(m + 4),
                                vdupq_n_f32(f->round),
                                vdupq_n_f32(f->low),
                                vdupq_n_f32(f->high),
                                vdupq_n_s16((int16_t)f->zero),
                                vdup_n_s8((int8_t)f->sign_flip)};
    return k;
}

/* In one piece of asm, as for sixteen. */
static inline __attribute__((always_inline)) void morsel_store8_relu(uint8_t *to, struct morsel_sum8 s, const struct morsel_requant8 *k,
                                                                     const float *o) {
    float32x4_t a, b;
    __asm__ volatile("ldp %q0, %q1, [%5]\n\t"
                     "fmla %0.4s, %3.4s, %6.4s\n\tfmla %1.4s, %4.4s, %7.4s\n\t"
                     "fadd %0.4s, %0.4s, %8.4s\n\tfadd %1.4s, %1.4s, %8.4s\n\t"
                     "uzp1 %0.8h, %0.8h, %1.8h\n\tsqxtn %0.8b, %0.8h\n\tstr %d0, %2"
                     : "=&w"(a), "=&w"(b), "=m"(*(uint8_t(*)[8])(void *)to)
                     : "w"(s.s0), "w"(s.s1), "r"(o), "w"(k->m0), "w"(k->m1), "w"(k->round), "m"(*(const float(*)[8])(const void *)o));
}

/* Sums of eight channels become eight bytes at `to`. */
static inline __attribute__((always_inline)) void morsel_store8(uint8_t *to, struct morsel_sum8 s, const struct morsel_requant8 *k,
                                                                const float *o, uint32_t mode) {
    float32x4_t magic = vdupq_n_f32(MORSEL_MAGIC_FLOAT), a, b;
    if (mode == MORSEL_REQUANT_RELU) {
        morsel_store8_relu(to, s, k, o);
        return;
    }
    if (mode == MORSEL_REQUANT_CLAMPED) {
        a = vminq_f32(vmaxq_f32(vmulq_f32(vcvtq_f32_s32(s.s0), k->m0), k->low), k->high);
        b = vminq_f32(vmaxq_f32(vmulq_f32(vcvtq_f32_s32(s.s1), k->m1), k->low), k->high);
    } else {
        a = vmulq_f32(vsubq_f32(vreinterpretq_f32_s32(s.s0), magic), k->m0);
        b = vmulq_f32(vsubq_f32(vreinterpretq_f32_s32(s.s1), magic), k->m1);
    }
    int16x8_t rounded = morsel_low_halves(vaddq_f32(a, k->round), vaddq_f32(b, k->round)); /* CLAMPED: magic alone */
    int8x8_t v = vqmovn_s16(vaddq_s16(rounded, k->zero));
    vst1_s8((int8_t *)to, mode == MORSEL_REQUANT_CLAMPED ? veor_s8(v, k->sign_flip) : v);
}

/* The first n of sixteen bytes. */
static inline void morsel_store_part(uint8_t *to, int8x16_t v, uint32_t n) {
    uint8_t bytes[16];
    if (n >= 16) {
        vst1q_s8((int8_t *)to, v);
        return;
    }
    if (n >= 8) {
        vst1_s8((int8_t *)to, vget_low_s8(v));
        to += 8;
        n -= 8;
        v = vextq_s8(v, v, 8);
    }
    vst1q_s8((int8_t *)bytes, v);
    for (uint32_t i = 0; i < n; i++) to[i] = bytes[i];
}

#endif
