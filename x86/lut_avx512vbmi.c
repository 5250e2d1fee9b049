/* SPDX-License-Identifier: MIT */
/* Functions of a byte with AVX512-VBMI, by table: one permutation looks up 64 bytes among 128. */
#include "x86.h"

#include <immintrin.h>

struct table {
    __m512i part[4], x_flip, y_flip;
};

static struct table make_table(const struct morsel_lut_args *a) {
    struct table t = {.x_flip = _mm512_set1_epi8((char)a->x_flip), .y_flip = _mm512_set1_epi8((char)a->y_flip)};
    for (int k = 0; k < 4; k++) t.part[k] = _mm512_loadu_si512((const uint8_t *)a->table + 64 * k);
    return t;
}

/* A permutation reads the low seven bits of an index; the eighth chooses between the halves. */
static inline __m512i look_up(const struct table *t, __m512i x) {
    __m512i v = _mm512_xor_si512(x, t->x_flip);
    __m512i low = _mm512_permutex2var_epi8(t->part[0], v, t->part[1]), high = _mm512_permutex2var_epi8(t->part[2], v, t->part[3]);
    return _mm512_xor_si512(_mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high), t->y_flip);
}

void morsel_lut_avx512vbmi(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    if (morsel_lut_refusal_avx2(a)) {
        morsel_lut_avx2(a, begin, end);
        return;
    }
    const struct table t = make_table(a);
    const uint8_t *x = a->x;
    uint8_t *y = a->y;
    for (; end - begin >= 64; begin += 64) _mm512_storeu_si512(y + begin, look_up(&t, _mm512_loadu_si512(x + begin)));
    if (begin == end) return;
    const __mmask64 rest = ((__mmask64)1 << (end - begin)) - 1;
    _mm512_mask_storeu_epi8(y + begin, rest, look_up(&t, _mm512_maskz_loadu_epi8(rest, x + begin)));
}
