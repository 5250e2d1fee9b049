/* SPDX-License-Identifier: MIT */
/* What exports end with is said by signs, maxima and sums: the same numbers, nodes that stay float, and no integer that is in the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/lower/lower.h"
#include "tools/optimize/pass.h"

#include <math.h>

/* x has equal numbers in each line: the first, or the last, of those that are largest counts. */
static void results_stay_what_they_are(void **state) {
    (void)state;
    static const char *const texts[] = {
        "ArgMax x > y",
        "ArgMax x > y axis:1 keepdims:0",
        "ArgMax x > y axis:-1 select_last_index:1",
        "ArgMin x > y axis:1",
        "ArgMin x > y axis:2 keepdims:0 select_last_index:1",
        "ArgMax x > a axis:1; Cast a > y to:1",
        "ArgMax x > a axis:1; Cast a > y to:6",
        "LogSoftmax x > y",
        "LogSoftmax x > y axis:1",
        "Softmax x > p axis:1; Log p > y",
        "Softmax x > p axis:1; Log p > l; Mul p l > e; Mul e #10 > y", /* of an entropy */
        "ReduceL1 x > y axes=1,2",
        "ReduceSumSquare x > y axes=0 keepdims:0",
        "Abs x > a; ReduceLogSum a > y axes=2",
        "ReduceLogSumExp x > y axes=1 keepdims:0",
        "ReduceLogSumExp x > y",
        "ReduceProd x > y axes=1",
        "ReduceProd x > y axes=-1 keepdims:0",
        "ReduceProd x > y axes=0,-1",
        "Clip x #0.95 #1.1 > c; ReduceProd c > y keepdims:0",
        "Greater x #0.5 > b; Cast b > y to:1",
        "Less x %5x6 > b; Cast b > y to:1",
        "GreaterOrEqual x #0 > b; Cast b > y to:1",
        "LessOrEqual x #0 > b; Cast b > y to:1",
        "Equal x #0 > b; Cast b > y to:1",
        "Greater x #1 > y",
        "Greater x #0 > b; Where b x #-2 > y",
        "Greater x #-1 > b; Less x #1 > c; And b c > d; Not d > e; Where e x #7 > y",
        "Greater x #1 > b; Less x #-1 > c; Or b c > d; Cast d > y to:1",
        "ReduceMax x > m axes=2; Greater m #2 > b; Where b x #-2 > y",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_numbers(17, "4,5,6", texts[i], 4, 0.5f);
        struct onnx_graph *g = network(17, "4,5,6", texts[i]);
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->value_count; k++)
            if (!g->values[k]->constant && g->values[k]->type != ONNX_FLOAT) fail_msg("%s: '%s'", texts[i], g->values[k]->name);
        onnx_free(g);
    }
}

static void the_first_of_equal_maxima_is_hard(void **state) {
    (void)state;
    static const float x[12] = {1, 3, 3, 2, -1, -1, -5, -1, 0, 0, 0, 1}, want[12] = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1};
    struct onnx_graph *g = network(13, "3,4", "Hardmax x > y");
    size_t count;
    graph_optimize(g, NULL);
    float *y = run_graph(g, x, &count);
    assert_int_equal(count, 12);
    assert_memory_equal(y, want, sizeof want);
    free(y);
    onnx_free(g);
}

/* What nodes give of three lines of four numbers. */
struct given {
    int opset;
    const char *nodes;
    size_t count;
    float y[12];
};

static void check_given(const struct given *list, size_t given, const float *x) {
    for (size_t i = 0; i < given; i++) {
        struct onnx_graph *g = network(list[i].opset, "3,4", list[i].nodes);
        size_t count;
        graph_optimize(g, NULL);
        float *y = run_graph(g, x, &count);
        assert_int_equal(count, list[i].count);
        for (size_t k = 0; k < count; k++)
            if (y[k] != list[i].y[k]) fail_msg("%s: element %zu is %g", list[i].nodes, k, (double)y[k]);
        free(y);
        onnx_free(g);
    }
}

/* Infinities are larger and less than any number, and equal to themselves. */
static void infinities_are_compared(void **state) {
    (void)state;
    static const float x[12] = {1, INFINITY, 2, INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 3e38F, 0, -INFINITY, 3};
    static const struct given list[] = {
        {13, "ArgMax x > y axis:1", 3, {1, 0, 0}},
        {13, "ArgMax x > y axis:1 select_last_index:1", 3, {3, 3, 0}},
        {13, "ArgMin x > y axis:1", 3, {0, 0, 2}},
        {13, "Hardmax x > y", 12, {0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}},
        {13, "ReduceLogSumExp x > y axes=1", 3, {INFINITY, -INFINITY, 3e38F}},
        {13, "Equal x #inf > y", 12, {0, 1, 0, 1}},
        {13, "Equal x #-inf > y", 12, {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0}},
        {13, "Greater x #-inf > y", 12, {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1}},
        {13, "Neg x > n; Less x n > y", 12, {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0}},
        {13, "Neg x > n; Neg n > m; GreaterOrEqual x m > y", 12, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    };
    check_given(list, sizeof list / sizeof *list, x);
}

/* Of equal ones the first comes first, also of those that are infinite. */
static void the_largest_come_in_their_order(void **state) {
    (void)state;
    static const float x[12] = {1, 3, 3, 2, -1, -1, -5, -1, -INFINITY, INFINITY, -INFINITY, INFINITY};
    static const struct given list[] = {
        {13, "TopK x $1 > y i", 3, {3, -1, INFINITY}},
        {13, "TopK x $2 > y i", 6, {3, 3, -1, -1, INFINITY, INFINITY}},
        {11, "TopK x $2 > v y axis:1", 6, {1, 2, 0, 1, 1, 3}},
        {13, "TopK x $4 > v y", 12, {1, 2, 3, 0, 0, 1, 3, 2, 1, 3, 0, 2}},
        {13, "TopK x $4 > v y largest:0 sorted:0", 12, {0, 3, 1, 2, 2, 0, 1, 3, 0, 2, 1, 3}},
        {13, "TopK x $2 > y i largest:0", 6, {1, 2, -5, -1, -INFINITY, -INFINITY}},
        {13, "TopK x $2 > v y axis:0", 8, {0, 2, 0, 2, 1, 0, 1, 0}},
        {9, "TopK x > v y axis:-2 k:1", 4, {0, 2, 0, 2}},
        {13, "TopK x $1 > v i; Cast i > y to:1", 3, {1, 0, 1}},
        {13, "TopK x $2 > v i; Cast i > c to:1; Add v c > y", 6, {4, 5, -1, 0, INFINITY, INFINITY}},
    };
    check_given(list, sizeof list / sizeof *list, x);
}

/* Where its reader wants an integer, or the axis is of no known kind, it stays. */
static void what_reads_integers_keeps_them(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, "33,32", "ReduceProd x > y", "ReduceProd"},          {17, "4,65", "ReduceProd x > y axes=1", "ReduceProd"},
        {12, "4,5,6", "Hardmax x > y axis:1", "Hardmax"},         {8, "4,5,6", "Hardmax x > y axis:2", "Hardmax"}, /* Sign is of opset 9 */
        {17, "4,6", "TopK x $1 > v i; Pow i $2 > y", "TopK Pow"}, {17, "4,40", "TopK x $17 > v i; Pow i $2 > y", "TopK Pow"},
        {17, "3,3000000", "TopK x $17 > y i axis:1", "TopK"}, /* further than places in floats go */
    };
    CHECK(rows);
}

/* How many are wanted is not known before a run, or nobody says it: the shape that the file claims counts for nothing. */
static void a_claim_is_no_count(void **state) {
    (void)state;
    static const char *const texts[] = {"Cast x > k to:7; TopK x k > y axis:0", "TopK x > y axis:0"}, *const claims[] = {"2,6", "2,9"};
    for (size_t i = 0; i < 4; i++) {
        struct onnx_report report = {0};
        struct onnx_graph *g = claimed_network(14, "4,6", claims[i / 2], texts[i % 2], &report);
        graph_optimize(g, NULL);
        assert_string_equal(g->nodes[g->node_count - 1]->op, "TopK");
        onnx_report_free(&report);
        onnx_free(g);
    }
}

/* Where its Softmax is 0 a Log is not infinite: 200 below the largest it is about -200. */
static void a_log_of_softmax_has_no_zero(void **state) {
    (void)state;
    static const float x[8] = {0, 200, 199, -500, 3, 3, -97, 2};
    static const double want[8] = {-200.313261688, -0.313261688, -1.313261688,   -700.313261688,
                                   -0.861994804,   -0.861994804, -100.861994804, -1.861994804};
    struct onnx_graph *g = network(17, "2,4", "Softmax x > p; Log p > y");
    size_t count;
    graph_optimize(g, NULL);
    float *y = run_graph(g, x, &count);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) assert_true(fabs(y[i] - want[i]) <= 1e-6 * (1 + fabs(want[i])));
    free(y);
    onnx_free(g);
}

/* Bytes would make other numbers of them: each node that is made is marked, and stays so when another pass decomposes it. */
static void what_is_made_is_marked(void **state) {
    (void)state;
    static const char *const texts[] = {"ArgMax x > y axis:1", "LogSoftmax x > y",      "Hardmax x > y",         "Softmax x > p; Log p > y",
                                        "Greater x #1 > y",    "ReduceL1 x > y axes=1", "TopK x $3 > y i axis:1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct onnx_graph *g = network(17, "4,5,6", texts[i]);
        graph_optimize(g, NULL);
        for (size_t k = 0; k < g->node_count; k++)
            if (!onnx_attribute_int(g->nodes[k], ONNX_EXACT_MARK, 0)) fail_msg("%s: %s is not marked", texts[i], g->nodes[k]->name);
        onnx_free(g);
    }
}

/* The notice of such an output names the type that the file states for it, and no other value's: passes let another one be the output. */
static void an_output_that_becomes_float_is_told(void **state) {
    (void)state;
    static const int types[] = {6, 2, 0}; /* as the file states it; 0: not at all */
    static const char *const said[] = {"output 'y' is of int32 in the file, and float", "output 'y' is of uint8 in the file, and float",
                                       "output 'y' is of int32 in the file, and float"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct bytes graph = {0};
        struct onnx_report report = {0};
        add_value(&graph, 11, "x", 1, "1,4,6,6");
        add_value(&graph, 12, "y", types[i], NULL);
        add_value(&graph, 13, "a", 7, "1,1,6,6");
        add_node(&graph, "most", "ArgMax", "x", "a", "axis:1");
        add_node(&graph, "cast", "Cast", "a", "b", types[i] == 2 ? "to:2" : "to:6");
        add_node(&graph, "same", "Identity", "b", "y", "");
        struct bytes model = model_message(&graph, 17);
        struct onnx_graph *g = inferred_bytes(&model);
        graph_optimize(g, NULL);
        struct net *net = lower(g, &report);
        assert_non_null(net);
        bool found = false;
        for (size_t k = 0; k < report.notice_count; k++) found = found || strstr(report.notices[k], said[i]);
        if (!found) fail_msg("no notice: %s", said[i]);
        net_free(net);
        onnx_report_free(&report);
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_stay_what_they_are),
        cmocka_unit_test(the_first_of_equal_maxima_is_hard),
        cmocka_unit_test(infinities_are_compared),
        cmocka_unit_test(the_largest_come_in_their_order),
        cmocka_unit_test(what_reads_integers_keeps_them),
        cmocka_unit_test(a_claim_is_no_count),
        cmocka_unit_test(a_log_of_softmax_has_no_zero),
        cmocka_unit_test(what_is_made_is_marked),
        cmocka_unit_test(an_output_that_becomes_float_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
