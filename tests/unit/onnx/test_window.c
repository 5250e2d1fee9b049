/* SPDX-License-Identifier: MIT */
/* onnx_window(): sizes and pads of convolutions and pools. */
#include "tests/unit/support/onnx_file.h"

struct row {
    const char *input, *attributes;
    int64_t kernel[3];
    const char *out, *begin, *end; /* NULL: refused */
};

/* Sizes by PyTorch and ONNX Runtime. */
static const struct row rows[] = {
    {"1,3,8,8", "", {3, 3}, "6,6", "0,0", "0,0"},
    {"1,3,8,8", "kernel_shape=3,3 pads=1,1,1,1", {3, 3}, "8,8", "1,1", "1,1"},
    {"1,3,8,9", "pads=0,1,2,0 strides=2,3", {3, 2}, "4,3", "0,1", "2,0"},
    {"1,3,224,224", "strides=2,2 pads=1,1,1,1", {3, 3}, "112,112", "1,1", "1,1"},
    {"1,3,10,10", "dilations=2,3", {3, 3}, "6,4", "0,0", "0,0"},
    {"1,3,16", "pads=2,1 strides=4", {5}, "4", "2", "1"},
    {"1,3,6,7,8", "strides=1,2,3", {2, 2, 2}, "5,3,3", "0,0,0", "0,0,0"},
    /* auto_pad: the odd pad goes to the end for UPPER, to the beginning for LOWER */
    {"1,3,7,8", "auto_pad@SAME_UPPER strides=2,2", {3, 3}, "4,4", "1,0", "1,1"},
    {"1,3,7,8", "auto_pad@SAME_LOWER strides=2,2", {3, 3}, "4,4", "1,1", "1,0"},
    {"1,3,5,5", "auto_pad@SAME_UPPER dilations=2,2", {2, 3}, "5,5", "1,2", "1,2"},
    {"1,3,5,5", "auto_pad@SAME_UPPER strides=3,3", {1, 1}, "2,2", "0,0", "0,0"},
    {"1,3,8,8", "auto_pad@VALID strides=2,2", {3, 3}, "3,3", "0,0", "0,0"},
    {"1,3,8,8", "auto_pad@NOTSET pads=1,1,1,1", {3, 3}, "8,8", "1,1", "1,1"},
    {"1,3,8,8", "auto_pad@SAME_UPPER pads=9,9,9,9", {3, 3}, "8,8", "1,1", "1,1"},
    /* ceil_mode: a last window that hangs over, but none that begins behind the input */
    {"1,3,8,8", "kernel_shape=3,3 strides=2,2 ceil_mode:1", {0}, "4,4", "0,0", "0,0"},
    {"1,3,8,8", "kernel_shape=3,3 strides=2,2", {0}, "3,3", "0,0", "0,0"},
    {"1,3,4,4", "kernel_shape=2,2 strides=3,3 ceil_mode:1", {0}, "2,2", "0,0", "0,0"},
    {"1,3,6,6", "kernel_shape=1,1 strides=4,5 ceil_mode:1", {0}, "2,2", "0,0", "0,0"},
    {"1,3,3,3", "kernel_shape=2,2 strides=3,3 ceil_mode:1 pads=0,0,1,1", {0}, "1,1", "0,0", "1,1"},
    {"1,3,112,112", "kernel_shape=3,3 strides=2,2 ceil_mode:1", {0}, "56,56", "0,0", "0,0"},
    /* refused */
    {"1,3,8,8", "", {0}, NULL, NULL, NULL},
    {"1,3,8,8", "kernel_shape=3", {0}, NULL, NULL, NULL},
    {"1,3,8,8", "kernel_shape=3,3,3", {0}, NULL, NULL, NULL},
    {"1,3,8,8", "kernel_shape=3,3", {5, 5}, NULL, NULL, NULL},
    {"1,3,8,8", "strides=0,1", {3, 3}, NULL, NULL, NULL},
    {"1,3,8,8", "dilations=1,-1", {3, 3}, NULL, NULL, NULL},
    {"1,3,8,8", "pads=1,1", {3, 3}, NULL, NULL, NULL},
    {"1,3,1,1", "kernel_shape=1,1 strides=2,2 ceil_mode:1 pads=2,2,2,2", {0}, NULL, NULL, NULL},
    {"1,3,9,9", "kernel_shape=2,2 strides=2,2 ceil_mode:1 pads=0,0,2,0", {0}, NULL, NULL, NULL},
    {"1,3,8,8", "pads=-1,0,0,0", {3, 3}, NULL, NULL, NULL},
    {"1,3,8,8", "auto_pad@FULL", {3, 3}, NULL, NULL, NULL},
    {"1,3,2,8", "", {3, 3}, NULL, NULL, NULL},
    {"1,3,8,8", "dilations=9223372036854775807,1", {3, 3}, NULL, NULL, NULL},
    {"1,3", "", {1}, NULL, NULL, NULL},
};

static void same(const char *what, size_t row, const char *expected, const int64_t *got, int rank) {
    struct number numbers[3];
    assert_int_equal(read_numbers(expected, numbers, 3), rank);
    for (int i = 0; i < rank; i++)
        if (got[i] != numbers[i].integer)
            fail_msg("row %zu (%s, %s): %s[%d] is %lld, not %s", row, rows[row].input, rows[row].attributes, what, i, (long long)got[i],
                     expected);
}

static void check_row(size_t i) {
    const struct row *row = &rows[i];
    struct bytes model = {0};
    struct onnx_window window;
    char input[64];
    struct failure failure;
    const char *why;
    snprintf(input, sizeof input, "f:%s", row->input);
    model = one_node("MaxPool", 13, input, row->attributes, 1);
    struct onnx_graph *graph = load_bytes(&model, &failure);
    assert_non_null(graph);
    bool good = onnx_window(graph->nodes[0], &graph->inputs[0]->shape, row->kernel[0] ? row->kernel : NULL, &window, &why);
    if (good != (row->out != NULL)) fail_msg("row %zu (%s, %s): %s", i, row->input, row->attributes, good ? "taken" : why);
    if (good) {
        same("out", i, row->out, window.out, window.rank);
        same("pad_begin", i, row->begin, window.pad_begin, window.rank);
        same("pad_end", i, row->end, window.pad_end, window.rank);
    } else {
        assert_non_null(why);
    }
    onnx_free(graph);
}

static void sizes_and_pads_follow_the_definition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(i);
}

/* Weights 1 x 1 x kernel x 3. */
static bool transposed_is_taken(int64_t kernel) {
    struct bytes file = {0};
    struct onnx_report report = {0};
    struct failure failure = {0};
    const int64_t dims[] = {1, 1, kernel, 3};
    static const struct number ones[9] = {{1, 1}};
    add_value(&file, 11, "x", ONNX_FLOAT, "1,1,5,5");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "w", ONNX_FLOAT, 4, dims, ones, (int)kernel * 3);
    add_node(&file, "t", "ConvTranspose", "x w", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = load_bytes(&model, &failure);
    assert_non_null(graph);
    assert_true(onnx_bind(graph, NULL, 0, 1, &report, &failure));
    bool taken = onnx_infer(graph, &report, &failure) && !report.refusal_count;
    if (!taken && (!report.refusal_count || !strstr(report.refusals[0].why, "empty"))) fail_msg("%s", failure.text);
    onnx_report_free(&report);
    onnx_free(graph);
    return taken;
}

static void an_empty_kernel_is_refused(void **state) {
    (void)state;
    assert_true(transposed_is_taken(3));
    assert_true(transposed_is_taken(1));
    assert_false(transposed_is_taken(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_and_pads_follow_the_definition),
                                       cmocka_unit_test(an_empty_kernel_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
