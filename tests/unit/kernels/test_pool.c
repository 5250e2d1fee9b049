/* SPDX-License-Identifier: MIT */
/* Pools on random shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"

static uint32_t seed = 3;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

struct problem {
    struct morsel_blob_pool p;
    uint32_t n, h, w, c, oh, ow;
    int average;
    enum morsel_type type;
    void *x;
};

static uint32_t pool_size(uint32_t in, uint32_t pads, uint32_t kernel, uint32_t dilation, uint32_t stride, int ceil_mode) {
    uint32_t window = (kernel - 1) * dilation + 1;
    if (in + pads < window) return 0;
    return (in + pads - window + (ceil_mode ? stride - 1 : 0)) / stride + 1;
}

static void random_problem(struct problem *q) {
    do {
        q->average = (int)between(0, 1);
        struct morsel_blob_pool p = {{between(1, 4), between(1, 4), between(1, 3), between(1, 3), 1, 1, between(0, 2), between(0, 2),
                                      between(0, 2), between(0, 2)},
                                     between(0, 1),
                                     0,
                                     0};
        if (!q->average) p.window.dilation_h = between(1, 2), p.window.dilation_w = between(1, 2);
        int ceil_mode = (int)between(0, 1);
        q->p = p;
        q->n = between(1, 2), q->h = between(1, 9), q->w = between(1, 9), q->c = between(1, 20);
        q->oh =
            pool_size(q->h, p.window.pad_top + p.window.pad_bottom, p.window.kernel_h, p.window.dilation_h, p.window.stride_h, ceil_mode);
        q->ow =
            pool_size(q->w, p.window.pad_left + p.window.pad_right, p.window.kernel_w, p.window.dilation_w, p.window.stride_w, ceil_mode);
    } while (!q->oh || !q->ow);
    q->type = (enum morsel_type[]){MORSEL_UINT8, MORSEL_INT8, MORSEL_FLOAT32}[between(0, 2)];
    q->p.out_min = q->type == MORSEL_INT8 ? -100 : 28, q->p.out_max = q->p.out_min + 200;
    uint32_t count = q->n * q->h * q->w * q->c;
    q->x = malloc(count * 4);
    for (uint32_t i = 0; i < count; i++) {
        if (q->type == MORSEL_FLOAT32) ((float *)q->x)[i] = (float)between(0, 1000) / 8 - 50;
        else ((uint8_t *)q->x)[i] = (uint8_t)between(0, 255);
    }
}

static const float x_scale = 0.25f, y_scale = 0.375f;
static const int x_zero = 17;

static float real(const struct problem *q, uint32_t i) {
    if (q->type == MORSEL_FLOAT32) return ((const float *)q->x)[i];
    int v = q->type == MORSEL_INT8 ? ((const int8_t *)q->x)[i] : ((const uint8_t *)q->x)[i];
    return x_scale * (float)(v - x_zero);
}

/* Largest or sum over the window, the number of cells inside the picture, and inside the padded picture. */
static float window(const struct problem *q, uint32_t n, uint32_t oy, uint32_t ox, uint32_t c, uint32_t *inside, uint32_t *padded) {
    float v = q->average ? 0 : -INFINITY;
    *inside = *padded = 0;
    for (uint32_t ky = 0; ky < q->p.window.kernel_h; ky++) {
        for (uint32_t kx = 0; kx < q->p.window.kernel_w; kx++) {
            int y = (int)(oy * q->p.window.stride_h + ky * q->p.window.dilation_h) - (int)q->p.window.pad_top;
            int x = (int)(ox * q->p.window.stride_w + kx * q->p.window.dilation_w) - (int)q->p.window.pad_left;
            *padded += y < (int)(q->h + q->p.window.pad_bottom) && x < (int)(q->w + q->p.window.pad_right);
            if (y < 0 || x < 0 || y >= (int)q->h || x >= (int)q->w) continue;
            float cell = real(q, ((n * q->h + (uint32_t)y) * q->w + (uint32_t)x) * q->c + c);
            v = q->average ? v + cell : cell > v ? cell : v;
            ++*inside;
        }
    }
    return v;
}

static int clamp(double v, const struct problem *q) {
    return v < q->p.out_min ? q->p.out_min : v > q->p.out_max ? q->p.out_max : (int)v;
}

/* The real number that cell i of y stands for, before it is made a byte. */
static float pooled(const struct problem *q, uint32_t i) {
    uint32_t inside, padded, c = i % q->c, ox = i / q->c % q->ow, oy = i / q->c / q->ow % q->oh, n = i / q->c / q->ow / q->oh;
    float v = window(q, n, oy, ox, c, &inside, &padded);
    if (!q->average) return v;
    uint32_t all = q->type == MORSEL_FLOAT32 ? padded : q->p.window.kernel_h * q->p.window.kernel_w;
    uint32_t count = q->p.count_include_pad ? all : inside;
    return count ? v / (float)count : 0;
}

static void check_cell(const struct problem *q, const void *y, uint32_t i) {
    float v = pooled(q, i);
    if (q->type == MORSEL_FLOAT32) {
        assert_true(((const float *)y)[i] == v);
        return;
    }
    int byte = q->type == MORSEL_INT8 ? ((const int8_t *)y)[i] : ((const uint8_t *)y)[i];
    float steps = v / (q->average ? y_scale : x_scale) + (float)x_zero;
    assert_int_equal(byte, clamp(rint((double)steps), q));
}

static void pools_match_the_definition(void **state) {
    (void)state;
    for (int round = 0; round < 400; round++) {
        struct problem q;
        struct builder b;
        uint32_t bytes;
        random_problem(&q);
        builder_start(&b);
        uint32_t x = builder_tensor(&b, q.type, 4, (uint32_t[]){q.n, q.h, q.w, q.c}, x_scale, x_zero);
        uint32_t y = builder_tensor(&b, q.type, 4, (uint32_t[]){q.n, q.oh, q.ow, q.c}, q.average ? y_scale : x_scale, x_zero);
        builder_step(&b, q.average ? MORSEL_STEP_AVERAGE_POOL : MORSEL_STEP_MAX_POOL, &x, 1, y, &q.p, sizeof q.p, 0);
        builder_input(&b, x, "x");
        builder_output(&b, y, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        void *got = builder_run(blob, bytes, q.x, NULL);
        for (uint32_t i = 0; i < q.n * q.oh * q.ow * q.c; i++) check_cell(&q, got, i);
        free(got), free(q.x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_match_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
