/* SPDX-License-Identifier: MIT */
/* What functions of one value mean, computed in float or looked up. */
#include "../float.h"
#include "../float_plain.h"
#include "../requant.h"
#include "reference.h"

static float step(float x, float alpha, float beta) {
    return morsel_clamp(alpha * x + beta, 0, 1);
}

/* Exponentials and logarithms are defined by their text, in float_activations.h; the rest is plain. */
static float activation(uint32_t op, float x, float alpha, float beta) {
    switch (op) {
    case MORSEL_UNARY_ELU: return x < 0 ? alpha * eight_expm1(x) : beta * x;
    case MORSEL_UNARY_CELU: return x < 0 ? alpha * eight_expm1(x / alpha) : x;
    case MORSEL_UNARY_SWISH: return x * morsel_sigmoid(alpha * x);
    case MORSEL_UNARY_SOFTSIGN: return x / (1 + (x < 0 ? -x : x));
    case MORSEL_UNARY_THRESHOLD: return x > alpha ? x : 0;
    case MORSEL_UNARY_SHRINK: return x < -alpha ? x + beta : x > alpha ? x - beta : 0;
    case MORSEL_UNARY_RECIPROCAL: return 1 / x;
    case MORSEL_UNARY_SIGN: return x > 0 ? 1 : x < 0 ? -1 : x;
    default: return eight_activation(op, x, alpha, beta);
    }
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
    case MORSEL_UNARY_IDENTITY: return x;
    default: return activation(a->op, x, a->alpha, a->beta);
    }
}

static uint8_t qaffine(const struct morsel_unary_args *a, uint32_t i) {
    int32_t x = (int32_t)(((const uint8_t *)a->x.data)[i] ^ a->x.qparams.sign_flip) - a->x.qparams.own;
    float product = (float)x * a->scale[i % a->channels], low = (float)-a->y.qparams.own, high = (float)(255 - a->y.qparams.own);
    int32_t y = morsel_round(morsel_clamp(product + a->offset[i % a->channels], low, high)) + a->y.qparams.own;
    return (uint8_t)((uint32_t)y ^ a->y.qparams.sign_flip);
}

void morsel_unary_reference(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; a->op == MORSEL_UNARY_QAFFINE && i < end; i++) ((uint8_t *)a->y.data)[i] = qaffine(a, i);
    if (a->op == MORSEL_UNARY_QAFFINE) return;
    for (uint32_t i = begin; i < end; i++) morsel_store_float(&a->y, i, apply(a, morsel_load_float(&a->x, i), i % a->channels));
}

void morsel_lut_reference(const struct morsel_lut_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        size_t at = (size_t)(i / a->inner % a->channels) * 256 + (a->x[i] ^ a->x_flip);
        if (a->is_float) ((float *)a->y)[i] = ((const float *)a->table)[at];
        else ((uint8_t *)a->y)[i] = (uint8_t)(((const uint8_t *)a->table)[at] ^ a->y_flip);
    }
}
