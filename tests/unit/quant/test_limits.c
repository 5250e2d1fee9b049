/* SPDX-License-Identifier: MIT */
/* Where the ranges of values end whose readers cannot tell all numbers apart. */
#include "tests/unit/support/scheme_graph.h"

static float wave(int i) {
    return (float)(i % 7 - 3) / 8;
}

/* What goes into x * HardSigmoid(x) ends at -3, and what goes into a Clip at its bounds; not where anything else reads it. */
static void ranges_end_where_functions_do(void **state) {
    (void)state;
    struct building b = begin("1,2,8,8");
    constant(&b, "w", 4, (const int64_t[]){2, 2, 1, 1}, wave);
    node(&b, "Conv", "x w", "c", "");
    node(&b, "HardSigmoid", "c", "g", "alpha~0.16666667 beta~0.5");
    node(&b, "Mul", "c g", "h", "");
    node(&b, "Conv", "h w", "d", "");
    node(&b, "HardSigmoid", "d", "e", "alpha~0.25 beta~0.5");
    node(&b, "Add", "h e", "s", "");
    node(&b, "HardSigmoid", "s", "k", "");
    node(&b, "Add", "s k", "t", "");
    node(&b, "Conv", "t w", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    assert_true(fabs((double)of(s, "c")->floor + 3) < 1e-5 && of(s, "c")->ceiling == INFINITY);
    assert_true(of(s, "d")->floor == -2 && of(s, "d")->ceiling == 2);
    assert_true(of(s, "h")->floor == -INFINITY && of(s, "h")->ceiling == INFINITY);
    assert_true(of(s, "s")->floor == -INFINITY && of(s, "s")->ceiling == INFINITY); /* s + k tells all apart */
    onnx_free(g);
}

/* What goes into x * Sigmoid(x) ends at -8, however it is spelled; not where the gate, or x, is read by something else as well. */
static void ranges_end_where_gates_close(void **state) {
    (void)state;
    struct building b = begin("1,2,8,8");
    constant(&b, "w", 4, (const int64_t[]){2, 2, 1, 1}, wave);
    node(&b, "Conv", "x w", "c", "");
    node(&b, "Sigmoid", "c", "g", "");
    node(&b, "Mul", "g c", "h", "");
    node(&b, "Conv", "h w", "d", "");
    node(&b, "Sigmoid", "d", "e", "");
    node(&b, "Mul", "d e", "k", "");
    node(&b, "Mul", "k e", "s", "");
    node(&b, "Conv", "s w", "t", "");
    node(&b, "Sigmoid", "t", "u", "");
    node(&b, "Mul", "t u", "v", "");
    node(&b, "Add", "t v", "z", "");
    node(&b, "Conv", "z w", "y", "");
    struct onnx_graph *g = built(&b, 13);
    struct scheme *s = place(g, &(struct scheme_options){0});
    assert_true(of(s, "c")->floor == -8 && of(s, "c")->ceiling == INFINITY);
    assert_true(of(s, "d")->floor == -INFINITY); /* the gate goes into k * e, too */
    assert_true(of(s, "t")->floor == -INFINITY); /* t + v tells all apart */
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_end_where_functions_do),
        cmocka_unit_test(ranges_end_where_gates_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
