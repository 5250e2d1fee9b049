/* SPDX-License-Identifier: MIT */
/* Elementwise operators of one operand, in float; and with the identity, quantize, dequantize and requantize. */
#include "real.h"
#include "requant.h"

static float linear_step(float x, float alpha, float beta) {
    return morsel_clamp(alpha * x + beta, 0, 1);
}

static float apply(const struct morsel_unary_args *a, float x) {
    switch (a->op) {
    case MORSEL_DO_CLIP: return morsel_clamp(x, a->alpha, a->beta);
    case MORSEL_DO_LEAKY_RELU: return x < 0 ? a->alpha * x : x;
    case MORSEL_DO_HARD_SIGMOID: return linear_step(x, a->alpha, a->beta);
    case MORSEL_DO_HARD_SWISH: return x * linear_step(x, a->alpha, a->beta);
    case MORSEL_DO_SIGMOID: return morsel_sigmoid(x);
    case MORSEL_DO_TANH: return morsel_tanh(x);
    case MORSEL_DO_SILU: return x * morsel_sigmoid(x);
    case MORSEL_DO_ERF: return morsel_erf(x);
    case MORSEL_DO_EXP: return morsel_exp(x);
    case MORSEL_DO_SQRT: return morsel_sqrt(x);
    case MORSEL_DO_ABS: return x < 0 ? -x : x + 0.0f; /* + 0 turns -0 into 0 */
    case MORSEL_DO_NEG: return -x;
    default: return x;
    }
}

void morsel_unary_c(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++) {
        float x = morsel_load_real(&a->x, i);
        float v = a->op == MORSEL_DO_AFFINE ? x * a->scale[i % a->channels] + a->offset[i % a->channels] : apply(a, x);
        morsel_store_real(&a->y, i, v);
    }
}
