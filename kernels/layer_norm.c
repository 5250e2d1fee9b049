/* SPDX-License-Identifier: MIT */
/* Layer normalization in plain C: lines of floats, or of bytes as the floats that they mean, by so many elements as there are parts. */
#include "float.h"
#include "requant.h"

enum { PARTS = 32, N = MORSEL_LANES };

/* Elements of a line from element i on, less `mean`, as many as there are parts or left. What is missing is 0. */
static __attribute__((noinline)) uint32_t take_some(const struct morsel_layer_norm_args *a, size_t first, uint32_t i, float mean,
                                                    float *restrict v) {
    const uint32_t n = a->count - i < PARTS ? a->count - i : PARTS;
    for (uint32_t o = 0; o < n; o += N) morsel_load_floats(&a->x, first + i + o, 1, n - o < N ? n - o : N, v + o);
    for (uint32_t o = 0; o < PARTS; o++) v[o] = v[o] - mean;
    for (uint32_t o = n; o < PARTS; o++) v[o] = 0;
    return n;
}

static float mean_of(const struct morsel_layer_norm_args *a, size_t first) {
    float v[PARTS] = {0}, partial[PARTS] = {0};
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = take_some(a, first, i, 0, v);
        for (uint32_t o = 0; o < PARTS; o++) partial[o] += v[o];
    }
    return morsel_add_32(partial) / (float)a->count;
}

static float variance_of(const struct morsel_layer_norm_args *a, size_t first, float mean) {
    float v[PARTS] = {0}, partial[PARTS] = {0};
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = take_some(a, first, i, mean, v);
        for (uint32_t o = 0; o < PARTS; o++) partial[o] += v[o] * v[o];
    }
    return morsel_add_32(partial) / (float)a->count;
}

static void normalize_line(const struct morsel_layer_norm_args *a, size_t first) {
    float v[PARTS] = {0};
    const float mean = a->centred ? mean_of(a, first) : 0, inverse = 1 / morsel_sqrt(variance_of(a, first, mean) + a->epsilon);
    for (uint32_t i = 0, n; i < a->count; i += n) {
        n = take_some(a, first, i, mean, v);
        for (uint32_t o = 0; o < PARTS; o++) v[o] = v[o] * inverse;
        for (uint32_t o = 0; a->factor && o < n; o++) v[o] = v[o] * a->factor[i + o];
        for (uint32_t o = 0; a->term && o < n; o++) v[o] = v[o] + a->term[i + o];
        for (uint32_t o = 0; o < n; o += N) morsel_store_floats(&a->y, first + i + o, n - o < N ? n - o : N, v + o);
    }
}

void morsel_layer_norm_c(const struct morsel_layer_norm_args *a, uint32_t begin, uint32_t end) {
    for (; begin < end; begin++) normalize_line(a, (size_t)begin * a->count);
}
