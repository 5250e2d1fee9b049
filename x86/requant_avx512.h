/* SPDX-License-Identifier: MIT */
/*
 * Results with AVX-512: the vector twin of kernels/requant.h, for bytes.
 *
 * Multipliers are below 1 here, so that no product leaves the int32s. morsel_small512 says whether they are; others are left to plain C.
 * Then the limits hold as bytes: both packs saturate, and the limits lie within 0..255. Rounding is nearest-even, said in the instruction.
 *
 * Where negative results become 0 and the sums are proven small, they need no conversion to floats. As bits, 0x4b000000 + sum is the float
 * 2^23 + sum for sums from 0 to 2^23. For negative sums down to -2^22 it is something below 2^23. A fused multiplication by m and addition
 * of -2^23 m, which is exact, gives sum * m rounded once, as the product of floats is. Of negative sums it gives something negative.
 */
#ifndef MORSEL_REQUANT_AVX512_H
#define MORSEL_REQUANT_AVX512_H

#include "../kernels/kernels.h"

#include <immintrin.h>

struct morsel_requant512 {
    __m512i zero;                 /* int16s */
    __m512i low, high, sign_flip; /* bytes */
    int moved, limited;           /* whether zero, whether one of the others does anything */
};

static inline struct morsel_requant512 morsel_requant512(const struct morsel_output *y) {
    struct morsel_requant512 r = {
        _mm512_set1_epi16((short)y->qparams.zero),
        _mm512_set1_epi8((char)y->out_min),
        _mm512_set1_epi8((char)y->out_max),
        _mm512_set1_epi8((char)y->qparams.sign_flip),
        y->qparams.zero != 0,
        y->out_min > 0 || y->out_max < 255 || y->qparams.sign_flip,
    };
    return r;
}

/* Whether all of n multipliers, a multiple of 16, are below 1. */
static inline int morsel_small512(const float *multiplier, size_t n) {
    __mmask16 small = 0xffff;
    for (size_t i = 0; i < n; i += 16)
        small &= _mm512_cmp_ps_mask(_mm512_abs_ps(_mm512_loadu_ps(multiplier + i)), _mm512_set1_ps(1), _CMP_LT_OQ);
    return small == 0xffff;
}

/* Whether float biases can be added too: multipliers below 1/2 and biases below 2^30 keep sums within the int32s. */
static inline int morsel_small_bias512(const float *multiplier, const float *bias, size_t n) {
    __mmask16 small = 0xffff;
    for (size_t i = 0; bias && i < n; i += 16) {
        small &= _mm512_cmp_ps_mask(_mm512_abs_ps(_mm512_loadu_ps(multiplier + i)), _mm512_set1_ps(0.5f), _CMP_LT_OQ);
        small &= _mm512_cmp_ps_mask(_mm512_abs_ps(_mm512_loadu_ps(bias + i)), _mm512_set1_ps(1073741824.0f), _CMP_LT_OQ);
    }
    return small == 0xffff;
}

/* Sixteen sums to integers without the zero point, not yet limited. */
static inline __m512i morsel_scale512(__m512i acc, __m512 multiplier) {
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier);
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* The same with float biases. */
static inline __m512i morsel_scale512_bias(__m512i acc, __m512 multiplier, __m512 bias) {
    __m512 v = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier), bias);
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Whether blocks of channels are such, and no result needs a zero point or a limit. */
static inline int morsel_plain512(const struct morsel_channels *c, const struct morsel_output *y, size_t block, size_t blocks) {
    struct morsel_requant512 r = morsel_requant512(y);
    unsigned proven = c->proofs && !c->float_bias && !r.moved && !r.limited ? MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE : 0;
    for (size_t i = 0; proven && i < blocks; i++) proven &= c->proofs[block + i];
    return proven == (MORSEL_PROOF_SMALL | MORSEL_PROOF_POSITIVE);
}

/* Where their sums start. */
static inline __m512i morsel_start512(__m512i start) {
    return _mm512_add_epi32(start, _mm512_set1_epi32(0x4b000000));
}

static inline __m512 morsel_offset512(__m512 multiplier) {
    return _mm512_mul_ps(multiplier, _mm512_set1_ps(-8388608.0f));
}

static inline __m512i morsel_scale512_plain(__m512i acc, __m512 multiplier, __m512 offset) {
    __m512 v = _mm512_fmadd_ps(_mm512_castsi512_ps(acc), multiplier, offset);
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 64 integers to bytes: in lane i of 16 bytes stand the four integers of lane i of a, then of b, c and d. */
static inline __m512i morsel_bytes512(__m512i a, __m512i b, __m512i c, __m512i d) {
    return _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
}

/* The same with the zero point and the limits. */
static inline __attribute__((always_inline)) __m512i morsel_pack512(const struct morsel_requant512 *r, __m512i a, __m512i b, __m512i c,
                                                                    __m512i d) {
    __m512i ab = _mm512_packs_epi32(a, b), cd = _mm512_packs_epi32(c, d);
    if (r->moved) ab = _mm512_adds_epi16(ab, r->zero), cd = _mm512_adds_epi16(cd, r->zero);
    __m512i bytes = _mm512_packus_epi16(ab, cd);
    if (r->limited) bytes = _mm512_xor_si512(_mm512_min_epu8(_mm512_max_epu8(bytes, r->low), r->high), r->sign_flip);
    return bytes;
}

/* The same bytes with those of a in lane 0, those of b in lane 1, ... */
static inline __m512i morsel_apart512(__m512i bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
}

#endif
