/* SPDX-License-Identifier: MIT */
/* What elementwise operators, tables, means and softmax mean, one element at a time: plain C is compared with these. */
#include "check.h"
#include "kernels/float.h"
#include "kernels/requant.h"

#include <float.h>

/* Where element i of y finds its operand. */
static size_t operand_at(const struct morsel_binary_args *a, const uint32_t *stride, uint32_t i) {
    size_t at = 0;
    for (uint32_t k = a->rank; k-- > 0; i /= a->dims[k]) at += (size_t)(i % a->dims[k]) * stride[k];
    return at;
}

static int32_t unsigned_at(const struct morsel_input *x, size_t i) {
    return (int32_t)(((const uint8_t *)x->data)[i] ^ x->qparams.sign_flip);
}

/* `v` in y's own integers, zero point included. */
static void store_integer(const struct morsel_output *y, size_t i, float v) {
    int32_t own = y->qparams.own;
    int32_t u = morsel_round(morsel_clamp(v, (float)(y->out_min - own), (float)(y->out_max - own))) + own;
    ((uint8_t *)y->data)[i] = (uint8_t)((uint32_t)u ^ y->qparams.sign_flip);
}

static void qadd(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        float x = (float)(unsigned_at(&a->a, operand_at(a, a->a_stride, i)) - a->a.qparams.own);
        float z = (float)(unsigned_at(&a->b, operand_at(a, a->b_stride, i)) - a->b.qparams.own);
        store_integer(&a->y, i, morsel_fma(x, a->a_ratio, morsel_fma(z, a->b_ratio, a->offset)));
    }
}

static void qmul(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        int32_t x = unsigned_at(&a->a, operand_at(a, a->a_stride, i)) - a->a.qparams.zero;
        int32_t z = unsigned_at(&a->b, operand_at(a, a->b_stride, i)) - a->b.qparams.zero;
        store_integer(&a->y, i, (float)(x * z) * a->a_ratio + (float)(a->y.qparams.zero - a->y.qparams.own));
    }
}

static float apply_two(uint32_t op, float a, float b) {
    switch (op) {
    case MORSEL_BINARY_ADD: return a + b;
    case MORSEL_BINARY_SUB: return a - b;
    case MORSEL_BINARY_MUL: return a * b;
    case MORSEL_BINARY_DIV: return a / b;
    case MORSEL_BINARY_MAX: return a != a || a > b ? a : b; /* a NaN wins */
    default: return a != a || a < b ? a : b;
    }
}

static void binary(const struct morsel_binary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        float x = morsel_load_float(&a->a, operand_at(a, a->a_stride, i)), z = morsel_load_float(&a->b, operand_at(a, a->b_stride, i));
        morsel_store_float(&a->y, i, apply_two(a->op, x, z));
    }
}

static float step(float x, float alpha, float beta) {
    return morsel_clamp(alpha * x + beta, 0, 1);
}

static float apply(const struct morsel_unary_args *a, float x, uint32_t channel) {
    switch (a->op) {
    case MORSEL_UNARY_CLIP: return morsel_clamp(x, a->alpha, a->beta);
    case MORSEL_UNARY_LEAKY_RELU: return x < 0 ? a->alpha * x : x;
    case MORSEL_UNARY_HARD_SIGMOID: return step(x, a->alpha, a->beta);
    case MORSEL_UNARY_HARD_SWISH: return x * step(x, a->alpha, a->beta);
    case MORSEL_UNARY_SIGMOID: return morsel_sigmoid(x);
    case MORSEL_UNARY_TANH: return morsel_tanh(x);
    case MORSEL_UNARY_SILU: return x * morsel_sigmoid(x);
    case MORSEL_UNARY_AFFINE: return x * a->scale[channel] + a->offset[channel];
    case MORSEL_UNARY_ERF: return morsel_erf(x);
    case MORSEL_UNARY_EXP: return morsel_exp(x);
    case MORSEL_UNARY_SQRT: return morsel_sqrt(x);
    case MORSEL_UNARY_ABS: return x < 0 ? -x : x + 0.0f;
    case MORSEL_UNARY_NEG: return -x;
    default: return x;
    }
}

static void unary(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) morsel_store_float(&a->y, i, apply(a, morsel_load_float(&a->x, i), i % a->channels));
}

static void lut(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        size_t at = (size_t)(i / a->inner % a->channels) * 256 + (a->x[i] ^ a->x_flip);
        if (a->is_float) ((float *)a->y)[i] = ((const float *)a->table)[at];
        else ((uint8_t *)a->y)[i] = (uint8_t)(((const uint8_t *)a->table)[at] ^ a->y_flip);
    }
}

/* Bytes are summed exactly, floats in order. */
static void mean(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t first = (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
        int32_t sum = 0;
        float real = 0;
        for (uint32_t i = 0; i < a->count; i++) {
            if (a->x.qparams.is_float) real += morsel_load_float(&a->x, first + (size_t)i * a->inner);
            else sum += unsigned_at(&a->x, first + (size_t)i * a->inner) - a->x.qparams.zero;
        }
        if (a->x.qparams.is_float) morsel_store_float(&a->y, u, real / (float)a->count);
        else morsel_store_sum(&a->y, u, sum, a->multiplier, NULL);
    }
}

/* Exponentials by their distance to the largest, summed in order; each is scaled to whole steps of y, then divided. */
static void softmax_bytes(const struct morsel_softmax_args *a, size_t first) {
    int32_t most = 0;
    float sum = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        int32_t u = unsigned_at(&a->x, first + (size_t)i * a->inner);
        if (u > most) most = u;
    }
    for (uint32_t i = 0; i < a->count; i++) sum += a->table[255 - most + unsigned_at(&a->x, first + (size_t)i * a->inner)];
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        float steps = a->table[255 - most + unsigned_at(&a->x, at)] * a->levels / sum;
        ((uint8_t *)a->y.data)[at] = (uint8_t)(morsel_limit(&a->y, steps == steps ? steps : 0) ^ a->y.qparams.sign_flip);
    }
}

static void softmax_floats(const struct morsel_softmax_args *a, size_t first) {
    float most = morsel_load_float(&a->x, first);
    double sum = 0;
    for (uint32_t i = 1; i < a->count; i++) {
        float v = morsel_load_float(&a->x, first + (size_t)i * a->inner);
        if (v > most) most = v;
    }
    for (uint32_t i = 0; i < a->count; i++)
        sum += morsel_exp_wide((double)morsel_load_float(&a->x, first + (size_t)i * a->inner) - (double)most);
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        morsel_store_float(&a->y, at, (float)(morsel_exp_wide((double)morsel_load_float(&a->x, at) - (double)most) / sum));
    }
}

static void softmax(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t first = (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
        (a->table ? softmax_bytes : softmax_floats)(a, first);
    }
}

void reference_elements(struct morsel_kernels *table) {
    table->qadd = qadd;
    table->qmul = qmul;
    table->binary = binary;
    table->unary = unary;
    table->lut = lut;
    table->mean = mean;
    table->softmax = softmax;
}
