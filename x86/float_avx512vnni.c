/* SPDX-License-Identifier: MIT */
/* Products of two float activations with AVX-512: products and sums are never fused, as in plain C. */
#include "x86.h"

#include <immintrin.h>

#define SIXTEEN
#define SIXTEEN_INLINE static inline __attribute__((always_inline))
typedef __m512 sixteen;

SIXTEEN_INLINE sixteen sixteen_load(const float *x) {
    return _mm512_loadu_ps(x);
}

SIXTEEN_INLINE void sixteen_save(float *to, sixteen v) {
    _mm512_storeu_ps(to, v);
}

SIXTEEN_INLINE sixteen sixteen_zero(void) {
    return _mm512_setzero_ps();
}

SIXTEEN_INLINE sixteen sixteen_more(sixteen sum, sixteen v, float x) {
    return _mm512_add_ps(sum, _mm512_mul_ps(v, _mm512_set1_ps(x)));
}

/* The second operand of a minimum or a maximum is the one that a NaN, and a tie of zeros, leads to. */
SIXTEEN_INLINE sixteen sixteen_finish(sixteen v, const struct morsel_float_matmul_args *a, const float *term) {
    v = _mm512_mul_ps(v, _mm512_set1_ps(a->factor));
    if (term) v = _mm512_add_ps(v, _mm512_loadu_ps(term));
    v = _mm512_min_ps(_mm512_set1_ps(a->y.float_max), _mm512_max_ps(_mm512_set1_ps(a->y.float_min), v));
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

#undef SIXTEEN_INLINE
#include "../kernels/float_product.h"

void morsel_float_matmul_avx512vnni(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    product_range(a, begin, end);
}
