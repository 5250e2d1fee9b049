/* SPDX-License-Identifier: MIT */
/* Along which dimension the channels of a value lie: of three, by the operator that made them, whatever came behind it. */
#include "tests/unit/support/graph_words.h"

#include "tools/compare/compare.h"

static int axis_of(const struct onnx_graph *g, const char *name) {
    for (size_t i = 0; i < g->value_count; i++)
        if (!strcmp(g->values[i]->name, name)) return compare_axis(g->values[i]);
    fail_msg("no value %s", name);
    return -1;
}

static void channels_of_three_dimensions_follow_the_operator(void **state) {
    (void)state;
    static const struct {
        const char *words, *value;
        int axis;
    } rows[] = {
        {"Conv x %4x3x5 > c; Relu c > r; Sigmoid r > y", "c", 1},
        {"Conv x %4x3x5 > c; Relu c > r; Sigmoid r > y", "r", 1},
        {"Conv x %4x3x5 > c; Relu c > r; Sigmoid r > y", "y", 1},
        {"Conv x %3x3x1 > c; Add x c > a; Relu a > y", "y", 1},
        {"Conv x %3x3x1 > c; Add c x > a; Relu a > y", "y", 1},
        {"Conv x %4x3x5 > c; Transpose c > t perm=0,2,1; Relu t > y", "y", 2},
        {"MatMul x %16x8 > m; Relu m > y", "y", 2},
        {"Relu x > r; MaxPool r > y kernel_shape=2", "r", 2},
        {"Relu x > r; MaxPool r > y kernel_shape=2", "y", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct onnx_graph *g = network(13, "1,3,16", rows[i].words);
        if (axis_of(g, rows[i].value) != rows[i].axis) fail_msg("%s: %s along %d", rows[i].words, rows[i].value, axis_of(g, rows[i].value));
        onnx_free(g);
    }
}

static void channels_of_pictures_are_axis_one(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, "1,3,16,16", "Conv x %4x3x5x5 > c; GlobalAveragePool c > p; Flatten p > y");
    assert_int_equal(axis_of(g, "c"), 1);
    assert_int_equal(axis_of(g, "y"), 1);
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_of_three_dimensions_follow_the_operator),
        cmocka_unit_test(channels_of_pictures_are_axis_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
