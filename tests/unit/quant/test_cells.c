/* SPDX-License-Identifier: MIT */
/* Cells of a recurrent layer have one scale for what they read, one for what they give, and one bias: a blob has their constants once. */
#include "tests/unit/support/graph_words.h"
#include "tests/unit/support/quant_trial.h"

enum { SAMPLES = 8, TIMES = 6, INPUTS = 8, HIDDEN = 5 };

static const float *make_samples(int elements) {
    static float numbers[SAMPLES * TIMES * INPUTS];
    state_of_noise = 3;
    for (int i = 0; i < SAMPLES * elements; i++) numbers[i] = noise();
    return numbers;
}

static struct setup quantized(const char *shape, const char *text, bool keep_biases) {
    struct setup setup;
    struct onnx_graph *graph = network(17, shape, text);
    graph_optimize(graph, NULL);
    setup_open(&setup, graph, SAMPLES, make_samples(TIMES * INPUTS), &(struct quantize_options){.keep_biases = keep_biases});
    setup_quantize(&setup);
    return setup;
}

static const struct scheme_value *x_of(const struct scheme *s, size_t layer) {
    return &s->values[s->layers[layer].x];
}

static const struct scheme_value *out_of(const struct scheme *s, size_t layer) {
    return &s->values[s->layers[layer].out];
}

static void cells_are_alike(void **state) {
    (void)state;
    struct setup setup = quantized("6,1,8", "RNN x %1x5x8 %1x5x5 > y", false);
    const struct scheme *s = setup.q.scheme;
    assert_int_equal(s->layer_count, TIMES); /* one for all that comes in, and one for each state but the first */
    float most = 0;
    for (size_t i = 2; i < s->layer_count; i++) {
        assert_ptr_equal(s->layers[i].node->inputs[1], s->layers[1].node->inputs[1]);
        assert_true(x_of(s, i)->scale == x_of(s, 1)->scale && x_of(s, i)->zero == x_of(s, 1)->zero);
        if (i + 1 < s->layer_count) /* the end of the network is float */
            assert_true(out_of(s, i)->quantized && out_of(s, i)->scale == out_of(s, 1)->scale && out_of(s, i)->zero == out_of(s, 1)->zero);
        assert_memory_equal(s->layers[i].values, s->layers[1].values, HIDDEN * HIDDEN);
        assert_memory_equal(s->layers[i].bias, s->layers[1].bias, HIDDEN * sizeof(float));
    }
    for (int o = 0; o < HIDDEN; o++) most = fmaxf(most, fabsf(s->layers[1].bias[o]));
    assert_true(most > 0); /* corrected */
    setup_close(&setup);
}

/* Others with the same weights, whose numbers may be of any size, keep their own scales. */
static void others_keep_their_own(void **state) {
    (void)state;
    struct setup setup = quantized("6,8", "Relu %8x8 > w; MatMul x w > a; Tanh a > b; MatMul b w > c; Add c x > y", false);
    const struct scheme *s = setup.q.scheme;
    assert_int_equal(s->layer_count, 2);
    assert_ptr_equal(s->layers[0].node->inputs[1], s->layers[1].node->inputs[1]);
    assert_false(scheme_is_cell(s->layers[0].node) || scheme_is_cell(s->layers[1].node));
    assert_int_not_equal(x_of(s, 0)->group, x_of(s, 1)->group);
    setup_close(&setup);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_are_alike), cmocka_unit_test(others_keep_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
