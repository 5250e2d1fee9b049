/* SPDX-License-Identifier: MIT */
/* Tables that indices choose lines of: what a blob could not hold is refused, not written. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"

/* ids -> Gather of a table [3, 2] that ends with `last` -> floats, or bytes where `bytes`. Why it was refused, NULL where it was not. */
static const char *refusal(double last, bool bytes, struct onnx_report *report) {
    static const int64_t dims[] = {3, 2};
    const struct number values[6] = {{1, 0}, {-2, 0}, {3, 0}, {4, 0}, {5, 0}, {last, 0}}, scale = {0.5, 0}, zero = {0, 3};
    struct bytes file = {0};
    add_value(&file, 11, "ids", ONNX_INT64, "1,4");
    add_value(&file, 12, "y", bytes ? ONNX_UINT8 : ONNX_FLOAT, NULL);
    add_constant(&file, "t", ONNX_FLOAT, 2, dims, values, 6);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_node(&file, "g", "Gather", "t ids", bytes ? "v" : "y", "");
    if (bytes) add_node(&file, "q", "QuantizeLinear", "v s z", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, report);
    assert_true(!net == (report->refusal_count > 0));
    net_free(net);
    onnx_free(graph);
    return net ? NULL : report->refusals[0].why;
}

static void tables_hold_numbers(void **state) {
    (void)state;
    static const double none[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct onnx_report report = {0};
        const char *why = refusal(none[i], false, &report);
        assert_non_null(why);
        assert_non_null(strstr(why, "a NaN or an infinity"));
        onnx_report_free(&report);
    }
    for (size_t i = 0; i < 4; i++) { /* bytes of a table are numbers whatever the floats were */
        struct onnx_report report = {0};
        assert_null(refusal(i < 3 ? none[i] : 6, i < 3, &report));
        onnx_report_free(&report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_hold_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
