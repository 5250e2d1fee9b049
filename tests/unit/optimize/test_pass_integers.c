/* SPDX-License-Identifier: MIT */
/* Floats that are made of integers and of conditions: computed in floats, the same numbers, and nothing but a Cast reads an integer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/pass.h"

#define INTEGERS "Cast x > i to:7; "
#define CUT "LeakyRelu Floor Sign Mul" /* what a Cast to integers makes of floats: towards 0 */

static void floats_of_integers_are_computed_in_floats(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, "4,6", INTEGERS "Add i $1 > j; Cast j > y to:1", CUT " Add"},
        {17, "4,6", INTEGERS "Sub $1 i > j; Cast j > y to:1", CUT " Sub"},
        {17, "4,6", INTEGERS "Mul i i > j; Cast j > y to:1", CUT " Mul"},
        {17, "4,6", INTEGERS "Max i $0 > j; Min j $3 > k; Cast k > y to:1", CUT " Clip"},
        {17, "4,6", INTEGERS "Clip i $0 $3 > j; Cast j > y to:1", CUT " Clip"},
        {17, "4,6", INTEGERS "Clip i - $3 > j; Cast j > y to:1", CUT " Clip"},
        {17, "4,6", INTEGERS "Unsqueeze i $1 > j; Neg j > k; Cast k > y to:1", CUT " Unsqueeze Neg"},
        {17, "4,6", INTEGERS "Concat i i > j axis:0; Neg j > k; Cast k > y to:1", CUT " Concat Neg"},
        {17, "4,6", INTEGERS "Cast i > j to:6; Cast j > y to:1", CUT},
        {17, "4,6", INTEGERS "ReduceSum i $1 > j; Cast j > y to:1", CUT " ReduceMean Mul"},
        {17, "4,6", INTEGERS "Unsqueeze i $1 > j; Gather %9x3 j > y", CUT " Unsqueeze Cast Gather"},
        {17, "4,6", INTEGERS "Add i $1 > j; Gather %9x3 j > y", CUT " Add Cast Gather"},
        {17, "4,6", INTEGERS "Div i $2 > j; Cast j > y to:1", CUT " LeakyRelu Div Floor Sign Mul"},
        {17, "4,6", INTEGERS "Mod i $2 > j; Cast j > y to:1", CUT " Div Floor Mul Sub"},
        {17, "4,6", "Floor x > f; Cast f > i to:6; Cast i > j to:7; Cast j > y to:1", "Floor"},
        /* beside a comparison, which becomes a float, other conditions do */
        {17, "4,6", "Greater x #0 > b; IsNaN x > n; Concat b n > c axis:0; Cast c > y to:1", "Clip Sign Relu IsNaN Cast Concat"},
        {17, "4,6", "Greater x #0 > b; IsNaN x > n; Xor b n > c; Cast c > y to:1", "Clip Sign Relu IsNaN Cast Sub LeakyRelu"},
        /* what becomes no float, and what cuts off */
        {17, "4,6", INTEGERS "Div i $-2 > j; Cast j > y to:1", "Cast Div Cast"},
        {17, "4,6", INTEGERS "Mod i i > j; Cast j > y to:1", "Cast Mod Cast"},
        {17, "4,6", INTEGERS "Pad i $0,0,0,1 $3 > j; Cast j > y to:1", "Cast Pad Cast"},
    };
    CHECK(rows);
}

/* Of a number that many read there is one float: each sum here reads the one before twice, which made 2^40 of them. */
static void each_integer_becomes_one_float(void **state) {
    (void)state;
    enum { SUMS = 40 };
    char text[80 * SUMS] = INTEGERS, from[16] = "i", to[16];
    for (int k = 0; k < SUMS; k++) {
        snprintf(to, sizeof to, "s%d", k);
        sprintf(text + strlen(text), "%s %s %s > %s; ", k % 2 ? "Sub" : "Add", from, from, to);
        strcpy(from, to);
    }
    sprintf(text + strlen(text), "Neg %s > n; Cast n > a to:1; Cast %s > b to:1; Cast %s > c to:1; Sum a b c > y", from, from, from);
    struct onnx_graph *g = network(17, "4,6", text);
    graph_optimize(g, NULL);
    size_t casts = 0;
    for (size_t i = 0; i < g->node_count; i++) casts += graph_is(g->nodes[i], "Cast");
    assert_int_equal(casts, 0);
    assert_int_equal(g->node_count, 4 + SUMS); /* cut off once; -s + s + s is s */
    onnx_free(g);
}

static void indices_stay_integers(void **state) {
    (void)state;
    struct onnx_graph *g = network(17, "4,6", INTEGERS "Pow i $2 > d; Gather i d > j; Cast j > y to:1");
    graph_optimize(g, NULL);
    const struct onnx_node *last = g->nodes[g->node_count - 1];
    assert_true(graph_is(last, "Gather"));
    assert_int_equal(last->inputs[0]->type, ONNX_FLOAT);
    assert_int_equal(last->inputs[1]->type, ONNX_INT64);
    onnx_free(g);
}

/* The float executor has most of it in integers, too: x runs from -4 to 4. */
static void numbers_stay_what_they_are(void **state) {
    (void)state;
    static const char *const texts[] = {
        INTEGERS "Max i $1,-2,0,2,1,3 > j; Cast j > y to:1",
        INTEGERS "Clip i $-1 $2 > j; Cast j > y to:1",
        INTEGERS "Unsqueeze i $1 > j; Cast j > y to:1",
        INTEGERS "Slice i $1 $3 $0 > j; Concat j i > k axis:0; Cast k > y to:1",
        INTEGERS "Equal i $1,-1,0,2,1,3 > b; Unsqueeze b $1 > u; Where u #2 #5 > w; Add w x > y",
        INTEGERS "ReduceMax i > m axes=1; Cast m > y to:1",
        INTEGERS "Cast i > y to:1",
        INTEGERS "Cast i > j to:6; Mul j j > k; Cast k > y to:1",
        "ArgMax x > i axis:0 keepdims:0; Mul i i > j; Sub j i > k; Cast k > y to:1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_numbers(17, "4,6", texts[i], 4, 0.5f);
}

static bool counts_in_floats(const struct onnx_node *gather) {
    const struct onnx_node *cast = gather->inputs[1]->producer;
    return gather->inputs[1]->constant || (graph_is(cast, "Cast") && cast->inputs[0]->type == ONNX_FLOAT);
}

/* Of constants, also in bytes behind a DequantizeLinear, by whole numbers in floats, also from the end. A Cast of floats cuts towards 0. */
static void lines_of_tables_are_counted_in_floats(void **state) {
    (void)state;
    static const char *const texts[] = {
        "ArgMax x > i axis:1 keepdims:0; Gather %6x3 i > y",
        "ArgMax x > i axis:0 keepdims:0; Sub i $2 > j; Gather %4x3 j > y",
        "QuantizeLinear %4x3 #0.01 > q; DequantizeLinear q #0.01 > t; ArgMax x > i axis:0 keepdims:0; Gather t i > y",
        "Mul x #2.6 > a; Clip a #-1.9 #1.9 > b; Cast b > i to:7; Gather %4x3 i > y",
        "Clip x #0 #2 > a; Floor a > b; Add b #1 > c; Cast c > i to:6; Gather %4x3 i > y",
        "Clip x #0 #2 > a; Floor a > b; Pad b $0,0,0,1 #0.6 > c; Cast c > i to:6; Gather %4x3 i > y", /* what Pad makes is cut, too */
        "Clip x #-1.9 #1.9 > a; Cast a > i to:7; Less i $0 > l; Add i $4 > m; Where l m i > w; Gather %4x3 w > y",
        "Clip x #-1.9 #1.9 > a; Cast a > i to:7; Add i $-1 > j; Unsqueeze j $0 > k; Gather %4x3 k > y", /* not where it is read */
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct onnx_graph *g = network(17, "4,6", texts[i]);
        int gathers = 0, cuts = 0;
        graph_optimize(g, NULL);
        for (size_t n = 0; n < g->node_count; n++) {
            cuts += graph_is(g->nodes[n], "Floor");
            gathers += graph_is(g->nodes[n], "Gather");
            assert_true(!graph_is(g->nodes[n], "Gather") || counts_in_floats(g->nodes[n]));
        }
        assert_int_equal(gathers, 1);
        assert_int_equal(cuts, (i >= 3) + (strstr(texts[i], "Pad") != NULL));
        onnx_free(g);
        check_numbers(17, "4,6", texts[i], 4, 0.3f);
    }
}

/* Lines of what the network computes by a computed index, infinite ones, too. */
static void lines_of_what_is_computed_are_picked(void **state) {
    (void)state;
    static const char *const texts[] = {
        "ArgMax x > i axis:0 keepdims:0; Gather x i > y",
        "ArgMax x > i axis:0 keepdims:0; Reciprocal x > z; Gather z i > y", /* x has a zero */
        "Greater x #0 > b; Cast b > c to:6; ArgMax c > i axis:0 keepdims:0; Gather x i > y",
        "ArgMax x > i axis:0; Transpose i > t; Sub t t > z; Concat z t > n axis:1; Unsqueeze x $0 > u; GatherND u n > y",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct onnx_graph *g = network(17, "4,6", texts[i]);
        graph_optimize(g, NULL);
        for (size_t n = 0; n < g->node_count; n++) assert_true(!graph_is(g->nodes[n], "Gather") || onnx_input_constant(g->nodes[n], 1));
        onnx_free(g);
        check_numbers(17, "4,6", texts[i], 4, 0.3f);
    }
}

/* Of many a NonMaxSuppression says which, and GridSample picks rows and elements. */
static void places_of_many_pick_rows_and_elements(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int samples;
    } list[] = {
        {"TopK x $20 > y i", 1},
        {"TopK x $25 > v i axis:1 largest:0; Cast i > y to:1", 0},
        {"Transpose x > t; TopK t $18 > y i axis:0", 1},
        {"Transpose x > t; ReduceMax x > m axes=0 keepdims:0; TopK m $17 > v i; Unsqueeze i $1 > j; Expand j $17,4 > k; GatherElements t k "
         "> y",
         1},
        {"Transpose x > t; ReduceMax x > m axes=0 keepdims:0; TopK m $17 > v i; Unsqueeze i $1 > j; Tile j $1,4 > k; GatherElements t k > "
         "y",
         1},
        {"TopK x $17 > v i; Neg x > n; GatherElements n i > y axis:1", 1},
        {"ArgMax x > i axis:1; Sub i $30 > j; GatherElements x j > y axis:1", 1},
        {"TopK x $20 > v i; Gather x i > y axis:1", 1},
        {"TopK x $17 > v i; Div i $7 > d; Cast d > y to:1", 0},
        {"TopK x $17 > v i; Unsqueeze i $0 > j; Reshape $7,-1 $2,1,1 > n; Max n $5 > m; Div j m > d; Cast d > y to:1", 0},
        {"TopK x $17 > v i; Sub i $15 > n; Div n $4 > d; Mod n $4 > m; Mod n $4 > f fmod:1; Sub m f > e; Mul e $100 > g; Add d g > h; Cast "
         "h > y to:1",
         0},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct onnx_graph *g = network(17, "4,30", list[i].text);
        int samples = 0, chosen = 0;
        graph_optimize(g, NULL);
        for (size_t n = 0; n < g->node_count; n++) {
            samples += graph_is(g->nodes[n], "GridSample");
            chosen += graph_is(g->nodes[n], "NonMaxSuppression");
            assert_false(graph_is(g->nodes[n], "TopK") || graph_is(g->nodes[n], "GatherElements"));
        }
        if (samples != list[i].samples) fail_msg("%s: %d samples", list[i].text, samples);
        assert_int_equal(chosen, strstr(list[i].text, "TopK") != NULL);
        onnx_free(g);
        check_numbers(17, "4,30", list[i].text, 4, 0.3f);
    }
}

/* What a Where adds to an index below 0 is the count of lines, or else it stays. A Cast to bytes would wrap. */
static void other_indices_stay(void **state) {
    (void)state;
#define AT "Clip x #-1.9 #1.9 > a; Cast a > i to:7; "
    static const struct row rows[] = {
        {17, "4,6", AT "Less i $0 > l; Add i $4 > m; Where l m i > w; Gather %4x3 w > y", "Clip " CUT " Cast Gather"},
        {17, "4,6", AT "Less i $0 > l; Add $4 i > m; Where l m i > w; Gather %4x3 w > y", "Clip " CUT " Cast Gather"},
    };
    static const char *const others[] = {
        AT "Less i $0 > l; Add i $3 > m; Where l m i > w; Gather %4x3 w > y",
        AT "Less i $1 > l; Add i $4 > m; Where l m i > w; Gather %4x3 w > y",
        AT "LessOrEqual i $0 > l; Add i $4 > m; Where l m i > w; Gather %4x3 w > y",
        AT "Less i $0 > l; Add i $4 > m; Where l i m > w; Gather %4x3 w > y",
        AT "Less i $0 > l; Sub i $4 > m; Where l m i > w; Gather %4x3 w > y",
        "Transpose x > t; ReduceMax t > m axes=1 keepdims:0; TopK m $3 > v i; Unsqueeze i $1 > j; Expand j $3,4 > k; Cast k > b to:3; "
        "Cast b > l to:7; GatherElements t l > y",
    };
#undef AT
    CHECK(rows);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct onnx_graph *g = network(17, "4,6", others[i]);
        bool left = false;
        graph_optimize(g, NULL);
        for (size_t n = 0; n < g->node_count; n++)
            left = left || graph_is(g->nodes[n], "Where") || (graph_is(g->nodes[n], "Cast") && g->nodes[n]->outputs[0]->type == ONNX_INT8);
        if (!left) fail_msg("%s: became another index", others[i]);
        onnx_free(g);
    }
}

/* A condition that comes into the network: b, bool, beside x. What is left reads it by one Cast, whatever it was read by. */
static void check_condition(const char *op, const char *inputs, const char *attributes, const char *left) {
    struct bytes graph = {0};
    struct onnx_report report = {0};
    const struct number seven = {7, 7};
    char ops[200] = "";
    add_value(&graph, 11, "b", ONNX_BOOL, "4,6");
    add_value(&graph, 11, "x", ONNX_FLOAT, "4,6");
    add_value(&graph, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&graph, "seven", ONNX_FLOAT, 0, NULL, &seven, 1);
    add_node(&graph, "op", op, inputs, "c", attributes);
    add_node(&graph, "where", "Where", strcmp(op, "Cast") ? "c x seven" : "b c x", "y", "");
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *g = inferred_bytes(&model);
    graph_optimize(g, NULL);
    for (size_t i = 0; i < g->node_count; i++) strcat(strcat(ops, i ? " " : ""), g->nodes[i]->op);
    if (strcmp(ops, left)) fail_msg("%s: %s, not %s", op, ops, left);
    for (size_t i = 0; i < g->value_count; i++)
        if (g->values[i]->type == ONNX_BOOL && !g->values[i]->is_input) fail_msg("%s: '%s' is a condition", op, g->values[i]->name);
    struct onnx_node *readers[2];
    assert_int_equal(edit_readers(g, onnx_find(g, "b"), readers, 2), 1);
    assert_true(graph_is(readers[0], "Cast"));
    onnx_report_free(&report);
    onnx_free(g);
}

static void conditions_come_in_as_numbers(void **state) {
    (void)state;
    check_condition("Not", "b", "", "Cast Sub Sub Mul Mul Add");
    check_condition("Identity", "b", "", "Cast Sub Mul Mul Add");
    check_condition("Cast", "b", "to:1", "Cast Sub Mul Mul Add");
    check_condition("And", "b b", "", "Cast Mul Sub Mul Mul Add");
}

/* Sums of a MatMulInteger may be far behind: each maximum here reads the one before a hundred times, which made 100^7 ways back. */
static void ways_back_are_few(void **state) {
    (void)state;
    enum { READS = 100, MAXIMA = 7 };
    struct bytes graph = {0};
    char reads[20 * READS], name[] = "m0";
    const int64_t dims[] = {4, 4};
    add_value(&graph, 11, "a", ONNX_UINT8, "2,4");
    add_value(&graph, 11, "m0", ONNX_INT32, "2,4");
    add_value(&graph, 12, "s", ONNX_INT32, NULL);
    add_value(&graph, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&graph, "w", ONNX_UINT8, 2, dims, (struct number[16]){{0}}, 16);
    add_node(&graph, "product", "MatMulInteger", "a w", "s", "");
    for (int k = 0; k < MAXIMA; k++) {
        *reads = 0;
        for (int i = 0; i < READS; i++) sprintf(reads + strlen(reads), "%sm%d", i ? " " : "", k);
        name[1] = (char)('1' + k);
        add_node(&graph, name, "Max", reads, name, "");
    }
    add_node(&graph, "cast", "Cast", name, "y", "to:1");
    struct bytes model = model_message(&graph, 17);
    struct onnx_graph *g = inferred_bytes(&model);
    assert_int_equal(pass_integers(g), 0);
    assert_int_equal(onnx_find(g, name)->type, ONNX_INT32);
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_of_integers_are_computed_in_floats),
        cmocka_unit_test(each_integer_becomes_one_float),
        cmocka_unit_test(indices_stay_integers),
        cmocka_unit_test(numbers_stay_what_they_are),
        cmocka_unit_test(lines_of_tables_are_counted_in_floats),
        cmocka_unit_test(lines_of_what_is_computed_are_picked),
        cmocka_unit_test(places_of_many_pick_rows_and_elements),
        cmocka_unit_test(other_indices_stay),
        cmocka_unit_test(conditions_come_in_as_numbers),
        cmocka_unit_test(ways_back_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
