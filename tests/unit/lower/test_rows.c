/* SPDX-License-Identifier: MIT */
/* Float rows with constant weights: as products they give the bytes of the convolution, and small ones stay what they are. */
#include "tests/unit/support/stream_runs.h"

#include "tools/lower/rows.h"

struct layer {
    uint32_t n, h, w, inner, columns;
    enum morsel_type from, to;
    uint32_t kernel, half;
    bool bias, bounded;
};

static struct net_buffer *buffer(struct net *net, enum morsel_type type, const struct layer *t, uint32_t channels, const char *name) {
    const uint32_t dims[4] = {t->n, t->h, t->w, channels};
    struct net_buffer *b = net_add_buffer(net, type, MORSEL_CHANNELS_LAST, 4, dims, name);
    const struct net_io io = {.buffer = b, .onnx_type = type, .onnx_rank = 4, .onnx_dims = {t->n, channels, t->h, t->w}, .name = name};
    b->scale = type == MORSEL_FLOAT32 ? 1 : 0.03F;
    b->zero = type == MORSEL_UINT8 ? 120 : type == MORSEL_INT8 ? -5 : 0;
    b->qualified = true;
    net_add_io(net, *name == 'y', io);
    return b;
}

static const float *numbers(struct net *net, uint32_t count, uint32_t seed) {
    float *to = net_alloc(net, count * sizeof *to);
    for (uint32_t i = 0; i < count; i++) to[i] = (float)(builder_random(&seed) >> 8) / (1 << 23) - 1;
    return to;
}

static struct net *make(const struct layer *t) {
    struct net *net = net_new("n");
    struct net_buffer *x = buffer(net, t->from, t, t->inner, "x"), *y = buffer(net, t->to, t, t->columns, "y");
    const uint32_t wide = (t->columns + 7) / 8 * 8, taps = t->inner * t->kernel * t->kernel, pad = t->kernel / 2;
    struct net_step *step = net_add_step(net, MORSEL_STEP_FLOAT_CONV, "rows", x, NULL, y);
    step->parameters.float_conv = (struct morsel_blob_float_conv){.window = {t->kernel, t->kernel, 1, 1, 1, 1, pad, pad, pad, pad},
                                                                  .groups = 1,
                                                                  .out_min = t->to == MORSEL_INT8 ? -128 : 0,
                                                                  .out_max = t->to == MORSEL_INT8    ? 127
                                                                             : t->to == MORSEL_UINT8 ? 255
                                                                                                     : 0,
                                                                  .float_min = t->bounded ? 0 : -INFINITY,
                                                                  .float_max = t->bounded ? 6 : INFINITY,
                                                                  .weights_half = t->half};
    const void *weights = t->half ? net_alloc(net, wide * taps * 2) : (const void *)numbers(net, wide * taps, 1); /* zeros are halves */
    net_add_constant(step, weights, wide * taps * (t->half ? 2 : 4), offsetof(struct morsel_blob_float_conv, weights));
    if (t->bias) net_add_constant(step, numbers(net, wide, 2), wide * sizeof(float), offsetof(struct morsel_blob_float_conv, bias));
    return net;
}

static void check(const struct layer *t, uint32_t steps, enum morsel_step_kind kind) {
    struct net *before = make(t), *after = make(t);
    rows_change(&after, 1);
    assert_int_equal(after->step_count, steps);
    assert_int_equal(after->steps[steps / 2]->kind, kind);
    size_t bytes;
    uint32_t want_bytes;
    uint8_t *blob = blob_of(before, &bytes), *want = run(blob, bytes, 1, 0, &want_bytes);
    free(blob);
    blob = blob_of(after, &bytes);
    for (uint32_t tasks = 1; tasks < 4; tasks++) {
        compare(blob, bytes, tasks, 0, want, want_bytes);
        compare(blob, bytes, tasks, UINT32_MAX, want, want_bytes);
    }
    free(want);
    free(blob);
    net_free(before);
    net_free(after);
}

#define F32 MORSEL_FLOAT32
#define U8 MORSEL_UINT8
#define S8 MORSEL_INT8

static void large_ones_are_products(void **unused) {
    (void)unused;
    check(&(struct layer){4, 1, 1, 256, 256, F32, F32, 1, 0, false, false}, 1, MORSEL_STEP_FLOAT_MATMUL);
    check(&(struct layer){29, 1, 1, 256, 272, F32, F32, 1, 0, true, true}, 1, MORSEL_STEP_FLOAT_MATMUL);
    check(&(struct layer){40, 1, 1, 300, 219, F32, F32, 1, 0, true, true}, 1, MORSEL_STEP_FLOAT_MATMUL);
}

/* Bytes become floats before, or floats bytes behind. */
static void so_they_are_between_bytes(void **unused) {
    (void)unused;
    check(&(struct layer){36, 1, 1, 260, 260, U8, U8, 1, 0, true, false}, 3, MORSEL_STEP_FLOAT_MATMUL);
    check(&(struct layer){36, 1, 1, 260, 260, S8, S8, 1, 0, true, true}, 3, MORSEL_STEP_FLOAT_MATMUL);
    check(&(struct layer){36, 1, 1, 260, 260, U8, F32, 1, 0, false, true}, 2, MORSEL_STEP_FLOAT_MATMUL);
}

/* Of few rows or weights, of pictures, which may stream, of halves, and of windows. */
static void small_ones_and_other_forms_stay(void **unused) {
    (void)unused;
    check(&(struct layer){3, 1, 1, 256, 256, F32, F32, 1, 0, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
    check(&(struct layer){7, 1, 1, 300, 219, F32, F32, 1, 0, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
    check(&(struct layer){32, 1, 1, 255, 257, F32, F32, 1, 0, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
    check(&(struct layer){1, 4, 8, 256, 256, F32, F32, 1, 0, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
    check(&(struct layer){32, 1, 1, 256, 256, F32, F32, 1, 1, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
    check(&(struct layer){1, 4, 8, 90, 90, F32, F32, 3, 0, true, false}, 1, MORSEL_STEP_FLOAT_CONV);
}

/* A blob holds their weights once, and so all are of one kind. */
static void variants_are_of_one_kind(void **unused) {
    (void)unused;
    for (uint32_t least = 3; least < 5; least++) {
        const struct layer large = {32, 1, 1, 256, 256, F32, F32, 1, 0, true, false},
                           small = {least, 1, 1, 256, 256, F32, F32, 1, 0, true, false};
        struct net *nets[3] = {make(&large), make(&small), make(&large)};
        rows_change(nets, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(nets[i]->steps[0]->kind, least < 4 ? MORSEL_STEP_FLOAT_CONV : MORSEL_STEP_FLOAT_MATMUL);
            if (least == 4) assert_memory_equal(nets[i]->steps[0]->inputs[1]->constant, nets[0]->steps[0]->inputs[1]->constant, 1 << 18);
        }
        for (int i = 0; i < 3; i++) net_free(nets[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_ones_are_products), cmocka_unit_test(so_they_are_between_bytes),
                                       cmocka_unit_test(small_ones_and_other_forms_stay), cmocka_unit_test(variants_are_of_one_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
