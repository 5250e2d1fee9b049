/* SPDX-License-Identifier: MIT */
/* Changes to a graph: after each of them producers, counts of uses and names are right, and a copy is on its own. */
#include "tests/unit/support/onnx_file.h"

#include "tests/unit/support/blob_builder.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/notes.h"
#include "tools/onnx/internal.h"
#include "tools/optimize/pass.h"

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

/* One by one they are those that a look at all nodes finds. */
static void check_readers(struct onnx_graph *g, struct onnx_value *value) {
    enum { MOST = 1000 };
    struct onnx_node *list[MOST], *reader;
    bool found[MOST] = {false};
    const int count = edit_readers(g, value, list, MOST);
    assert_in_range(count, 0, MOST);
    for (size_t at = 0; (reader = edit_next_reader(g, value, &at));) {
        int k = 0;
        while (k < count && list[k] != reader) k++;
        assert_in_range(k, 0, count - 1);
        found[k] = true;
    }
    for (int k = 0; k < count; k++) assert_true(found[k]);
}

/* What must hold after every change: counted uses are right, producers point both ways, every name finds its value. */
static void check_whole(struct onnx_graph *g) {
    for (size_t i = 0; i < g->value_count; i++) {
        const struct onnx_value *value = g->values[i];
        int uses = value->is_output;
        for (size_t n = 0; n < g->node_count; n++)
            for (int k = 0; k < graph_node_at(g, n)->input_count && !graph_node_at(g, n)->folded; k++)
                uses += graph_node_at(g, n)->inputs[k] == value;
        if (uses != value->uses) fail_msg("'%s' has %d uses and counts %d", value->name, uses, value->uses);
        assert_ptr_equal(onnx_find(g, value->name), value);
        check_readers(g, g->values[i]);
    }
    for (size_t n = 0; n < g->node_count; n++) {
        for (int k = 0; k < graph_node_at(g, n)->output_count; k++)
            if (graph_node_at(g, n)->outputs[k]) assert_ptr_equal(graph_node_at(g, n)->outputs[k]->producer, graph_node_at(g, n));
        for (int k = 0; k < graph_node_at(g, n)->input_count; k++)
            if (graph_node_at(g, n)->inputs[k])
                assert_ptr_equal(onnx_find(g, graph_node_at(g, n)->inputs[k]->name), graph_node_at(g, n)->inputs[k]);
    }
}

/* In an order in which they can run: what a node reads is an input, a constant, or made before. */
static void check_order(const struct onnx_graph *g) {
    for (size_t n = 0; n < g->node_count; n++)
        for (int k = 0; k < graph_node_at(g, n)->input_count; k++) {
            const struct onnx_value *value = graph_node_at(g, n)->inputs[k];
            bool made = !value || value->constant || value->is_input;
            for (size_t before = 0; before < n; before++) made = made || value->producer == graph_node_at(g, before);
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
        struct onnx_node *node = edit_node(g, graph_node_at(g, 1), "Identity", "", "relu", &r, 1, list, 1);
        assert_ptr_equal(list[0]->producer, node);
        r = list[0];
    }
    assert_string_equal(r->name, "r_301");
    assert_string_equal(graph_node_at(g, 1)->name, "relu_301");
    assert_int_equal(graph_node_at(g, 1)->opset, 13);
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

/* A value of the graph, the last ones more often. */
static struct onnx_value *any_value(const struct onnx_graph *g, uint32_t *random) {
    size_t back = builder_between(random, 0, 20) % g->value_count;
    return g->values[g->value_count - 1 - back];
}

static struct onnx_node *any_node(const struct onnx_graph *g, uint32_t *random) {
    return graph_node_at(g, builder_between(random, 0, (uint32_t)g->node_count - 1));
}

/* One change that leaves the graph without a cycle: what is read instead, or too, is made by nobody. */
static void change(struct onnx_graph *g, uint32_t *random) {
    struct onnx_value *always[] = {named(g, "x"), named(g, "k")}, *value = any_value(g, random);
    struct onnx_value *other = always[builder_between(random, 0, 1)];
    struct onnx_node *node = any_node(g, random);
    const struct onnx_shape shape = {1, {3}};
    switch (builder_between(random, 0, 4)) {
    case 0:
    case 1: {
        struct onnx_value *y = edit_value(g, "made", ONNX_FLOAT, &shape), *inputs[] = {value, other};
        edit_node(g, builder_between(random, 0, 1) ? NULL : node, "Add", "", "made", inputs, 2, &y, 1);
        break;
    }
    case 2:
        assert_true(edit_replace_uses(g, value, other, false));
        if (value != other) assert_int_equal(value->uses, value->is_output);
        break;
    case 3:
        if (!node->outputs[0]->uses) edit_remove_node(g, node);
        break;
    default:
        if (node->inputs[0]->constant || strcmp(node->name, "made")) edit_become(g, node, "Neg", "", &other, 1);
        else edit_set_input(g, node, 0, other);
    }
}

/* Who reads what is noted from change to change: nothing is left behind, nothing is counted twice, and names stay unique. */
static void many_changes_leave_the_graph_whole(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int trial = 0; trial < 20; trial++) {
        struct onnx_graph *g = small_net();
        for (int i = 0; i < 200 && g->node_count; i++) {
            change(g, &random);
            check_whole(g);
            if (i % 70 == 69) {
                edit_clean(g);
                check_whole(g);
                check_order(g);
            }
            if (!onnx_find(g, "k")) break; /* nobody reads it any more */
        }
        for (size_t i = 0; i < g->node_count; i++)
            for (size_t k = 0; k < i; k++) assert_string_not_equal(graph_node_at(g, i)->name, graph_node_at(g, k)->name);
        onnx_free(g);
    }
}

/* NAME, NAME_2, NAME_3 .. without a gap, however many there are. */
static void names_that_are_taken_are_numbered(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    const struct onnx_shape shape = {1, {3}};
    char want[20];
    for (int i = 1; i <= 700; i++) {
        struct onnx_value *x = named(g, "x"), *y = edit_value(g, "v", ONNX_FLOAT, &shape);
        struct onnx_node *node = edit_node(g, NULL, "Neg", "", "node", &x, 1, &y, 1);
        snprintf(want, sizeof want, i > 1 ? "v_%d" : "v", i);
        assert_string_equal(y->name, want);
        snprintf(want, sizeof want, i > 1 ? "node_%d" : "node", i);
        assert_string_equal(node->name, want);
    }
    onnx_free(g);
}

/* Each name is asked for itself and what follows it: not for all that were found before. */
static void numbers_go_on_from_the_last(void **state) {
    (void)state;
    enum { MADE = 3000 };
    struct onnx_graph *g = small_net();
    const struct onnx_shape shape = {1, {3}};
    for (int i = 0; i < MADE; i++) {
        struct onnx_value *x = named(g, "x"), *y = edit_value(g, "y", ONNX_FLOAT, &shape);
        struct onnx_node *node = edit_node(g, NULL, "Neg", "", "add", &x, 1, &y, 1);
        char name[20];
        snprintf(name, sizeof name, "y_%d", i + 2);
        assert_string_equal(y->name, name);
        snprintf(name, sizeof name, "add_%d", i + 2);
        assert_string_equal(node->name, name);
    }
    assert_true(g->memory->names_tried <= 4 * MADE + 100);
    edit_clean(g);
    assert_string_equal(edit_value(g, "y", ONNX_FLOAT, &shape)->name, "y_2");
    onnx_free(g);
}

/* Identities give out what others make: where each output stands is found once for all. */
static void outputs_are_looked_for_once(void **state) {
    (void)state;
    enum { OUTPUTS = 300 };
    struct bytes file = {0};
    char made[32], given[32];
    add_value(&file, 11, "x", ONNX_FLOAT, "1,4");
    for (int i = 0; i < OUTPUTS; i++) {
        snprintf(made, sizeof made, "made%d", i);
        snprintf(given, sizeof given, "given%d", i);
        add_value(&file, 12, given, ONNX_FLOAT, NULL);
        add_node(&file, made, "Relu", "x", made, "");
        add_node(&file, given, "Identity", made, given, "");
    }
    struct bytes message = model_message(&file, 13);
    struct onnx_graph *g = inferred_bytes(&message);
    for (int i = OUTPUTS; i-- > 0;) assert_true(graph_bypass(g, g->outputs[i]->producer, g->outputs[i]->producer->inputs[0]));
    for (int i = 0; i < OUTPUTS; i++) {
        snprintf(given, sizeof given, "given%d", i);
        assert_string_equal(g->outputs[i]->name, given);
        assert_string_equal(g->outputs[i]->producer->op, "Relu");
    }
    assert_in_range(g->memory->outputs_tried, 1, 2 * OUTPUTS);
    onnx_free(g);
}

/* Nodes of another domain: the others are looked at once, and have the word. */
static void domains_are_looked_for_once(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    struct onnx_node *there = edit_node(g, NULL, "Gelu", "com.microsoft", NULL, NULL, 0, NULL, 0);
    assert_int_equal(there->opset, 1);
    struct onnx_graph *copy = edit_copy(g);
    copy->nodes[copy->node_count - 1]->opset = 7;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(edit_node(g, NULL, "Gelu", "com.microsoft", NULL, NULL, 0, NULL, 0)->opset, 1);
        assert_int_equal(edit_node(copy, NULL, "Gelu", "com.microsoft", NULL, NULL, 0, NULL, 0)->opset, 7);
        assert_int_equal(edit_node(g, NULL, "Mask", "com.example", NULL, NULL, 0, NULL, 0)->opset, 1);
    }
    assert_in_range(g->memory->domains_tried, 1, 30);
    onnx_free(copy);
    onnx_free(g);
}

/* What was noted of the original says nothing of the copy's nodes. */
static void a_copy_notes_its_own_readers(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    for (size_t i = 0; i < g->value_count; i++) check_readers(g, g->values[i]);
    struct onnx_graph *copy = edit_copy(g);
    for (size_t i = 0; i < copy->value_count; i++) {
        size_t at = 0, count = 0;
        for (const struct onnx_node *node; count < 100 && (node = edit_next_reader(copy, copy->values[i], &at)); count++) {
            bool there = false;
            for (size_t n = 0; n < copy->node_count; n++) there = there || copy->nodes[n] == node;
            assert_true(there);
        }
        assert_int_equal(count, copy->values[i]->uses - copy->values[i]->is_output);
    }
    onnx_free(copy);
    onnx_free(g);
}

/* All passes clean the graph: that leaves nothing behind. */
static void cleaning_takes_no_memory(void **state) {
    (void)state;
    struct onnx_graph *g = small_net();
    edit_clean(g);
    const size_t taken = g->memory->arena.taken;
    for (int i = 0; i < 100; i++) edit_clean(g);
    assert_int_equal(g->memory->arena.taken, taken);
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
        cmocka_unit_test(many_changes_leave_the_graph_whole),
        cmocka_unit_test(names_that_are_taken_are_numbered),
        cmocka_unit_test(numbers_go_on_from_the_last),
        cmocka_unit_test(cleaning_takes_no_memory),
        cmocka_unit_test(a_copy_notes_its_own_readers),
        cmocka_unit_test(outputs_are_looked_for_once),
        cmocka_unit_test(domains_are_looked_for_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
