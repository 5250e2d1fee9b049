/* SPDX-License-Identifier: MIT */
/* Elementwise operators come with a class and a function: what the table of operators says of them is what the lowering does. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"

static const char *const functions[] = {"Abs",        "Ceil",      "Celu",      "Elu",         "Erf",
                                        "Exp",        "Floor",     "Gelu",      "HardSigmoid", "Log",
                                        "Mish",       "HardSwish", "Neg",       "Relu",        "Round",
                                        "Selu",       "Sigmoid",   "LeakyRelu", "Sign",        "Sqrt",
                                        "Reciprocal", "Tanh",      "Softplus",  "Softsign",    "ThresholdedRelu",
                                        "Shrink"};

/* The steps of a node between a DequantizeLinear and a QuantizeLinear, or of a float node alone; 0: it is refused. */
static size_t steps_of(const char *op, bool quantized) {
    struct bytes file = {0};
    struct onnx_report report = {0};
    const struct number scale = {0.01, 0}, zero = {0, 10};
    add_value(&file, 11, "x", 1, "2,3");
    add_value(&file, 12, "y", 1, NULL);
    add_constant(&file, "s", 1, 0, NULL, &scale, 1);
    add_constant(&file, "z", 2, 0, NULL, &zero, 1);
    if (quantized) {
        add_node(&file, "in", "QuantizeLinear", "x s z", "q", "");
        add_node(&file, "to", "DequantizeLinear", "q s z", "a", "");
    }
    add_node(&file, "node", op, quantized ? "a" : "x", quantized ? "b" : "y", "");
    if (quantized) {
        add_node(&file, "out", "QuantizeLinear", "b s z", "r", "");
        add_node(&file, "back", "DequantizeLinear", "r s z", "y", "");
    }
    struct bytes model = model_message(&file, 23);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    size_t steps = net ? net->step_count : 0;
    if (net) net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return steps;
}

static void the_table_tells_what_the_lowering_does(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct onnx_operator *op = onnx_operator_find("", functions[i]);
        assert_non_null(op);
        assert_int_equal(op->class, ONNX_FUNCTION);
        assert_non_null(op->function);
        if (!steps_of(functions[i], true)) fail_msg("%s is no table", functions[i]);
        if (!steps_of(functions[i], false) == !!(op->traits & ONNX_FLOAT_STEP))
            fail_msg("whether a step computes %s in float: the table of operators says something else", functions[i]);
    }
}

/* In float a PRelu of one slope is a LeakyRelu; slopes by channel are left to tables. */
static void one_slope_is_a_leaky_relu(void **state) {
    (void)state;
    static const char *const inputs[] = {"f:1,3,2,2 f#0.25", "f:1,3,2,2 f=0.25", "f:1,3,2,2 f%3,1,1"};
    for (size_t i = 0; i < 3; i++) {
        struct onnx_report report = {0};
        struct bytes model = one_node("PRelu", 16, inputs[i], "", 1);
        struct onnx_graph *graph = inferred_bytes(&model);
        struct net *net = lower(graph, &report);
        assert_true(!net == (i == 2));
        for (uint32_t s = 0; net && s < net->step_count; s++) {
            assert_int_equal(net->steps[s]->kind, MORSEL_STEP_UNARY);
            assert_int_equal(net->steps[s]->parameters.unary.op, MORSEL_UNARY_LEAKY_RELU);
            assert_true(net->steps[s]->parameters.unary.alpha == 0.25f);
        }
        if (net) assert_int_equal(net->step_count, 1);
        if (net) net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_tells_what_the_lowering_does),
                                       cmocka_unit_test(one_slope_is_a_leaky_relu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
