/* SPDX-License-Identifier: MIT */
/* What operators along one dimension mean: mean, softmax and layer normalization. */
#include "../float.h"
#include "reference.h"
#include "sums.h"

/* The first element of line u of [outer][count][inner]. */
static size_t first_of(uint32_t u, uint32_t count, uint32_t inner) {
    return (size_t)(u / inner) * count * inner + u % inner;
}

static uint8_t byte_at(const struct morsel_input *x, size_t i) {
    return ((const uint8_t *)x->data)[i];
}

static void mean_bytes(const struct morsel_mean_args *a, uint32_t u) {
    size_t at = first_of(u, a->count, a->inner);
    int32_t sum = 0;
    for (uint32_t i = 0; i < a->count; i++, at += a->inner) sum += morsel_integer(&a->x.qparams, byte_at(&a->x, at));
    morsel_store_sum(&a->y, u, sum, a->multiplier, NULL);
}

/* Added in order; elements that lie side by side, in eight parts. */
static void mean_floats(const struct morsel_mean_args *a, uint32_t u) {
    size_t at = first_of(u, a->count, a->inner);
    float partial[8] = {0};
    for (uint32_t i = 0; i < a->count; i++, at += a->inner) partial[a->inner == 1 ? i % 8 : 0] += morsel_load_float(&a->x, at);
    morsel_store_float(&a->y, u, morsel_add_eight(partial) / (float)a->count);
}

void morsel_mean_reference(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) (a->x.qparams.is_float ? mean_floats : mean_bytes)(a, u);
}

/* Exponentials by their distance to the largest, summed in order; each is scaled to whole steps of y, then divided. */
static void softmax_bytes(const struct morsel_softmax_args *a, size_t first) {
    uint32_t most = 0, flip = a->x.qparams.sign_flip;
    float sum = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t u = byte_at(&a->x, first + (size_t)i * a->inner) ^ flip;
        if (u > most) most = u;
    }
    for (uint32_t i = 0; i < a->count; i++) sum += a->table[255 - most + (byte_at(&a->x, first + (size_t)i * a->inner) ^ flip)];
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        float steps = a->table[255 - most + (byte_at(&a->x, at) ^ flip)] * a->levels / sum;
        ((uint8_t *)a->y.data)[at] = (uint8_t)(morsel_limit(&a->y, steps == steps ? steps : 0) ^ a->y.qparams.sign_flip);
    }
}

/* What is more than 64 below the largest counts as 0: core/format.h says so. */
static float weight_of(float below) {
    return below < -64 ? 0 : morsel_exp(below);
}

/* Exponentials, their sum in eight parts. */
static void softmax_floats(const struct morsel_softmax_args *a, size_t first) {
    float most = -FLT_MAX, partial[8] = {0};
    for (uint32_t i = 0; i < a->count; i++) {
        float v = morsel_load_float(&a->x, first + (size_t)i * a->inner);
        if (v > most) most = v;
    }
    for (uint32_t i = 0; i < a->count; i++) partial[i % 8] += weight_of(morsel_load_float(&a->x, first + (size_t)i * a->inner) - most);
    for (uint32_t i = 0; i < a->count; i++) {
        size_t at = first + (size_t)i * a->inner;
        morsel_store_float(&a->y, at, weight_of(morsel_load_float(&a->x, at) - most) / morsel_add_eight(partial));
    }
}

void morsel_softmax_reference(const struct morsel_softmax_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) (a->table ? softmax_bytes : softmax_floats)(a, first_of(u, a->count, a->inner));
}

/* Element i of a line, less `mean`. */
static float centred(const struct morsel_layer_norm_args *a, size_t i, float mean) {
    return morsel_load_float(&a->x, i) - mean;
}

static void normalize_line(const struct morsel_layer_norm_args *a, size_t first) {
    float sums[32] = {0}, squares[32] = {0}, mean = 0;
    for (uint32_t i = 0; i < a->count; i++) sums[i % 32] += centred(a, first + i, 0);
    if (a->centred) mean = morsel_add_32(sums) / (float)a->count;
    for (uint32_t i = 0; i < a->count; i++) squares[i % 32] += centred(a, first + i, mean) * centred(a, first + i, mean);
    float inverse = 1 / morsel_sqrt(morsel_add_32(squares) / (float)a->count + a->epsilon);
    for (uint32_t i = 0; i < a->count; i++) {
        float v = centred(a, first + i, mean) * inverse;
        if (a->factor) v = v * a->factor[i];
        if (a->term) v = v + a->term[i];
        morsel_store_float(&a->y, first + i, v);
    }
}

void morsel_layer_norm_reference(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    for (uint32_t u = begin; u < end; u++) normalize_line(a, (size_t)u * a->count);
}
