/* SPDX-License-Identifier: MIT */
/* The best classes, ties in the order of their index, probabilities, and the softmax that a network brings along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"
#include "tools/base/message.h"
#include "tools/base/options.h"
#include "tools/network/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ties_come_in_the_order_of_their_index(void **state) {
    (void)state;
    static const float scores[7] = {1, 5, 3, 5, -2, 3, 0};
    static const uint32_t order[7] = {1, 3, 2, 5, 0, 6, 4};
    for (size_t top = 0; top < 10; top++) {
        uint32_t indices[10];
        size_t have = scores_top(scores, 7, top, indices);
        assert_int_equal(have, top < 7 ? top : 7);
        for (size_t i = 0; i < have; i++) assert_int_equal(indices[i], order[i]);
    }
    for (size_t i = 0; i < 7; i++) assert_int_equal(scores_rank(scores, 7, order[i]), i);
}

static void what_is_no_number_comes_last(void **state) {
    (void)state;
    static const float scores[5] = {NAN, 2, NAN, -INFINITY, 2};
    static const uint32_t order[5] = {1, 4, 3, 0, 2};
    uint32_t indices[5];
    assert_int_equal(scores_top(scores, 5, 5, indices), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(indices[i], order[i]);
        assert_int_equal(scores_rank(scores, 5, order[i]), i);
    }
}

static void softmax_of_large_scores_is_finite(void **state) {
    (void)state;
    float scores[3] = {1000, 1001, 999}; /* exp() of these alone overflows */
    scores_softmax(scores, 3);
    assert_true(fabsf(scores[0] - 0.24472847f) < 1e-6f);
    assert_true(fabsf(scores[1] - 0.66524096f) < 1e-6f);
    assert_true(fabsf(scores[2] - 0.09003057f) < 1e-6f);
}

/* x [1, 4], with or without a softmax, then turned into floats. */
static bool has_softmax(bool with) {
    struct builder b;
    struct morsel_model model;
    uint32_t bytes;
    const uint32_t dims[] = {1, 4};
    const struct morsel_blob_softmax softmax = {.outer = 1, .count = 4, .inner = 1};
    const struct morsel_blob_unary identity = {.op = MORSEL_UNARY_IDENTITY, .count = 4, .channels = 1};
    const struct morsel_blob_unary negate = {.op = MORSEL_UNARY_NEG, .count = 4, .channels = 1};
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0), p = builder_tensor(&b, MORSEL_UINT8, 2, dims, 1.0f / 256, 0),
             y = builder_tensor(&b, MORSEL_FLOAT32, 2, dims, 1, 0);
    if (with) builder_step(&b, MORSEL_STEP_SOFTMAX, &x, 1, p, &softmax, sizeof softmax, 0);
    else builder_step(&b, MORSEL_STEP_UNARY, &x, 1, p, &negate, sizeof negate, 0);
    builder_step(&b, MORSEL_STEP_UNARY, &p, 1, y, &identity, sizeof identity, 0);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    uint8_t *blob = builder_finish(&b, &bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    bool answer = scores_are_probabilities(&model, 0);
    free(blob);
    return answer;
}

static void a_softmax_in_the_network_is_seen(void **state) {
    (void)state;
    assert_true(has_softmax(true));
    assert_false(has_softmax(false));
}

static void images_are_counted_by_the_output(void **state) {
    (void)state;
    struct network_tensor in = {.rank = 4, .dims = {8, 3, 4, 4}}, out = {.rank = 2, .dims = {8, 10}};
    const struct network network = {.inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
    assert_int_equal(network_images(&network), 8);
    out.dims[0] = 1;
    assert_int_equal(network_images(&network), 1);
    assert_true(scores_are_classes(&out));
    out = (struct network_tensor){.rank = 4, .dims = {1, 10, 1, 1}};
    assert_true(scores_are_classes(&out));
    out.dims[3] = 2;
    assert_false(scores_are_classes(&out));
}

static void caps_name_instruction_sets(void **state) {
    (void)state;
    uint32_t mask;
    assert_true(options_cpu_mask("c", &mask));
    assert_int_equal(mask, MORSEL_CPU_C);
    assert_true(options_cpu_mask("i8mm", &mask));
    assert_int_equal(mask, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD | MORSEL_CPU_I8MM);
    assert_true(options_cpu_mask("avxvnni", &mask));
    assert_int_equal(mask, MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI);
    assert_false(options_cpu_mask("avx", &mask));
    assert_string_equal(options_cpu_name(0), "c");
    assert_string_equal(options_cpu_name(MORSEL_CPU_AVX2 | MORSEL_CPU_AVX512VNNI), "avx512vnni");
    assert_string_equal(options_cpu_name(MORSEL_CPU_NEON), "neon");
}

static void the_nearest_name_is_proposed(void **state) {
    (void)state;
    static const char *const names[] = {"convert", "run", "inspect", NULL};
    assert_string_equal(message_nearest("convrt", names), "convert");
    assert_string_equal(message_nearest("rnu", names), "run");
    assert_null(message_nearest("quantize", names));
    assert_null(message_nearest("a word of more than sixty-three letters, which no name of a verb will ever be", names));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ties_come_in_the_order_of_their_index),
                                       cmocka_unit_test(what_is_no_number_comes_last),
                                       cmocka_unit_test(softmax_of_large_scores_is_finite),
                                       cmocka_unit_test(a_softmax_in_the_network_is_seen),
                                       cmocka_unit_test(images_are_counted_by_the_output),
                                       cmocka_unit_test(caps_name_instruction_sets),
                                       cmocka_unit_test(the_nearest_name_is_proposed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
