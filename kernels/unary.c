/* SPDX-License-Identifier: MIT */
/* Elementwise operators of one operand, in plain C, sixteen elements at a time, in float. With the identity they quantize, dequantize and
 * requantize. */
#include "float.h"
#include "float_plain.h"
#include "requant.h"

enum { N = MORSEL_LANES };

static float linear_step(float x, float alpha, float beta) {
    float v = alpha * x + beta;
    v = v < 0 ? 0 : v;
    return v > 1 ? 1 : v;
}

/* A loop for each, so that compilers make vectors of it; one loop for all where code is to be small. */
static void activate(const struct morsel_unary_args *a, float *v) {
    const float alpha = a->alpha, beta = a->beta;
#ifdef __OPTIMIZE_SIZE__
    for (uint32_t i = 0; i < N; i++) v[i] = eight_activation(a->op, v[i], alpha, beta);
#else
    const int celu = a->op == MORSEL_UNARY_CELU, erf = a->op == MORSEL_UNARY_ERF;
    switch (a->op) {
#define EACH(op) \
    case op: \
        for (uint32_t i = 0; i < N; i++) v[i] = eight_activation(op, v[i], alpha, beta); \
        break;
    case MORSEL_UNARY_SIGMOID:
    case MORSEL_UNARY_SILU:
    case MORSEL_UNARY_SWISH:
    case MORSEL_UNARY_GELU_TANH:
        for (uint32_t i = 0; i < N; i++) v[i] = eight_by_sigmoid(a->op, v[i], alpha);
        break;
    case MORSEL_UNARY_ELU:
    case MORSEL_UNARY_CELU:
        for (uint32_t i = 0; i < N; i++) v[i] = eight_by_exp(celu ? MORSEL_UNARY_CELU : MORSEL_UNARY_ELU, v[i], alpha, beta);
        break;
    case MORSEL_UNARY_ERF:
    case MORSEL_UNARY_GELU:
        for (uint32_t i = 0; i < N; i++) v[i] = eight_by_near(erf ? MORSEL_UNARY_ERF : MORSEL_UNARY_GELU, v[i]);
        break;
        EACH(MORSEL_UNARY_EXP)
        EACH(MORSEL_UNARY_TANH)
        EACH(MORSEL_UNARY_SOFTPLUS)
        EACH(MORSEL_UNARY_SOFTSIGN)
        EACH(MORSEL_UNARY_MISH)
        EACH(MORSEL_UNARY_THRESHOLD)
        EACH(MORSEL_UNARY_SHRINK)
        EACH(MORSEL_UNARY_LOG)
        EACH(MORSEL_UNARY_RECIPROCAL)
        EACH(MORSEL_UNARY_SIGN)
    default:
        for (uint32_t i = 0; i < N; i++) v[i] = eight_integer(a->op, v[i]);
#undef EACH
    }
#endif
}

static void apply(const struct morsel_unary_args *a, float *v) {
    float alpha = a->alpha, beta = a->beta;
    switch (a->op) {
    case MORSEL_UNARY_IDENTITY: break;
    case MORSEL_UNARY_CLIP:
        for (uint32_t i = 0; i < N; i++) v[i] = morsel_clamp(v[i], alpha, beta);
        break;
    case MORSEL_UNARY_LEAKY_RELU:
        for (uint32_t i = 0; i < N; i++) v[i] = v[i] < 0 ? alpha * v[i] : v[i];
        break;
    case MORSEL_UNARY_HARD_SIGMOID:
        for (uint32_t i = 0; i < N; i++) v[i] = linear_step(v[i], alpha, beta);
        break;
    case MORSEL_UNARY_HARD_SWISH:
        for (uint32_t i = 0; i < N; i++) v[i] = v[i] * linear_step(v[i], alpha, beta);
        break;
    case MORSEL_UNARY_ABS:
        for (uint32_t i = 0; i < N; i++) v[i] = v[i] < 0 ? -v[i] : v[i] + 0.0f;
        break; /* + 0 turns -0 into 0 */
    case MORSEL_UNARY_NEG:
        for (uint32_t i = 0; i < N; i++) v[i] = -v[i];
        break;
    case MORSEL_UNARY_SQRT:
        for (uint32_t i = 0; i < N; i++) v[i] = morsel_sqrt(v[i]);
        break;
    default: activate(a, v);
    }
}

/* The constants of sixteen elements, of which the first has those of `channel`; n of them count. */
static void affine(const struct morsel_unary_args *a, float *restrict v, uint32_t channel, uint32_t n) {
    float scale[N] = {0}, offset[N] = {0};
    for (uint32_t i = 0; i < n; i++) {
        scale[i] = a->scale[channel];
        offset[i] = a->offset[channel];
        if (++channel == a->channels) channel = 0;
    }
    for (uint32_t i = 0; i < N; i++) v[i] = v[i] * scale[i] + offset[i];
}

static void qaffine(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    const struct morsel_output y = morsel_whole_bytes(&a->y);
    const uint8_t *x = a->x.data, x_flip = (uint8_t)a->x.qparams.sign_flip, y_flip = (uint8_t)y.qparams.sign_flip;
    uint32_t channel = begin % a->channels;
    for (; begin < end; begin++) {
        float v = (float)((int32_t)(x[begin] ^ x_flip) - a->x.qparams.own);
        ((uint8_t *)y.data)[begin] = (uint8_t)(morsel_limit(&y, v * a->scale[channel] + a->offset[channel]) ^ y_flip);
        if (++channel == a->channels) channel = 0;
    }
}

void morsel_unary_c(const struct morsel_unary_args *a, uint32_t begin, uint32_t end) {
    if (a->op == MORSEL_UNARY_QAFFINE) qaffine(a, begin, end);
    for (uint32_t n; a->op != MORSEL_UNARY_QAFFINE && begin < end; begin += n) {
        float v[N];
        n = end - begin < N ? end - begin : N;
        morsel_load_floats(&a->x, begin, 1, n, v);
        if (a->op == MORSEL_UNARY_AFFINE) affine(a, v, begin % a->channels, n);
        else apply(a, v);
        morsel_store_floats(&a->y, begin, n, v);
    }
}

int morsel_is_quantize(const struct morsel_unary_args *a, uint32_t begin, uint32_t end, float *numbers, struct morsel_quantize_args *to) {
    const struct morsel_output *y = &a->y;
    if (a->op != MORSEL_UNARY_IDENTITY || !a->x.qparams.is_float || y->qparams.is_float) return 0;
    if (y->out_min != 0 || y->out_max != 255 || y->float_min > -FLT_MAX || y->float_max < FLT_MAX) return 0;
    numbers[0] = y->qparams.scale;
    numbers[1] = (float)y->qparams.zero;
    *to = (struct morsel_quantize_args){.x = (const float *)a->x.data + begin,
                                        .y = (uint8_t *)y->data + begin,
                                        .numbers = numbers,
                                        .elements = end - begin,
                                        .count = end - begin,
                                        .sign_flip = y->qparams.sign_flip};
    return 1;
}
