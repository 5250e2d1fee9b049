/* SPDX-License-Identifier: MIT */
/* The convolution of floats, on random shapes, against its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"

static uint32_t seed = 11;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

struct problem {
    struct morsel_blob_float_conv p;
    uint32_t n, h, w, c, oh, ow, oc;
    int bytes_in, bytes_out, with_bias;
    float *weights, *bias;
    void *x;
};

static uint32_t out_size(uint32_t in, uint32_t pads, uint32_t kernel, uint32_t dilation, uint32_t stride) {
    uint32_t window = (kernel - 1) * dilation + 1;
    return in + pads < window ? 0 : (in + pads - window) / stride + 1;
}

static float *random_floats(uint32_t count) {
    float *v = malloc(count * sizeof *v);
    for (uint32_t i = 0; i < count; i++) v[i] = (float)((int)between(0, 2000) - 1000) / 333.0f;
    return v;
}

static uint32_t taps_of(const struct problem *q) {
    return q->p.window.kernel_h * q->p.window.kernel_w * (q->c / q->p.groups);
}

static uint32_t weight_count(const struct problem *q) {
    return q->oc * taps_of(q);
}

/* By the definition of binary16. */
static float value_of_half(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float v = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return half >> 15 ? -v : v;
}

static uint16_t half_of_value(float v) {
    for (uint32_t half = 0; half < 0x10000; half++)
        if ((half & 0x7fff) < 0x7c00 && value_of_half((uint16_t)half) == v) return (uint16_t)half;
    fail_msg("no half is %g", (double)v);
    return 0;
}

/* Around 1, and below 2^-14, where exponents end. */
static uint16_t random_half(void) {
    return (uint16_t)((between(0, 5) ? between(0x3000, 0x4400) : between(0, 0x800)) | between(0, 1) << 15);
}

/* The weights as they lie in a blob: blocks of eight outputs, or of channels that are each by themselves. */
static uint32_t put_weights(struct builder *b, const struct problem *q) {
    uint32_t taps = taps_of(q), padded = (q->oc + 7) / 8 * 8, size = q->p.weights_half ? 2 : 4;
    uint8_t *out = calloc((size_t)padded * taps, size);
    for (uint32_t o = 0; o < q->oc; o++)
        for (uint32_t k = 0; k < taps; k++) {
            float v = q->weights[o * taps + k];
            uint16_t half = q->p.weights_half ? half_of_value(v) : 0;
            uint32_t at = q->p.groups == q->c && q->c == q->oc ? k * padded + o : (o / 8 * taps + k) * 8 + o % 8;
            memcpy(out + (size_t)at * size, size == 2 ? (void *)&half : (void *)&v, size);
        }
    uint32_t offset = builder_data(b, out, padded * taps * size);
    free(out);
    return offset;
}

static void random_problem(struct problem *q) {
    memset(q, 0, sizeof *q);
    do {
        struct morsel_blob_float_conv p = {{between(1, 3), between(1, 3), between(1, 2), between(1, 2), between(1, 2), between(1, 2),
                                            between(0, 2), between(0, 2), between(0, 2), between(0, 2)},
                                           between(1, 3),
                                           0,
                                           0,
                                           0,
                                           0,
                                           -9,
                                           8,
                                           between(0, 2) == 0};
        q->p = p;
        q->n = between(1, 2), q->h = between(1, 7), q->w = between(1, 7);
        q->c = p.groups * between(1, 6), q->oc = p.groups * between(1, 5);
        q->oh = out_size(q->h, p.window.pad_top + p.window.pad_bottom, p.window.kernel_h, p.window.dilation_h, p.window.stride_h);
        q->ow = out_size(q->w, p.window.pad_left + p.window.pad_right, p.window.kernel_w, p.window.dilation_w, p.window.stride_w);
    } while (!q->oh || !q->ow);
    q->bytes_in = (int)between(0, 1), q->bytes_out = (int)between(0, 1), q->with_bias = (int)between(0, 1);
    q->p.out_min = -128, q->p.out_max = 127;
    if (q->c == q->p.groups && between(0, 1)) q->oc = q->c; /* each channel by itself */
    q->weights = random_floats(weight_count(q));
    for (uint32_t i = 0; q->p.weights_half && i < weight_count(q); i++) q->weights[i] = value_of_half(random_half());
    q->bias = random_floats((q->oc + 7) / 8 * 8);
    uint32_t count = q->n * q->h * q->w * q->c;
    q->x = random_floats(count);
    for (uint32_t i = 0; q->bytes_in && i < count; i++) ((uint8_t *)q->x)[i] = (uint8_t)between(0, 255);
}

static float input(const struct problem *q, uint32_t n, uint32_t y, uint32_t x, uint32_t c) {
    uint32_t i = ((n * q->h + y) * q->w + x) * q->c + c;
    return q->bytes_in ? 0.03125f * (float)(((uint8_t *)q->x)[i] - 100) : ((float *)q->x)[i];
}

static float expected(const struct problem *q, uint32_t n, uint32_t oy, uint32_t ox, uint32_t oc) {
    const struct morsel_blob_float_conv *p = &q->p;
    uint32_t depth = q->c / p->groups, group = oc / (q->oc / p->groups);
    volatile float sum = 0; /* every step rounded */
    for (uint32_t ky = 0; ky < p->window.kernel_h; ky++)
        for (uint32_t kx = 0; kx < p->window.kernel_w; kx++)
            for (uint32_t c = 0; c < depth; c++) {
                int y = (int)(oy * p->window.stride_h + ky * p->window.dilation_h) - (int)p->window.pad_top;
                int x = (int)(ox * p->window.stride_w + kx * p->window.dilation_w) - (int)p->window.pad_left;
                if (y < 0 || x < 0 || y >= (int)q->h || x >= (int)q->w) continue;
                volatile float product = input(q, n, (uint32_t)y, (uint32_t)x, group * depth + c) *
                                         q->weights[((oc * p->window.kernel_h + ky) * p->window.kernel_w + kx) * depth + c];
                sum = sum + product;
            }
    if (q->with_bias) sum = sum + q->bias[oc];
    return sum < -9 ? -9 : sum > 8 ? 8 : sum;
}

static void check(const struct problem *q, const void *y) {
    size_t i = 0;
    for (uint32_t n = 0; n < q->n; n++)
        for (uint32_t oy = 0; oy < q->oh; oy++)
            for (uint32_t ox = 0; ox < q->ow; ox++)
                for (uint32_t oc = 0; oc < q->oc; oc++, i++) {
                    float want = expected(q, n, oy, ox, oc);
                    if (q->bytes_out)
                        assert_int_equal(((const int8_t *)y)[i], (int)fmin(127, fmax(-128, rint((double)(want / 0.0625f)) + 3)));
                    else assert_memory_equal((const float *)y + i, &want, sizeof want);
                }
}

static void float_convolution_matches_its_definition(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct problem q;
        struct builder b;
        uint32_t bytes;
        random_problem(&q);
        builder_start(&b);
        const uint32_t x_dims[4] = {q.n, q.h, q.w, q.c}, y_dims[4] = {q.n, q.oh, q.ow, q.oc};
        uint32_t x = builder_tensor(&b, q.bytes_in ? MORSEL_UINT8 : MORSEL_FLOAT32, 4, x_dims, 0.03125f, 100);
        uint32_t y = builder_tensor(&b, q.bytes_out ? MORSEL_INT8 : MORSEL_FLOAT32, 4, y_dims, 0.0625f, 3);
        q.p.weights = put_weights(&b, &q);
        q.p.bias = q.with_bias ? builder_data(&b, q.bias, (q.oc + 7) / 8 * 8 * 4) : 0;
        builder_step(&b, MORSEL_STEP_FLOAT_CONV, &x, 1, y, &q.p, sizeof q.p, 0);
        builder_input(&b, x, "x");
        builder_output(&b, y, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        void *got = builder_run(blob, bytes, q.x, NULL);
        check(&q, got);
        free(got), free(q.weights), free(q.bias), free(q.x);
    }
}

/* Opens a blob of one such step after `damage` and gives the error. */
static enum morsel_error opened(struct morsel_blob_float_conv p, uint32_t weight_count, float first, uint32_t bias_count) {
    struct builder b;
    struct morsel_model model;
    uint32_t bytes;
    const uint32_t x_dims[4] = {1, 4, 4, 2}, y_dims[4] = {1, 3, 3, 3};
    float *weights = calloc(weight_count, sizeof *weights);
    weights[0] = first;
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_FLOAT32, 4, x_dims, 1, 0), y = builder_tensor(&b, MORSEL_FLOAT32, 4, y_dims, 1, 0);
    if (!p.bias) p.bias = bias_count ? builder_data(&b, (const float[8]){0}, bias_count * 4) : 0;
    p.weights = builder_data(&b, weights, weight_count * 4);
    builder_step(&b, MORSEL_STEP_FLOAT_CONV, &x, 1, y, &p, sizeof p, 0);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    enum morsel_error error = morsel_open(&model, blob, bytes, 0);
    free(blob);
    free(weights);
    return error;
}

static void damage_is_refused(void **state) {
    (void)state;
    const struct morsel_blob_float_conv good = {{2, 2, 1, 1, 1, 1, 0, 0, 0, 0}, 1, 0, 0, 0, 0, -1, 1, 0};
    struct morsel_blob_float_conv p = good;
    assert_int_equal(opened(good, 64, 1, 0), MORSEL_OK);
    assert_int_equal(opened(good, 64, 1, 8), MORSEL_OK);
    assert_int_equal(opened(good, 64, NAN, 0), MORSEL_ERR_CONSTANT);
    assert_int_equal(opened(good, 48, 1, 0), MORSEL_ERR_CONSTANT); /* the padding counts; constants begin at multiples of 64 bytes */
    p.groups = 2;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
    p = good, p.groups = 0;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
    p = good, p.window.stride_w = 2;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
    p = good, p.float_min = 2;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
    p = good, p.float_max = NAN;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
    p = good, p.bias = 0x7fffffc0;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_CONSTANT);
}

/* The first two weights of binary16 stand in the first float. */
static float two_halves(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void damaged_halves_are_refused(void **state) {
    (void)state;
    struct morsel_blob_float_conv p = {{2, 2, 1, 1, 1, 1, 0, 0, 0, 0}, 1, 0, 0, 0, 0, -1, 1, 1};
    assert_int_equal(opened(p, 32, two_halves(0x7bfffbff), 8), MORSEL_OK);
    assert_int_equal(opened(p, 32, two_halves(0x000083ff), 0), MORSEL_OK);
    assert_int_equal(opened(p, 16, 1, 0), MORSEL_ERR_CONSTANT);
    static const uint32_t bad[] = {0x7c00, 0xfc00, 0x7e00, 0xffff, 0x7c000000, 0xfc000000, 0x7c01ffff};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(opened(p, 32, two_halves(bad[i]), 0), MORSEL_ERR_CONSTANT);
    p.weights_half = 2;
    assert_int_equal(opened(p, 64, 1, 0), MORSEL_ERR_PARAMETER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_convolution_matches_its_definition),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(damaged_halves_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
