/* SPDX-License-Identifier: MIT */
/* Floats with AVX-512, sixteen at a time: products of two activations, Gelu and its like, Softmax. Nothing is fused, as in plain C. */
#include "x86.h"

#include <float.h>
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

SIXTEEN_INLINE void product_turn(float *to, const float *x, size_t apart) {
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + apart), c = _mm_loadu_ps(x + 2 * apart), d = _mm_loadu_ps(x + 3 * apart);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + 16, b);
    _mm_storeu_ps(to + 32, c);
    _mm_storeu_ps(to + 48, d);
}

#undef SIXTEEN_INLINE
#include "../kernels/float_product.h"

void morsel_float_matmul_avx512vnni(const struct morsel_float_matmul_args *a, uint32_t begin, uint32_t end) {
    product_range(a, begin, end);
}

/* ---- element by element ---- */

#define SIXTEEN_INLINE static inline __attribute__((always_inline))
typedef __m512 eight; /* of twice as many: float_functions.h does not count them */

SIXTEEN_INLINE eight eight_all(float v) {
    return _mm512_set1_ps(v);
}

SIXTEEN_INLINE eight eight_add(eight a, eight b) {
    return _mm512_add_ps(a, b);
}

SIXTEEN_INLINE eight eight_sub(eight a, eight b) {
    return _mm512_sub_ps(a, b);
}

SIXTEEN_INLINE eight eight_mul(eight a, eight b) {
    return _mm512_mul_ps(a, b);
}

SIXTEEN_INLINE eight eight_div(eight a, eight b) {
    return _mm512_div_ps(a, b);
}

SIXTEEN_INLINE eight eight_select(eight a, eight b, eight x, eight y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}

SIXTEEN_INLINE eight eight_abs(eight a) {
    return _mm512_abs_ps(a);
}

SIXTEEN_INLINE eight eight_signed(eight a, eight from) {
    return _mm512_or_ps(_mm512_abs_ps(a), _mm512_and_ps(_mm512_set1_ps(-0.0f), from));
}

/* Rounded once, as where 2^n is multiplied in two steps. */
SIXTEEN_INLINE eight eight_power(eight v, eight shifted) {
    return _mm512_scalef_ps(v, _mm512_sub_ps(shifted, _mm512_set1_ps(12582912.0f)));
}

#define eight_power_near eight_power

#include "../kernels/float.h"
#include "../kernels/float_functions.h"

#include "../kernels/float_activations.h"

SIXTEEN_INLINE __m512 limited(const struct morsel_output *y, __m512 v) {
    v = _mm512_min_ps(_mm512_set1_ps(y->float_max), _mm512_max_ps(_mm512_set1_ps(y->float_min), v));
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

/* Quantization, and Gelu by erf, which takes longest; whatever else there is, is left to AVX2. */
void morsel_unary_avx512vnni(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    const float *x = a->x.data;
    float *y = a->y.data, numbers[2];
    struct morsel_quantize_args quantize;
    if (morsel_is_quantize(a, begin, end, numbers, &quantize)) {
        morsel_quantize_avx512vnni(&quantize, 0, 1);
        return;
    }
    if (a->op == MORSEL_UNARY_GELU && a->x.qparams.is_float && a->y.qparams.is_float)
        for (; end - begin >= 32; begin += 32) { /* two side by side, as each waits for its own results */
            const __m512 u = eight_by_near(MORSEL_UNARY_GELU, _mm512_loadu_ps(x + begin));
            const __m512 v = eight_by_near(MORSEL_UNARY_GELU, _mm512_loadu_ps(x + begin + 16));
            _mm512_storeu_ps(y + begin, limited(&a->y, u));
            _mm512_storeu_ps(y + begin + 16, limited(&a->y, v));
        }
    if (begin < end) morsel_unary_avx2(a, begin, end);
}

/* ---- along lines ---- */

/* Of sixteen elements, or those that a mask has; element i is in sum i % 8, and exponentials wait in y. */
SIXTEEN_INLINE __m256 softmax_some(const float *x, float *y, __mmask16 mask, __m512 most, __m256 sums) {
    const __m512 v = _mm512_maskz_mov_ps(mask, eight_exp_weight(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, x), most)));
    _mm512_mask_storeu_ps(y, mask, v);
    return _mm256_add_ps(_mm256_add_ps(sums, _mm512_castps512_ps256(v)), _mm512_extractf32x8_ps(v, 1));
}

/* Whole sixteens apart from the rest: what was stored by a mask is loaded late. */
static void softmax_line(const struct morsel_softmax_args *a, size_t first) {
    const uint32_t whole = a->count / 16 * 16;
    const __mmask16 rest = (__mmask16)((1u << a->count % 16) - 1);
    const float *x = (const float *)a->x.data + first;
    float *y = (float *)a->y.data + first, parts[8];
    __m512 most = _mm512_set1_ps(-FLT_MAX), sum;
    __m256 sums = _mm256_setzero_ps();
    for (uint32_t i = 0; i < whole; i += 16) most = _mm512_max_ps(_mm512_loadu_ps(x + i), most);
    most = _mm512_max_ps(_mm512_mask_loadu_ps(most, rest, x + whole), most);
    most = _mm512_set1_ps(_mm512_reduce_max_ps(most));
    for (uint32_t i = 0; i < whole; i += 16) sums = softmax_some(x + i, y + i, 0xffff, most, sums);
    if (rest) sums = softmax_some(x + whole, y + whole, rest, most, sums);
    _mm256_storeu_ps(parts, sums);
    sum = _mm512_set1_ps(morsel_add_eight(parts));
    for (uint32_t i = 0; i < whole; i += 16) _mm512_storeu_ps(y + i, limited(&a->y, _mm512_div_ps(_mm512_loadu_ps(y + i), sum)));
    if (rest) _mm512_mask_storeu_ps(y + whole, rest, limited(&a->y, _mm512_div_ps(_mm512_maskz_loadu_ps(rest, y + whole), sum)));
}

void morsel_softmax_avx512vnni(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    const int floats = !a->table && a->inner == 1 && a->x.qparams.is_float && a->y.qparams.is_float;
    for (; floats && begin < end; begin++) softmax_line(a, (size_t)begin * a->count);
    if (begin < end) morsel_softmax_avx2(a, begin, end);
}
