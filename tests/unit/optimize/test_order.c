/* SPDX-License-Identifier: MIT */
/* The order of nodes under change: it is that of a plain array, and a change moves few of them, however many there are. */
#include "tests/unit/support/onnx_file.h"

#include "tests/unit/support/blob_builder.h"
#include "tools/optimize/edit.h"
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
    assert_true(g->memory->order.moved < (uint64_t)MOST * ONNX_BLOCK_NODES);
    for (int i = 0; i < MOST; i++) add(g, graph_node_at(g, 0));
    assert_true(g->memory->order.moved < (uint64_t)3 * MOST * ONNX_BLOCK_NODES);
    edit_settle(g);
    assert_int_equal(g->node_count, MOST + MOST / 2);
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_that_of_an_array),
        cmocka_unit_test(a_change_moves_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
