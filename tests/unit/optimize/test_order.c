/* SPDX-License-Identifier: MIT */
/* The order of nodes under change: it is that of a plain array, and a change moves few of them, however many there are. */
#include "tests/unit/support/onnx_file.h"

#include "tests/unit/support/blob_builder.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"
#include "tools/onnx/internal.h"
#include <string.h>

enum { MOST = 20000 };

static struct onnx_node *add(struct onnx_graph *g, const struct onnx_node *before) {
    return edit_node(g, before, "Neg", "", NULL, NULL, 0, NULL, 0);
}

static void check(struct onnx_graph *g, struct onnx_node *const *array, size_t count) {
    assert_int_equal(g->node_count, count);
    for (size_t i = 0; i < count; i++) assert_ptr_equal(graph_node_at(g, i), array[i]);
    for (size_t i = count; i-- > 0;) assert_ptr_equal(graph_node_at(g, i), array[i]);
}

static void it_is_that_of_an_array(void **state) {
    (void)state;
    static struct onnx_node *array[2 * MOST];
    struct onnx_graph *g = onnx_new_graph(NULL);
    uint32_t random = 1;
    size_t count = 0;
    for (; count < 1000; count++) array[count] = add(g, NULL);
    for (int i = 0; i < MOST; i++) {
        /* at times all in one place, where blocks fill up and run empty */
        const size_t last = count ? count - 1 : 0, at = i / 1000 % 2 ? last / 3 : builder_between(&random, 0, (uint32_t)last);
        const bool grows = builder_between(&random, 0, 9) < (i / 5000 % 2 ? 2u : 7u);
        if (grows || !count) {
            const bool behind = !count || builder_between(&random, 0, 20) == 0;
            const size_t to = behind ? count : at;
            struct onnx_node *node = add(g, behind ? NULL : array[at]);
            memmove(array + to + 1, array + to, (count++ - to) * sizeof *array);
            array[to] = node;
        } else {
            edit_remove_node(g, array[at]);
            memmove(array + at, array + at + 1, (--count - at) * sizeof *array);
        }
        if (count) assert_ptr_equal(graph_node_at(g, at % count), array[at % count]);
        if (i % 997 == 0) check(g, array, count);
        if (i % 3001 == 0) {
            edit_settle(g);
            assert_memory_equal(g->nodes, array, count * sizeof *array);
        }
    }
    edit_settle(g);
    assert_memory_equal(g->nodes, array, count * sizeof *array);
    onnx_free(g);
}

static void a_change_moves_few(void **state) {
    (void)state;
    struct onnx_graph *g = onnx_new_graph(NULL);
    for (int i = 0; i < MOST; i++) add(g, NULL);
    for (size_t i = 0; i < MOST / 2; i++) edit_remove_node(g, graph_node_at(g, i));
    assert_true(g->memory->order.moved < (uint64_t)MOST * 256);
    for (int i = 0; i < MOST; i++) add(g, graph_node_at(g, 0));
    assert_true(g->memory->order.moved < (uint64_t)3 * MOST * 256);
    edit_settle(g);
    assert_int_equal(g->node_count, MOST + MOST / 2);
    onnx_free(g);
}

/* Each node but the first is another function's, until the one before it is gone: a round for each would be the square. */
static void rounds_that_change_one_node_end(void **state) {
    (void)state;
    enum { LONG = 3000 };
    struct bytes file = {0};
    struct graph_pass_done done[GRAPH_PASSES];
    char output[16] = "x";
    add_value(&file, 11, "x", ONNX_FLOAT, "1,4");
    for (int i = 0; i < LONG; i++) {
        char inputs[20];
        snprintf(inputs, sizeof inputs, "%s x", output);
        snprintf(output, sizeof output, "v%d", i);
        add_node(&file, output, "Max", inputs, output, "");
    }
    add_value(&file, 12, output, ONNX_FLOAT, NULL);
    struct bytes message = model_message(&file, 13);
    struct onnx_graph *g = inferred_bytes(&message);
    graph_optimize_counted(g, done);
    int changes = 0;
    for (int i = 0; i < GRAPH_PASSES; i++) changes += done[i].changes;
    assert_in_range(changes, LONG + 2, LONG + 100); /* all are raised to a newer opset once */
    assert_in_range(g->node_count, LONG - 100, LONG);
    onnx_free(g);
}

/* A chain of one operator, decomposed; false: refused, before it had grown much beyond the limit. */
static bool decomposes(const char *op, const char *inputs, int count) {
    enum { MOST_ADDED = 8 * 4096 };
    const int64_t four = 4;
    const struct number ones[4] = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
    struct bytes file = {0};
    struct onnx_report report = {0};
    char input[16] = "x", output[16], both[24];
    add_value(&file, 11, "x", ONNX_FLOAT, "1,4");
    add_constant(&file, "w", ONNX_FLOAT, 1, &four, ones, 4);
    for (int i = 0; i < count; i++) {
        snprintf(output, sizeof output, "v%d", i);
        snprintf(both, sizeof both, "%s%s", input, inputs);
        add_node(&file, output, op, both, output, "");
        memcpy(input, output, sizeof input);
    }
    add_value(&file, 12, output, ONNX_FLOAT, NULL);
    struct bytes message = model_message(&file, 17);
    struct onnx_graph *g = inferred_bytes(&message);
    graph_decompose(g, &report);
    assert_in_range(g->node_count, 2 * count, count + MOST_ADDED + 100);
    assert_int_equal(report.refusal_count, graph_outgrown(g));
    if (graph_outgrown(g)) assert_non_null(strstr(report.refusals[0].why, "come to over 32768 more: cut the network into several"));
    const bool done = !graph_outgrown(g);
    onnx_report_free(&report);
    onnx_free(g);
    return done;
}

/* As many LayerNormalizations as a blob has steps; and Hardmaxes that cannot become so few. */
static void decompositions_end_where_no_blob_holds_them(void **state) {
    (void)state;
    assert_true(decomposes("LayerNormalization", " w", 4096));
    assert_false(decomposes("Hardmax", "", 4096));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_that_of_an_array),
        cmocka_unit_test(a_change_moves_few),
        cmocka_unit_test(rounds_that_change_one_node_end),
        cmocka_unit_test(decompositions_end_where_no_blob_holds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
