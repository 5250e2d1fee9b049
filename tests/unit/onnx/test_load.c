/* SPDX-License-Identifier: MIT */
/* onnx_load(): what it takes from a file, and one clear line for each way a file can be wrong. */
#include "tests/unit/support/onnx_file.h"
#include "tools/onnx/operator.h"

#include <sys/stat.h>

static struct onnx_graph *load_good(struct bytes *model) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph) fail_msg("refused: %s", failure.text);
    return graph;
}

static void load_bad(struct bytes *model, const char *piece) {
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (graph) fail_msg("taken, but should say '%s'", piece);
    if (!strstr(failure.text, piece) || strchr(failure.text, '\n')) fail_msg("'%s' does not say '%s'", failure.text, piece);
}

/* x -> Relu -> y */
static struct bytes relu_graph(void) {
    struct bytes graph = {0};
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, "1,3");
    add_node(&graph, "", "Relu", "x", "y", "");
    return graph;
}

/* Passes read a node's first output without asking whether it is there. */
static void every_node_has_a_first_output(void **state) {
    (void)state;
    struct bytes graph = relu_graph(), node = {0};
    put_text(&node, 1, "x");
    put_text(&node, 2, "");
    put_text(&node, 2, "i");
    put_text(&node, 4, "MaxPool");
    put_message(&graph, 1, &node);
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *net = load_good(&model);
    assert_int_equal(net->nodes[1]->output_count, 2);
    assert_non_null(net->nodes[1]->outputs[0]);
    assert_ptr_equal(net->nodes[1]->outputs[0]->producer, net->nodes[1]);
    onnx_free(net);
}

static void names_and_numbers_are_read(void **state) {
    (void)state;
    struct bytes graph = relu_graph();
    struct bytes model = model_message(&graph, 17);
    put_text(&model, 3, "1.2");
    struct onnx_graph *net = load_good(&model);
    assert_string_equal(net->name, "net");
    assert_string_equal(net->producer, "tests 1.2");
    assert_int_equal(net->ir_version, 8);
    assert_int_equal(net->opset, 17);
    assert_int_equal(net->node_count, 1);
    assert_string_equal(net->nodes[0]->name, "Relu_0");
    assert_int_equal(net->nodes[0]->opset, 17);
    assert_ptr_equal(net->nodes[0]->inputs[0], net->inputs[0]);
    assert_ptr_equal(net->outputs[0]->producer, net->nodes[0]);
    assert_int_equal(net->inputs[0]->type, ONNX_FLOAT);
    onnx_free(net);
}

static void attributes_are_read(void **state) {
    (void)state;
    struct bytes graph = {0};
    int64_t ints[3];
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "n", "Any", "x", "y", "i:-7 f~0.5 s@text v=1,2,3 w~~0.5,1.5");
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *net = load_good(&model);
    const struct onnx_node *node = net->nodes[0];
    assert_int_equal(onnx_attribute_int(node, "i", 0), -7);
    assert_int_equal(onnx_attribute_int(node, "none", 3), 3);
    assert_int_equal(onnx_attribute_int(node, "f", 3), 3); /* of another type: as if it were not there */
    assert_true(onnx_attribute_float(node, "f", 0) == 0.5f);
    assert_string_equal(onnx_attribute_string(node, "s", ""), "text");
    assert_int_equal(onnx_attribute_ints(node, "v", ints, 3), 3);
    assert_int_equal(ints[2], 3);
    assert_int_equal(onnx_attribute_ints(node, "v", ints, 2), 3);
    assert_int_equal(onnx_attribute_ints(node, "none", ints, 3), -1);
    assert_true(onnx_attribute(node, "w")->floats[1] == 1.5f);
    onnx_free(net);
}

/* Float weights pass for bytes behind that mark, so no file may set it. */
static void no_file_says_what_is_exact(void **state) {
    (void)state;
    struct bytes graph = {0};
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "n", "Any", "x", "y", "i:-7 " ONNX_EXACT_MARK ":1 k:2");
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *net = load_good(&model);
    const struct onnx_node *node = net->nodes[0];
    assert_int_equal(node->attribute_count, 2);
    assert_null(onnx_attribute(node, ONNX_EXACT_MARK));
    assert_int_equal(onnx_attribute_int(node, "k", 0), 2);
    onnx_free(net);
}

/* A constant in one of the typed fields: floats 4, int32 5 (all small types), int64 7, double 10, uint64 11. */
static void typed_fields_are_read(void **state) {
    (void)state;
    static const struct {
        int type, field;
        double first, second;
    } cases[] = {{1, 4, 1.5, -2}, {2, 5, 200, 3}, {3, 5, -100, 5},    {4, 5, 60000, 1}, {5, 5, -30000, 1}, {6, 5, -100000, 7},
                 {7, 7, -5e9, 2}, {9, 5, 1, 0},   {11, 10, 2.25, -1}, {12, 11, 4e9, 1}, {13, 11, 9e9, 1},  {10, 5, 1.5, -2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes graph = relu_graph(), tensor = {0}, packed = {0};
        for (int k = 0; k < 2; k++) {
            double value = k ? cases[i].second : cases[i].first;
            float f = (float)value;
            if (cases[i].type == 10) put_varint(&packed, k ? 0xc000 : 0x3e00); /* -2 and 1.5 as halves */
            else if (cases[i].field == 4) put_raw(&packed, &f, 4);
            else if (cases[i].field == 10) put_raw(&packed, &value, 8);
            else put_varint(&packed, (uint64_t)(int64_t)value);
        }
        put_number(&tensor, 1, 2);
        put_number(&tensor, 2, cases[i].type);
        put_text(&tensor, 8, "c");
        put_message(&tensor, cases[i].field, &packed);
        put_message(&graph, 5, &tensor);
        struct bytes model = model_message(&graph, 17);
        struct onnx_graph *net = load_good(&model);
        const struct onnx_tensor *c = NULL;
        for (size_t k = 0; k < net->value_count; k++) c = net->values[k]->constant ? net->values[k]->constant : c;
        assert_non_null(c);
        assert_int_equal(c->count, 2);
        assert_int_equal(c->type, cases[i].type);
        if (onnx_number(c, 0) != cases[i].first || onnx_number(c, 1) != cases[i].second)
            fail_msg("type %d: %g %g", cases[i].type, onnx_number(c, 0), onnx_number(c, 1));
        onnx_free(net);
    }
}

/* IR version 3 lists initializers among the inputs too. */
static void an_initializer_is_no_input(void **state) {
    (void)state;
    struct bytes graph = {0};
    struct number values[3] = {{1, 1}, {2, 2}, {3, 3}};
    int64_t three = 3;
    add_value(&graph, 11, "w", 1, "3");
    add_value(&graph, 11, "x", 1, "1,3");
    add_constant(&graph, "w", 1, 1, &three, values, 3);
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "n", "Add", "x w", "y", "");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *net = load_good(&model);
    assert_int_equal(net->input_count, 1);
    assert_string_equal(net->inputs[0]->name, "x");
    assert_true(onnx_number(onnx_input_constant(net->nodes[0], 1), 2) == 3);
    assert_null(onnx_input_constant(net->nodes[0], 0));
    assert_null(onnx_input(net->nodes[0], 2));
    onnx_free(net);
}

/* A model with one more initializer. */
static struct bytes with_tensor(struct bytes *tensor) {
    struct bytes graph = relu_graph();
    put_message(&graph, 5, tensor);
    return model_message(&graph, 17);
}

static void bad_tensors_are_refused(void **state) {
    (void)state;
    static const struct {
        int64_t dims[9];
        int rank, type;
        size_t bytes;
        const char *why;
    } cases[] = {
        {{2, 3}, 2, 1, 23, "'w' should have 24 bytes of data but has 23"},
        {{2, 3}, 2, 1, 28, "24 bytes"},
        {{2, 3}, 2, 3, 24, "6 bytes"},
        {{2, 3}, 2, 1, 0, "6 values but has 0"},
        {{-1, 3}, 2, 1, 12, "impossible shape"},
        {{INT64_MAX, 3}, 2, 1, 12, "impossible shape"},
        {{(int64_t)1 << 32, (int64_t)1 << 32}, 2, 1, 0, "impossible shape"},
        {{(int64_t)1 << 32, (int64_t)1 << 31, 2}, 3, 1, 0, "impossible shape"},
        {{0, INT64_MAX}, 2, 1, 0, "impossible shape"},
        {{(int64_t)1 << 40}, 1, 1, 4, "bytes of data"},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, 1, 4, "9 dimensions"},
    };
    static const unsigned char zeros[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes tensor = tensor_message("w", cases[i].type, cases[i].rank, cases[i].dims, zeros, cases[i].bytes);
        struct bytes model = with_tensor(&tensor);
        load_bad(&model, cases[i].why);
    }
}

/* Strings, 4-bit integers, sparse tensors: no harm until a node reads one. */
static void unreadable_types_do_no_harm_until_read(void **state) {
    (void)state;
    int64_t four = 4;
    for (int used = 0; used < 2; used++) {
        struct bytes graph = {0};
        struct onnx_report report = {0};
        struct failure failure;
        struct bytes tensor = tensor_message("w", 22, 1, &four, "ab", 2);
        put_message(&graph, 5, &tensor);
        add_value(&graph, 11, "x", 1, "4");
        add_value(&graph, 12, "y", 1, NULL);
        add_node(&graph, "n", "Add", used ? "x w" : "x x", "y", "");
        struct bytes model = model_message(&graph, 17);
        struct onnx_graph *net = load_good(&model);
        assert_true(onnx_bind(net, NULL, 0, 1, &report, &failure));
        assert_true(onnx_infer(net, &report, &failure));
        assert_int_equal(report.refusal_count, used);
        if (used) assert_non_null(strstr(report.refusals[0].why, "int4"));
        onnx_free(net);
        onnx_report_free(&report);
    }
}

static void put_entry(struct bytes *tensor, const char *key, const char *value) {
    struct bytes entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

/* Three floats in a file of their own. */
static struct bytes external_model(const char *location, const char *offset, const char *length) {
    struct bytes tensor = {0};
    put_number(&tensor, 1, 3);
    put_number(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    if (location) put_entry(&tensor, "location", location);
    if (offset) put_entry(&tensor, "offset", offset);
    if (length) put_entry(&tensor, "length", length);
    put_number(&tensor, 14, 1);
    return with_tensor(&tensor);
}

static void external_data_is_read(void **state) {
    (void)state;
    static const float values[5] = {0, 1, 2, 3, 4};
    static const struct {
        const char *location, *offset, *length, *why; /* NULL: taken */
    } cases[] = {
        {"w.bin", "4", "12", NULL},
        {"w.bin", "4", NULL, NULL},
        {"./w.bin", "4", NULL, NULL},
        {"inner/w.bin", "4", NULL, NULL},
        {"w.bin", "12", "12", "has 20 bytes"},
        {"w.bin", "9223372036854775807", "12", "has 20 bytes"},
        {"w.bin", "18446744073709551616", "12", "is no number"},
        {"w.bin", "-4", "12", "is no number"},
        {"w.bin", "4x", "12", "is no number"},
        {"w.bin", "4", "8", "12 bytes but its external data 8"},
        {"none.bin", "0", NULL, "cannot be found"},
        {NULL, "0", NULL, "names no file"},
        {"/etc/passwd", "0", NULL, "in the model's folder"},
        {"../w.bin", "0", NULL, "in the model's folder"},
        {"inner/../w.bin", "0", NULL, "in the model's folder"},
        {"outside", "0", NULL, "outside the model's folder"},
        {"inner", "0", NULL, "cannot be read"},
        {"pipe", "0", NULL, "cannot be read"},
    };
    write_scratch("w.bin", values, sizeof values);
    assert_true(mkdir(scratch_path("inner"), 0700) == 0);
    write_scratch("inner/w.bin", values, sizeof values);
    assert_int_equal(symlink("/etc/passwd", scratch_path("outside")), 0);
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes model = external_model(cases[i].location, cases[i].offset, cases[i].length);
        if (cases[i].why) {
            load_bad(&model, cases[i].why);
            continue;
        }
        struct onnx_graph *net = load_good(&model);
        for (size_t k = 0; k < net->value_count; k++)
            if (net->values[k]->constant)
                assert_true(onnx_number(net->values[k]->constant, 0) == 1 && onnx_number(net->values[k]->constant, 2) == 3);
        onnx_free(net);
    }
}

static void versions_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct {
        int ir, opset;
        const char *why;
    } cases[] = {{8, 6, "opset 6"}, {3, 7, NULL},   {8, 29, "opset 29"},   {2, 13, "IR version 2"},
                 {3, 10, NULL},     {11, 28, NULL}, {8, 0, "opset_import"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes graph = relu_graph(), model = {0};
        if (cases[i].opset) add_opset(&model, 8, "ai.onnx", cases[i].opset);
        add_opset(&model, 8, "other", 5);
        put_number(&model, 1, cases[i].ir);
        put_message(&model, 7, &graph);
        if (cases[i].why) load_bad(&model, cases[i].why);
        else onnx_free(load_good(&model));
    }
}

static void broken_graphs_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *nodes[2][2], *why; /* inputs and outputs */
    } cases[] = {
        {{{"nothing", "y"}, {"x", "z"}}, "reads 'nothing'"},
        {{{"no\nthing\033", "y"}, {"x", "z"}}, "reads 'no?thing?'"},
        {{{"x", "y"}, {"x", "y"}}, "'y' is made twice"},
        {{{"x", "x"}, {"x", "y"}}, "writes 'x', which is a graph input"},
        {{{"x", "w"}, {"x", "y"}}, "writes 'w', which is a constant"},
        {{{"x", "a"}, {"x", "b"}}, "output 'y' is made by no node"},
    };
    int64_t one = 1;
    struct number zero = {0, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes graph = {0};
        add_value(&graph, 11, "x", 1, "1,3");
        add_value(&graph, 12, "y", 1, NULL);
        add_constant(&graph, "w", 1, 1, &one, &zero, 1);
        add_node(&graph, "a", "Relu", cases[i].nodes[0][0], cases[i].nodes[0][1], "");
        add_node(&graph, "b", "Relu", cases[i].nodes[1][0], cases[i].nodes[1][1], "");
        struct bytes model = model_message(&graph, 13);
        load_bad(&model, cases[i].why);
    }
}

/* Nodes in the wrong order are sorted; one that nobody needs is dropped; a circle is an error. */
static void nodes_are_sorted(void **state) {
    (void)state;
    for (int circle = 0; circle < 2; circle++) {
        struct bytes graph = {0};
        struct onnx_report report = {0};
        struct failure failure = {0};
        add_value(&graph, 11, "x", 1, "1,3");
        add_value(&graph, 12, "y", 1, NULL);
        add_node(&graph, "third", "Relu", "b", "y", "");
        add_node(&graph, "nobody", "Relu", "b", "n", "");
        add_node(&graph, "second", "Relu", "a", "b", "");
        add_node(&graph, "first", "Add", circle ? "x b" : "x x", "a", "");
        struct bytes model = model_message(&graph, 13);
        struct onnx_graph *net = load_good(&model);
        assert_true(onnx_bind(net, NULL, 0, 1, &report, &failure));
        assert_int_equal(onnx_infer(net, &report, &failure), !circle);
        if (circle) {
            assert_non_null(strstr(failure.text, "cycle"));
        } else {
            assert_int_equal(net->node_count, 3);
            assert_string_equal(net->nodes[0]->name, "first");
            assert_string_equal(net->nodes[2]->name, "third");
        }
        onnx_free(net);
        onnx_report_free(&report);
    }
}

/* A node's attribute that refers to one of the function's. */
static void put_reference(struct bytes *node, const char *name, const char *refers_to) {
    struct bytes attribute = {0};
    put_text(&attribute, 1, name);
    put_number(&attribute, 20, 1);
    put_text(&attribute, 21, refers_to);
    put_message(node, 5, &attribute);
}

/* my.Twice(a) = LeakyRelu(LeakyRelu(a, alpha = slope)), slope 0.25 where the call gives none. */
static struct bytes function_message(const char *inner_op) {
    struct bytes function = {0}, node = node_message("one", "LeakyRelu", "a", "t", ""), defaults = {0};
    put_text(&function, 1, "Twice");
    put_text(&function, 10, "my");
    put_text(&function, 4, "a");
    put_text(&function, 5, "c");
    put_reference(&node, "alpha", "slope");
    put_message(&function, 7, &node);
    node = node_message("two", inner_op, "t", "c", "");
    put_reference(&node, "alpha", "slope");
    put_message(&function, 7, &node);
    put_text(&defaults, 1, "slope");
    put_number(&defaults, 20, 1);
    put_float(&defaults, 2, 0.25f);
    put_message(&function, 11, &defaults);
    add_opset(&function, 9, "", 17);
    return function;
}

static struct bytes calling_model(const char *inner_op) {
    struct bytes graph = {0}, function = function_message(inner_op);
    add_value(&graph, 11, "x", 1, "1,3");
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "call", "my.Twice", "x", "m", "slope~0.5");
    add_node(&graph, "", "my.Twice", "m", "y", "");
    struct bytes model = model_message(&graph, 17);
    add_opset(&model, 8, "my", 1);
    put_message(&model, 25, &function);
    return model;
}

static void functions_are_inlined(void **state) {
    (void)state;
    struct bytes model = calling_model("LeakyRelu");
    struct onnx_graph *net = load_good(&model);
    assert_int_equal(net->node_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(net->nodes[i]->op, "LeakyRelu");
        assert_true(onnx_attribute_float(net->nodes[i], "alpha", 0) == (i < 2 ? 0.5f : 0.25f));
        assert_ptr_equal(net->nodes[i]->inputs[0], i ? net->nodes[i - 1]->outputs[0] : net->inputs[0]);
    }
    assert_string_equal(net->nodes[0]->name, "call/one_0");
    assert_string_equal(net->outputs[0]->name, "y");
    onnx_free(net);
    model = calling_model("my.Twice");
    load_bad(&model, "deep");
}

static void what_is_no_model_is_refused(void **state) {
    (void)state;
    static const char text[] = "This is a text, not a network.\n";
    struct failure failure;
    struct bytes bytes = {0};
    assert_null(onnx_load(scratch_path("missing.onnx"), &failure));
    assert_non_null(strstr(failure.text, "No such file"));
    assert_null(onnx_load("/tmp", &failure));
    put_raw(&bytes, text, sizeof text - 1);
    load_bad(&bytes, "not an ONNX model");
    put_raw(&bytes, text, 0);
    load_bad(&bytes, "empty");
    put_number(&bytes, 1, 8);
    load_bad(&bytes, "no graph");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_are_read), cmocka_unit_test(every_node_has_a_first_output),
        cmocka_unit_test(attributes_are_read),        cmocka_unit_test(no_file_says_what_is_exact),
        cmocka_unit_test(typed_fields_are_read),      cmocka_unit_test(an_initializer_is_no_input),
        cmocka_unit_test(bad_tensors_are_refused),    cmocka_unit_test(unreadable_types_do_no_harm_until_read),
        cmocka_unit_test(external_data_is_read),      cmocka_unit_test(versions_out_of_range_are_refused),
        cmocka_unit_test(broken_graphs_are_refused),  cmocka_unit_test(nodes_are_sorted),
        cmocka_unit_test(functions_are_inlined),      cmocka_unit_test(what_is_no_model_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
