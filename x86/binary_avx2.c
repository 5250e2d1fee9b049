/* SPDX-License-Identifier: MIT */
/* Sums of two quantized tensors with AVX2; the fused multiply-adds of kernels/requant.h are one instruction here. */
#include "requant_avx2.h"
#include "x86.h"

/* What an operand's byte means: (byte ^ flip) - own. */
struct operand {
    const uint8_t *data;
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
        x->data,
        _mm_set1_epi8((char)x->qparams.sign_flip),
        _mm256_set1_epi32(x->qparams.own),
        _mm256_set1_ps(ratio),
    };
    return o;
}

static inline __m256 load8(const struct operand *o, const uint8_t *x) {
    __m128i bytes = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(const void *)x), o->sign_flip);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(bytes), o->own));
}

static inline __m256i sum8(const struct sum *s, const uint8_t *a, const uint8_t *b) {
    __m256 v = _mm256_fmadd_ps(load8(&s->b, b), s->b.ratio, s->offset);
    return morsel_round256(&s->requant, _mm256_fmadd_ps(load8(&s->a, a), s->a.ratio, v));
}

static inline __m256i sum32(const struct sum *s, const uint8_t *a, const uint8_t *b) {
    return morsel_pack256_in_order(&s->requant, sum8(s, a, b), sum8(s, a + 8, b + 8), sum8(s, a + 16, b + 16), sum8(s, a + 24, b + 24));
}

/* Elements begin .. end, each of all three tensors in the same place. y may be a or b: a piece is read before it is written. */
static void sum_run(const struct sum *s, uint8_t *y, uint32_t begin, uint32_t end) {
    const uint8_t *a = s->a.data, *b = s->b.data;
    uint8_t rest_a[32] = {0}, rest_b[32] = {0};
    uint32_t i = begin;
    for (; end - i >= 32; i += 32) _mm256_storeu_si256((__m256i *)(void *)(y + i), sum32(s, a + i, b + i));
    if (i == end) return;
    memcpy(rest_a, a + i, end - i);
    memcpy(rest_b, b + i, end - i);
    _mm256_storeu_si256((__m256i *)(void *)rest_a, sum32(s, rest_a, rest_b));
    memcpy(y + i, rest_a, end - i);
}

void morsel_qadd_avx2(const struct morsel_binary_args *args, uint32_t begin, uint32_t end) {
    if (!morsel_is_contiguous(args->dims, args->a_stride, args->rank) || !morsel_is_contiguous(args->dims, args->b_stride, args->rank)) {
        morsel_qadd_c(args, begin, end);
        return;
    }
    struct sum s = {operand_of(&args->a, args->a_ratio), operand_of(&args->b, args->b_ratio), _mm256_set1_ps(args->offset),
                    morsel_requant256(&args->y, args->y.qparams.own)};
    sum_run(&s, args->y.data, begin, end);
}
