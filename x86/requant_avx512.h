/* SPDX-License-Identifier: MIT */
/*
 * Results with AVX-512: the vector twin of kernels/requant.h, for bytes.
 *
 * Only the upper limit is applied in float, so that no product is above what an int32 holds. A product below -2^31 becomes -2^31 in the
 * conversion, and both packs saturate; the lower limit then holds as bytes. Rounding is nearest-even, said in the instruction.
 */
#ifndef MORSEL_REQUANT_AVX512_H
#define MORSEL_REQUANT_AVX512_H

#include "../kernels/kernels.h"

#include <immintrin.h>

struct morsel_requant512 {
    __m512 high;       /* out_max - zero */
    __m512i zero, low; /* int16s, bytes */
    __m512i flip;      /* bytes */
};

static inline struct morsel_requant512 morsel_requant512(const struct morsel_output *y) {
    struct morsel_requant512 r = {
        _mm512_set1_ps((float)(y->out_max - y->code.zero)), _mm512_set1_epi16((short)y->code.zero),
        _mm512_set1_epi8((char)y->out_min), _mm512_set1_epi8((char)y->code.flip),
    };
    return r;
}

/* Sixteen sums to integers without the zero point, not yet limited from below. */
static inline __m512i morsel_scale512(const struct morsel_requant512 *r, __m512i acc, __m512 multiplier) {
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), multiplier);
    return _mm512_cvt_roundps_epi32(_mm512_min_ps(v, r->high), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 64 of those to bytes: in lane i of 16 bytes stand the four integers of lane i of a, then of b, c and d. */
static inline __m512i morsel_pack512(const struct morsel_requant512 *r, __m512i a, __m512i b, __m512i c, __m512i d) {
    __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), r->zero);
    __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), r->zero);
    return _mm512_xor_si512(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), r->low), r->flip);
}

/* The same with the bytes of a in lane 0, those of b in lane 1, ... */
static inline __m512i morsel_pack512_apart(const struct morsel_requant512 *r, __m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, morsel_pack512(r, a, b, c, d));
}

#endif
