/* SPDX-License-Identifier: MIT */
/* Numbers in front of a product of two activations come behind it, as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many products are left in front of a MatMul; the results stay. */
static int products_in_front(const char *text) {
    struct onnx_graph *g = network(17, "4,6", text);
    float x[24];
    size_t count, again;
    int found = 0;
    for (int i = 0; i < 24; i++) x[i] = 0.5f * (float)(i % 7) - 1;
    float *y = run_graph(g, x, &count);
    graph_scale_products(g);
    float *z = run_graph(g, x, &again);
    assert_int_equal(count, again);
    for (size_t i = 0; i < count; i++)
        if (fabsf(y[i] - z[i]) > 1e-5f * fabsf(y[i])) fail_msg("%s: element %zu: %g, %g", text, i, (double)y[i], (double)z[i]);
    for (size_t n = 0; n < g->node_count; n++)
        for (int i = 0; i < 2 && !strcmp(g->nodes[n]->op, "MatMul"); i++) {
            const struct onnx_node *before = g->nodes[n]->inputs[i]->producer;
            found += before && !strcmp(before->op, "Mul");
        }
    free(y);
    free(z);
    onnx_free(g);
    return found;
}

static void numbers_come_behind(void **state) {
    (void)state;
    assert_int_equal(products_in_front("Transpose x > t; Mul x #3 > a; Mul #-0.5 t > b; MatMul a b > y"), 0);
    assert_int_equal(products_in_front("Transpose x > t; Mul t #7 > b; MatMul x b > y"), 0);
    assert_int_equal(products_in_front("Transpose x > t; Mul x #3 > a; MatMul a t > m; Mul m #2 > y"), 0);
}

static void other_products_stay(void **state) {
    (void)state;
    assert_int_equal(products_in_front("Transpose x > t; Mul x x > a; MatMul a t > y"), 1);                  /* no number */
    assert_int_equal(products_in_front("Transpose x > t; Mul x #0 > a; MatMul a t > y"), 1);                 /* nothing is left */
    assert_int_equal(products_in_front("Transpose x > t; Mul x #3 > a; MatMul a t > m; MatMul m a > y"), 2); /* read twice */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_behind),
        cmocka_unit_test(other_products_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
