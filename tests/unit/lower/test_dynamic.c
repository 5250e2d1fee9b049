/* SPDX-License-Identifier: MIT */
/* What stands behind the sums of a ConvInteger: constants that a blob cannot hold, and biases of another shape, are refused. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"

/* x [1, 2, 3, 3] -> DynamicQuantizeLinear -> ConvInteger to 2 channels, + a bias reshaped to `shape`, * scales. */
static struct bytes network(const int64_t shape[4], double scale, double last_bias) {
    static const int64_t weight_dims[] = {2, 2, 1, 1}, two[] = {2}, four[] = {4};
    const struct number weights[4] = {{0, 3}, {0, -5}, {0, 7}, {0, 2}}, factor = {scale, 0}, bias[2] = {{0.25, 0}, {last_bias, 0}};
    struct number dims[4];
    struct bytes file = {0};
    for (int i = 0; i < 4; i++) dims[i] = (struct number){0, (int)shape[i]};
    add_value(&file, 11, "x", ONNX_FLOAT, "1,2,3,3");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "w", ONNX_INT8, 4, weight_dims, weights, 4);
    add_constant(&file, "f", ONNX_FLOAT, 0, NULL, &factor, 1);
    add_constant(&file, "b", ONNX_FLOAT, 1, two, bias, 2);
    add_constant(&file, "d", ONNX_INT64, 1, four, dims, 4);
    add_node(&file, "quantize", "DynamicQuantizeLinear", "x", "q s z", "");
    add_node(&file, "conv", "ConvInteger", "q w z", "sums", "");
    add_node(&file, "factors", "Mul", "s f", "sf", "");
    add_node(&file, "divide", "Div", "b sf", "steps", "");
    add_node(&file, "floor", "Floor", "steps", "floors", "");
    add_node(&file, "whole", "Cast", "floors", "integers", "to:6");
    add_node(&file, "reshape", "Reshape", "integers d", "shaped", "");
    add_node(&file, "add", "Add", "sums shaped", "biased", "");
    add_node(&file, "cast", "Cast", "biased", "floats", "to:1");
    add_node(&file, "scale", "Mul", "floats sf", "y", "");
    return model_message(&file, 13);
}

/* `why` is a part of the reason; NULL: the network is taken, and its last step is of that kind. */
static void check_model(struct bytes model, enum morsel_step_kind last, const char *why) {
    struct onnx_report report = {0};
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    assert_true(!net == (why != NULL));
    if (why) assert_non_null(strstr(report.refusals[0].why, why));
    else assert_int_equal(net->steps[net->step_count - 1]->kind, last);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void check(const int64_t shape[4], double scale, double last_bias, const char *why) {
    check_model(network(shape, scale, last_bias), MORSEL_STEP_DYNAMIC_CONV, why);
}

static const int64_t by_channel[4] = {1, 2, 1, 1};

static void biases_go_to_channels(void **state) {
    (void)state;
    static const int64_t by_picture[4] = {2, 1, 1, 1};
    check(by_channel, 0.5, -0.5, NULL);
    check(by_picture, 0.5, -0.5, "does not have the shape of a number for each output");
}

static void constants_are_numbers(void **state) {
    (void)state;
    check(by_channel, 0.5, NAN, "a NaN or an infinity");
    check(by_channel, 0.5, INFINITY, "a NaN or an infinity");
    check(by_channel, NAN, 0.5, "a NaN or an infinity");
}

/* What had a table for each of six channels, and is [6, 1, 16] in floats: its axes say nothing of channels any more. */
static void tables_are_forgotten(void **state) {
    (void)state;
    static const int64_t three[] = {3}, steps[] = {6, 1, 1}, weight_dims[] = {16, 2};
    static const struct number scale = {0.5, 0}, zero = {0, 128}, dims[3] = {{0, 6}, {0, 1}, {0, 16}};
    struct number weights[32], step[6];
    struct bytes file = {0};
    for (int i = 0; i < 32; i++) weights[i] = (struct number){0, i - 16};
    for (int i = 0; i < 6; i++) step[i] = (struct number){i, 0};
    add_value(&file, 11, "x", ONNX_FLOAT, "1,6,4,4");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&file, "c", ONNX_FLOAT, 3, steps, step, 6);
    add_constant(&file, "d", ONNX_INT64, 1, three, dims, 3);
    add_constant(&file, "w", ONNX_INT8, 2, weight_dims, weights, 32);
    add_node(&file, "bytes", "QuantizeLinear", "x s z", "q", "");
    add_node(&file, "floats", "DequantizeLinear", "q s z", "f", "");
    add_node(&file, "sum", "Add", "f c", "a", "");
    add_node(&file, "shape", "Reshape", "a d", "r", "");
    add_node(&file, "quantize", "DynamicQuantizeLinear", "r", "dq ds dz", "");
    add_node(&file, "product", "MatMulInteger", "dq w dz", "i", "");
    add_node(&file, "cast", "Cast", "i", "g", "to:1");
    add_node(&file, "factors", "Mul", "ds s", "ss", "");
    add_node(&file, "scale", "Mul", "g ss", "y", "");
    check_model(model_message(&file, 13), MORSEL_STEP_DYNAMIC_FC, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(biases_go_to_channels), cmocka_unit_test(constants_are_numbers),
                                       cmocka_unit_test(tables_are_forgotten)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
