/* SPDX-License-Identifier: MIT */
/*
 * Matrix products with 256-bit registers. The file that includes this says what a dot product is: fc_dot(acc, u, w), eight sums plus four
 * products each. The weights of a block are read once from front to back, four quads of inputs at a time.
 */
#include "fc_rows.h"
#include "requant_avx2.h"
#include "seven_avx2.h"
#include "x86.h"

#define FC_PREFETCH 4096u /* bytes of weights between their arrival and their use: they come from main memory, once each */

struct fc_sums {
    __m256i a, b; /* channels 0..7, 8..15 */
};

/* A quad of inputs and its weights; the inputs that are missing have weights of 0. */
MORSEL_INLINE void fc_add(struct fc_sums *s, const uint8_t *x, const int8_t *w, __m256i flip) {
    __m256i u = _mm256_xor_si256(morsel_broadcast256(x), flip);
    s->a = fc_dot(s->a, u, _mm256_loadu_si256((const __m256i *)(const void *)w));
    s->b = fc_dot(s->b, u, _mm256_loadu_si256((const __m256i *)(const void *)(w + 32)));
}

static struct fc_sums fc_row(const struct morsel_fc_args *a, const uint8_t *x, const int8_t *w, struct fc_sums s) {
    __m256i flip = _mm256_set1_epi8((char)a->x.qparams.sign_flip), zero = _mm256_setzero_si256();
    struct fc_sums s1 = {zero, zero}, s2 = s1, s3 = s1;
    uint8_t rest[4] = {0};
    uint32_t left = a->inputs;
    for (; left >= 16; left -= 16, x += 16, w += 256) {
        for (int i = 0; i < 256; i += 64) _mm_prefetch((const char *)((uintptr_t)w + FC_PREFETCH + (unsigned)i), _MM_HINT_T0);
        fc_add(&s, x, w, flip);
        fc_add(&s1, x + 4, w + 64, flip);
        fc_add(&s2, x + 8, w + 128, flip);
        fc_add(&s3, x + 12, w + 192, flip);
    }
    for (; left >= 4; left -= 4, x += 4, w += 64) fc_add(&s, x, w, flip);
    for (uint32_t i = 0; i < left; i++) rest[i] = x[i];
    if (left) fc_add(&s, rest, w, flip);
    s.a = _mm256_add_epi32(_mm256_add_epi32(s.a, s1.a), _mm256_add_epi32(s2.a, s3.a));
    s.b = _mm256_add_epi32(_mm256_add_epi32(s.b, s1.b), _mm256_add_epi32(s2.b, s3.b));
    return s;
}

static void fc_store_floats(const struct morsel_fc_args *a, uint32_t row, uint32_t channel, uint32_t n, __m256i sums) {
    const float *bias = a->channels.float_bias;
    const __m256 m = _mm256_mul_ps(_mm256_loadu_ps(a->channels.multiplier + channel), _mm256_set1_ps(morsel_fc_scale(a, row)));
    const size_t first = (size_t)row * a->outputs + channel;
    float bytes[8];
    __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), m);
    if (bias) v = _mm256_add_ps(v, _mm256_loadu_ps(bias + channel));
    v = _mm256_min_ps(_mm256_set1_ps(a->y.float_max), _mm256_max_ps(_mm256_set1_ps(a->y.float_min), v)); /* of two zeros the second */
    _mm256_storeu_ps(bytes, v);
    memcpy((float *)a->y.data + first, bytes, (n < 8 ? n : 8) * sizeof(float));
}

/* What weights with a zero point add to eight channels. */
static __m256i fc_zero(const struct morsel_fc_args *a, int32_t below, uint32_t channel) {
    __m256i zero = _mm256_loadu_si256((const __m256i *)(const void *)(a->channels.weight_zero + channel));
    return _mm256_mullo_epi32(zero, _mm256_set1_epi32(below));
}

static void fc_block(const struct morsel_fc_args *a, uint32_t row, uint32_t block) {
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)row * a->inputs;
    const int8_t *w = a->weights + (size_t)block * ((a->inputs + 3) / 4) * 64;
    uint32_t channel = block * 16, left = a->outputs - channel;
    size_t first = (size_t)row * a->outputs + channel;
    const int32_t zero = morsel_fc_zero(a, row);
    struct fc_sums s = {morsel_start256(&a->channels, channel, zero), morsel_start256(&a->channels, channel + 8, zero)};
    if (a->channels.weight_zero) {
        int32_t below = morsel_fc_below(a, x, zero);
        s.a = _mm256_add_epi32(s.a, fc_zero(a, below, channel));
        s.b = _mm256_add_epi32(s.b, fc_zero(a, below, channel + 8));
    }
    s = fc_row(a, x, w, s);
    if (a->y.qparams.is_float) {
        fc_store_floats(a, row, channel, left, s.a);
        if (left > 8) fc_store_floats(a, row, channel + 8, left - 8, s.b);
        return;
    }
    struct morsel_requant256 r = morsel_requant256(&a->y, a->y.qparams.zero);
    const float *multiplier = a->channels.multiplier + channel, *bias = a->channels.float_bias;
    __m256 bias_a = bias ? _mm256_loadu_ps(bias + channel) : _mm256_setzero_ps(), bias_b = bias_a;
    if (bias) bias_b = _mm256_loadu_ps(bias + channel + 8);
    s.a = morsel_scale256_bias(&r, s.a, _mm256_loadu_ps(multiplier), bias_a); /* adding 0 changes no result of rounding */
    s.b = morsel_scale256_bias(&r, s.b, _mm256_loadu_ps(multiplier + 8), bias_b);
    __m256i v = morsel_pack256_in_order(&r, s.a, s.b, s.a, s.b);
    morsel_store_first((uint8_t *)a->y.data + first, _mm256_castsi256_si128(v), left < 16 ? left : 16);
}
