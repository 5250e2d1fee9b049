/* SPDX-License-Identifier: MIT */
/* Functions of a byte with AVX2, by table. */
#include "x86.h"

#include <immintrin.h>

/*
 * A table of 256 bytes as sixteen of sixteen. pshufb gives 0 where bit 7 of the index is set. The index v is first made signed; before each
 * next sixteen, 16 is taken off with saturation. What was below its sixteen is then negative. What lies above is found again by every later
 * lookup of its low four bits. So the sixteens hold differences to the ones after them, and exclusive or sums them up.
 */
struct table {
    __m256i part[16];
};

static struct table make_table(const struct morsel_lut_args *a) {
    struct table t;
    const uint8_t *bytes = a->table;
    __m128i before = _mm_setzero_si128();
    for (int k = 0; k < 16; k++) {
        __m128i these = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * k));
        t.part[k] = _mm256_broadcastsi128_si256(k == 8 ? these : _mm_xor_si128(these, before));
        before = these;
    }
    return t;
}

/* Indices 0..127 in the low half of the table, the others in the high one; what is not in a half has bit 7 set throughout. */
static inline __m256i look_up(const struct table *t, __m256i low) {
    __m256i r = _mm256_setzero_si256(), sixteen = _mm256_set1_epi8(16), high = _mm256_xor_si256(low, _mm256_set1_epi8((char)0x80));
    for (int k = 0; k < 8; k++) {
        r = _mm256_xor_si256(r, _mm256_shuffle_epi8(t->part[k], low));
        r = _mm256_xor_si256(r, _mm256_shuffle_epi8(t->part[k + 8], high));
        low = _mm256_subs_epi8(low, sixteen), high = _mm256_subs_epi8(high, sixteen);
    }
    return r;
}

const char *morsel_lut_refusal_avx2(const void *args) {
    const struct morsel_lut_args *a = args;
    if (a->is_float) return MORSEL_REFUSES_FLOATS;
    return a->channels != 1 ? MORSEL_REFUSES_TABLES : NULL;
}

void morsel_lut_avx2(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    if (morsel_lut_refusal_avx2(a) || end - begin < 64) {
        morsel_lut_c(a, begin, end);
        return;
    }
    struct table t = make_table(a);
    __m256i x_flip = _mm256_set1_epi8((char)a->x_flip), y_flip = _mm256_set1_epi8((char)a->y_flip);
    for (; end - begin >= 32; begin += 32) {
        __m256i v = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(a->x + begin)), x_flip);
        _mm256_storeu_si256((__m256i *)(void *)((uint8_t *)a->y + begin), _mm256_xor_si256(look_up(&t, v), y_flip));
    }
    morsel_lut_c(a, begin, end);
}
