/* SPDX-License-Identifier: MIT */
/* What elementwise operators of two operands mean, with broadcasting: in bytes as ONNX Runtime does, and in float. */
#include "../float.h"
#include "../requant.h"
#include "reference.h"

/* Where element i of y finds its operand. */
static size_t operand_at(const struct morsel_binary_args *a, const uint32_t *stride, uint32_t i) {
    size_t at = 0;
    for (uint32_t k = a->rank; k-- > 0; i /= a->dims[k]) at += (size_t)(i % a->dims[k]) * stride[k];
    return at;
}

/* A byte less `zero`. */
static int32_t integer_at(const struct morsel_input *x, size_t i, int32_t zero) {
    return (int32_t)(((const uint8_t *)x->data)[i] ^ x->qparams.sign_flip) - zero;
}

/* v in the integers of y's own type, zero point included. */
static void store_own(const struct morsel_output *y, size_t i, float v) {
    int32_t own = y->qparams.own;
    int32_t u = morsel_round(morsel_clamp(v, (float)(y->out_min - own), (float)(y->out_max - own))) + own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->qparams.sign_flip);
}

/* Two fused multiply-adds of the types' own integers; the zero points are part of the offset. */
void morsel_qadd_reference(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        float x = (float)integer_at(&a->a, operand_at(a, a->a_stride, i), a->a.qparams.own);
        float z = (float)integer_at(&a->b, operand_at(a, a->b_stride, i), a->b.qparams.own);
        store_own(&a->y, i, morsel_fma(x, a->a_ratio, morsel_fma(z, a->b_ratio, a->offset)));
    }
}

/* The zero point is added in float, before rounding. */
void morsel_qmul_reference(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int32_t x = integer_at(&a->a, operand_at(a, a->a_stride, i), a->a.qparams.zero);
        int32_t z = integer_at(&a->b, operand_at(a, a->b_stride, i), a->b.qparams.zero);
        store_own(&a->y, i, (float)(x * z) * a->a_ratio + (float)(a->y.qparams.zero - a->y.qparams.own));
    }
}

static float apply(uint32_t op, float a, float b) {
    switch (op) {
    case MORSEL_BINARY_ADD: return a + b;
    case MORSEL_BINARY_SUB: return a - b;
    case MORSEL_BINARY_MUL: return a * b;
    case MORSEL_BINARY_DIV: return a / b;
    case MORSEL_BINARY_PRELU: return a < 0 ? a * b : a;
    case MORSEL_BINARY_POW: return morsel_pow(a, b);
    case MORSEL_BINARY_MASK: return b > 0 ? a : 0;
    case MORSEL_BINARY_MAX: return a != a || a > b ? a : b; /* a NaN wins */
    default: return a != a || a < b ? a : b;
    }
}

void morsel_binary_reference(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        float x = morsel_load_float(&a->a, operand_at(a, a->a_stride, i)), z = morsel_load_float(&a->b, operand_at(a, a->b_stride, i));
        morsel_store_float(&a->y, i, apply(a->op, x, z));
    }
}
