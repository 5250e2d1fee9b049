/* SPDX-License-Identifier: MIT */
/* Conditions on integers that are known as a network runs: what they choose stays the same, and no condition is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"

#define INTEGERS "Cast x > i to:7; "
#define TRUE_OR_FALSE INTEGERS "Cast i > b to:9; "

/* x runs from -4 to 4, and the integers, too. */
static void what_is_chosen_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        TRUE_OR_FALSE "Where b x #2 > y",
        TRUE_OR_FALSE "Where b #0 #-3 > y",
        TRUE_OR_FALSE "Where b #-3 #0 > y",
        TRUE_OR_FALSE "Where b #0 #0 > o; Add o x > y",
        TRUE_OR_FALSE "Not b > n; Where n x %6 > y",
        INTEGERS "Equal i $1,-1,0,2,1,3 > b; Where b x #2 > y",
        INTEGERS "Greater i $1,-1,0,2,1,3 > b; Where b x #2 > y",
        INTEGERS "Less i $1,-1,0,2,1,3 > b; Where b x #2 > y",
        INTEGERS "Less $1,-1,0,2,1,3 i > b; Where b x #2 > y",
        INTEGERS "GreaterOrEqual i $1,-1,0,2,1,3 > b; Where b x #2 > y",
        INTEGERS "LessOrEqual i $1,-1,0,2,1,3 > b; Where b x #2 > y",
        INTEGERS "Less i $2 > a; Greater i $-2 > b; And a b > c; Where c x #9 > y",
        INTEGERS "Less i $-1 > a; Greater i $1 > b; Or a b > c; Where c x #9 > y",
        INTEGERS "Less i $2 > a; Greater i $-2 > b; Xor a b > c; Where c x #9 > y",
        TRUE_OR_FALSE "Equal $1,1,0,1,0,1 $1 > k; And b k > c; Where c x #9 > y",
        TRUE_OR_FALSE "Unsqueeze b $0 > u; Expand u $3,4,6 > e; Where e x #9 > y",
        TRUE_OR_FALSE "Where b #0 #-inf > m; Add m x > a; Softmax a > y axis:1",
        TRUE_OR_FALSE "Cast b > f to:1; Mul f x > y",
        /* what is not chosen may be no number */
        TRUE_OR_FALSE "Abs x > a; Floor a > f; Log f > l; Where b l #7 > y",
        TRUE_OR_FALSE "Not b > n; Abs x > a; Floor a > f; Sub f #0.5 > h; Log h > l; Mul l #2 > t; Where n x t > y",
        TRUE_OR_FALSE "Not b > n; Abs x > a; Floor a > f; Div x f > q; Where n #7 q > y",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_numbers(17, "4,6", texts[i], 4, 0.5f);
        struct onnx_graph *g = network(17, "4,6", texts[i]);
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++)
            for (int o = 0; o < g->nodes[k]->output_count; o++)
                if (g->nodes[k]->outputs[o]->type == ONNX_BOOL) fail_msg("%s: %s", texts[i], g->nodes[k]->op);
        onnx_free(g);
    }
}

static void elements_by_constant_indices_are_gathered(void **state) {
    (void)state;
    struct onnx_graph *g = network(17, "4,6", "Reshape $0,2,1,-1,3,3 $3,2 > k; GatherND x k > y");
    float x[24];
    size_t count;
    for (int i = 0; i < 24; i++) x[i] = (float)i;
    graph_optimize(g, NULL);
    float *y = run_graph(g, x, &count);
    assert_int_equal(count, 3);
    assert_true(y[0] == 2 && y[1] == 11 && y[2] == 21);
    free(y);
    onnx_free(g);
}

/* Behind a Softmax, of which no line is masked throughout; not behind anything else. */
static void guards_against_nan_go(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, "4,6", "Softmax x > s; IsNaN s > n; Where n #0 s > y", "Softmax"},
        {17, "4,6", "Sqrt x > s; IsNaN s > n; Where n #0 s > y", "Sqrt IsNaN Where"},
        {17, "4,6", "Softmax x > s; IsNaN x > n; Where n #0 s > y", "Softmax IsNaN Where"},
    };
    CHECK(rows);
}

/* Beside something that nobody knows a condition stays one: a number was put in for the integer each time that the change was tried. */
static void a_change_that_gives_up_leaves_the_graph(void **state) {
    (void)state;
    static const char *const ops[] = {"Or", "And", "Less"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char text[100];
        struct onnx_report report = {0};
        snprintf(text, sizeof text, INTEGERS "Unknown x > u; %s i u > y", ops[i]);
        struct onnx_graph *g = claimed_network(17, "4,6", "4,6", text, &report);
        graph_optimize(g, NULL);
        assert_int_equal(g->node_count, 3);
        onnx_report_free(&report);
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_chosen_stays),
        cmocka_unit_test(elements_by_constant_indices_are_gathered),
        cmocka_unit_test(guards_against_nan_go),
        cmocka_unit_test(a_change_that_gives_up_leaves_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
