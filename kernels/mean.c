/* SPDX-License-Identifier: MIT */
/* The mean over a dimension, in plain C. Bytes are summed exactly (count is below 2^31 / 255). Floats are summed in order, those of a line
 * that lie in order in eight parts. */
#include "float.h"
#include "mean.h"
#include "requant.h"

enum { N = MORSEL_LANES };

static inline void add_sixteen(uint32_t *restrict sums, const uint8_t *restrict x, uint8_t flip) {
    for (uint32_t o = 0; o < N; o++) sums[o] += x[o] ^ flip;
}

/* `count` lines of n bytes, `inner` apart, added up. */
static __attribute__((noinline)) void sum_bytes(uint32_t *sums, const uint8_t *x, uint8_t flip, uint32_t count, uint32_t inner,
                                                uint32_t n) {
    memset(sums, 0, N * sizeof *sums);
    for (uint32_t i = 0; i < count; i++, x += inner) {
        if (n == N) add_sixteen(sums, x, flip);
        else
            for (uint32_t o = 0; o < n; o++) sums[o] += x[o] ^ flip;
    }
}

static inline void add_floats(float *restrict sums, const float *restrict x) {
    for (uint32_t o = 0; o < N; o++) sums[o] += x[o];
}

static void sum_floats(float *sums, const float *x, uint32_t count, uint32_t inner, uint32_t n) {
    memset(sums, 0, N * sizeof *sums);
    for (uint32_t i = 0; i < count; i++, x += inner) {
        if (n == N) add_floats(sums, x);
        else
            for (uint32_t o = 0; o < n; o++) sums[o] += x[o];
    }
}

/* A line in order has eight partial sums, so that vectors add it up. */
static float sum_line(const float *x, uint32_t count) {
    float partial[8] = {0};
    uint32_t i = 0;
    for (; count - i >= 8; i += 8)
        for (uint32_t o = 0; o < 8; o++) partial[o] += x[i + o];
    for (uint32_t o = 0; i + o < count; o++) partial[o] += x[i + o];
    return morsel_add_eight(partial);
}

void morsel_store_means(const struct morsel_mean_args *a, uint32_t unit, uint32_t n, const uint32_t *sums) {
    int32_t bias[N];
    float multiplier[N];
    const struct morsel_channels constants = {.bias = bias, .multiplier = multiplier};
    for (uint32_t o = 0; o < N; o++) bias[o] = -(int32_t)a->count * a->x.qparams.zero;
    for (uint32_t o = 0; o < N; o++) multiplier[o] = a->multiplier;
    morsel_store_sums(&a->y, unit, n, sums, &constants, 0);
}

static uint32_t sum_line_of_bytes(const uint8_t *x, uint32_t n, uint8_t flip) {
    uint32_t sums[N], i = n / N * N, sum = 0;
    sum_bytes(sums, x, flip, n / N, N, N);
    for (uint32_t o = 0; o < N; o++) sum += sums[o];
    for (; i < n; i++) sum += x[i] ^ flip;
    return sum;
}

void morsel_mean_lines(const struct morsel_mean_args *a, morsel_sum_bytes_fn *sum, uint32_t begin, uint32_t end) {
    const uint8_t *x = (const uint8_t *)a->x.data + (size_t)begin * a->count, flip = (uint8_t)a->x.qparams.sign_flip;
    uint32_t sums[N] = {0};
    for (uint32_t n; begin < end; begin += n) {
        n = end - begin < N ? end - begin : N;
        for (uint32_t o = 0; o < n; o++, x += a->count) sums[o] = sum(x, a->count, flip);
        morsel_store_means(a, begin, n, sums);
    }
}

/* n elements of y from `unit` on; the first of them sums what stands from `first` on. */
static void mean_of(const struct morsel_mean_args *a, size_t first, uint32_t unit, uint32_t n) {
    uint32_t sums[N];
    float floats[N] = {0};
    if (!a->x.qparams.is_float) {
        sum_bytes(sums, (const uint8_t *)a->x.data + first, (uint8_t)a->x.qparams.sign_flip, a->count, a->inner, n);
        morsel_store_means(a, unit, n, sums);
        return;
    }
    const float *x = (const float *)a->x.data + first;
    if (a->inner == 1) floats[0] = sum_line(x, a->count);
    else sum_floats(floats, x, a->count, a->inner, n);
    for (uint32_t o = 0; o < N; o++) floats[o] = floats[o] / (float)a->count;
    morsel_store_floats(&a->y, unit, n, floats);
}

void morsel_mean_c(const struct morsel_mean_args *a, uint32_t begin, uint32_t end) {
    if (a->inner == 1 && !a->x.qparams.is_float) {
        morsel_mean_lines(a, sum_line_of_bytes, begin, end);
        return;
    }
    for (uint32_t n; begin < end; begin += n) {
        uint32_t at = begin % a->inner, left = a->inner - at < end - begin ? a->inner - at : end - begin;
        n = left < N ? left : N;
        mean_of(a, (size_t)(begin / a->inner) * a->count * a->inner + at, begin, n);
    }
}
