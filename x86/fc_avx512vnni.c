/* SPDX-License-Identifier: MIT */
/*
 * Matrix products with AVX512-VNNI. The weights of a block are read once from front to back, eight sums wide, which is as fast as memory
 * gives them. Four rows share them where there are as many.
 */
#include "dot_avx512.h"
#include "fc_rows.h"
#include "requant_avx512.h"
#include "x86.h"

#include <string.h>

/* The last inputs of a row, zeros behind them, whose weights are 0. */
static __m512i broadcast_rest(const uint8_t *p, uint32_t n) {
    uint8_t bytes[4] = {0};
    for (uint32_t i = 0; i < n; i++) bytes[i] = p[i];
    return morsel_broadcast512(bytes);
}

/* Sums of `rows` rows from x with a block. */
MORSEL_INLINE void sum_rows(const struct morsel_fc_args *a, const uint8_t *x, const int8_t *w, int rows, __m512i *acc) {
    enum { WIDE = 8 };
    int split = WIDE / rows;
    uint32_t k = 0, chunk = 4 * (uint32_t)split;
    __m512i flip = _mm512_set1_epi8((char)a->x.qparams.sign_flip), part[WIDE];
    MORSEL_UNROLL
    for (int i = 0; i < WIDE; i++) part[i] = _mm512_setzero_si512();
    for (; a->inputs - k >= chunk; k += chunk, w += 16 * chunk) {
        MORSEL_UNROLL
        for (int i = 0; i < WIDE; i++) {
            __m512i u = _mm512_xor_si512(morsel_broadcast512(x + (size_t)(i / split) * a->inputs + k + 4 * (i % split)), flip);
            part[i] = morsel_dot512(part[i], u, _mm512_loadu_si512(w + 64 * (i % split)));
        }
    }
    for (; k < a->inputs; k += 4, w += 64) {
        uint32_t left = a->inputs - k;
        MORSEL_UNROLL
        for (int r = 0; r < rows; r++) {
            const uint8_t *p = x + (size_t)r * a->inputs + k;
            __m512i u = _mm512_xor_si512(left < 4 ? broadcast_rest(p, left) : morsel_broadcast512(p), flip);
            part[r * split] = morsel_dot512(part[r * split], u, _mm512_loadu_si512(w));
        }
    }
    MORSEL_UNROLL
    for (int r = 0; r < rows; r++) {
        acc[r] = part[r * split];
        MORSEL_UNROLL
        for (int i = 1; i < split; i++) acc[r] = _mm512_add_epi32(acc[r], part[r * split + i]);
    }
}

/* Sixteen sums to integers, limited from above: any multiplier will do. */
static inline __m512i round_sums(const struct morsel_fc_args *a, __m512i acc, __m512 m, uint32_t channel) {
    __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), m);
    if (a->channels.float_bias) v = _mm512_add_ps(v, _mm512_loadu_ps(a->channels.float_bias + channel));
    v = _mm512_min_ps(v, _mm512_set1_ps((float)(a->y.out_max - a->y.qparams.zero)));
    return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Out of the way, as it comes once for many inputs. */
static __attribute__((noinline)) void store(const struct morsel_fc_args *a, __m512i acc, size_t row, uint32_t block) {
    const struct morsel_channels *c = &a->channels;
    uint32_t channel = block * 16, left = a->outputs - channel;
    __mmask16 mask = left < 16 ? (__mmask16)((1u << left) - 1) : (__mmask16)0xffff;
    const int32_t x_zero = morsel_fc_zero(a, row);
    __m512i zero = _mm512_mullo_epi32(_mm512_loadu_si512(c->weight_sum + channel), _mm512_set1_epi32(x_zero));
    __m512 m = _mm512_mul_ps(_mm512_loadu_ps(c->multiplier + channel), _mm512_set1_ps(morsel_fc_scale(a, row)));
    size_t first = row * a->outputs + channel;
    acc = _mm512_add_epi32(acc, _mm512_sub_epi32(_mm512_loadu_si512(c->bias + channel), zero));
    if (c->weight_zero) {
        __m512i below = _mm512_set1_epi32(morsel_fc_below(a, (const uint8_t *)a->x.data + row * a->inputs, x_zero));
        acc = _mm512_add_epi32(acc, _mm512_mullo_epi32(_mm512_loadu_si512(c->weight_zero + channel), below));
    }
    if (a->y.qparams.is_float) {
        __m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), m);
        if (c->float_bias) v = _mm512_add_ps(v, _mm512_loadu_ps(c->float_bias + channel));
        v = _mm512_min_ps(_mm512_set1_ps(a->y.float_max), _mm512_max_ps(_mm512_set1_ps(a->y.float_min), v)); /* of two zeros the second */
        _mm512_mask_storeu_ps((float *)a->y.data + first, mask, v);
        return;
    }
    struct morsel_requant512 r = morsel_requant512(&a->y);
    acc = round_sums(a, acc, m, channel);
    __m512i bytes = morsel_apart512(morsel_pack512(&r, acc, acc, acc, acc));
    _mm_mask_storeu_epi8((uint8_t *)a->y.data + first, mask, _mm512_castsi512_si128(bytes));
}

/* `rows` rows from `row` with a block. */
MORSEL_INLINE void run_block(const struct morsel_fc_args *a, size_t row, uint32_t block, int rows) {
    const uint8_t *x = (const uint8_t *)a->x.data + row * a->inputs;
    __m512i acc[4];
    sum_rows(a, x, a->weights + (size_t)block * ((a->inputs + 3) / 4) * 64, rows, acc);
    MORSEL_UNROLL
    for (int r = 0; r < rows; r++) store(a, acc[r], row + (size_t)r, block);
}

static __attribute__((noinline)) void run_one(const struct morsel_fc_args *a, size_t row, uint32_t block) {
    run_block(a, row, block, 1);
}

/* Whole rows, all blocks. */
static void run_rows(const struct morsel_fc_args *a, size_t row, size_t end) {
    for (; end - row >= 4; row += 4)
        for (uint32_t block = 0; block < a->blocks; block++) run_block(a, row, block, 4);
    for (; row < end; row++)
        for (uint32_t block = 0; block < a->blocks; block++) run_one(a, row, block);
}

void morsel_fc_few_avx512vnni(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end && begin % a->blocks; begin++) run_one(a, begin / a->blocks, begin % a->blocks);
    uint32_t whole = (end - begin) / a->blocks * a->blocks;
    run_rows(a, begin / a->blocks, (begin + whole) / a->blocks);
    for (begin += whole; begin < end; begin++) run_one(a, begin / a->blocks, begin % a->blocks);
    _mm256_zeroupper();
}

void morsel_fc_blocks_avx512vnni(const struct morsel_fc_args *a, uint32_t begin, uint32_t end) {
    morsel_fc_rows(a, begin, end, MORSEL_FC_LEAST, morsel_conv_has_tiles_avx512vnni, morsel_conv_lines_avx512vnni,
                   morsel_fc_few_avx512vnni);
}
