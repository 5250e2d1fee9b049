/* SPDX-License-Identifier: MIT */
/* Normalizations run in float however they are spelled, and nothing else does for them; who reads a value, and how it is found. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"
#include "tools/onnx/internal.h"
#include "tools/optimize/optimize.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/insert/place.h"

#include <math.h>

static struct onnx_graph *loaded(struct bytes *graph) {
    struct onnx_report report = {0};
    struct failure failure;
    struct bytes model = model_message(graph, 18);
    struct onnx_graph *g = load_bytes(&model, &failure);
    if (!g || !onnx_bind(g, NULL, 0, 1, &report, &failure) || !onnx_infer(g, &report, &failure)) fail_msg("%s", failure.text);
    for (size_t i = 0; i < report.refusal_count; i++) print_message("%s: %s\n", report.refusals[i].node, report.refusals[i].why);
    assert_int_equal(report.refusal_count, 0);
    onnx_report_free(&report);
    return g;
}

/* Each reader once, however often it reads, in the graph's order; nodes and values are found at their places. */
static void readers_are_listed_once(void **state) {
    (void)state;
    struct bytes graph = {0};
    add_value(&graph, 11, "x", 1, "1,4");
    add_value(&graph, 12, "y", 1, NULL);
    add_node(&graph, "first", "Relu", "x", "a", "");
    add_node(&graph, "twice", "Mul", "a a", "b", "");
    add_node(&graph, "both", "Add", "a b", "c", "");
    add_node(&graph, "apart", "Concat", "a c a", "y", "axis:1");
    struct onnx_graph *g = loaded(&graph);
    const struct scheme *s = scheme_new(g, &(struct scheme_options){0});
    struct onnx_node *const *readers = scheme_readers(s, onnx_find(g, "a"));
    for (size_t i = 0; i < 3; i++) assert_ptr_equal(readers[i], g->nodes[i + 1]);
    assert_null(readers[3]);
    assert_null(scheme_readers(s, onnx_find(g, "y"))[0]);
    for (size_t n = 0; n < g->node_count; n++) assert_int_equal(scheme_node_index(s, g->nodes[n]), n);
    for (size_t v = 0; v < g->value_count; v++) assert_int_equal(scheme_index(s, g->values[v]), v);
    onnx_free(g);
}

/* Nodes on x [1, 8, 16] up to `n`, which a MatMul reads; how many values become bytes. */
struct form {
    const char *name, *nodes[16]; /* "OPERATOR: INPUTS > OUTPUT ATTRIBUTES" */
    int pairs;
};

#define MEAN(x, y) "ReduceMean: " x " last > " y
#define SUM(x, y) "ReduceSum: " x " last > " y
#define CENTRE MEAN("x", "m"), "Sub: x m > d"
#define SPREAD(d) "Mul: " d " " d " > q", MEAN("q", "v"), "Add: v least > e"

/* One pair: what the MatMul reads. Two: x as well, which a mean takes in bytes. */
static const struct form norms[] = {
    {"torch's F.normalize", {"ReduceL2: x last > l", "Clip: l least > c", "Expand: c shape > b", "Div: x b > n"}, 1},
    {"LpNormalization", {"LpNormalization: x > n p:2"}, 1},
    {"LpNormalization by magnitudes", {"LpNormalization: x > n p:1"}, 1},
    {"by the root of a sum", {"Mul: x x > q", SUM("q", "v"), "Sqrt: v > r", "Div: x r > n"}, 1},
    {"by a sum of squares", {"Mul: x x > q", SUM("q", "v"), "Div: x v > n"}, 1},
    {"RMS", {SPREAD("x"), "Sqrt: e > r", "Div: x r > n"}, 1},
    {"RMS by reciprocal", {SPREAD("x"), "Sqrt: e > r", "Reciprocal: r > i", "Mul: x i > f", "Mul: f factor > n"}, 1},
    {"RMS by 1 / s", {SPREAD("x"), "Sqrt: e > r", "Div: one r > i", "Mul: i x > f", "Mul: f factor > n"}, 1},
    {"RMS by a power", {SPREAD("x"), "Pow: e minus > i", "Mul: x i > n"}, 1},
    {"RMS by the root of a reciprocal", {SPREAD("x"), "Reciprocal: e > i", "Sqrt: i > s", "Mul: x s > n"}, 1},
    {"RMS, the factor on the inverse", {SPREAD("x"), "Sqrt: e > r", "Reciprocal: r > i", "Mul: i factor > f", "Mul: x f > n"}, 1},
    {"RMS of x, by which a multiple is divided", {SPREAD("x"), "Sqrt: e > r", "Mul: x factor > f", "Div: f r > n"}, 1},
    {"layer normalization", {CENTRE, SPREAD("d"), "Sqrt: e > r", "Div: d r > n"}, 2},
    {"with two differences", {CENTRE, "Sub: x m > d2", SPREAD("d2"), "Sqrt: e > r", "Div: d r > n"}, 2},
    {"with a product of two differences",
     {CENTRE, "Sub: x m > d2", "Mul: d d2 > q", MEAN("q", "v"), "Add: v least > e", "Sqrt: e > r", "Div: d r > n"},
     2},
    {"with a negative mean", {MEAN("x", "m"), "Neg: m > k", "Add: x k > d", SPREAD("d"), "Pow: e half > r", "Div: d r > n"}, 2},
    {"with epsilon behind the root", {CENTRE, "Mul: d d > q", MEAN("q", "v"), "Sqrt: v > r", "Add: r least > s", "Div: d s > n"}, 2},
    {"with a variance by moments",
     {CENTRE, "Mul: x x > q", MEAN("q", "a"), "Mul: m m > b", "Sub: a b > v", "Add: v least > e", "Sqrt: e > r", "Div: d r > n"},
     2},
    {"in TensorFlow's order",
     {CENTRE, SPREAD("d"), "Sqrt: e > r", "Reciprocal: r > i", "Mul: i factor > f", "Mul: x f > a", "Mul: m f > b", "Sub: factor b > c",
      "Add: a c > n"},
     2},
    {"cosine", /* z is x in another order */
     {"Transpose: x > t perm=0,2,1", "Reshape: t shape > z", "ReduceL2: x last > l", "ReduceL2: z last > k", "Mul: x z > p", SUM("p", "s"),
      "Mul: l k > lk", "Max: lk least > b", "Div: s b > c", "Mul: x c > n"},
     3},
    {"by convolved squares", {"Mul: x x > q", "Conv: q kernel > v", "Sqrt: v > r", "Div: x r > n"}, 1},
    {"by the product of a line with itself",
     {"Unsqueeze: x two > a", "Unsqueeze: x three > b", "MatMul: a b > s", "Squeeze: s three > v", "Sqrt: v > r", "Div: x r > n"},
     1},
    {"of pairs",
     {"Slice: x from middle last > a", "Slice: x middle end last > b", "Mul: a a > p", "Mul: b b > q", "Add: p q > v", "Sqrt: v > r",
      "Div: a r > u", "Concat: u u > n axis:2"},
     2},
    {"of linear attention, by a part of its own product",
     {"Transpose: x > t perm=0,2,1", "MatMul: t x > k", "MatMul: x k > p", "Slice: p from middle last > a", "Slice: p middle end last > b",
      "Add: b least > e", "Div: a e > u", "Concat: u u > n axis:2"},
     2},
    {"magnitudes of a spectrum",
     {"Slice: x from middle last > a", "Slice: x middle end last > b", "Mul: a a > p", "Mul: b b > q", "Add: p q > v", "Add: v least > e",
      "Sqrt: e > r", "Concat: r r > n axis:2"},
     2},
    {"where the norm is read elsewhere", {"ReduceL2: x last > l", "Clip: l least > c", "Div: x c > f", "Tanh: l > g", "Mul: f g > n"}, 3},
};

/* None divides by a norm. */
static const struct form others[] = {
    {"variance", {CENTRE, "Mul: d d > q", MEAN("q", "v"), "Add: x v > n"}, 6},
    {"deviation", {CENTRE, SPREAD("d"), "Sqrt: e > r", "Mul: x r > n"}, 7},
    {"log of a sum of exponentials", {"Exp: x > e", SUM("e", "s"), "Log: s > l", "Sub: x l > n"}, 5},
    {"shares", {"Exp: x > e", SUM("e", "s"), "Div: e s > n"}, 5},
    {"the root of another sum",
     {"Slice: x from middle last > a", "Slice: x middle end last > b", "Mul: a b > p", "Mul: b b > q", "Add: p q > v", "Sqrt: v > r",
      "Concat: r r > n axis:2"},
     8},
    {"a function of each number", {"Mul: x x > q", "Add: q one > a", "Sqrt: a > r", "Div: x r > n"}, 4},
};

static void put_node(struct bytes *graph, const char *text, int number) {
    char op[32], inputs[64], output[16], attributes[32] = "", name[16];
    assert_true(sscanf(text, "%31[^:]: %63[^>]> %15s %31[^\n]", op, inputs, output, attributes) >= 3);
    inputs[strlen(inputs) - 1] = 0; /* the space before > */
    snprintf(name, sizeof name, "node%d", number);
    add_node(graph, name, op, inputs, output, attributes);
}

static void put_floats(struct bytes *graph, const char *name, int rank, const int64_t *dims, double first, double step) {
    struct number numbers[256];
    int count = 1;
    for (int i = 0; i < rank; i++) count *= (int)dims[i];
    for (int i = 0; i < count; i++) numbers[i] = (struct number){.floating = first + step * (double)i};
    add_constant(graph, name, ONNX_FLOAT, rank, dims, numbers, count);
}

static void put_integers(struct bytes *graph, const char *name, int64_t a, int64_t b, int64_t c, int count) {
    const int64_t dim = count;
    const struct number numbers[3] = {{.integer = a}, {.integer = b}, {.integer = c}};
    add_constant(graph, name, ONNX_INT64, 1, &dim, numbers, count);
}

static struct onnx_graph *graph_of(const struct form *form) {
    struct bytes graph = {0};
    int count = 0;
    add_value(&graph, 11, "x", 1, "1,8,16");
    add_value(&graph, 12, "y", 1, NULL);
    put_floats(&graph, "least", 0, NULL, 1e-6, 0);
    put_floats(&graph, "one", 0, NULL, 1, 0);
    put_floats(&graph, "half", 0, NULL, 0.5, 0);
    put_floats(&graph, "minus", 0, NULL, -0.5, 0);
    put_floats(&graph, "factor", 1, (const int64_t[]){16}, 0.5, 0.125);
    put_floats(&graph, "weights", 2, (const int64_t[]){16, 16}, -1, 0.0078125);
    put_floats(&graph, "kernel", 3, (const int64_t[]){8, 8, 1}, 0.125, 0.03125);
    put_integers(&graph, "last", -1, 0, 0, 1);
    put_integers(&graph, "two", -2, 0, 0, 1);
    put_integers(&graph, "three", -1, 0, 0, 1);
    put_integers(&graph, "from", 0, 0, 0, 1);
    put_integers(&graph, "middle", 8, 0, 0, 1);
    put_integers(&graph, "end", 16, 0, 0, 1);
    put_integers(&graph, "shape", 1, 8, 16, 3);
    for (; form->nodes[count]; count++) put_node(&graph, form->nodes[count], count);
    put_node(&graph, "MatMul: n weights > y", count);
    struct onnx_graph *g = loaded(&graph);
    g->floats_meant = true;
    graph_optimize(g, NULL);
    return g;
}

static void any_range(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -1, *high = 3;
}

/* What comes out lowers. */
static int pairs_of(const struct form *form) {
    struct onnx_graph *g = graph_of(form);
    struct onnx_report report = {0};
    struct scheme *s = place(g, &(struct scheme_options){0});
    int pairs = 0;
    for (size_t v = 0; v < s->value_count; v++) pairs += s->values[v].quantized;
    scheme_set_ranges(s, any_range, NULL);
    scheme_make_layers(s);
    struct onnx_graph *made = insert(s);
    struct net *net = lower(made, &report);
    if (!net) fail_msg("%s: %s", form->name, report.refusal_count ? report.refusals[0].why : "");
    net_free(net);
    onnx_report_free(&report);
    onnx_free(made);
    onnx_free(g);
    return pairs;
}

static void check_forms(const struct form *forms, size_t count) {
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const int pairs = pairs_of(&forms[i]);
        if (pairs != forms[i].pairs) print_message("%s: %d values are bytes, not %d\n", forms[i].name, pairs, forms[i].pairs);
        wrong += pairs != forms[i].pairs;
    }
    assert_int_equal(wrong, 0);
}

static void norms_are_float_however_spelled(void **state) {
    (void)state;
    check_forms(norms, sizeof norms / sizeof *norms);
}

static void what_is_no_norm_is_in_bytes(void **state) {
    (void)state;
    check_forms(others, sizeof others / sizeof *others);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_are_listed_once),
        cmocka_unit_test(norms_are_float_however_spelled),
        cmocka_unit_test(what_is_no_norm_is_in_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
