/* SPDX-License-Identifier: MIT */
/* Equalization, adaptive rounding and bias correction on a small residual network: what they must keep, and what they must make better. */
#include "tests/unit/support/quant_trial.h"
#include "tools/quant/round/patch.h"
#include "tools/quant/round/refine.h"

enum { SAMPLES = 40, ELEMENTS = 3 * 8 * 8, CLASSES = 6 };

/* Weights [outputs, inputs, k, k] or [outputs], output channel o times out[o], input channel i over in[i] (NULL: 1). */
static void weights(struct bytes *graph, const char *name, int outputs, int inputs, int k, const float *out, const float *in) {
    static struct number numbers[512];
    const int64_t dims[] = {outputs, inputs, k, k};
    int count = outputs * (inputs ? inputs * k * k : 1), inner = inputs ? k * k : 1;
    assert_true(count <= 512);
    for (int e = 0; e < count; e++) {
        int o = inputs ? e / (inputs * inner) : e, i = inputs ? e / inner % inputs : 0;
        numbers[e] = (struct number){(double)(noise() * (out ? out[o] : 1) / (in ? in[i] : 1)) * (inputs ? 0.6 : 0.3), 0};
    }
    add_constant(graph, name, 1, inputs ? 4 : 1, dims, numbers, (size_t)count);
}

/*
 * Stem, depthwise and projection to a trunk; a branch that is added to the trunk; a head. WIDE: the trunk's channels and those of the
 * branch's middle are up to 64 times as wide as they would be, and what reads them makes up for it: the same function of x. STRIDED: the
 * trunk's channels lie around numbers far from each other. PADDED: so they do, and the branch reads zeros around the picture. SHARED: the
 * branch ends with the projection's weights.
 */
enum shape { EVEN, WIDE, STRIDED, PADDED, SHARED };

static struct onnx_graph *make_graph(enum shape shape) {
    bool wide = shape == WIDE, apart = shape == STRIDED || shape == PADDED;
    static const float far[8] = {80, -80, 20, 120, -40, -120, 4, -20};
    static const float factors[8] = {1, 64, 2, 8, 1, 32, 4, 16}, others[8] = {16, 1, 1, 32, 8, 2, 64, 1};
    const float *trunk = wide ? factors : NULL, *middle = wide ? others : NULL;
    struct bytes graph = {0};
    state_of_noise = 7;
    add_value(&graph, 11, "x", 1, "1,3,8,8");
    add_constant(&graph, "zero", 1, 0, NULL, &(struct number){0, 0}, 1);
    add_constant(&graph, "six", 1, 0, NULL, &(struct number){6, 0}, 1);
    weights(&graph, "w0", 8, 3, 3, NULL, NULL);
    weights(&graph, "b0", 8, 0, 0, NULL, NULL);
    weights(&graph, "w1", 8, 1, 3, NULL, NULL);
    weights(&graph, "w2", 8, 8, 1, trunk, NULL);
    weights(&graph, "b2", 8, 0, 0, apart ? far : trunk, NULL);
    weights(&graph, "w3", 8, shape == PADDED ? 1 : 8, shape == PADDED ? 3 : 1, middle, trunk);
    weights(&graph, "w4", 8, 8, 1, trunk, middle);
    weights(&graph, "b4", 8, 0, 0, apart ? far : trunk, NULL);
    weights(&graph, "w5", CLASSES, 8, 1, NULL, trunk);
    add_node(&graph, "stem", "Conv", "x w0 b0", "c0", "pads=1,1,1,1");
    add_node(&graph, "bound", "Clip", "c0 zero six", "r0", "");
    add_node(&graph, "depthwise", "Conv", "r0 w1", "c1", "pads=1,1,1,1 group:8");
    add_node(&graph, "project", "Conv", "c1 w2 b2", "t", "");
    add_node(&graph, "expand", "Conv", "t w3", "c3", shape == PADDED ? "pads=1,1,1,1 group:8" : "");
    add_node(&graph, "relu", "Relu", "c3", "r3", "");
    add_node(&graph, "back", "Conv", shape == SHARED ? "r3 w2 b4" : "r3 w4 b4", "c4", "");
    add_node(&graph, "sum", "Add", "t c4", "u", "");
    add_node(&graph, "head", "Conv", "u w5", "c5", "");
    add_node(&graph, "pool", "GlobalAveragePool", "c5", "y", "");
    add_value(&graph, 12, "y", 1, NULL);
    struct bytes model = model_message(&graph, 13);
    return inferred_bytes(&model);
}

/* As pictures are: what lies side by side, in whatever channel, is much the same. */
static const float *make_samples(void) {
    static float numbers[SAMPLES * ELEMENTS];
    state_of_noise = 99;
    for (size_t i = 0; i < SAMPLES; i++) {
        float down = noise() / 4, along = noise() / 4, phase = 3 * noise();
        for (int e = 0; e < ELEMENTS; e++)
            numbers[i * ELEMENTS + (size_t)e] =
                cosf((float)(e / 8 % 8) * down + (float)(e % 8) * along + phase + (float)(e / 64) * 0.2f) + 0.1f * noise();
    }
    return numbers;
}

struct outputs {
    float numbers[SAMPLES][CLASSES];
};

static double sqnr(const struct outputs *wanted, const struct outputs *got) {
    return sqnr_of(wanted->numbers[0], got->numbers[0], SAMPLES * CLASSES);
}

/* The largest that the average error of a class is. */
static double bias(const struct outputs *wanted, const struct outputs *got) {
    double most = 0;
    for (int c = 0; c < CLASSES; c++) {
        double sum = 0;
        for (int i = 0; i < SAMPLES; i++) sum += (double)got->numbers[i][c] - (double)wanted->numbers[i][c];
        most = fmax(most, fabs(sum / SAMPLES));
    }
    return most;
}

struct trial {
    struct setup setup;
    struct outputs wanted, equalized, got;
};

static void try(struct trial *t, enum shape shape, const struct quantize_options *options) {
    struct onnx_graph *graph = make_graph(shape);
    setup_open(&t->setup, graph, SAMPLES, make_samples(), options);
    setup_run(&t->setup, graph, t->wanted.numbers[0]);
    setup_quantize(&t->setup);
    setup_run(&t->setup, graph, t->equalized.numbers[0]);
    setup_run_quantized(&t->setup, t->got.numbers[0]);
}

static struct trial a, b;

static void equalized_channels_compute_the_same(void **state) {
    (void)state;
    try(&a, WIDE, &(struct quantize_options){.keep_channels = true, .keep_biases = true});
    try(&b, WIDE, &(struct quantize_options){.keep_biases = true});
    assert_int_equal(a.setup.q.equalized, 0);
    assert_true(b.setup.q.equalized >= 8);
    assert_true(sqnr(&b.wanted, &b.equalized) > 100); /* the same function, but for float's rounding */
    if (sqnr(&b.wanted, &b.got) < sqnr(&a.wanted, &a.got) + 6)
        fail_msg("equalization makes %.1f dB of %.1f", sqnr(&b.wanted, &b.got), sqnr(&a.wanted, &a.got));
    setup_close(&a.setup);
    try(&a, EVEN, &(struct quantize_options){.keep_biases = true});
    if (sqnr(&b.wanted, &b.got) < sqnr(&a.wanted, &a.got) - 3)
        fail_msg("wide channels: %.1f dB, narrow ones: %.1f", sqnr(&b.wanted, &b.got), sqnr(&a.wanted, &a.got));
    setup_close(&a.setup);
    setup_close(&b.setup);
}

static void equalizing_helps_where_there_is_one_scale(void **state) {
    (void)state;
    try(&a, WIDE, &(struct quantize_options){.scheme.per_tensor = true, .keep_channels = true, .keep_biases = true});
    try(&b, WIDE, &(struct quantize_options){.scheme.per_tensor = true, .keep_biases = true});
    assert_true(sqnr(&b.wanted, &b.equalized) > 100);
    if (sqnr(&b.wanted, &b.got) < sqnr(&a.wanted, &a.got) + 6)
        fail_msg("equalization makes %.1f dB of %.1f", sqnr(&b.wanted, &b.got), sqnr(&a.wanted, &a.got));
    setup_close(&a.setup);
    setup_close(&b.setup);
}

static void centred_channels_gain_six_decibels(void **state) {
    (void)state;
    for (int per_tensor = 0; per_tensor < 2; per_tensor++) {
        try(&a, STRIDED, &(struct quantize_options){.scheme.per_tensor = per_tensor, .keep_channels = true});
        try(&b, STRIDED, &(struct quantize_options){.scheme.per_tensor = per_tensor});
        assert_true(sqnr(&b.wanted, &b.equalized) > 100);
        if (sqnr(&b.wanted, &b.got) < sqnr(&a.wanted, &a.got) + 6)
            fail_msg("centring makes %.1f dB of %.1f", sqnr(&b.wanted, &b.got), sqnr(&a.wanted, &a.got));
        setup_close(&a.setup);
        setup_close(&b.setup);
    }
    try(&a, PADDED, &(struct quantize_options){0});
    assert_true(sqnr(&a.wanted, &a.equalized) > 100);
    setup_close(&a.setup);
}

static void corrected_biases_halve_the_average_error(void **state) {
    (void)state;
    try(&a, EVEN, &(struct quantize_options){.scheme.reduced = true, .keep_biases = true});
    try(&b, EVEN, &(struct quantize_options){.scheme.reduced = true});
    if (!(bias(&b.wanted, &b.got) < bias(&a.wanted, &a.got) / 2))
        fail_msg("an average error of %g became %g", bias(&a.wanted, &a.got), bias(&b.wanted, &b.got));
    setup_close(&a.setup);
    setup_close(&b.setup);
}

static void rounding_is_better_and_repeats(void **state) {
    (void)state;
    const struct quantize_options plain = {.scheme = {.reduced = true, .per_tensor = true}};
    struct quantize_options one = plain, three = plain;
    one.round_most = three.round_most = REFINE_LARGE;
    three.threads = 3;
    try(&a, EVEN, &plain);
    try(&b, EVEN, &one);
    if (sqnr(&b.wanted, &b.got) < sqnr(&a.wanted, &a.got) + 1)
        fail_msg("adaptive rounding makes %.1f dB of %.1f", sqnr(&b.wanted, &b.got), sqnr(&a.wanted, &a.got));
    setup_close(&a.setup);
    try(&a, EVEN, &three);
    for (size_t i = 0; i < b.setup.q.scheme->layer_count; i++) {
        const struct scheme_layer *x = &a.setup.q.scheme->layers[i], *y = &b.setup.q.scheme->layers[i];
        assert_memory_equal(x->values, y->values, x->weights->count);
        assert_memory_equal(x->bias, y->bias, x->outputs * sizeof *x->bias);
    }
    setup_close(&a.setup);
    setup_close(&b.setup);
}

static void weights_of_several_layers_stay_the_same_ones(void **state) {
    (void)state;
    for (int shape = 0; shape < 2; shape++) {
        try(&a, shape ? SHARED : EVEN, &(struct quantize_options){.round_most = REFINE_LARGE, .keep_channels = true});
        const struct scheme *scheme = a.setup.q.scheme;
        assert_int_equal(scheme->layer_count, 6);
        assert_int_equal(memcmp(scheme->layers[2].values, scheme->layers[4].values, 64) == 0, shape);
        setup_close(&a.setup);
    }
}

/* One layer at a time, for want of memory, is as good as all at once. */
static void one_layer_at_a_time_is_as_good(void **state) {
    (void)state;
    struct failure failure = {0};
    try(&a, EVEN, &(struct quantize_options){.round_most = REFINE_LARGE});
    const struct scheme *all = a.setup.q.scheme;
    quantize_choose(&a.setup.q);
    const struct refine refine = {a.setup.q.scheme, a.setup.q.executor, a.setup.data, 1, REFINE_LARGE, false, 1};
    assert_true(refine_layers(&refine, &failure));
    for (size_t i = 0; i < all->layer_count; i++) {
        const struct scheme_layer *x = &a.setup.q.scheme->layers[i], *y = &all->layers[i];
        assert_memory_equal(x->values, y->values, x->weights->count);
        assert_memory_equal(x->bias, y->bias, x->outputs * sizeof *x->bias);
    }
    setup_close(&a.setup);
}

/* Layers with more products to the sum stay as they are. */
static void layers_of_large_sums_stay(void **state) {
    (void)state;
    size_t changed[2] = {0, 0};
    const int64_t most = 9; /* of depthwise convolutions */
    try(&a, EVEN, &(struct quantize_options){.keep_biases = true});
    try(&b, EVEN, &(struct quantize_options){.keep_biases = true, .round_most = most});
    for (size_t i = 0; i < b.setup.q.scheme->layer_count; i++) {
        const struct scheme_layer *x = &a.setup.q.scheme->layers[i], *y = &b.setup.q.scheme->layers[i];
        struct patch p;
        assert_true(patch_of(y, &p));
        changed[p.length > most] += memcmp(x->values, y->values, x->weights->count) != 0;
    }
    assert_true(changed[0] > 0);
    assert_int_equal(changed[1], 0);
    setup_close(&a.setup);
    setup_close(&b.setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equalized_channels_compute_the_same), cmocka_unit_test(equalizing_helps_where_there_is_one_scale),
        cmocka_unit_test(centred_channels_gain_six_decibels),  cmocka_unit_test(corrected_biases_halve_the_average_error),
        cmocka_unit_test(rounding_is_better_and_repeats),      cmocka_unit_test(weights_of_several_layers_stay_the_same_ones),
        cmocka_unit_test(one_layer_at_a_time_is_as_good),      cmocka_unit_test(layers_of_large_sums_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
