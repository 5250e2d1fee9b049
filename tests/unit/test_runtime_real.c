/* SPDX-License-Identifier: MIT */
/* The convolution of real numbers, on random shapes, against its definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "blob_builder.h"

static uint32_t seed = 11;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

struct problem {
    struct morsel_blob_real_conv p;
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
    for (uint32_t i = 0; i < count; i++)
        v[i] = (float)((int)between(0, 2000) - 1000) / 333.0f;
    return v;
}

static void random_problem(struct problem *q) {
    memset(q, 0, sizeof *q);
    do {
        struct morsel_blob_real_conv p = {between(1, 3),
                                          between(1, 3),
                                          between(1, 2),
                                          between(1, 2),
                                          between(1, 2),
                                          between(1, 2),
                                          between(0, 2),
                                          between(0, 2),
                                          between(0, 2),
                                          between(0, 2),
                                          between(1, 3),
                                          0,
                                          0,
                                          0,
                                          0,
                                          -9,
                                          8};
        q->p = p;
        q->n = between(1, 2), q->h = between(1, 7), q->w = between(1, 7);
        q->c = p.groups * between(1, 6), q->oc = p.groups * between(1, 5);
        q->oh = out_size(q->h, p.pad_top + p.pad_bottom, p.kernel_h, p.dilation_h, p.stride_h);
        q->ow = out_size(q->w, p.pad_left + p.pad_right, p.kernel_w, p.dilation_w, p.stride_w);
    } while (!q->oh || !q->ow);
    q->bytes_in = (int)between(0, 1), q->bytes_out = (int)between(0, 1), q->with_bias = (int)between(0, 1);
    q->p.out_min = -128, q->p.out_max = 127;
    q->weights = random_floats(q->oc * q->p.kernel_h * q->p.kernel_w * (q->c / q->p.groups));
    q->bias = random_floats(q->oc);
    uint32_t count = q->n * q->h * q->w * q->c;
    q->x = random_floats(count);
    for (uint32_t i = 0; q->bytes_in && i < count; i++)
        ((uint8_t *)q->x)[i] = (uint8_t)between(0, 255);
}

static float input(const struct problem *q, uint32_t n, uint32_t y, uint32_t x, uint32_t c) {
    uint32_t i = ((n * q->h + y) * q->w + x) * q->c + c;
    return q->bytes_in ? 0.03125f * (float)(((uint8_t *)q->x)[i] - 100) : ((float *)q->x)[i];
}

static float expected(const struct problem *q, uint32_t n, uint32_t oy, uint32_t ox, uint32_t oc) {
    const struct morsel_blob_real_conv *p = &q->p;
    uint32_t depth = q->c / p->groups, group = oc / (q->oc / p->groups);
    volatile float sum = 0; /* every step rounded */
    for (uint32_t ky = 0; ky < p->kernel_h; ky++)
        for (uint32_t kx = 0; kx < p->kernel_w; kx++)
            for (uint32_t c = 0; c < depth; c++) {
                int y = (int)(oy * p->stride_h + ky * p->dilation_h) - (int)p->pad_top;
                int x = (int)(ox * p->stride_w + kx * p->dilation_w) - (int)p->pad_left;
                if (y < 0 || x < 0 || y >= (int)q->h || x >= (int)q->w)
                    continue;
                volatile float product = input(q, n, (uint32_t)y, (uint32_t)x, group * depth + c) *
                                         q->weights[((oc * p->kernel_h + ky) * p->kernel_w + kx) * depth + c];
                sum = sum + product;
            }
    if (q->with_bias)
        sum = sum + q->bias[oc];
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
                    else
                        assert_memory_equal((const float *)y + i, &want, sizeof want);
                }
}

static void real_convolution_matches_its_definition(void **state) {
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
        q.p.weights = builder_data(&b, q.weights, q.oc * q.p.kernel_h * q.p.kernel_w * (q.c / q.p.groups) * 4);
        q.p.bias = q.with_bias ? builder_data(&b, q.bias, q.oc * 4) : 0;
        builder_step(&b, MORSEL_STEP_REAL_CONV, &x, 1, y, &q.p, sizeof q.p, 0);
        builder_input(&b, x, "x");
        builder_output(&b, y, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        void *got = builder_run(blob, bytes, q.x, NULL);
        check(&q, got);
        free(got), free(q.weights), free(q.bias), free(q.x);
    }
}

/* Opens a blob of one such step after `damage` and gives the error. */
static enum morsel_error opened(struct morsel_blob_real_conv p, uint32_t weight_count, float first) {
    struct builder b;
    struct morsel_model model;
    uint32_t bytes;
    const uint32_t x_dims[4] = {1, 4, 4, 2}, y_dims[4] = {1, 3, 3, 3};
    float *weights = calloc(weight_count, sizeof *weights);
    weights[0] = first;
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_FLOAT32, 4, x_dims, 1, 0), y = builder_tensor(&b, MORSEL_FLOAT32, 4, y_dims, 1, 0);
    p.weights = builder_data(&b, weights, weight_count * 4);
    builder_step(&b, MORSEL_STEP_REAL_CONV, &x, 1, y, &p, sizeof p, 0);
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
    const struct morsel_blob_real_conv good = {2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 1};
    struct morsel_blob_real_conv p = good;
    assert_int_equal(opened(good, 24, 1), MORSEL_OK);
    assert_int_equal(opened(good, 24, NAN), MORSEL_ERR_CONSTANT);
    assert_int_equal(opened(good, 8, 1), MORSEL_ERR_CONSTANT);
    p.groups = 2;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_PARAMETER);
    p = good, p.groups = 0;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_PARAMETER);
    p = good, p.stride_w = 2;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_PARAMETER);
    p = good, p.float_min = 2;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_PARAMETER);
    p = good, p.float_max = NAN;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_PARAMETER);
    p = good, p.bias = 0x7fffffc0;
    assert_int_equal(opened(p, 24, 1), MORSEL_ERR_CONSTANT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_convolution_matches_its_definition),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
