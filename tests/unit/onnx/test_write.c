/* SPDX-License-Identifier: MIT */
/* onnx_write(): what it writes reads back as the same graph; what cannot be written is named. */
#include "tests/unit/support/onnx_file.h"

#include "tools/onnx/internal.h"
#include "tools/onnx/write.h"

static void same_shape(const char *what, const struct onnx_shape *a, const struct onnx_shape *b) {
    if (a->rank != b->rank || (a->rank > 0 && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims)))
        fail_msg("%s: another shape", what);
}

static void same_tensor(const char *what, const struct onnx_tensor *a, const struct onnx_tensor *b) {
    if (!a != !b || (a && (a->type != b->type || a->count != b->count))) fail_msg("%s: another constant", what);
    if (!a) return;
    same_shape(what, &a->shape, &b->shape);
    if (a->count && memcmp(a->data, b->data, a->count * onnx_type_bytes(a->type))) fail_msg("%s: other numbers", what);
}

static void same_value(const struct onnx_value *a, const struct onnx_value *b) {
    if (!a != !b) fail_msg("'%s' on one side only", a ? a->name : b->name);
    if (!a) return;
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->is_input, b->is_input);
    assert_int_equal(a->is_output, b->is_output);
    same_shape(a->name, &a->shape, &b->shape);
    same_tensor(a->name, a->constant, b->constant);
}

static void same_attribute(const struct onnx_attribute *a, const struct onnx_attribute *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->type, b->type);
    assert_true(a->f == b->f);
    assert_true(a->i == b->i);
    assert_string_equal(a->s, b->s);
    same_tensor(a->name, a->t, b->t);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(a->type != 6 || a->floats[i] == b->floats[i]);
        assert_true(a->type != 7 || a->ints[i] == b->ints[i]);
        if (a->type == 8) assert_string_equal(a->strings[i], b->strings[i]);
    }
}

static void same_node(const struct onnx_node *a, const struct onnx_node *b) {
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->op, b->op);
    assert_string_equal(a->domain, b->domain);
    assert_int_equal(a->opset, b->opset);
    assert_int_equal(a->input_count, b->input_count);
    assert_int_equal(a->output_count, b->output_count);
    assert_int_equal(a->attribute_count, b->attribute_count);
    for (int i = 0; i < a->input_count; i++) same_value(a->inputs[i], b->inputs[i]);
    for (int i = 0; i < a->output_count; i++) same_value(a->outputs[i], b->outputs[i]);
    for (size_t i = 0; i < a->attribute_count; i++) same_attribute(&a->attributes[i], &b->attributes[i]);
}

static void same_graph(const struct onnx_graph *a, const struct onnx_graph *b) {
    assert_string_equal(a->producer, b->producer);
    assert_int_equal(a->ir_version, b->ir_version);
    assert_int_equal(a->opset, b->opset);
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->input_count, b->input_count);
    assert_int_equal(a->output_count, b->output_count);
    for (size_t i = 0; i < a->input_count; i++) same_value(a->inputs[i], b->inputs[i]);
    for (size_t i = 0; i < a->output_count; i++) same_value(a->outputs[i], b->outputs[i]);
    for (size_t i = 0; i < a->node_count; i++) same_node(a->nodes[i], b->nodes[i]);
}

static struct onnx_graph *load(struct bytes *model) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph) fail_msg("%s", failure.text);
    return graph;
}

static void infer(struct onnx_graph *graph) {
    struct onnx_report report = {0};
    struct failure failure;
    if (!onnx_bind(graph, NULL, 0, 1, &report, &failure) || !onnx_infer(graph, &report, &failure)) fail_msg("%s", failure.text);
    onnx_report_free(&report);
}

static struct onnx_graph *again(const struct onnx_graph *graph) {
    struct failure failure = {0};
    struct bytes b = {0};
    b.data = onnx_write(graph, &b.size, &failure);
    if (!b.data) fail_msg("%s", failure.text);
    return load(&b);
}

/* Constants of every type that is read, used by one node that nobody knows; a scalar and an empty one among them. */
static void add_constants(struct bytes *graph, char *inputs) {
    static const char letters[] = "fubswlod";
    static const struct number numbers[2] = {{1, 1}, {0, 0}};
    static const uint16_t halves[2] = {0x3c00, 0xfbff};
    int64_t two = 2, none = 0;
    char name[8];
    for (const char *letter = letters; *letter; letter++) {
        snprintf(name, sizeof name, "c_%c", *letter);
        add_constant(graph, name, type_of_letter(*letter), 1, &two, numbers, 2);
        strcat(strcat(inputs, " "), name);
    }
    add_constant(graph, "scalar", 1, 0, NULL, numbers, 1);
    add_constant(graph, "empty", 7, 1, &none, numbers, 0);
    struct bytes half = tensor_message("half", 10, 1, &two, halves, 4);
    put_message(graph, 5, &half);
    strcat(inputs, " - scalar empty half");
}

static struct bytes rich_model(void) {
    struct bytes graph = {0}, node, tensor_attribute = {0};
    char inputs[200] = "x";
    int64_t one = 1;
    float five = 5;
    add_value(&graph, 11, "x", 1, "batch,3,4,?");
    add_value(&graph, 11, "other", 2, "2,3");
    add_value(&graph, 12, "y", 1, "batch,3,4,4");
    add_value(&graph, 12, "y2", 1, NULL);
    add_constants(&graph, inputs);
    add_node(&graph, "many", "my.Many", inputs, "m - y2", "i:-7 zero:0 f~0.5 none~0 s@text v=1,2,-3 w~~0.5,1.5");
    node = node_message("plain", "Any", "m", "n", "");
    struct bytes t = tensor_message("", 1, 1, &one, &five, 4);
    put_text(&tensor_attribute, 1, "value");
    put_number(&tensor_attribute, 20, 4);
    put_message(&tensor_attribute, 5, &t);
    put_message(&node, 5, &tensor_attribute);
    put_message(&graph, 1, &node);
    add_node(&graph, "last", "ms.Gelu", "n", "y", "");
    struct bytes model = model_message(&graph, 13);
    add_opset(&model, 8, "my", 3);
    return model;
}

static void a_written_graph_reads_back_the_same(void **state) {
    (void)state;
    struct bytes model = rich_model();
    struct onnx_graph *first = load(&model), *second = again(first);
    same_graph(first, second);
    assert_string_equal(onnx_declared(second->inputs[0])->symbols[0], "batch");
    assert_int_equal(second->nodes[0]->opset, 3);
    onnx_free(second);
    onnx_free(first);
}

/* Inferred: shapes of values between nodes go out as value_info, and what is folded comes back as a constant. */
static void inferred_shapes_are_written(void **state) {
    (void)state;
    struct bytes graph = {0};
    struct number numbers[3] = {{1, 1}, {2, 2}, {3, 3}};
    int64_t three = 3;
    add_value(&graph, 11, "x", 1, "n,3");
    add_value(&graph, 12, "y", 1, NULL);
    add_value(&graph, 12, "kk", 1, NULL);
    add_constant(&graph, "k", 1, 1, &three, numbers, 3);
    add_node(&graph, "fold", "Add", "k k", "kk", "");
    add_node(&graph, "add", "Add", "x kk", "a", "");
    add_node(&graph, "relu", "Relu", "a", "y", "");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *first = load(&model);
    infer(first);
    struct onnx_graph *second = again(first);
    assert_int_equal(second->node_count, 2);
    assert_null(onnx_find(second, "k"));
    same_value(onnx_find(first, "kk"), onnx_find(second, "kk"));
    const struct onnx_declared *a = onnx_declared(onnx_find(second, "a"));
    assert_int_equal(a->type, ONNX_FLOAT);
    same_shape("a", &a->shape, &onnx_find(first, "a")->shape);
    assert_int_equal(second->inputs[0]->shape.dims[0], 1);
    infer(second);
    same_value(first->outputs[0], second->outputs[0]);
    onnx_free(second);
    onnx_free(first);
}

static void cannot_write(struct bytes *model, const char *piece) {
    struct failure failure = {0};
    size_t bytes;
    struct onnx_graph *graph = load(model);
    assert_null(onnx_write(graph, &bytes, &failure));
    if (!strstr(failure.text, piece)) fail_msg("'%s' does not say '%s'", failure.text, piece);
    onnx_free(graph);
}

static void what_cannot_be_written_is_named(void **state) {
    (void)state;
    struct bytes graph = {0}, attribute = {0};
    int64_t one = 1;
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, NULL);
    struct bytes node = node_message("loop", "Loop", "x", "y", "");
    put_text(&attribute, 1, "body");
    put_number(&attribute, 20, 5);
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    struct bytes model = model_message(&graph, 13);
    cannot_write(&model, "'loop' (Loop): its attribute 'body'");

    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, NULL);
    struct bytes t = tensor_message("small", 17, 1, &one, "a", 1); /* an 8-bit float */
    put_message(&graph, 5, &t);
    add_node(&graph, "n", "Any", "x small", "y", "");
    model = model_message(&graph, 13);
    cannot_write(&model, "'n' (Any): its constant 'small' is of type float8");
}

/* Up to IR version 3 a constant has to be listed as an input, which is not done here. */
static void old_versions_are_refused(void **state) {
    (void)state;
    struct bytes model = rich_model();
    struct onnx_graph *first = load(&model);
    first->ir_version = 3;
    struct onnx_graph *second = again(first);
    assert_int_equal(second->ir_version, 4);
    onnx_free(second);
    onnx_free(first);
}

/* A node of which one output were a constant, and another none, would be written with both. */
static void a_dropout_is_folded_with_its_mask(void **state) {
    (void)state;
    struct bytes model = one_node("Dropout", 13, "f=1,2", "", 2);
    struct onnx_graph *first = load(&model);
    infer(first);
    for (size_t i = 0; i < 2; i++) assert_non_null(first->outputs[i]->constant);
    const uint8_t *mask = first->outputs[1]->constant->data;
    assert_int_equal(first->outputs[1]->constant->type, ONNX_BOOL);
    assert_true(mask[0] == 1 && mask[1] == 1);
    onnx_free(again(first));
    onnx_free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_graph_reads_back_the_same), cmocka_unit_test(inferred_shapes_are_written),
        cmocka_unit_test(what_cannot_be_written_is_named),     cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(a_dropout_is_folded_with_its_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
