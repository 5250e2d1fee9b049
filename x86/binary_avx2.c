/* SPDX-License-Identifier: MIT */
/* Sums and products of two quantized tensors with AVX2; the fused multiply-adds of kernels/requant.h are one instruction here. */
#include "requant_avx2.h"
#include "x86.h"

#include "../kernels/walk.h"

/* What an operand's byte means: (byte ^ flip) - own. */
struct operand {
    __m128i sign_flip; /* bytes */
    __m256i own;       /* int32s */
    __m256 ratio;
};

struct sum {
    struct operand a, b;
    __m256 offset;
    struct morsel_requant256 requant;
};

static struct operand operand_of(const struct morsel_input *x, float ratio) {
    struct operand o = {
        _mm_set1_epi8((char)x->qparams.sign_flip),
        _mm256_set1_epi32(x->qparams.own),
        _mm256_set1_ps(ratio),
    };
    return o;
}

MORSEL_INLINE __m256 load8(const struct operand *o, const uint8_t *x) {
    __m128i bytes = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)x), o->sign_flip);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(bytes), o->own));
}

MORSEL_INLINE __m256i sum8(const struct sum *s, const uint8_t *a, const uint8_t *b) {
    __m256 v = _mm256_fmadd_ps(load8(&s->b, b), s->b.ratio, s->offset);
    return morsel_round256(&s->requant, _mm256_fmadd_ps(load8(&s->a, a), s->a.ratio, v));
}

static inline __m256i sum32(const struct sum *s, const uint8_t *a, const uint8_t *b) {
    return morsel_pack256_in_order(&s->requant, sum8(s, a, b), sum8(s, a + 8, b + 8), sum8(s, a + 16, b + 16), sum8(s, a + 24, b + 24));
}

/* n elements of y. It may be a or b: a piece is read before it is written. */
static void sum_line(const struct morsel_binary_args *args, const void *how, const struct morsel_operand *line_a,
                     const struct morsel_operand *line_b, uint32_t at, uint32_t n) {
    const uint8_t *a = line_a->x, *b = line_b->x;
    uint8_t *y = (uint8_t *)args->y.data + at, *to = y, rest_a[32], rest_b[32];
    uint32_t rest = 0;
    for (;; rest = n, n = 32, y = to, to = rest_a) {
        for (; n >= 32; n -= 32, a += line_a->step, b += line_b->step, to += 32)
            _mm256_storeu_si256((__m256i *)(void *)to, sum32(how, a, b));
        if (!n) break;
        _mm256_storeu_si256((__m256i *)(void *)rest_a, _mm256_setzero_si256());
        _mm256_storeu_si256((__m256i *)(void *)rest_b, _mm256_setzero_si256());
        a = memcpy(rest_a, a, n), b = memcpy(rest_b, b, n); /* a turn of their own, for the code to stand once */
    }
    memcpy(y, rest_a, rest);
}

void morsel_qadd_avx2(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    const struct sum s = {operand_of(&args->a, args->a_ratio), operand_of(&args->b, args->b_ratio), _mm256_set1_ps(args->offset),
                          morsel_requant256(&args->y, args->y.qparams.own)};
    morsel_for_pairs(args, begin, end, 32, sum_line, &s, morsel_qadd_c);
}

/* ---- a factor and an offset for each channel ---- */

struct affine {
    struct operand x;
    struct morsel_requant256 requant;
};

MORSEL_INLINE __m256i affine8(const struct affine *k, const uint8_t *x, const float *scale, const float *offset) {
    return morsel_round256(&k->requant, _mm256_add_ps(_mm256_mul_ps(load8(&k->x, x), _mm256_loadu_ps(scale)), _mm256_loadu_ps(offset)));
}

static inline __m256i affine32(const struct affine *k, const uint8_t *x, const float *scale, const float *offset) {
    return morsel_pack256_in_order(&k->requant, affine8(k, x, scale, offset), affine8(k, x + 8, scale + 8, offset + 8),
                                   affine8(k, x + 16, scale + 16, offset + 16), affine8(k, x + 24, scale + 24, offset + 24));
}

/* n elements of as many channels. y may be x: a piece is read before it is written. */
static void affine_line(const struct affine *k, const uint8_t *x, uint8_t *y, const float *scale, const float *offset, uint32_t n) {
    for (; n >= 32; n -= 32, x += 32, y += 32, scale += 32, offset += 32)
        _mm256_storeu_si256((__m256i *)(void *)y, affine32(k, x, scale, offset));
    for (uint32_t some; n; n -= some, x += some, y += some, scale += some, offset += some) {
        uint8_t rest[8] = {0};
        float scales[8] = {0}, offsets[8] = {0};
        some = n < 8 ? n : 8;
        memcpy(rest, x, some);
        memcpy(scales, scale, some * sizeof *scale);
        memcpy(offsets, offset, some * sizeof *offset);
        __m256i v = affine8(k, rest, scales, offsets);
        _mm_storel_epi64((__m128i *)(void *)rest, _mm256_castsi256_si128(morsel_pack256_in_order(&k->requant, v, v, v, v)));
        memcpy(y, rest, some);
    }
}

void morsel_qaffine_avx2(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    const struct morsel_output y = morsel_whole_bytes(&a->y);
    const struct affine k = {operand_of(&a->x, 1), morsel_requant256(&y, y.qparams.own)};
    for (uint32_t n; begin < end; begin += n) {
        uint32_t channel = begin % a->channels;
        n = a->channels - channel < end - begin ? a->channels - channel : end - begin;
        affine_line(&k, (const uint8_t *)a->x.data + begin, (uint8_t *)y.data + begin, a->scale + channel, a->offset + channel, n);
    }
}

/* ---- products ---- */

struct product {
    __m128i a_flip, b_flip;
    __m256i a_zero, b_zero;
    __m256 ratio, zero;
    struct morsel_requant256 requant;
};

MORSEL_INLINE __m256i load8_integers(const uint8_t *x, __m128i flip, __m256i zero) {
    __m128i bytes = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)x), flip);
    return _mm256_sub_epi32(_mm256_cvtepu8_epi32(bytes), zero);
}

/* A product is an integer of at most 17 bits, which madd forms of the low halves: the high ones are signs, of which one is cleared. */
MORSEL_INLINE __m256i product8(const struct product *p, const uint8_t *a, const uint8_t *b) {
    __m256i low = _mm256_and_si256(load8_integers(b, p->b_flip, p->b_zero), _mm256_set1_epi32(0xffff));
    __m256 v = _mm256_cvtepi32_ps(_mm256_madd_epi16(load8_integers(a, p->a_flip, p->a_zero), low));
    return morsel_round256(&p->requant, _mm256_add_ps(_mm256_mul_ps(v, p->ratio), p->zero));
}

static inline __m256i product32(const struct product *p, const uint8_t *a, const uint8_t *b) {
    return morsel_pack256_in_order(&p->requant, product8(p, a, b), product8(p, a + 8, b + 8), product8(p, a + 16, b + 16),
                                   product8(p, a + 24, b + 24));
}

/* n elements of y. It may be a or b: a piece is read before it is written. */
static void product_line(const struct morsel_binary_args *args, const void *how, const struct morsel_operand *line_a,
                         const struct morsel_operand *line_b, uint32_t at, uint32_t n) {
    const uint8_t *a = line_a->x, *b = line_b->x;
    uint8_t *y = (uint8_t *)args->y.data + at, *to = y, rest_a[32], rest_b[32];
    uint32_t rest = 0;
    for (;; rest = n, n = 32, y = to, to = rest_a) {
        for (; n >= 32; n -= 32, a += line_a->step, b += line_b->step, to += 32)
            _mm256_storeu_si256((__m256i *)(void *)to, product32(how, a, b));
        if (!n) break;
        _mm256_storeu_si256((__m256i *)(void *)rest_a, _mm256_setzero_si256());
        _mm256_storeu_si256((__m256i *)(void *)rest_b, _mm256_setzero_si256());
        a = memcpy(rest_a, a, n), b = memcpy(rest_b, b, n); /* a turn of their own, for the code to stand once */
    }
    memcpy(y, rest_a, rest);
}

void morsel_qmul_avx2(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    const struct product p = {_mm_set1_epi8((char)args->a.qparams.sign_flip),
                              _mm_set1_epi8((char)args->b.qparams.sign_flip),
                              _mm256_set1_epi32(args->a.qparams.zero),
                              _mm256_set1_epi32(args->b.qparams.zero),
                              _mm256_set1_ps(args->a_ratio),
                              _mm256_set1_ps((float)(args->y.qparams.zero - args->y.qparams.own)),
                              morsel_requant256(&args->y, args->y.qparams.own)};
    morsel_for_pairs(args, begin, end, 32, product_line, &p, morsel_qmul_c);
}
