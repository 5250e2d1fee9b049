/* SPDX-License-Identifier: MIT */
/*
 * Attributes of any type, length and value, through everything that reads them: inference, passes, lowering, the blob, the float executor.
 * Each is refused with a reason or gives a blob that opens; what else could go wrong is for the sanitizers to see.
 */
#include "tests/unit/support/attribute_trial.h"

static void try_node(const struct row *row, const char *attributes) {
    char what[600];
    snprintf(what, sizeof what, "%s, opset %d, '%s' '%s'", row->op, row->opset, row->inputs, attributes);
    struct bytes model = one_node(row->op, row->opset, row->inputs, attributes, !strcmp(row->op, "Split") ? 2 : 1);
    try_model(&model, what);
}

static void try_each(const struct row *row, const char *names) {
    for (const char *name = names; *name; name += strcspn(name, " "), name += *name == ' ')
        for (size_t h = 0; h < sizeof hostile / sizeof *hostile; h++) {
            char attributes[600];
            replaced(attributes, sizeof attributes, row->attributes, name, strcspn(name, ":=~@"), hostile[h]);
            try_node(row, attributes);
        }
}

static void hostile_attributes_do_no_harm(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        try_node(&rows[i], rows[i].attributes);
        try_each(&rows[i], rows[i].attributes);
        try_each(&rows[i], rows[i].more);
    }
    print_message("%zu times a network, %zu times refused, %zu times run in float\n", converted, refused, executed);
    assert_true(converted > 1000 && refused > 1000 && executed > 1000);
}

/* The row's node with one attribute more in front: why it is refused, in `why`, or "". */
static void infer_with(const struct row *row, const char *attribute, char why[240]) {
    struct onnx_report report = {0};
    struct failure failure = {0};
    char attributes[400];
    snprintf(attributes, sizeof attributes, "%s %s", attribute, row->attributes);
    struct bytes model = one_node(row->op, row->opset, row->inputs, attributes, !strcmp(row->op, "Split") ? 2 : 1);
    struct onnx_graph *graph = load_bytes(&model, &failure);
    if (!graph) fail_msg("%s", failure.text);
    assert_true(onnx_bind(graph, NULL, 0, 1, &report, &failure) && onnx_infer(graph, &report, &failure));
    snprintf(why, 240, "%s", report.refusal_count ? report.refusals[0].why : "");
    onnx_report_free(&report);
    onnx_free(graph);
}

/* Whatever its fields hold: some read a number there without a look at the type. */
static void attributes_of_other_types_are_refused(void **state) {
    (void)state;
    static const char kinds[] = "0~:@.._="; /* by type */
    static const char *const values[] = {"", "~1", ":1", "@DCR", "", "", "~~1", "=1"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char all[300], given[100], why[240], want[100];
        snprintf(all, sizeof all, "%s %s", rows[i].attributes, rows[i].more);
        for (char *next = all, *word; (word = strsep(&next, " "));) {
            int length = (int)strcspn(word, ":=~@");
            for (int type = 1; *word && type < 9; type++) {
                if (type < 8 && kinds[type] == word[length]) continue;
                snprintf(want, sizeof want, "attribute '%.*s' is ", length, word);
                snprintf(given, sizeof given, "%.*s!%d%s", length, word, type,
                         values[word[length] == '='   ? 7
                                : word[length] == '~' ? 1
                                                      : 2]);
                infer_with(&rows[i], given, why);
                if (!strstr(why, want)) fail_msg("%s %s: '%s'", rows[i].op, given, why);
                if (type > 7 || !*values[type]) continue;
                snprintf(given, sizeof given, "%.*s%s", length, word, values[type]);
                infer_with(&rows[i], given, why);
                if (!strstr(why, want)) fail_msg("%s %s: '%s'", rows[i].op, given, why);
            }
        }
    }
}

/* Files of old versions: the type is that of the field, or of the name where all fields are empty. */
static void types_may_be_left_out(void **state) {
    (void)state;
    static const struct {
        const char *op, *attribute, *name;
        double value;
    } numbers[] = {{"LeakyRelu", "alpha!0~0", "alpha", 0},
                   {"LeakyRelu", "alpha!0~2", "alpha", 2},
                   {"Concat", "axis!0:0", "axis", 0},
                   {"Concat", "axis!0:1", "axis", 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct failure failure = {0};
        struct bytes model = one_node(numbers[i].op, 13, "f:2,3", numbers[i].attribute, 1);
        struct onnx_graph *graph = load_bytes(&model, &failure);
        assert_non_null(graph);
        const struct onnx_node *node = graph->nodes[0];
        double got = i < 2 ? (double)onnx_attribute_float(node, numbers[i].name, 9) : (double)onnx_attribute_int(node, numbers[i].name, 9);
        assert_true(got == numbers[i].value);
        onnx_free(graph);
    }
}

/* A function as a table and a convolution's step, each with a Clip of the integers behind it. */
static void try_quantized(const char *op, const char *attributes, const char *bounds) {
    static const int64_t dims[] = {2, 2, 1, 1};
    static const struct number scale = {0.5, 0}, zero = {0, 3}, weights[4] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
    struct bytes file = {0};
    struct onnx_report report = {0};
    struct failure failure = {0};
    bool conv = !strcmp(op, "Conv");
    char what[200];
    snprintf(what, sizeof what, "%s '%s' between bytes, Clip '%s'", op, attributes, bounds);
    add_value(&file, 11, "x", ONNX_FLOAT, "1,2,4,4");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&file, "zw", ONNX_INT8, 0, NULL, weights, 1);
    add_constant(&file, "w", ONNX_INT8, 4, dims, weights, 4);
    add_node(&file, "q", "QuantizeLinear", "x s z", "a", "");
    add_node(&file, "d", "DequantizeLinear", "a s z", "b", "");
    if (conv) add_node(&file, "dw", "DequantizeLinear", "w s zw", "wf", "");
    add_node(&file, "node", op, conv ? "b wf" : "b", "c", attributes);
    add_node(&file, "q2", "QuantizeLinear", "c s z", "e", "");
    add_node(&file, "clip", "Clip", "e", "f", bounds);
    add_node(&file, "d2", "DequantizeLinear", "f s z", "y", "");
    struct bytes model = model_message(&file, 10);
    struct onnx_graph *graph = load_bytes(&model, &failure);
    if (!graph || !onnx_bind(graph, NULL, 0, 1, &report, &failure) || !onnx_infer(graph, &report, &failure)) fail_msg("%s", failure.text);
    size_t before = converted;
    execute(graph, what);
    make_blob(graph, &report, what);
    if (converted == before) fail_msg("%s: %s", what, report.refusals[0].why);
    onnx_report_free(&report);
    onnx_free(graph);
}

static void any_floats_bound_and_shape_bytes(void **state) {
    (void)state;
    static const char *const numbers[] = {"0", "-1", "1e-45", "3e38", "-3e38", "inf", "-inf"};
    static const char *const functions[] = {"LeakyRelu", "HardSigmoid", "Elu", "ThresholdedRelu"};
    char text[60];
    for (size_t i = 0; i < 49; i++) {
        snprintf(text, sizeof text, "min~%s max~%s", numbers[i % 7], numbers[i / 7]);
        try_quantized("Conv", "", text);
        try_quantized("Elu", "", text);
    }
    for (size_t i = 0; i < 28; i++) {
        snprintf(text, sizeof text, "alpha~%s", numbers[i % 7]);
        try_quantized(functions[i / 7], text, "");
        try_quantized(functions[i / 7], "alpha~nan", "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_attributes_do_no_harm),
                                       cmocka_unit_test(attributes_of_other_types_are_refused), cmocka_unit_test(types_may_be_left_out),
                                       cmocka_unit_test(any_floats_bound_and_shape_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
