/* SPDX-License-Identifier: MIT */
/* Convolutions and matrix products on random shapes, against sums written from the ONNX definitions, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"

static uint32_t seed = 1;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

/* A tensor's elements as the integers of its own type. */
static int32_t integer(enum morsel_type type, uint8_t byte) {
    return type == MORSEL_INT8 ? (int32_t)(int8_t)byte : (int32_t)byte;
}

struct problem {
    uint32_t n, h, w, c, oc, groups, kh, kw, sh, sw, dh, dw, top, left, bottom, right, oh, ow;
    enum morsel_type xt, yt;
    float xs, ys;
    int32_t xz, yz, out_min, out_max;
    float low, high; /* y f32 */
    int with_zero, with_float_bias;
    int16_t *weights; /* [oc][c / groups][kh][kw], -128..127 as stored */
    int32_t *bias, *zero;
    float *multiplier, *float_bias;
    uint8_t *x;
};

static uint32_t out_size(uint32_t in, uint32_t pads, uint32_t kernel, uint32_t dilation, uint32_t stride) {
    uint32_t window = (kernel - 1) * dilation + 1;
    return in + pads < window ? 0 : (in + pads - window) / stride + 1;
}

static void random_geometry(struct problem *p, int depthwise) {
    do {
        p->n = between(1, 2), p->h = between(1, 9), p->w = between(1, 9);
        p->groups = depthwise ? between(1, 37) : between(1, 3);
        p->c = depthwise ? p->groups : p->groups * between(1, 7);
        p->oc = depthwise ? p->groups : p->groups * between(1, 19);
        p->kh = between(1, 5), p->kw = between(1, 5), p->sh = between(1, 3), p->sw = between(1, 3);
        p->dh = between(1, 2), p->dw = between(1, 2);
        p->top = between(0, 3), p->left = between(0, 3), p->bottom = between(0, 3), p->right = between(0, 3);
        p->oh = out_size(p->h, p->top + p->bottom, p->kh, p->dh, p->sh);
        p->ow = out_size(p->w, p->left + p->right, p->kw, p->dw, p->sw);
    } while (!p->oh || !p->ow);
}

static void random_numbers(struct problem *p) {
    p->xt = between(0, 1) ? MORSEL_INT8 : MORSEL_UINT8;
    p->yt = (enum morsel_type[]){MORSEL_INT8, MORSEL_UINT8, MORSEL_FLOAT32}[between(0, 2)];
    p->xs = 0.05f, p->ys = 0.25f;
    p->xz = (int32_t)between(0, 255) - (p->xt == MORSEL_INT8 ? 128 : 0);
    p->yz = p->yt == MORSEL_FLOAT32 ? 0 : (int32_t)between(0, 255) - (p->yt == MORSEL_INT8 ? 128 : 0);
    p->out_min = p->yt == MORSEL_INT8 ? -128 : 0;
    p->out_max = p->out_min + 255;
    if (between(0, 1)) p->out_min += 20, p->out_max -= 30;
    p->low = between(0, 1) ? -100 : 0, p->high = between(0, 1) ? 90 : 0;
    p->with_zero = between(0, 1), p->with_float_bias = between(0, 1);
    uint32_t taps = p->c / p->groups * p->kh * p->kw;
    p->weights = malloc(p->oc * taps * sizeof *p->weights);
    p->bias = malloc(p->oc * 4), p->zero = malloc(p->oc * 4), p->multiplier = malloc(p->oc * 4), p->float_bias = malloc(p->oc * 4);
    for (uint32_t i = 0; i < p->oc * taps; i++) p->weights[i] = (int16_t)((int32_t)between(0, 255) - 128);
    for (uint32_t i = 0; i < p->oc; i++) {
        p->bias[i] = (int32_t)between(0, 4000) - 2000;
        p->zero[i] = p->with_zero ? (int32_t)between(0, 255) - 128 : 0;
        p->multiplier[i] = between(0, 1) ? 1.0f / 64 : (float)between(1, 1000) / 70000.0f; /* powers of two make ties */
        if (!between(0, 7)) p->multiplier[i] = between(0, 1) ? 0.0f : -0.0f;
        p->float_bias[i] = (float)between(0, 100) / 7.0f;
    }
    p->x = malloc(p->n * p->h * p->w * p->c);
    for (uint32_t i = 0; i < p->n * p->h * p->w * p->c; i++) p->x[i] = (uint8_t)between(0, 255);
}

static void free_problem(struct problem *p) {
    free(p->weights), free(p->bias), free(p->zero), free(p->multiplier), free(p->float_bias), free(p->x);
}

/* The sum at output pixel (n, oy, ox), channel oc. */
static int64_t reference_sum(const struct problem *p, uint32_t n, uint32_t oy, uint32_t ox, uint32_t oc) {
    uint32_t depth = p->c / p->groups, group = oc / (p->oc / p->groups);
    int64_t sum = p->bias[oc];
    for (uint32_t ky = 0; ky < p->kh; ky++) {
        for (uint32_t kx = 0; kx < p->kw; kx++) {
            int iy = (int)(oy * p->sh + ky * p->dh) - (int)p->top, ix = (int)(ox * p->sw + kx * p->dw) - (int)p->left;
            if (iy < 0 || ix < 0 || iy >= (int)p->h || ix >= (int)p->w) continue;
            for (uint32_t c = 0; c < depth; c++) {
                uint8_t byte = p->x[((n * p->h + (uint32_t)iy) * p->w + (uint32_t)ix) * p->c + group * depth + c];
                int32_t w = p->weights[((oc * depth + c) * p->kh + ky) * p->kw + kx] - p->zero[oc];
                sum += (integer(p->xt, byte) - p->xz) * w;
            }
        }
    }
    return sum;
}

/* The element of y that a sum gives, checked against what the runtime wrote. */
static void check_element(const struct problem *p, const void *y, size_t i, int64_t sum, uint32_t oc) {
    float v = (float)(int32_t)sum * p->multiplier[oc];
    if (p->with_float_bias) v = v + p->float_bias[oc];
    if (p->yt == MORSEL_FLOAT32) {
        float want = v < p->low ? p->low : v > p->high ? p->high : v; /* a zero keeps its sign */
        assert_memory_equal((const float *)y + i, &want, 4);
        return;
    }
    double q = rint((double)v) + p->yz;
    q = q < p->out_min ? p->out_min : q > p->out_max ? p->out_max : q;
    assert_int_equal(integer(p->yt, ((const uint8_t *)y)[i]), (int)q);
}

static uint32_t up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

/* Where weight (oc, c, ky, kx) stands in the layouts of format.h. */
static size_t conv_place(const struct problem *p, uint32_t oc, uint32_t c, uint32_t ky, uint32_t kx) {
    uint32_t depth = p->c / p->groups, outs = p->oc / p->groups, row = up(p->kw * depth, 4);
    uint32_t group = oc / outs, o = oc % outs, k = ky * row + kx * depth + c;
    size_t block = (size_t)group * (up(outs, 16) / 16) + o / 16;
    return (block * (p->kh * row / 4) + k / 4) * 64 + o % 16 * 4 + k % 4;
}

static size_t depthwise_place(const struct problem *p, uint32_t oc, uint32_t ky, uint32_t kx) {
    uint32_t quads = up(p->kh, 4) / 4;
    return (((size_t)oc / 16 * p->kw + kx) * quads + ky / 4) * 64 + oc % 16 * 4 + ky % 4;
}

static uint32_t channel_place(const struct problem *p, int depthwise, uint32_t oc) {
    uint32_t outs = p->oc / p->groups;
    return depthwise ? oc : oc / outs * up(outs, 16) + oc % outs;
}

struct constants {
    uint32_t weights, bias, multiplier, weight_sum, weight_zero, float_bias;
};

/* Weights and constants by channel, packed; padding weights equal the channel's zero point. */
static struct constants pack(struct builder *b, const struct problem *p, int depthwise) {
    uint32_t depth = p->c / p->groups, outs = p->oc / p->groups;
    uint32_t channels = depthwise ? up(p->oc, 16) : p->groups * up(outs, 16);
    uint32_t k = depthwise ? p->kw * up(p->kh, 4) : p->kh * up(p->kw * depth, 4);
    int8_t *w = calloc(channels, k);
    int32_t *bias = calloc(channels, 4), *sum = calloc(channels, 4), *zero = calloc(channels, 4);
    float *multiplier = calloc(channels, 4), *float_bias = calloc(channels, 4);
    for (uint32_t oc = 0; oc < p->oc; oc++) {
        uint32_t at = channel_place(p, depthwise, oc);
        bias[at] = p->bias[oc], zero[at] = p->zero[oc], multiplier[at] = p->multiplier[oc], float_bias[at] = p->float_bias[oc];
        int8_t *own = w + (size_t)at / 16 * k * 16 + at % 16 * 4; /* weight i of this channel: own[i / 4 * 64 + i % 4] */
        for (uint32_t i = 0; i < k; i++) own[i / 4 * 64 + i % 4] = (int8_t)zero[at];
        for (uint32_t c = 0; c < depth; c++)
            for (uint32_t t = 0; t < p->kh * p->kw; t++) {
                uint32_t ky = t / p->kw, kx = t % p->kw;
                size_t to = depthwise ? depthwise_place(p, oc, ky, kx) : conv_place(p, oc, c, ky, kx);
                w[to] = (int8_t)p->weights[(oc * depth + c) * p->kh * p->kw + t];
            }
        for (uint32_t i = 0; i < k; i++) sum[at] += own[i / 4 * 64 + i % 4];
    }
    struct constants out = {builder_data(b, w, channels * k),
                            builder_data(b, bias, channels * 4),
                            builder_data(b, multiplier, channels * 4),
                            builder_data(b, sum, channels * 4),
                            p->with_zero ? builder_data(b, zero, channels * 4) : 0,
                            p->with_float_bias ? builder_data(b, float_bias, channels * 4) : 0};
    free(w), free(bias), free(sum), free(zero), free(multiplier), free(float_bias);
    return out;
}

static struct morsel_blob_sums sums_of(const struct problem *p, const struct constants *k) {
    struct morsel_blob_sums sums = {
        k->weights, k->bias, k->multiplier, k->weight_sum, k->weight_zero, k->float_bias, p->out_min, p->out_max, p->low, p->high, 0};
    return sums;
}

static void try_conv(int depthwise) {
    struct problem p;
    struct builder b;
    uint32_t bytes;
    random_geometry(&p, depthwise);
    random_numbers(&p);
    builder_start(&b);
    struct constants k = pack(&b, &p, depthwise);
    uint32_t x = builder_tensor(&b, p.xt, 4, (uint32_t[]){p.n, p.h, p.w, p.c}, p.xs, p.xz);
    uint32_t y = builder_tensor(&b, p.yt, 4, (uint32_t[]){p.n, p.oh, p.ow, p.oc}, p.ys, p.yz);
    struct morsel_blob_conv conv = {.window = {p.kh, p.kw, p.sh, p.sw, p.dh, p.dw, p.top, p.left, p.bottom, p.right},
                                    .groups = p.groups,
                                    .sums = sums_of(&p, &k)};
    uint32_t scratch = p.top || p.bottom ? up(p.w * p.c, 4) : 0;
    builder_step(&b, depthwise ? MORSEL_STEP_DEPTHWISE : MORSEL_STEP_CONV, &x, 1, y, &conv, sizeof conv, scratch);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    void *got = builder_run(blob, bytes, p.x, NULL);
    size_t i = 0;
    for (uint32_t n = 0; n < p.n; n++)
        for (uint32_t oy = 0; oy < p.oh; oy++)
            for (uint32_t ox = 0; ox < p.ow; ox++)
                for (uint32_t oc = 0; oc < p.oc; oc++, i++) check_element(&p, got, i, reference_sum(&p, n, oy, ox, oc), oc);
    free(got);
    free_problem(&p);
}

static void conv_matches_the_definition(void **state) {
    (void)state;
    for (int i = 0; i < 150; i++) try_conv(0);
}

static void depthwise_matches_the_definition(void **state) {
    (void)state;
    for (int i = 0; i < 150; i++) try_conv(1);
}

/* A matrix product is a convolution of 1 x 1 pictures: rows are its batch. */
static void fc_matches_the_definition(void **state) {
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct problem p = {.n = between(1, 5),
                            .h = 1,
                            .w = 1,
                            .c = between(1, 70),
                            .oc = between(1, 40),
                            .groups = 1,
                            .kh = 1,
                            .kw = 1,
                            .sh = 1,
                            .sw = 1,
                            .dh = 1,
                            .dw = 1,
                            .oh = 1,
                            .ow = 1};
        struct builder b;
        uint32_t bytes;
        random_numbers(&p);
        builder_start(&b);
        struct constants k = pack(&b, &p, 0);
        uint32_t x = builder_tensor(&b, p.xt, 2, (uint32_t[]){p.n, p.c}, p.xs, p.xz);
        uint32_t y = builder_tensor(&b, p.yt, 2, (uint32_t[]){p.n, p.oc}, p.ys, p.yz);
        struct morsel_blob_fc fc = {p.n, p.c, p.oc, sums_of(&p, &k)};
        builder_step(&b, MORSEL_STEP_FC, &x, 1, y, &fc, sizeof fc, 0);
        builder_input(&b, x, "x");
        builder_output(&b, y, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        void *got = builder_run(blob, bytes, p.x, NULL);
        for (uint32_t i = 0; i < p.n * p.oc; i++) check_element(&p, got, i, reference_sum(&p, i / p.oc, 0, 0, i % p.oc), i % p.oc);
        free(got);
        free_problem(&p);
    }
}

static void check_product(const struct morsel_blob_matmul *m, const uint8_t *a, const uint8_t *b, const uint8_t *y) {
    for (uint32_t i = 0; i < m->batch * m->rows * m->columns; i++) {
        uint32_t batch = i / m->columns / m->rows, row = i / m->columns % m->rows, column = i % m->columns;
        uint32_t a_at = batch / m->a_divide % m->a_batch, b_at = batch / m->b_divide % m->b_batch;
        int32_t sum = 0;
        for (uint32_t k = 0; k < m->inner; k++) {
            int32_t av = a[(a_at * m->rows + row) * m->inner + k] - 100;
            int32_t bv = (int8_t)b[(b_at * m->inner + k) * m->columns + column] + 3;
            sum += av * bv;
        }
        double q = rint((double)((float)sum * m->multiplier)) + 7;
        q = q < m->out_min ? m->out_min : q > m->out_max ? m->out_max : q;
        assert_int_equal(y[i], (int)q);
    }
}

static void matmul_matches_the_definition(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        uint32_t outer = between(1, 3), inner = between(1, 3), repeat = between(0, 2), bytes;
        struct morsel_blob_matmul m = {
            outer * inner, between(1, 6), between(1, 30), between(1, 35), outer * inner, 1, outer * inner, 1, 0.004f, 10, 240, 0, 0};
        if (repeat == 1) m.a_batch = inner;                     /* a repeats over the outer batch */
        if (repeat == 2) m.b_batch = outer, m.b_divide = inner; /* b repeats over the inner one */
        struct builder b;
        builder_start(&b);
        uint32_t ops[2] = {builder_tensor(&b, MORSEL_UINT8, 3, (uint32_t[]){m.a_batch, m.rows, m.inner}, 0.1f, 100),
                           builder_tensor(&b, MORSEL_INT8, 3, (uint32_t[]){m.b_batch, m.inner, m.columns}, 0.2f, -3)};
        uint32_t y = builder_tensor(&b, MORSEL_UINT8, 3, (uint32_t[]){m.batch, m.rows, m.columns}, 0.5f, 7);
        builder_step(&b, MORSEL_STEP_MATMUL, ops, 2, y, &m, sizeof m, 0);
        builder_input(&b, ops[0], "a");
        builder_input(&b, ops[1], "b");
        builder_output(&b, y, "y");
        uint32_t a_bytes = m.a_batch * m.rows * m.inner, b_bytes = m.b_batch * m.inner * m.columns;
        uint8_t *av = malloc(a_bytes), *bv = malloc(b_bytes);
        for (uint32_t i = 0; i < a_bytes; i++) av[i] = (uint8_t)between(0, 255);
        for (uint32_t i = 0; i < b_bytes; i++) bv[i] = (uint8_t)between(0, 255);
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *got = builder_run(blob, bytes, av, bv);
        check_product(&m, av, bv, got);
        free(got), free(av), free(bv);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_matches_the_definition),
        cmocka_unit_test(depthwise_matches_the_definition),
        cmocka_unit_test(fc_matches_the_definition),
        cmocka_unit_test(matmul_matches_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
