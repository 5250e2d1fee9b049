/* SPDX-License-Identifier: MIT */
/* Softmax along a dimension, in plain C: of bytes by a table of exponentials (ONNX Runtime's QLinearSoftmax), else in float. */
#include "float.h"
#include "requant.h"

static uint32_t byte_at(const struct morsel_softmax_args *a, size_t i) {
    return ((const uint8_t *)a->x.data)[i] ^ a->x.qparams.sign_flip;
}

/* Exponentials are looked up by their distance to the largest and summed in order; each is scaled to whole steps of y, then divided. */
static void softmax_bytes(const struct morsel_softmax_args *a, size_t first) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t u = byte_at(a, first + (size_t)i * a->inner);
        if (u > most) most = u;
    }
    const float *table = a->table + (255 - most);
    float sum = 0;
    for (uint32_t i = 0; i < a->count; i++) sum += table[byte_at(a, first + (size_t)i * a->inner)];
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        float steps = table[byte_at(a, at)] * a->levels / sum;
        ((uint8_t *)a->y.data)[at] = (uint8_t)(morsel_limit(&a->y, steps == steps ? steps : 0) ^ a->y.qparams.sign_flip);
    }
}

static void softmax_floats(const struct morsel_softmax_args *a, size_t first) {
    float most = morsel_load_float(&a->x, first);
    for (uint32_t i = 1; i < a->count; i++) {
        float v = morsel_load_float(&a->x, first + (size_t)i * a->inner);
        if (v > most) most = v;
    }
    double sum = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        sum += morsel_exp_wide((double)morsel_load_float(&a->x, first + (size_t)i * a->inner) - (double)most);
    }
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        double e = morsel_exp_wide((double)morsel_load_float(&a->x, at) - (double)most);
        morsel_store_float(&a->y, at, (float)(e / sum));
    }
}

void morsel_softmax_c(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t first = (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
        (a->table ? softmax_bytes : softmax_floats)(a, first);
    }
}
