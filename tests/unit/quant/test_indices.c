/* SPDX-License-Identifier: MIT */
/* What makes the index of a lookup runs in float, or is told of: bytes would choose other lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/quant/insert/place.h"

/* How many layers of the network are in integers, how many values are bytes, and how many lookups are told of. */
static void check(const char *x, const char *text, size_t layers, int bytes, int rough) {
    struct onnx_graph *g = network(17, x, text);
    g->floats_meant = true;
    graph_optimize(g, NULL);
    const struct scheme *s = place(g, &(struct scheme_options){0});
    for (size_t v = 0; v < s->value_count; v++) bytes -= s->values[v].quantized;
    for (size_t n = 0; n < g->node_count; n++) rough -= s->nodes[n].rough;
    if (s->layer_count != layers || bytes || rough)
        fail_msg("%s: %zu layers, not %zu; %d bytes and %d told of too few", text, s->layer_count, layers, bytes, rough);
    onnx_free(g);
}

#define INDEX "Mul m #3 > a; Cast a > i to:7; Gather %16x6 i > g; "

static void makers_of_indices_are_float(void **state) {
    (void)state;
    /* a layer in front of it, and one behind that has as many products or more: g alone is bytes */
    check("4,6", "MatMul x %6x1 > l; Tanh l > m; " INDEX "MatMul g %6x6 > y", 1, 1, 0);
    check("4,6", "MatMul x %6x1 > l; Tanh l > m; Mul m #3 > a; Cast a > i to:7; Squeeze i $1 > j; Gather %16x6 j > g; MatMul g %6x6 > y", 1,
          1, 0);
    check("4,6", "Sub x #0.3 > d; Exp d > e; Mul e x > m; " INDEX "MatMul g %6x6 > y", 1, 1, 0);
    /* what else reads the layer reads its floats */
    check("4,6", "MatMul x %6x6 > m; " INDEX "ReduceMean g > h axes=1 keepdims:0; Add h m > s; MatMul s %6x6 > y", 1, 4,
          0); /* g, h, m, s */
    check("4,6", "ArgMax x > i axis:1 keepdims:0; Gather %6x6 i > g; MatMul g %6x6 > y", 1, 1, 0);
}

/* They have most of the network's products. What stands between them and the index is float. */
static void most_of_a_network_is_told_of(void **state) {
    (void)state;
    check("4,6", "MatMul x %6x6 > l; Tanh l > m; " INDEX "Relu g > y", 1, 1, 1);
    check("4,6", "MatMul x %6x6 > l; MatMul l %6x1 > m; " INDEX "MatMul g %6x1 > y", 3, 3, 1);
    check("4,6", "MatMul x %6x6 > l; Tanh l > m; MatMul m %6x6 > y", 2, 3, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers_of_indices_are_float),
        cmocka_unit_test(most_of_a_network_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
