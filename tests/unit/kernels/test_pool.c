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

#include "kernels/reference/reference.h"
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

/* Quantization parameters as kernels take them: bytes as they are, in the unsigned domain. */
static struct morsel_qparams qparams_of(const struct problem *q, float scale) {
    int is_int8 = q->type == MORSEL_INT8;
    if (q->type == MORSEL_FLOAT32) return (struct morsel_qparams){1, 0, 0, 1, 0};
    return (struct morsel_qparams){scale, x_zero + (is_int8 ? 128 : 0), is_int8 ? 0x80 : 0, 0, is_int8 ? 128 : 0};
}

static struct morsel_pool_args args_of(const struct problem *q, void *y) {
    const struct morsel_blob_window *w = &q->p.window;
    uint32_t size = q->type == MORSEL_FLOAT32 ? 4 : 1;
    int own = q->type == MORSEL_INT8 ? 128 : 0;
    return (struct morsel_pool_args){
        {q->h, q->w, q->c, q->oh, q->ow, q->c, w->kernel_h, w->kernel_w, w->stride_h, w->stride_w, w->dilation_h, w->dilation_w, w->pad_top,
         w->pad_left, q->w * q->c * size, q->ow * q->c * size},
        {q->x, qparams_of(q, x_scale)},
        {y, qparams_of(q, q->average ? y_scale : x_scale), q->p.out_min + own, q->p.out_max + own, -INFINITY, INFINITY},
        q->p.count_include_pad,
        q->h + w->pad_top + w->pad_bottom,
        q->w + w->pad_left + w->pad_right,
    };
}

/* Row by row, by the reference. */
static void *pooled(const struct problem *q, size_t bytes) {
    void *y = malloc(bytes);
    struct morsel_pool_args args = args_of(q, y);
    const struct morsel_window *w = &args.window;
    for (uint32_t row = 0; row < q->n * q->oh; row++) {
        const uint8_t *rows[8];
        for (uint32_t ky = 0; ky < w->kernel_h; ky++) {
            int64_t iy = (int64_t)(row % q->oh) * w->stride_h + ky * w->dilation_h - w->pad_top;
            const uint8_t *image = (const uint8_t *)q->x + (size_t)(row / q->oh) * q->h * w->in_row;
            rows[ky] = iy >= 0 && iy < q->h ? image + (size_t)iy * w->in_row : NULL;
        }
        (q->average ? morsel_average_pool_rows_reference : morsel_max_pool_rows_reference)(&args, rows, row, 1);
    }
    return y;
}

static void pools_match_the_reference(void **state) {
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
        size_t size = (size_t)q.n * q.oh * q.ow * q.c * (q.type == MORSEL_FLOAT32 ? 4 : 1);
        void *want = pooled(&q, size);
        assert_memory_equal(got, want, size);
        free(got), free(want), free(q.x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_match_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
