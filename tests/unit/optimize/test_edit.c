/* SPDX-License-Identifier: MIT */
/* Changes to a graph: after each of them producers, counts of uses and names are right, and a copy is on its own. */
#include "tests/unit/support/onnx_file.h"

#include "tools/optimize/edit.h"
#include "tools/onnx/internal.h"

/* x -> relu -> r -> (add with itself and k) -> y; r -> neg -> n, read by nobody. */
static struct onnx_graph *small_net(void) {
    struct bytes graph = {0};
    struct onnx_report report = {0};
    struct failure failure;
    struct number numbers[3] = {{1, 1}, {2, 2}, {3, 3}};
    int64_t three = 3;
    add_value(&graph, 11, "x", 1, "2,3");
    add_value(&graph, 12, "y", 1, NULL);
    add_constant(&graph, "k", 1, 1, &three, numbers, 3);
    add_constant(&graph, "j", 1, 1, &three, numbers, 3);
    add_node(&graph, "relu", "Relu", "x", "r", "");
    add_node(&graph, "neg", "Neg", "r", "n", "");
    add_node(&graph, "twice", "Add", "r r", "t", "");
    add_node(&graph, "fold", "Add", "k j", "kj", "");
    add_node(&graph, "add", "Add", "t kj", "y", "");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *net = load_bytes(&model, &failure);
    assert_non_null(net);
    if (!onnx_bind(net, NULL, 0, 1, &report, &failure) || !onnx_infer(net, &report, &failure)) fail_msg("%s", failure.text);
    onnx_report_free(&report);
    return net;
}

static struct onnx_value *named(const struct onnx_graph *g, const char *name) {
    struct onnx_value *value = onnx_find(g, name);
    if (!value) fail_msg("there is no value '%s'", name);
    return value;
}

/* What must hold after every change: counted uses are right, producers point both ways, every name finds its value. */
static void check_whole(const struct onnx_graph *g) {
    for (size_t i = 0; i < g->value_count; i++) {
        const struct onnx_value *value = g->values[i];
        int uses = value->is_output;
        for (size_t n = 0; n < g->node_count; n++)
            for (int k = 0; k < g->nodes[n]->input_count && !g->nodes[n]->folded; k++) uses += g->nodes[n]->inputs[k] == value;
        if (uses != value->uses) fail_msg("'%s' has %d uses and counts %d", value->name, uses, value->uses);
        assert_ptr_equal(onnx_find(g, value->name), value);
    }
    for (size_t n = 0; n < g->node_count; n++) {
        for (int k = 0; k < g->nodes[n]->output_count; k++)
            if (g->nodes[n]->outputs[k]) assert_ptr_equal(g->nodes[n]->outputs[k]->producer, g->nodes[n]);
        for (int k = 0; k < g->nodes[n]->input_count; k++)
            if (g->nodes[n]->inputs[k]) assert_ptr_equal(onnx_find(g, g->nodes[n]->inputs[k]->name), g->nodes[n]->inputs[k]);
    }
}

/* In an order in which they can run: what a node reads is an input, a constant, or made before. */
static void check_order(const struct onnx_graph *g) {
    for (size_t n = 0; n < g->node_count; n++)
        for (int k = 0; k < g->nodes[n]->input_count; k++) {
            const struct onnx_value *value = g->nodes[n]->inputs[k];
            bool made = !value || value->constant || value->is_input;
            for (size_t before = 0; before < n; before++) made = made || value->producer == g->nodes[before];
            assert_true(made);
        }
}

static void what_no_output_needs_is_cleaned_away(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    edit_clean(g);
    check_whole(g);
    check_order(g);
    assert_int_equal(g->node_count, 3); /* relu, twice, add: neg and the folded one are gone */
    assert_null(onnx_find(g, "n"));
    assert_null(onnx_find(g, "k"));
    assert_non_null(named(g, "kj")->constant);
    assert_null(named(g, "kj")->producer);
    assert_int_equal(g->value_count, 5);
    onnx_free(g);
}

static void nodes_are_inserted(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    edit_clean(g);
    struct onnx_value *r = named(g, "r"), *list[1];
    for (int i = 0; i < 300; i++) { /* past any room that was there */
        list[0] = edit_value(g, "r", r->type, &r->shape);
        struct onnx_node *node = edit_node(g, g->nodes[1], "Identity", "", "relu", &r, 1, list, 1);
        assert_ptr_equal(list[0]->producer, node);
        r = list[0];
    }
    assert_string_equal(r->name, "r_301");
    assert_string_equal(g->nodes[1]->name, "relu_301");
    assert_int_equal(g->nodes[1]->opset, 13);
    check_whole(g);
    edit_set_input(g, named(g, "t")->producer, 1, r);
    edit_clean(g);
    check_whole(g);
    check_order(g);
    assert_int_equal(g->node_count, 303);
    edit_replace_uses(g, r, named(g, "r"), true);
    edit_clean(g);
    check_whole(g);
    assert_int_equal(g->node_count, 3);
    onnx_free(g);
}

static void inputs_grow_and_shrink(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    struct onnx_node *clip = named(g, "r")->producer;
    struct onnx_tensor *data;
    struct onnx_value *most = edit_constant(g, "k", ONNX_FLOAT, &(struct onnx_shape){0}, &data);
    ((float *)data->data)[0] = 6;
    assert_string_equal(most->name, "k_2");
    assert_int_equal(data->count, 1);
    edit_set_input(g, clip, 2, most);
    assert_int_equal(clip->input_count, 3);
    assert_null(clip->inputs[1]);
    check_whole(g);
    edit_set_input(g, clip, 2, NULL);
    assert_int_equal(clip->input_count, 1);
    check_whole(g);
    onnx_free(g);
}

static void a_node_becomes_another(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    struct onnx_node *node = named(g, "t")->producer;
    struct onnx_value *inputs[3] = {named(g, "r"), NULL, named(g, "kj")};
    edit_attribute_int(g, node, "axis", 1);
    edit_become(g, node, "Gelu", "com.microsoft", inputs, 3);
    check_whole(g);
    assert_string_equal(node->name, "twice");
    assert_string_equal(node->op, "Gelu");
    assert_int_equal(node->opset, 1);
    assert_int_equal(node->attribute_count, 0);
    assert_ptr_equal(named(g, "t")->producer, node);
    edit_become(g, node, "Relu", "", inputs, 1);
    check_whole(g);
    assert_int_equal(node->opset, 13);
    onnx_free(g);
}

/* The graph's output is still called y, whoever makes it. */
static void outputs_keep_their_names(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    edit_clean(g);
    struct onnx_value *y = g->outputs[0], *t = named(g, "t");
    assert_true(edit_replace_uses(g, y, t, false));
    assert_ptr_equal(g->outputs[0], y);
    assert_true(edit_replace_uses(g, y, t, true));
    check_whole(g);
    assert_ptr_equal(g->outputs[0], t);
    assert_string_equal(t->name, "y");
    assert_string_equal(y->name, "t");
    assert_true(t->is_output && !y->is_output && !y->uses);
    edit_remove_node(g, y->producer);
    edit_clean(g);
    check_whole(g);
    assert_int_equal(g->node_count, 2);
    assert_false(edit_replace_uses(g, t, named(g, "x"), true)); /* both names must stay */
    assert_ptr_equal(g->outputs[0], t);
    check_whole(g);
    onnx_free(g);
}

static void attributes_are_set_and_copied(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    struct onnx_graph *copy = edit_copy(g);
    struct onnx_node *node = g->nodes[0];
    int64_t pads[4] = {1, 2, 3, 4}, read[4];
    edit_attribute_ints(g, node, "pads", pads, 4);
    edit_attribute_int(g, node, "group", 3);
    edit_attribute_int(g, node, "group", 4);
    edit_attribute_float(g, node, "alpha", 0.5f);
    edit_attribute_string(g, node, "mode", "edge");
    assert_int_equal(node->attribute_count, 4);
    assert_int_equal(onnx_attribute_ints(node, "pads", read, 4), 4);
    assert_memory_equal(read, pads, sizeof pads);
    assert_int_equal(onnx_attribute_int(node, "group", 0), 4);
    assert_true(onnx_attribute_float(node, "alpha", 0) == 0.5f);
    assert_string_equal(onnx_attribute_string(node, "mode", ""), "edge");
    edit_attribute_drop(node, "pads");
    edit_attribute_drop(node, "pads");
    assert_int_equal(node->attribute_count, 3);
    assert_null(onnx_attribute(node, "pads"));
    assert_int_equal(copy->nodes[0]->attribute_count, 0);
    onnx_free(copy);
    onnx_free(g);
}

static void a_copy_is_on_its_own(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    edit_clean(g);
    struct onnx_graph *copy = edit_copy(g);
    check_whole(copy);
    check_order(copy);
    assert_int_equal(copy->node_count, g->node_count);
    assert_int_equal(copy->value_count, g->value_count);
    assert_ptr_not_equal(copy->inputs[0], g->inputs[0]);
    assert_ptr_equal(named(copy, "kj")->constant, named(g, "kj")->constant);
    edit_replace_uses(copy, named(copy, "y"), named(copy, "r"), true);
    edit_clean(copy);
    check_whole(copy);
    check_whole(g);
    assert_int_equal(copy->node_count, 1);
    assert_int_equal(g->node_count, 3);
    assert_string_equal(g->outputs[0]->producer->name, "add");
    onnx_free(copy);
    onnx_free(g);
}

static void readers_are_found(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    struct onnx_node *list[1];
    assert_int_equal(edit_readers(g, named(g, "r"), list, 1), 1); /* twice reads it twice, neg reaches no output */
    assert_string_equal(list[0]->name, "twice");
    assert_int_equal(edit_readers(g, named(g, "y"), list, 1), 0);
    assert_int_equal(edit_readers(g, named(g, "k"), list, 1), 0); /* the folded node reads nothing */
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_output_needs_is_cleaned_away),
        cmocka_unit_test(nodes_are_inserted),
        cmocka_unit_test(inputs_grow_and_shrink),
        cmocka_unit_test(outputs_keep_their_names),
        cmocka_unit_test(attributes_are_set_and_copied),
        cmocka_unit_test(a_copy_is_on_its_own),
        cmocka_unit_test(readers_are_found),
        cmocka_unit_test(a_node_becomes_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
