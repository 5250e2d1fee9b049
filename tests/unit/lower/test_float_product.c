/* SPDX-License-Identifier: MIT */
/* Products with constant float weights, of tensors with as many dimensions as there may be: the blob opens. */
#include "tests/unit/support/onnx_file.h"

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

static void check(const char *dims) {
    static const struct blob_extras none = {0};
    static const int64_t weight_dims[] = {4, 5};
    const struct number scale = {0.5, 0};
    struct number weights[20];
    struct bytes file = {0};
    struct onnx_report report = {0};
    struct morsel_model opened;
    size_t bytes;
    for (int i = 0; i < 20; i++) weights[i] = (struct number){0, i - 9};
    add_value(&file, 11, "x", ONNX_FLOAT, dims);
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "w", ONNX_INT8, 2, weight_dims, weights, 20);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_node(&file, "relu", "Relu", "x", "a", "");
    add_node(&file, "weights", "DequantizeLinear", "w s", "b", "");
    add_node(&file, "product", "MatMul", "a b", "c", "");
    add_node(&file, "end", "Sigmoid", "c", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s: %s", dims, report.refusals[0].why);
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &none, &bytes);
    assert_int_equal(morsel_open(&opened, blob, bytes, 0), MORSEL_OK);
    free(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void any_number_of_dimensions(void **state) {
    (void)state;
    static const char *const all[] = {"3,4", "2,3,4", "1,2,3,4", "2,1,2,3,4", "1,2,1,2,3,4"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_dimensions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
