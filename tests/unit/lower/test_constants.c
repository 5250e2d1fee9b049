/* SPDX-License-Identifier: MIT */
/* Constants of odd sizes: empty ones are no operands of a Concat, and weights may be larger than any activation. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

static void add_scalars(struct bytes *file) {
    static const struct number scale = {0.5, 0}, zero = {0, 3};
    add_constant(file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
}

static uint8_t *blob_of(struct bytes *file, size_t *bytes) {
    static const struct blob_extras extras = {0};
    struct onnx_report report = {0};
    struct bytes model = model_message(file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s", report.refusals[0].why);
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &extras, bytes);
    if (!blob) fail_msg("the blob does not open");
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return blob;
}

/* x and the same, with an empty constant before, between or behind them; `place` 3: with none. */
static uint8_t *concat_blob(bool qlinear, int place, size_t *bytes) {
    static const int64_t dims[] = {1, 0, 1};
    struct bytes file = {0};
    char inputs[80] = "";
    add_scalars(&file);
    add_value(&file, 11, "x", ONNX_UINT8, "1,4,1");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "e", ONNX_UINT8, 3, dims, NULL, 0);
    if (!qlinear) add_node(&file, "d", "DequantizeLinear", "x s z", "a", "");
    if (!qlinear) add_node(&file, "de", "DequantizeLinear", "e s z", "b", "");
    for (int i = 0; i < 3; i++) {
        if (place == i) strcat(inputs, qlinear ? " e s z" : " b");
        if (i < 2) strcat(inputs, qlinear ? " x s z" : " a");
    }
    char all[100];
    snprintf(all, sizeof all, "s z%s", inputs);
    if (qlinear) add_node(&file, "c", "ms.QLinearConcat", all, "y", "axis:1");
    else add_node(&file, "c", "Concat", inputs + 1, "f", "axis:1");
    if (!qlinear) add_node(&file, "q", "QuantizeLinear", "f s z", "y", "");
    return blob_of(&file, bytes);
}

static void empty_constants_are_no_operands(void **state) {
    (void)state;
    for (int qlinear = 0; qlinear < 2; qlinear++) {
        size_t plain_bytes, bytes;
        uint8_t *plain = concat_blob(qlinear, 3, &plain_bytes);
        for (int place = 0; place < 3; place++) {
            uint8_t *blob = concat_blob(qlinear, place, &bytes);
            assert_int_equal(bytes, plain_bytes);
            assert_memory_equal(blob, plain, bytes);
            free(blob);
        }
        free(plain);
    }
}

/* Only the value's shape is large: the walk keeps where the weights are, so no memory is needed to see it. */
static void weights_are_as_large_as_the_file(void **state) {
    (void)state;
    static const int64_t dims[] = {2, 4};
    static const struct number numbers[8] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}, {0, 7}, {0, 8}};
    for (int weights = 0; weights < 2; weights++) {
        struct bytes file = {0};
        struct onnx_report report = {0};
        add_scalars(&file);
        add_value(&file, 11, "x", ONNX_UINT8, "1,4");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "w", ONNX_UINT8, 2, dims, numbers, 8);
        add_node(&file, "d", "DequantizeLinear", "x s z", "a", "");
        add_node(&file, "dw", "DequantizeLinear", "w s z", "v", "");
        add_node(&file, "g", "Gemm", "a v", "c", "transB:1");
        add_node(&file, "q", "QuantizeLinear", "c s z", "y", "");
        struct bytes model = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&model);
        for (size_t i = 0; i < graph->value_count; i++) {
            const char name = graph->values[i]->name[0];
            struct onnx_shape *shape = &graph->values[i]->shape;
            if (strchr(weights ? "vw" : "a", name)) *shape = (struct onnx_shape){2, {1 << 14, 1 << 13}};
            else if (weights && strchr("xa", name)) *shape = (struct onnx_shape){2, {1, 1 << 13}};
            else if (weights && strchr("cy", name)) *shape = (struct onnx_shape){2, {1, 1 << 14}};
        }
        struct net *net = lower(graph, &report);
        assert_int_equal(net != NULL, weights);
        if (!weights) assert_non_null(strstr(report.refusals[0].why, "2^26"));
        if (net) net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

/* A scale for each batch: of the right operand, or of the left one. */
static void constants_with_several_scales_are_floats(void **state) {
    (void)state;
    static const int64_t dims[] = {2, 3, 3}, two[] = {2};
    static const struct number bytes[18] = {{0, 1}, {0, 2}, {0, 3}}, scales[] = {{0.5, 0}, {0.25, 0}}, zeros[] = {{0, 0}, {0, 0}};
    for (int left = 0; left < 2; left++) {
        struct bytes file = {0};
        struct onnx_report report = {0};
        add_scalars(&file);
        add_value(&file, 11, "x", ONNX_UINT8, "2,3,3");
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_constant(&file, "c", ONNX_INT8, 3, dims, bytes, 18);
        add_constant(&file, "cs", ONNX_FLOAT, 1, two, scales, 2);
        add_constant(&file, "cz", ONNX_INT8, 1, two, zeros, 2);
        add_node(&file, "d", "DequantizeLinear", "x s z", "a", "");
        add_node(&file, "dc", "DequantizeLinear", "c cs cz", "b", "axis:0");
        add_node(&file, "m", "MatMul", left ? "b a" : "a b", "y", "");
        struct bytes model = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&model);
        struct net *net = lower(graph, &report);
        if (!net) fail_msg("%s", report.refusals[0].why);
        assert_int_equal(net->steps[net->step_count - 1]->kind, MORSEL_STEP_FLOAT_MATMUL);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty_constants_are_no_operands),
                                       cmocka_unit_test(constants_with_several_scales_are_floats),
                                       cmocka_unit_test(weights_are_as_large_as_the_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
