/* SPDX-License-Identifier: MIT */
/* Sums of two quantized tensors with AVX-512; the fused multiply-adds of kernels/requant.h are one instruction here. */
#include "requant_avx512.h"
#include "x86.h"

/* What an operand's byte means: byte ^ flip - own. */
struct operand {
    const uint8_t *data;
    __m128i sign_flip; /* bytes */
    __m512i own;       /* int32s */
    __m512 ratio;
};

struct sum {
    struct operand a, b;
    __m512 offset, high; /* high: out_max in the integers of y's type */
    struct morsel_requant512 requant;
};

static struct operand operand_of(const struct morsel_input *x, float ratio) {
    struct operand o = {x->data, _mm_set1_epi8((char)x->qparams.sign_flip), _mm512_set1_epi32(x->qparams.own), _mm512_set1_ps(ratio)};
    return o;
}

MORSEL_INLINE __m512 load16(const struct operand *o, __m128i bytes) {
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_cvtepu8_epi32(_mm_xor_si128(bytes, o->sign_flip)), o->own));
}

/* Limited from above, so that it is an int32; the lower limit is held when bytes are packed. */
MORSEL_INLINE __m512i sum16(const struct sum *s, __m128i a, __m128i b) {
    __m512 v = _mm512_fmadd_ps(load16(&s->a, a), s->a.ratio, _mm512_fmadd_ps(load16(&s->b, b), s->b.ratio, s->offset));
    return _mm512_cvt_roundps_epi32(_mm512_min_ps(v, s->high), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Elements i .. i + 64 as far as `mask` goes. */
MORSEL_INLINE void sum64(const struct sum *s, uint8_t *y, uint32_t i, __mmask64 mask) {
    __m512i a = _mm512_maskz_loadu_epi8(mask, s->a.data + i), b = _mm512_maskz_loadu_epi8(mask, s->b.data + i);
    __m512i v0 = sum16(s, _mm512_castsi512_si128(a), _mm512_castsi512_si128(b));
    __m512i v1 = sum16(s, _mm512_extracti32x4_epi32(a, 1), _mm512_extracti32x4_epi32(b, 1));
    __m512i v2 = sum16(s, _mm512_extracti32x4_epi32(a, 2), _mm512_extracti32x4_epi32(b, 2));
    __m512i v3 = sum16(s, _mm512_extracti32x4_epi32(a, 3), _mm512_extracti32x4_epi32(b, 3));
    _mm512_mask_storeu_epi8(y + i, mask, morsel_apart512(morsel_pack512(&s->requant, v0, v1, v2, v3)));
}

/* Sixteen bytes that are stored as what they mean. */
MORSEL_INLINE __m512 load_plain(const uint8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

MORSEL_INLINE __m512i sum_plain(const struct sum *s, uint32_t i) {
    __m512 b = _mm512_fmadd_ps(load_plain(s->b.data + i), s->b.ratio, s->offset);
    __m512 v = _mm512_fmadd_ps(load_plain(s->a.data + i), s->a.ratio, b);
    return _mm512_cvt_roundps_epi32(_mm512_min_ps(v, s->high), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* The whole pieces of 64 of uint8 tensors inside a network. Returns where it ended. */
static uint32_t sum_plain_pieces(const struct sum *s, uint8_t *y, uint32_t begin, uint32_t end) {
    for (; end - begin >= 64; begin += 64) {
        __m512i v0 = sum_plain(s, begin), v1 = sum_plain(s, begin + 16), v2 = sum_plain(s, begin + 32), v3 = sum_plain(s, begin + 48);
        _mm512_storeu_si512(y + begin, morsel_apart512(morsel_pack512(&s->requant, v0, v1, v2, v3)));
    }
    return begin;
}

/* Operands in the same order as y. y may be one of them: a piece is read before it is written. */
void morsel_qadd_avx512vnni(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    if (!morsel_is_in_order(args)) {
        morsel_qadd_avx2(args, begin, end);
        return;
    }
    struct sum s = {operand_of(&args->a, args->a_ratio), operand_of(&args->b, args->b_ratio), _mm512_set1_ps(args->offset),
                    _mm512_set1_ps((float)(args->y.out_max - args->y.qparams.own)), morsel_requant512(&args->y)};
    s.requant.zero = _mm512_set1_epi16((short)args->y.qparams.own);
    s.requant.moved = args->y.qparams.own != 0;
    if (!(args->a.qparams.sign_flip | args->b.qparams.sign_flip) && !args->a.qparams.own && !args->b.qparams.own)
        begin = sum_plain_pieces(&s, args->y.data, begin, end);
    for (; end - begin >= 64; begin += 64) sum64(&s, args->y.data, begin, ~(__mmask64)0);
    if (begin < end) sum64(&s, args->y.data, begin, ((__mmask64)1 << (end - begin)) - 1);
}
