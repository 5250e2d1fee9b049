/* SPDX-License-Identifier: MIT */
/* Elementwise steps, means, softmax and moves, against kernels/reference/ and against libm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "kernels/requant.h"
#include "kernels/reference/reference.h"
#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/near.h"

static uint32_t seed = 7;

static uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&seed, low, high);
}

static uint8_t *random_bytes(uint32_t n) {
    uint8_t *p = malloc(n);
    for (uint32_t i = 0; i < n; i++) p[i] = (uint8_t)builder_random(&seed);
    return p;
}

/* --- Two operands --------------------------------------------------------------------------------------------------- */

/* Random dims; an operand repeats along the dimensions of `mask`. */
static uint32_t set_strides(uint32_t *stride, const uint32_t *dims, uint32_t rank, uint32_t mask) {
    uint32_t step = 1;
    for (uint32_t k = rank; k-- > 0;) {
        stride[k] = mask >> k & 1 ? 0 : step;
        if (stride[k]) step *= dims[k];
    }
    return step;
}

struct pair {
    struct morsel_blob_binary p;
    enum morsel_type at, bt, yt;
    int32_t az, bz, yz;
    uint32_t a_count, b_count, y_count;
    void *a, *b;
};

static enum morsel_type byte_type(void) {
    return between(0, 1) ? MORSEL_INT8 : MORSEL_UINT8;
}

static int32_t random_zero(enum morsel_type type) {
    return (int32_t)between(0, 255) - (type == MORSEL_INT8 ? 128 : 0);
}

static void random_pair(struct pair *q, uint32_t op) {
    memset(q, 0, sizeof *q);
    q->p.op = op, q->p.rank = between(1, 6), q->y_count = 1;
    for (uint32_t k = 0; k < 6; k++) q->p.dims[k] = k < q->p.rank ? between(1, 5) : 1, q->y_count *= q->p.dims[k];
    q->a_count = set_strides(q->p.a_stride, q->p.dims, q->p.rank, between(0, 2) ? 0 : between(0, 63));
    q->b_count = set_strides(q->p.b_stride, q->p.dims, q->p.rank, between(0, 1) ? 0 : between(0, 63));
    q->at = byte_type(), q->bt = byte_type(), q->yt = byte_type();
    q->az = random_zero(q->at), q->bz = random_zero(q->bt), q->yz = random_zero(q->yt);
    q->p.out_min = q->yt == MORSEL_INT8 ? -120 : 5, q->p.out_max = q->p.out_min + 240;
    q->p.a_ratio = (float)between(1, 2000) / 1000, q->p.b_ratio = (float)between(1, 16) / 8, q->p.offset = (float)between(0, 400) - 200;
    q->p.float_min = -30, q->p.float_max = 60;
    q->a = random_bytes(q->a_count), q->b = random_bytes(q->b_count);
}

static uint8_t *run_pair(const struct pair *q) {
    struct builder b;
    uint32_t bytes;
    builder_start(&b);
    uint32_t ops[2] = {builder_tensor(&b, q->at, 1, &q->a_count, 0.5f, q->az), builder_tensor(&b, q->bt, 1, &q->b_count, 0.25f, q->bz)};
    uint32_t y = builder_tensor(&b, q->yt, q->p.rank, q->p.dims, 0.125f, q->yz);
    builder_step(&b, MORSEL_STEP_BINARY, ops, 2, y, &q->p, sizeof q->p, 0);
    builder_input(&b, ops[0], "a");
    builder_input(&b, ops[1], "b");
    builder_output(&b, y, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    return builder_run(blob, bytes, q->a, q->b);
}

/* Quantization parameters as kernels take them: bytes as they are, in the unsigned domain. */
static struct morsel_qparams qparams_of(enum morsel_type type, float scale, int32_t zero) {
    int32_t own = type == MORSEL_INT8 ? 128 : 0;
    return (struct morsel_qparams){scale, zero + own, (uint32_t)own, 0, own};
}

static uint8_t *pair_by_reference(const struct pair *q) {
    int32_t own = q->yt == MORSEL_INT8 ? 128 : 0;
    uint8_t *y = malloc(q->y_count);
    struct morsel_binary_args args = {
        .a = {q->a, qparams_of(q->at, 0.5f, q->az)},
        .b = {q->b, qparams_of(q->bt, 0.25f, q->bz)},
        .y = {y, qparams_of(q->yt, 0.125f, q->yz), q->p.out_min + own, q->p.out_max + own, q->p.float_min, q->p.float_max},
        .op = q->p.op,
        .rank = q->p.rank,
        .a_ratio = q->p.a_ratio,
        .b_ratio = q->p.b_ratio,
        .offset = q->p.offset,
    };
    memcpy(args.dims, q->p.dims, sizeof args.dims);
    memcpy(args.a_stride, q->p.a_stride, sizeof args.a_stride);
    memcpy(args.b_stride, q->p.b_stride, sizeof args.b_stride);
    if (q->p.op == MORSEL_BINARY_QADD) morsel_qadd_reference(&args, 0, q->y_count);
    else if (q->p.op == MORSEL_BINARY_QMUL) morsel_qmul_reference(&args, 0, q->y_count);
    else morsel_binary_reference(&args, 0, q->y_count);
    return y;
}

static void binary_matches_the_reference(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        struct pair q;
        random_pair(&q, 1 + round % (MORSEL_BINARY_OP_COUNT - 1));
        uint8_t *got = run_pair(&q), *want = pair_by_reference(&q);
        assert_memory_equal(got, want, q.y_count);
        free(got), free(want), free(q.a), free(q.b);
    }
}

/* --- One operand ---------------------------------------------------------------------------------------------------- */

static float activation_result(uint32_t op, double x, double alpha, double beta) {
    switch (op) {
    case MORSEL_UNARY_ELU: return (float)(x < 0 ? alpha * expm1(x) : beta * x);
    case MORSEL_UNARY_CELU: return (float)(x < 0 ? alpha * expm1(x / alpha) : x);
    case MORSEL_UNARY_SWISH: return (float)(x / (1 + exp(-alpha * x)));
    case MORSEL_UNARY_SOFTPLUS: return (float)softplus(x);
    case MORSEL_UNARY_SOFTSIGN: return (float)(x / (1 + fabs(x)));
    case MORSEL_UNARY_MISH: return (float)(x * tanh(softplus(x)));
    case MORSEL_UNARY_GELU: return (float)gelu(x);
    case MORSEL_UNARY_GELU_TANH: return (float)gelu_tanh(x);
    case MORSEL_UNARY_THRESHOLD: return x > alpha ? (float)x : 0;
    case MORSEL_UNARY_SHRINK: return (float)(x < -alpha ? x + beta : x > alpha ? x - beta : 0);
    case MORSEL_UNARY_LOG: return (float)log(x);
    case MORSEL_UNARY_RECIPROCAL: return (float)(1 / x);
    case MORSEL_UNARY_SIGN: return (float)((x > 0) - (x < 0));
    case MORSEL_UNARY_ROUND: return (float)nearbyint(x);
    case MORSEL_UNARY_FLOOR: return (float)floor(x);
    case MORSEL_UNARY_CEIL: return (float)ceil(x);
    case MORSEL_UNARY_TRUNCATE: return (float)trunc(x);
    default: return (float)x;
    }
}

static float unary_result(uint32_t op, float x) {
    float alpha = 0.2f, beta = 0.5f, line = alpha * x + beta;
    line = line < 0 ? 0 : line > 1 ? 1 : line;
    switch (op) {
    case MORSEL_UNARY_CLIP: return x < alpha ? alpha : x > beta ? beta : x;
    case MORSEL_UNARY_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case MORSEL_UNARY_HARD_SIGMOID: return line;
    case MORSEL_UNARY_HARD_SWISH: return x * line;
    case MORSEL_UNARY_SIGMOID: return (float)(1 / (1 + exp(-(double)x)));
    case MORSEL_UNARY_TANH: return (float)tanh((double)x);
    case MORSEL_UNARY_SILU: return x * (float)(1 / (1 + exp(-(double)x)));
    case MORSEL_UNARY_ERF: return (float)erf((double)x);
    case MORSEL_UNARY_EXP: return (float)exp((double)x);
    case MORSEL_UNARY_SQRT: return sqrtf(x);
    case MORSEL_UNARY_ABS: return fabsf(x);
    case MORSEL_UNARY_NEG: return -x;
    default: return activation_result(op, (double)x, (double)alpha, (double)beta);
    }
}

/* All 256 bytes to floats; and floats to bytes, where only the identity is exact enough to compare. */
static void unary_matches_the_definition(void **state) {
    (void)state;
    const float scales[3] = {1.0f / 16, 3, 0.5f}, offsets[3] = {0, -1, 100};
    for (uint32_t op = 0; op < MORSEL_UNARY_OP_COUNT; op++) {
        if (op == MORSEL_UNARY_QAFFINE) continue; /* below */
        struct builder b;
        uint32_t bytes, count = 256;
        uint8_t x[256];
        for (uint32_t i = 0; i < 256; i++) x[i] = (uint8_t)i;
        builder_start(&b);
        uint32_t in = builder_tensor(&b, MORSEL_INT8, 1, &count, 0.0625f, 5), out = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0);
        struct morsel_blob_unary p = {op, 256, 0.2f, 0.5f, 3, builder_data(&b, scales, 12), builder_data(&b, offsets, 12)};
        builder_step(&b, MORSEL_STEP_UNARY, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        float *y = builder_run(blob, bytes, x, NULL);
        for (int i = 0; i < 256; i++) {
            float v = 0.0625f * (float)((int8_t)x[i] - 5);
            float want = op == MORSEL_UNARY_AFFINE ? v * scales[i % 3] + offsets[i % 3] : unary_result(op, v);
            if (isnan(want)) assert_true(isnan(y[i]));
            else if (isinf(want)) assert_true(y[i] == want);
            else if (op == MORSEL_UNARY_GELU || op == MORSEL_UNARY_GELU_TANH) assert_true(fabsf(y[i] - want) <= 1.5e-7f * fabsf(v));
            else near("unary", v, (double)y[i], (double)want, 3.5);
        }
        free(y);
    }
}

/* All 256 bytes as integers of their type, by three channels; what is no pair of bytes is refused. */
static void qaffine_matches_the_definition(void **state) {
    (void)state;
    const float scales[3] = {0.4375f, -3, 0.5f}, offsets[3] = {7.25f, -1, 100};
    for (uint32_t type = MORSEL_UINT8; type <= MORSEL_FLOAT32; type += 1 + (type == MORSEL_INT8)) {
        struct builder b;
        struct morsel_model model;
        uint32_t bytes, count = 256;
        uint8_t x[256];
        for (uint32_t i = 0; i < 256; i++) x[i] = (uint8_t)i;
        builder_start(&b);
        uint32_t in = builder_tensor(&b, MORSEL_INT8, 1, &count, 0.0625f, 5), out = builder_tensor(&b, type, 1, &count, 1, 0);
        struct morsel_blob_unary p = {MORSEL_UNARY_QAFFINE, 256, 0, 0, 3, builder_data(&b, scales, 12), builder_data(&b, offsets, 12)};
        builder_step(&b, MORSEL_STEP_UNARY, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        if (type == MORSEL_FLOAT32) {
            assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_ERR_STEP);
            free(blob);
            continue;
        }
        uint8_t *y = builder_run(blob, bytes, x, NULL);
        for (int i = 0; i < 256; i++) {
            double low = type == MORSEL_INT8 ? -128 : 0, v = (double)(int8_t)x[i] * (double)scales[i % 3] + (double)offsets[i % 3];
            double want = fmin(fmax(rint(v), low), low + 255);
            assert_int_equal(y[i], (uint8_t)(int)want);
        }
        free(y);
    }
}

static void quantize_step_rounds_saturates_and_takes_nan(void **state) {
    (void)state;
    const float x[8] = {0.25f, 0.75f, -0.25f, 1e30f, -1e30f, NAN, INFINITY, 1.25f};
    const int8_t want[8] = {3, 5, 3, 127, -128, -128, 127, 5};
    struct builder b;
    uint32_t bytes, count = 8;
    builder_start(&b);
    uint32_t in = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0), out = builder_tensor(&b, MORSEL_INT8, 1, &count, 0.5f, 3);
    struct morsel_blob_unary p = {MORSEL_UNARY_IDENTITY, 8, 0, 0, 1, 0, 0};
    builder_step(&b, MORSEL_STEP_UNARY, &in, 1, out, &p, sizeof p, 0);
    builder_input(&b, in, "x");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    int8_t *y = builder_run(blob, bytes, x, NULL);
    assert_memory_equal(y, want, 8);
    free(y);
}

static void lut_takes_the_channel_s_table(void **state) {
    (void)state;
    for (int is_float = 0; is_float < 2; is_float++) {
        struct builder b;
        uint32_t bytes, count = 5 * 3 * 2;
        uint8_t *x = random_bytes(count), *table = random_bytes(3 * 256 * 4);
        for (uint32_t i = 0; i < 3 * 256 * 4; i++) table[i] &= 0x3f; /* no NaN among the floats */
        builder_start(&b);
        uint32_t in = builder_tensor(&b, MORSEL_INT8, 1, &count, 1, 0);
        uint32_t out = builder_tensor(&b, is_float ? MORSEL_FLOAT32 : MORSEL_UINT8, 1, &count, 1, 0);
        struct morsel_blob_lut p = {count, 3, 2, builder_data(&b, table, 3 * 256 * (is_float ? 4 : 1))};
        builder_step(&b, MORSEL_STEP_LUT, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *y = builder_run(blob, bytes, x, NULL);
        uint32_t size = is_float ? 4 : 1;
        for (uint32_t i = 0; i < count; i++) assert_memory_equal(y + i * size, table + (i / 2 % 3 * 256 + x[i]) * size, size);
        free(y), free(x), free(table);
    }
}

/* --- Along dimensions ------------------------------------------------------------------------------------------------ */

static void mean_matches_the_reference(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        struct builder b;
        struct morsel_blob_mean p = {between(1, 3), between(1, 50), between(1, 20), (float)between(1, 99) / 1000, 4, 200};
        uint32_t bytes, x_count = p.outer * p.count * p.inner, y_count = p.outer * p.inner;
        uint8_t *x = random_bytes(x_count);
        builder_start(&b);
        uint32_t in = builder_tensor(&b, MORSEL_INT8, 1, &x_count, 1, -9), out = builder_tensor(&b, MORSEL_UINT8, 1, &y_count, 1, 100);
        builder_step(&b, MORSEL_STEP_MEAN, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *y = builder_run(blob, bytes, x, NULL);
        uint8_t *want = malloc(y_count);
        const struct morsel_mean_args args = {
            .x = {x, qparams_of(MORSEL_INT8, 1, -9)},
            .y = {want, qparams_of(MORSEL_UINT8, 1, 100), 4, 200, 0, 0},
            .count = p.count,
            .inner = p.inner,
            .multiplier = p.multiplier,
        };
        morsel_mean_reference(&args, 0, y_count);
        assert_memory_equal(y, want, y_count);
        free(x), free(y), free(want);
    }
}

static void softmax_matches_the_reference(void **state) {
    (void)state;
    float table[256];
    for (int i = 0; i < 256; i++) table[i] = (float)exp((i - 255) * 0.05 + 60);
    for (int round = 0; round < 40; round++) {
        struct builder b;
        struct morsel_blob_softmax p = {between(1, 4), between(1, 30), between(1, 3), 0};
        uint32_t bytes, count = p.outer * p.count * p.inner;
        uint8_t *x = random_bytes(count);
        builder_start(&b);
        p.table = builder_data(&b, table, sizeof table);
        uint32_t in = builder_tensor(&b, MORSEL_UINT8, 1, &count, 0.05f, 3);
        uint32_t out = builder_tensor(&b, MORSEL_INT8, 1, &count, 1.0f / 255, -128);
        builder_step(&b, MORSEL_STEP_SOFTMAX, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *got = builder_run(blob, bytes, x, NULL), *want = malloc(count);
        const struct morsel_softmax_args args = {
            .x = {x, qparams_of(MORSEL_UINT8, 0.05f, 3)},
            .y = {want, qparams_of(MORSEL_INT8, 1.0f / 255, -128), 0, 255, 0, 0},
            .table = table,
            .levels = floorf(1 / (1.0f / 255)),
            .count = p.count,
            .inner = p.inner,
        };
        morsel_softmax_reference(&args, 0, p.outer * p.inner);
        assert_memory_equal(got, want, count);
        free(x), free(got), free(want);
    }
}

static void softmax_of_bytes_to_floats(void **state) {
    (void)state;
    struct builder b;
    struct morsel_blob_softmax p = {2, 3, 1, 0};
    const uint8_t x[6] = {1, 2, 3, 200, 72, 71}; /* the last are 64 and 64.5 below the largest, which counts as 0 */
    uint32_t bytes, count = 6;
    builder_start(&b);
    uint32_t in = builder_tensor(&b, MORSEL_UINT8, 1, &count, 0.5f, 3), out = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0);
    builder_step(&b, MORSEL_STEP_SOFTMAX, &in, 1, out, &p, sizeof p, 0);
    builder_input(&b, in, "x");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    float *y = builder_run(blob, bytes, x, NULL);
    double sum = exp(-1) + exp(-0.5) + 1;
    near("softmax", 0, (double)y[0], exp(-1) / sum, 3);
    near("softmax", 0, (double)y[2], 1 / sum, 3);
    near("softmax", 0, (double)y[3], 1 / (1 + exp(-64)), 3);
    near("softmax", 0, (double)y[4], exp(-64) / (1 + exp(-64)), 3);
    assert_true(y[5] == 0);
    free(y);
}

/* Lines that interleave, with values so far apart that only the largest of the own line keeps the exponentials in range. */
static void float_softmax_along_an_inner_dimension(void **state) {
    (void)state;
    struct builder b;
    struct morsel_blob_softmax p = {2, 3, 2, 0};
    const float x[12] = {1000, -1000, 1001, -1001, 999, -1000, 0, -1, 0, 5001, 0, 3};
    uint32_t bytes, count = 12;
    builder_start(&b);
    uint32_t in = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0), out = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0);
    builder_step(&b, MORSEL_STEP_SOFTMAX, &in, 1, out, &p, sizeof p, 0);
    builder_input(&b, in, "x");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    float *y = builder_run(blob, bytes, x, NULL);
    for (int i = 0; i < 12; i++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) sum += exp((double)x[i / 6 * 6 + k * 2 + i % 2] - (double)x[i]);
        near("softmax", x[i], (double)y[i], 1 / sum, 3);
    }
    free(y);
}

/* --- Moves ------------------------------------------------------------------------------------------------------------ */

static void concat_puts_inputs_side_by_side(void **state) {
    (void)state;
    for (uint32_t wide = 0; wide < 2; wide++) {
        struct builder b;
        uint32_t size = wide ? 4 : 1, bytes, n0 = 4 * 3, n1 = 4 * 5, n = 4 * 8;
        uint32_t p[3] = {4, 3, 5};
        uint8_t *x0 = random_bytes(n0 * size), *x1 = random_bytes(n1 * size);
        enum morsel_type type = wide ? MORSEL_INT32 : MORSEL_INT8;
        builder_start(&b);
        uint32_t ops[2] = {builder_tensor(&b, type, 1, &n0, 1, 0), builder_tensor(&b, type, 1, &n1, 1, 0)};
        uint32_t out = builder_tensor(&b, type, 1, &n, 1, 0);
        builder_step(&b, MORSEL_STEP_CONCAT, ops, 2, out, p, sizeof p, 0);
        builder_input(&b, ops[0], "a");
        builder_input(&b, ops[1], "b");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *y = builder_run(blob, bytes, x0, x1);
        for (uint32_t r = 0; r < 4; r++) {
            assert_memory_equal(y + r * 8 * size, x0 + r * 3 * size, 3 * size);
            assert_memory_equal(y + (r * 8 + 3) * size, x1 + r * 5 * size, 5 * size);
        }
        free(y), free(x0), free(x1);
    }
}

/* Whatever the indices are, each gets a line: the nearest where it lies outside. */
static void lookups_stay_inside_their_table(void **state) {
    (void)state;
    enum { ROWS = 5, WIDTH = 3, COUNT = 12 };
    static const int32_t x[COUNT] = {0, 4, 5, 6, -1, -5, -6, -7, INT32_MAX, INT32_MIN, INT32_MIN + 1, 2};
    static const uint32_t lines[COUNT] = {0, 4, 4, 4, 4, 0, 0, 0, 4, 0, 0, 2};
    for (int type = MORSEL_UINT8; type <= MORSEL_FLOAT32; type++) {
        struct builder b;
        uint32_t bytes, count = COUNT, dims[2] = {COUNT, WIDTH}, size = type == MORSEL_FLOAT32 ? 4 : 1;
        if (type == MORSEL_INT32) continue;
        uint8_t *table = random_bytes(ROWS * WIDTH * size);
        for (int i = 3; i < ROWS * WIDTH * 4 && size == 4; i += 4) table[i] &= 0x3f; /* finite */
        builder_start(&b);
        struct morsel_blob_lookup p = {ROWS, WIDTH, builder_data(&b, table, ROWS * WIDTH * size)};
        uint32_t in = builder_tensor(&b, MORSEL_INT32, 1, &count, 1, 0), out = builder_tensor(&b, (enum morsel_type)type, 2, dims, 1, 0);
        builder_step(&b, MORSEL_STEP_LOOKUP, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "ids");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes), *y = builder_run(blob, bytes, x, NULL);
        for (uint32_t i = 0; i < COUNT; i++) assert_memory_equal(y + i * WIDTH * size, table + lines[i] * WIDTH * size, WIDTH * size);
        free(y), free(table);
    }
}

static void casts_round_to_the_nearest_float(void **state) {
    (void)state;
    static const int32_t x[] = {0, 1, -1, 16777216, 16777217, 16777219, -16777217, INT32_MAX, INT32_MIN};
    static const float wanted[] = {0, 1, -1, 16777216, 16777216, 16777220, -16777216, 2147483648.0f, -2147483648.0f};
    struct builder b;
    uint32_t bytes, count = sizeof x / sizeof *x;
    struct morsel_blob_cast p = {count};
    builder_start(&b);
    uint32_t in = builder_tensor(&b, MORSEL_INT32, 1, &count, 1, 0), out = builder_tensor(&b, MORSEL_FLOAT32, 1, &count, 1, 0);
    builder_step(&b, MORSEL_STEP_CAST, &in, 1, out, &p, sizeof p, 0);
    builder_input(&b, in, "mask");
    builder_output(&b, out, "y");
    uint8_t *blob = builder_finish(&b, &bytes), *y = builder_run(blob, bytes, x, NULL);
    assert_memory_equal(y, wanted, sizeof wanted);
    free(y);
}

static void gather_follows_its_tables(void **state) {
    (void)state;
    for (int round = 0; round < 80; round++) {
        struct builder b;
        struct morsel_blob_gather p = {between(1, 6), {1, 1, 1, 1, 1, 1}, 0, 0xdeadbeef};
        uint32_t bytes, x_count = 300, y_count = 1, entries = 0, size = between(0, 1) ? 4 : 1;
        int32_t table[64];
        for (uint32_t k = 0; k < p.rank; k++) {
            p.dims[k] = between(1, 5), y_count *= p.dims[k];
            for (uint32_t i = 0; i < p.dims[k]; i++) table[entries++] = between(0, 5) ? (int32_t)between(0, 49) : -1;
        }
        uint8_t *x = random_bytes(x_count * size);
        enum morsel_type type = size == 4 ? MORSEL_FLOAT32 : MORSEL_UINT8;
        builder_start(&b);
        p.table = builder_data(&b, table, entries * 4);
        uint32_t in = builder_tensor(&b, type, 1, &x_count, 1, 0), out = builder_tensor(&b, type, p.rank, p.dims, 1, 0);
        builder_step(&b, MORSEL_STEP_GATHER, &in, 1, out, &p, sizeof p, 0);
        builder_input(&b, in, "x");
        builder_output(&b, out, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        uint8_t *y = builder_run(blob, bytes, x, NULL);
        for (uint32_t i = 0; i < y_count; i++) {
            int32_t at = 0, fill = 0;
            for (uint32_t k = p.rank, rest = i, first = entries; k-- > 0; rest /= p.dims[k]) {
                first -= p.dims[k];
                int32_t entry = table[first + rest % p.dims[k]];
                fill |= entry < 0;
                at += entry;
            }
            assert_memory_equal(y + i * size, fill ? (const uint8_t *)&p.fill : x + (uint32_t)at * size, size);
        }
        free(x), free(y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_matches_the_reference),
        cmocka_unit_test(unary_matches_the_definition),
        cmocka_unit_test(qaffine_matches_the_definition),
        cmocka_unit_test(quantize_step_rounds_saturates_and_takes_nan),
        cmocka_unit_test(lut_takes_the_channel_s_table),
        cmocka_unit_test(mean_matches_the_reference),
        cmocka_unit_test(softmax_matches_the_reference),
        cmocka_unit_test(softmax_of_bytes_to_floats),
        cmocka_unit_test(float_softmax_along_an_inner_dimension),
        cmocka_unit_test(concat_puts_inputs_side_by_side),
        cmocka_unit_test(lookups_stay_inside_their_table),
        cmocka_unit_test(casts_round_to_the_nearest_float),
        cmocka_unit_test(gather_follows_its_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
