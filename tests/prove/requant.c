/* SPDX-License-Identifier: MIT */
/* Proofs of kernels/requant.h and of float conversions in core/: rounding, clamping, and that every result is one of its type. */
#include "core/quantize.c"
#include "prove.h"

/* The nearest integer, and of two the even one. */
void prove_round(float v) {
    prove_bits();
    prove_assume(v >= -4194304.0f & v <= 4194304.0f);
    prove_assert((float)morsel_round(v) == prove_nearest(v));
}

/* A value in steps becomes a byte within the limits; infinite ones, too. */
void prove_limit(float v, int32_t low, int32_t high, int32_t zero) {
    prove_bits();
    struct morsel_output y = {.out_min = low, .out_max = high, .qparams = {.zero = zero}};
    prove_assume(low >= 0 & low <= high & high <= 255 & zero >= 0 & zero <= 255 & v == v);
    uint8_t byte = morsel_limit(&y, v);
    prove_assert(byte >= low & byte <= high);
}

/* No conversion to int32 is undefined. */
void prove_to_int32(float v) {
    prove_bits();
    int32_t n = to_int32(v);
    prove_assert((v == v) | (n == 0));
}

/* Elements of a view: 0 where a product does not fit its bytes; no product leaves 64 bits. */
void prove_view(void) {
    struct morsel_view view;
    prove_any(&view);
    prove_assume(view.rank <= 3);
    uint32_t n = morsel_view_elements(&view);
    wide exact = 1;
    for (uint32_t k = 0; k < view.rank; k++) exact *= view.dims[k];
    if (n) prove_assert(n == exact & n <= view.bytes);
}
