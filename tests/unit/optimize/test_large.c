/* SPDX-License-Identifier: MIT */
/* What passes take of memory and time for constants that hold much and that a file says in a few bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"

/* A constant that a node makes of a few bytes: passes take its numbers where they are wanted, and look once whether all are the same. */
static void large_constants_are_not_copied_for_each_node(void **state) {
    (void)state;
    static const char *const ops[] = {"Mul", "Pow"};
    for (int k = 0; k < 2; k++) {
        char text[1500] = "ConstantOfShape $200000 > k; Relu x > v0";
        for (int i = 0; i < 40; i++) {
            char node[100];
            snprintf(node, sizeof node, "; %s v%d k > t%d; Tanh t%d > v%d", ops[k], i, i, i, i + 1);
            strcat(text, node);
        }
        strcat(text, "; Relu v40 > y");
        struct onnx_graph *g = network(17, "1,200000", text);
        const size_t before = g->memory->arena.taken;
        graph_optimize(g, NULL);
        assert_in_range(g->memory->arena.taken - before, 0, 8 << 20); /* it was 500 MB */
        const struct onnx_value *last = NULL;
        for (size_t i = 0; i < g->value_count; i++)
            if (!strcmp(g->values[i]->name, "k")) last = g->values[i];
        if (k) assert_int_equal(last->constant->alike, 1);
        onnx_free(g);
    }
}

/* What normalizations are made of has room in all: it would be 480 MB. */
static void lists_of_norms_have_room(void **state) {
    (void)state;
    char text[1500] = "ConstantOfShape $1000000 > k; Relu x > v0";
    for (int i = 0; i < 20; i++) {
        char node[70];
        snprintf(node, sizeof node, "; InstanceNormalization v%d k k > v%d", i, i + 1);
        strcat(text, node);
    }
    strcat(text, "; Relu v20 > y");
    struct onnx_graph *g = network(17, "1,1000000,2,2", text);
    const size_t before = g->memory->arena.taken;
    graph_optimize(g, NULL);
    assert_in_range(g->memory->arena.taken - before, 0, 200 << 20);
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_constants_are_not_copied_for_each_node),
                                       cmocka_unit_test(lists_of_norms_have_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
