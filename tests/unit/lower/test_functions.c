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

static size_t buffers_named(const struct net *net, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < net->buffer_count; i++) count += !strcmp(net->buffers[i]->name, name);
    return count;
}

/* The steps of a node between a DequantizeLinear and a QuantizeLinear, or of a float node alone; 0: it is refused. What goes on between
 * them has other names than the output. */
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
    if (net && !quantized) assert_int_equal(buffers_named(net, "y"), 1);
    if (net) net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return steps;
}

static void every_function_is_a_table_and_a_float_step(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct onnx_operator *op = onnx_operator_find("", functions[i]);
        assert_non_null(op);
        assert_int_equal(op->class, ONNX_FUNCTION);
        assert_non_null(op->function);
        if (steps_of(functions[i], true) != 1) fail_msg("%s is no table", functions[i]);
        if (steps_of(functions[i], false) != 1) fail_msg("%s is no step in float", functions[i]);
    }
}

static void angles_are_tables_and_several_float_steps(void **state) {
    (void)state;
    static const char *const angles[] = {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"};
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        if (steps_of(angles[i], true) != 1) fail_msg("%s is no table", angles[i]);
        if (steps_of(angles[i], false) < 2) fail_msg("%s has no steps in float", angles[i]);
    }
}

/* The square of a turned value whose last dimension is short: in one line where that is long, else in the order of its axes. */
static void short_lines_are_taken_as_they_lie(void **state) {
    (void)state;
    static const char *const dims[] = {"1,40,3,2", "1,4,3,2", "1,40,3,9"};
    const uint32_t lines[] = {240, 2, 9};
    for (int i = 0; i < 3; i++) {
        struct bytes file = {0};
        struct onnx_report report = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, dims[i]);
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_node(&file, "turn", "Transpose", "x", "a", "perm=0,2,1,3");
        add_node(&file, "square", "Mul", "a a", "b", "");
        add_node(&file, "end", "Abs", "b", "y", "");
        struct bytes model = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&model);
        struct net *net = lower(graph, &report);
        assert_non_null(net);
        const struct morsel_blob_binary *p = &net->steps[0]->parameters.binary;
        assert_int_equal(net->steps[0]->kind, MORSEL_STEP_BINARY);
        assert_int_equal(p->dims[p->rank - 1], lines[i]);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(graph);
    }
}

/* Each name finds its own row, and no part of it or other domain does. */
static void operators_are_found_by_name(void **state) {
    (void)state;
    char longer[64];
    for (size_t i = 0; onnx_operator_at(i); i++) {
        const struct onnx_operator *op = onnx_operator_at(i);
        assert_ptr_equal(onnx_operator_find(op->domain, op->name), op);
        assert_null(onnx_operator_find("com.example", op->name));
        snprintf(longer, sizeof longer, "%s_", op->name);
        assert_null(onnx_operator_find(op->domain, longer));
    }
    assert_null(onnx_operator_find("", ""));
}

/* The one step of a node in float: its kind, its operation and its alpha. */
static void one_step(const char *op, const char *inputs, const char *attributes, uint32_t kind, uint32_t operation, float alpha) {
    struct onnx_report report = {0};
    struct bytes model = one_node(op, 16, inputs, attributes, 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s of %s is refused", op, inputs);
    assert_int_equal(net->step_count, 1);
    assert_int_equal(net->steps[0]->kind, kind);
    if (kind == MORSEL_STEP_BINARY) assert_int_equal(net->steps[0]->parameters.binary.op, operation);
    else assert_int_equal(net->steps[0]->parameters.unary.op, operation);
    if (kind == MORSEL_STEP_UNARY) assert_true(net->steps[0]->parameters.unary.alpha == alpha);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void powers_and_slopes_are_steps_of_their_own(void **state) {
    (void)state;
    one_step("PRelu", "f:1,3,2,2 f#0.25", "", MORSEL_STEP_UNARY, MORSEL_UNARY_LEAKY_RELU, 0.25f);
    one_step("PRelu", "f:1,3,2,2 f=0.25", "", MORSEL_STEP_UNARY, MORSEL_UNARY_LEAKY_RELU, 0.25f);
    one_step("PRelu", "f:1,3,2,2 f%3,1,1", "", MORSEL_STEP_BINARY, MORSEL_BINARY_PRELU, 0);
    one_step("PRelu", "f:1,3,2,2 f%3,2,1", "", MORSEL_STEP_BINARY, MORSEL_BINARY_PRELU, 0);
    one_step("mo.Mask", "f:1,3,2,2 f:1,3,2,2", "", MORSEL_STEP_BINARY, MORSEL_BINARY_MASK, 0);
    one_step("Pow", "f:1,3,2,2 f#2", "", MORSEL_STEP_BINARY, MORSEL_BINARY_MUL, 0);
    one_step("Pow", "f:1,3,2,2 f#-1", "", MORSEL_STEP_UNARY, MORSEL_UNARY_RECIPROCAL, -1);
    one_step("Pow", "f:1,3,2,2 f#0.5", "", MORSEL_STEP_BINARY, MORSEL_BINARY_POW, 0);
    one_step("Pow", "f:1,3,2,2 f%3,1,1", "", MORSEL_STEP_BINARY, MORSEL_BINARY_POW, 0);
    one_step("Elu", "f:1,3,2,2", "alpha~0.5", MORSEL_STEP_UNARY, MORSEL_UNARY_ELU, 0.5f);
    one_step("Selu", "f:1,3,2,2", "alpha~2 gamma~3", MORSEL_STEP_UNARY, MORSEL_UNARY_ELU, 6);
}

/* x * x * x, as ONNX Runtime computes it. */
static void cubes_are_two_products(void **state) {
    (void)state;
    struct bytes file = {0};
    struct onnx_report report = {0};
    const struct number three = {3, 3};
    add_value(&file, 11, "x", 1, "2,3");
    add_value(&file, 12, "y", 1, NULL);
    add_constant(&file, "three", 1, 0, NULL, &three, 1);
    add_node(&file, "cube", "Pow", "x three", "p", "");
    add_node(&file, "relu", "Relu", "p", "y", "");
    struct bytes model = model_message(&file, 16);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    assert_non_null(net);
    assert_int_equal(net->step_count, 2);
    for (int i = 0; i < 2; i++) assert_int_equal(net->steps[i]->parameters.binary.op, MORSEL_BINARY_MUL);
    assert_true(net->steps[1]->parameters.binary.float_min == 0 && net->steps[0]->parameters.binary.float_min < 0);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
}

/* `op` of x in float, times `by`, and whether somebody else reads its result: the steps, and the operation of the first. */
static size_t steps_of_gate(const char *op, const char *by, bool read_twice, uint32_t *operation) {
    struct bytes file = {0};
    struct onnx_report report = {0};
    add_value(&file, 11, "x", 1, "2,3");
    add_value(&file, 11, "z", 1, "2,3");
    add_value(&file, 12, "y", 1, NULL);
    add_node(&file, "gate", op, "x", "g", "");
    add_node(&file, "mul", "Mul", by, read_twice ? "m" : "y", "");
    if (read_twice) add_node(&file, "add", "Add", "m g", "y", "");
    struct bytes model = model_message(&file, 16);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    assert_non_null(net);
    size_t steps = net->step_count;
    *operation = net->steps[0]->parameters.unary.op;
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return steps;
}

static void a_gate_and_its_product_are_one_step(void **state) {
    (void)state;
    uint32_t operation;
    assert_int_equal(steps_of_gate("Sigmoid", "x g", false, &operation), 1);
    assert_int_equal(operation, MORSEL_UNARY_SILU);
    assert_int_equal(steps_of_gate("HardSigmoid", "g x", false, &operation), 1);
    assert_int_equal(operation, MORSEL_UNARY_HARD_SWISH);
    assert_int_equal(steps_of_gate("Sigmoid", "z g", false, &operation), 2);
    assert_int_equal(operation, MORSEL_UNARY_SIGMOID);
    assert_int_equal(steps_of_gate("Sigmoid", "x g", true, &operation), 3);
    assert_int_equal(steps_of_gate("Tanh", "x g", false, &operation), 2);
}

/* What computes `op` of bytes times a factor for each channel, in float: a bit for each kind of step. */
static unsigned kinds_behind_factors(const char *op, uint32_t *first, uint32_t *last) {
    struct bytes file = {0};
    struct onnx_report report = {0};
    const struct number scale = {0.01, 0}, zero = {0, 10}, factors[] = {{0.5, 0}, {-2, 0}, {3, 0}};
    add_value(&file, 11, "x", 1, "1,3,4,4");
    add_value(&file, 12, "y", 1, NULL);
    add_constant(&file, "s", 1, 0, NULL, &scale, 1);
    add_constant(&file, "z", 2, 0, NULL, &zero, 1);
    add_constant(&file, "f", 1, 3, (const int64_t[]){3, 1, 1}, factors, 3);
    add_node(&file, "in", "QuantizeLinear", "x s z", "q", "");
    add_node(&file, "to", "DequantizeLinear", "q s z", "a", "");
    add_node(&file, "mul", "Mul", "a f", "m", "");
    add_node(&file, "node", op, "m", "r", "");
    add_node(&file, "mean", "GlobalAveragePool", "r", "y", "");
    struct bytes model = model_message(&file, 16);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    assert_non_null(net);
    unsigned kinds = 0;
    *first = *last = MORSEL_UNARY_OP_COUNT;
    for (size_t i = 0; i < net->step_count; i++) {
        kinds |= 1u << net->steps[i]->kind;
        if (net->steps[i]->kind != MORSEL_STEP_UNARY) continue;
        if (*first == MORSEL_UNARY_OP_COUNT) *first = net->steps[i]->parameters.unary.op;
        *last = net->steps[i]->parameters.unary.op;
    }
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return kinds;
}

static void lines_within_limits_are_no_tables(void **state) {
    (void)state;
    uint32_t first, last;
    assert_false(kinds_behind_factors("Relu", &first, &last) & 1u << MORSEL_STEP_LUT);
    assert_int_equal(first, MORSEL_UNARY_AFFINE);
    assert_int_equal(last, MORSEL_UNARY_CLIP);
    assert_false(kinds_behind_factors("Identity", &first, &last) & 1u << MORSEL_STEP_LUT);
    assert_int_equal(last, MORSEL_UNARY_AFFINE);
    assert_true(kinds_behind_factors("Abs", &first, &last) & 1u << MORSEL_STEP_LUT);
}

/* How many constants a step by channel has where rows are so wide. */
static uint32_t constants_of(uint32_t channels, uint32_t wide) {
    float scale[600], offset[600];
    struct lowering l = {.net = net_new("constants")};
    struct net_buffer x = {.rank = 4, .dims = {1, 2, wide, channels}}, *inputs[1] = {&x};
    struct net_step step = {.kind = MORSEL_STEP_UNARY, .inputs = inputs, .input_count = 1};
    for (uint32_t c = 0; c < channels; c++) scale[c] = (float)c + 1, offset[c] = -(float)c;
    step.parameters.unary = (struct morsel_blob_unary){.op = MORSEL_UNARY_QAFFINE, .channels = channels};
    line_constants(&l, &step, scale, offset);
    const uint32_t count = step.parameters.unary.channels;
    assert_int_equal(step.constant_count, 2);
    for (int k = 0; k < 2; k++) assert_int_equal(step.constants[k].bytes, count * sizeof(float));
    for (uint32_t c = 0; c < count; c++) {
        assert_true(((const float *)step.constants[0].data)[c] == scale[c % channels]);
        assert_true(((const float *)step.constants[1].data)[c] == offset[c % channels]);
    }
    net_free(l.net);
    return count;
}

/* Kernels take 32 bytes at a time, and rows may be taken by themselves. */
static void constants_by_channel_stand_for_whole_vectors(void **state) {
    (void)state;
    assert_int_equal(constants_of(32, 8), 32);
    assert_int_equal(constants_of(24, 64), 96);
    assert_int_equal(constants_of(36, 32), 288);
    assert_int_equal(constants_of(24, 7), 168);
    assert_int_equal(constants_of(24, 22), 264);
    assert_int_equal(constants_of(100, 7), 100);
    assert_int_equal(constants_of(600, 2), 600);
}

/* Max of x and a number that Expand wrote out for each channel, between bytes: whether that is a table by channel, as it is for few. */
static bool table_by_channel(const char *channels) {
    struct bytes file = {0};
    struct onnx_report report = {0};
    char shape[40];
    const struct number scale = {0.01, 0}, zero = {0, 10}, factor = {3, 0}, wide[] = {{0, strtol(channels, NULL, 10)}, {0, 1}};
    const int64_t two = 2;
    bool found = false;
    snprintf(shape, sizeof shape, "1,%s,1", channels);
    add_value(&file, 11, "x", ONNX_UINT8, shape);
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&file, "f", ONNX_FLOAT, 0, NULL, &factor, 1);
    add_constant(&file, "w", ONNX_INT64, 1, &two, wide, 2);
    add_node(&file, "e", "Expand", "f w", "factors", "");
    add_node(&file, "d", "DequantizeLinear", "x s z", "a", "");
    add_node(&file, "m", "Max", "a factors", "c", "");
    add_node(&file, "q", "QuantizeLinear", "c s z", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s", report.refusals[0].why);
    for (size_t i = 0; i < net->step_count; i++)
        found |= net->steps[i]->kind == MORSEL_STEP_LUT && net->steps[i]->parameters.lut.channels > 1;
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return found;
}

static void small_files_make_no_large_tables(void **state) {
    (void)state;
    assert_true(table_by_channel("5"));
    assert_true(table_by_channel("8000"));
    assert_false(table_by_channel("100000"));
    struct onnx_graph graph = {.numbers_read = 0};
    size_t least = table_room(&graph);
    graph.numbers_read = 1000;
    assert_int_equal(table_room(&graph), least + 8000);
    graph.numbers_read = SIZE_MAX;
    assert_int_equal(table_room(&graph), 1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(operators_are_found_by_name),
                                       cmocka_unit_test(every_function_is_a_table_and_a_float_step),
                                       cmocka_unit_test(angles_are_tables_and_several_float_steps),
                                       cmocka_unit_test(short_lines_are_taken_as_they_lie),
                                       cmocka_unit_test(powers_and_slopes_are_steps_of_their_own),
                                       cmocka_unit_test(cubes_are_two_products),
                                       cmocka_unit_test(a_gate_and_its_product_are_one_step),
                                       cmocka_unit_test(lines_within_limits_are_no_tables),
                                       cmocka_unit_test(constants_by_channel_stand_for_whole_vectors),
                                       cmocka_unit_test(small_files_make_no_large_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
