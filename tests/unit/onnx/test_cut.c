/* SPDX-License-Identifier: MIT */
/* onnx_cut(): which values are inputs and outputs then, which nodes are left, and what is no place to cut. */
#include "tests/unit/support/onnx_file.h"
#include "tools/onnx/internal.h"

struct row {
    const char *inputs, *outputs;                 /* names to cut at, separated by blanks */
    const char *left_inputs, *left_outputs, *ops; /* what is left; NULL: refused */
    const char *says;                             /* the first notice, or the error; NULL: neither */
};

/* x is split into a and b. a > ReLU > c, b > Sigmoid > d, c + d = e, and two nodes of other domains behind it give y and z. */
static const struct row rows[] = {
    {"", "", "x unread", "y z", "Split Relu Sigmoid Add Odd Strange", NULL},
    {"", "e", "x", "e", "Split Relu Sigmoid Add", NULL},
    {"", "add", "x", "e", "Split Relu Sigmoid Add", NULL},
    {"", "split", "x", "a b", "Split", NULL},
    {"", "d c d", "x", "d c", "Split Relu Sigmoid", NULL},
    {"", "y", "x", "y", "Split Relu Sigmoid Add Odd", NULL},
    {"", "x", "x", "x", "", NULL},
    {"c", "", "x c", "y z", "Split Sigmoid Add Odd Strange", NULL},
    {"c d", "e", "c d", "e", "Add", NULL},
    {"c sigmoid", "e", "c d", "e", "Add", NULL},
    {"split", "e", "a b", "e", "Relu Sigmoid Add", "input 'a': the file does not state its type, which is taken as float"},
    {"a", "e", "x a", "e", "Split Relu Sigmoid Add", "input 'a': the file does not state its type, which is taken as float"},
    {"e", "", "e", "y z", "Odd Strange", NULL},
    {"x", "c", "x", "c", "Split Relu", NULL},
    /* refused */
    {"", "ee", NULL, NULL, NULL, "--output-node ee: no node and no value has that name; did you mean 'e'?"},
    {"sigmoit", "", NULL, NULL, NULL, "--input-node sigmoit: no node and no value has that name; did you mean 'sigmoid'?"},
    {"", "long", NULL, NULL, NULL, "did you mean '/a/long/name/of/sixty/letters/or/more/so/that/no/word/is/as/near'?"},
    {"", "c quite-another", NULL, NULL, NULL, "the network as it is ends with 'y'"},
    {"w", "", NULL, NULL, NULL, "--input-node w: it is a constant"},
    {"", "w", NULL, NULL, NULL, "--output-node w: it is a constant"},
    {"d", "c", NULL, NULL, NULL, "--input-node d: nothing that leads to an output of the network reads it"},
    {"unread", "c", NULL, NULL, NULL, "--input-node unread: nothing that leads"},
};

static struct onnx_graph *load(struct failure *failure) {
    struct bytes graph = {0};
    const struct number one = {1, 1};
    const int64_t dim = 1;
    add_value(&graph, 11, "x", 1, "2,4");
    add_value(&graph, 11, "unread", 1, "2");
    add_value(&graph, 12, "y", 1, NULL);
    add_value(&graph, 12, "z", 1, NULL);
    const char *const known[] = {"b", "c", "d", "e"};
    for (int i = 0; i < 4; i++) add_value(&graph, 13, known[i], 1, i < 3 ? "2,n" : "2,2");
    add_constant(&graph, "w", 1, 1, &dim, &one, 1);
    add_node(&graph, "split", "Split", "x", "a b", "axis:1");
    add_node(&graph, "relu", "Relu", "a", "c", "");
    add_node(&graph, "sigmoid", "Sigmoid", "b", "d", "");
    add_node(&graph, "add", "Add", "c d", "e", "");
    add_node(&graph, "/a/long/name/of/sixty/letters/or/more/so/that/no/word/is/as/near", "my.Odd", "e w", "y", "");
    add_node(&graph, "strange", "my.Strange", "y", "z", "");
    struct bytes model = model_message(&graph, 12);
    return load_bytes(&model, failure);
}

static size_t names_of(char *text, const char **names) {
    size_t count = 0;
    for (char *word; (word = strsep(&text, " "));)
        if (*word) names[count++] = word;
    return count;
}

static void join(char *text, const char *name) {
    if (*text) strcat(text, " ");
    strcat(text, name);
}

static void check_left(const struct row *row, const struct onnx_graph *net) {
    char inputs[200] = "", outputs[200] = "", ops[200] = "";
    for (size_t i = 0; i < net->input_count; i++) join(inputs, net->inputs[i]->name);
    for (size_t i = 0; i < net->output_count; i++) join(outputs, net->outputs[i]->name);
    for (size_t i = 0; i < net->node_count; i++) join(ops, net->nodes[i]->op);
    if (strcmp(inputs, row->left_inputs) || strcmp(outputs, row->left_outputs) || strcmp(ops, row->ops))
        fail_msg("'%s' to '%s' leaves '%s' to '%s' by '%s'", row->inputs, row->outputs, inputs, outputs, ops);
    for (size_t i = 0; i < net->value_count; i++) {
        const struct onnx_value *value = net->values[i];
        bool in = false, out = false;
        for (size_t k = 0; k < net->input_count; k++) in = in || net->inputs[k] == value;
        for (size_t k = 0; k < net->output_count; k++) out = out || net->outputs[k] == value;
        assert_true(value->is_input == in && value->is_output == out && !(in && value->producer));
    }
}

static void check_row(const struct row *row) {
    struct failure failure = {0};
    struct onnx_report report = {0};
    char copies[2][100];
    const char *inputs[8], *outputs[8];
    struct onnx_graph *net = load(&failure);
    assert_non_null(net);
    snprintf(copies[0], sizeof copies[0], "%s", row->inputs);
    snprintf(copies[1], sizeof copies[1], "%s", row->outputs);
    const struct onnx_names_given in = {inputs, names_of(copies[0], inputs)}, out = {outputs, names_of(copies[1], outputs)};
    bool good = onnx_cut(net, &in, &out, &report, &failure);
    const char *said = !good ? failure.text : report.notice_count ? report.notices[0] : "";
    if (good != (row->ops != NULL)) fail_msg("'%s' to '%s': %s", row->inputs, row->outputs, good ? "taken" : failure.text);
    if (row->says ? !strstr(said, row->says) : *said != 0)
        fail_msg("'%s' to '%s' says '%s', not '%s'", row->inputs, row->outputs, said, row->says ? row->says : "");
    if (good) check_left(row, net);
    onnx_free(net);
    onnx_report_free(&report);
}

static void what_leads_from_inputs_to_outputs_is_left(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

/* What becomes an input has the shape that the file states, and its free dimensions are bound like those of any input. */
static void shapes_follow_from_the_cut(void **state) {
    (void)state;
    struct failure failure = {0};
    struct onnx_report report = {0};
    const char *const inputs[] = {"c", "d"}, *const outputs[] = {"add"};
    const struct onnx_binding n = {"n", {1, {3}}, true};
    struct onnx_graph *net = load(&failure);
    assert_true(onnx_cut(net, &(struct onnx_names_given){inputs, 2}, &(struct onnx_names_given){outputs, 1}, &report, &failure));
    assert_true(onnx_bind(net, &n, 1, 1, &report, &failure));
    assert_true(onnx_infer(net, &report, &failure));
    assert_int_equal(report.refusal_count, 0);
    assert_int_equal(net->outputs[0]->shape.rank, 2);
    assert_int_equal(net->outputs[0]->shape.dims[1], 3);
    onnx_free(net);
    onnx_report_free(&report);
}

/* A node one of whose outputs is an input now still runs for the other, and gives no type or shape to what it does not make. */
static void a_node_may_be_cut_in_part(void **state) {
    (void)state;
    struct failure failure = {0};
    struct onnx_report report = {0};
    const char *const inputs[] = {"b"};
    const struct onnx_binding n = {"n", {1, {2}}, true};
    struct onnx_graph *net = load(&failure);
    assert_true(onnx_cut(net, &(struct onnx_names_given){inputs, 1}, &(struct onnx_names_given){NULL, 0}, &report, &failure));
    assert_true(onnx_bind(net, &n, 1, 1, &report, &failure));
    assert_true(onnx_infer(net, &report, &failure));
    const struct onnx_value *b = onnx_find(net, "b"), *e = onnx_find(net, "e");
    assert_true(b->is_input && b->type == ONNX_FLOAT && b->shape.dims[1] == 2 && !b->producer);
    assert_true(e->shape.rank == 2 && e->shape.dims[1] == 2);
    onnx_free(net);
    onnx_report_free(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_leads_from_inputs_to_outputs_is_left),
                                       cmocka_unit_test(shapes_follow_from_the_cut), cmocka_unit_test(a_node_may_be_cut_in_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
