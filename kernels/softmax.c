/* SPDX-License-Identifier: MIT */
/* Softmax along a dimension, in plain C: of bytes by a table of exponentials (ONNX Runtime's QLinearSoftmax), else in float. */
#include "float.h"
#include "float_plain.h"
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

/* Sixteen elements of a line from element i on, or as many as there are; 0 in the other places. */
static uint32_t load_some(const struct morsel_softmax_args *a, size_t first, uint32_t i, float *v) {
    uint32_t n = a->count - i < MORSEL_LANES ? a->count - i : MORSEL_LANES;
    morsel_load_floats(&a->x, first + (size_t)i * a->inner, a->inner, n, v);
    return n;
}

/* Less `most`, that is. */
static uint32_t exponentials_of_some(const struct morsel_softmax_args *a, size_t first, uint32_t i, float most, float *v) {
    uint32_t n = load_some(a, first, i, v);
    for (uint32_t o = 0; o < MORSEL_LANES; o++) v[o] = eight_exp(v[o] - most);
    return n;
}

static void softmax_floats(const struct morsel_softmax_args *a, size_t first) {
    float v[MORSEL_LANES], partial[8] = {0}, most = -FLT_MAX;
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = load_some(a, first, i, v);
        for (uint32_t o = 0; o < n; o++) most = v[o] > most ? v[o] : most;
    }
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = exponentials_of_some(a, first, i, most, v);
        for (uint32_t o = 0; o < n; o++) partial[o % 8] += v[o];
    }
    const float sum = morsel_add_eight(partial);
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = exponentials_of_some(a, first, i, most, v);
        for (uint32_t o = 0; o < n; o++) morsel_store_float(&a->y, first + (size_t)(i + o) * a->inner, v[o] / sum);
    }
}

void morsel_softmax_c(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) {
        size_t first = (size_t)(u / a->inner) * a->count * a->inner + u % a->inner;
        (a->table ? softmax_bytes : softmax_floats)(a, first);
    }
}
