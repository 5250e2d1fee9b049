/* SPDX-License-Identifier: MIT */
/* Loop and If whose counts and conditions are known: their nodes stand in the graph, and give what a run would. Others stay as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/onnx/internal.h"

enum { BOOL = 9, INT64 = 7, FLOAT = 1, ROUNDS = 3 };

/* A graph in words: its inputs, its nodes, its outputs. */
static struct bytes body_of(const char *inputs, const char *text, const char *outputs, int *constants) {
    struct bytes body = {0};
    char copy[900], *next = copy, *word;
    for (int field = 11; field <= 12; field++) {
        snprintf(copy, sizeof copy, "%s", field == 11 ? inputs : outputs);
        for (next = copy; (word = strsep(&next, " "));)
            if (*word) add_value(&body, field, word, 0, NULL);
    }
    snprintf(copy, sizeof copy, "%s", text);
    for (next = copy; *copy && (word = strsep(&next, ";"));) add_words(&body, word, constants);
    return body;
}

static void add_flow(struct bytes *to, const char *op, const char *inputs, const char *outputs, const char *names[2],
                     struct bytes *bodies) {
    struct bytes node = node_message(op, op, inputs, outputs, "");
    for (int i = 0; i < 2 && names[i]; i++) {
        struct bytes attribute = {0};
        put_text(&attribute, 1, names[i]);
        put_message(&attribute, 6, &bodies[i]);
        put_number(&attribute, 20, 5);
        put_message(&node, 5, &attribute);
    }
    put_message(to, 1, &node);
}

static void add_loop(struct bytes *to, const char *inputs, const char *outputs, struct bytes *body) {
    const char *names[2] = {"body", NULL};
    add_flow(to, "Loop", inputs, outputs, names, body);
}

static void add_if(struct bytes *to, const char *inputs, const char *outputs, struct bytes bodies[2]) {
    const char *names[2] = {"then_branch", "else_branch"};
    add_flow(to, "If", inputs, outputs, names, bodies);
}

/* x [3], y, a count of rounds, a number that is 1, and a truth value of each kind. */
static struct bytes begin(int64_t count) {
    struct bytes graph = {0};
    const struct number rounds = {0, count}, yes = {0, 1}, no = {0, 0}, one = {1, 1};
    add_value(&graph, 11, "x", FLOAT, "3");
    add_value(&graph, 12, "y", FLOAT, NULL);
    add_constant(&graph, "count", INT64, 0, NULL, &rounds, 1);
    add_constant(&graph, "yes", BOOL, 0, NULL, &yes, 1);
    add_constant(&graph, "no", BOOL, 0, NULL, &no, 1);
    add_constant(&graph, "one", FLOAT, 0, NULL, &one, 1);
    return graph;
}

static struct onnx_graph *end(struct bytes *graph) {
    struct bytes model = model_message(graph, 17);
    return inferred_bytes(&model);
}

/* What y is for x = 1, 2, 4; no control flow is left. */
static void gives(struct bytes *graph, const float *want, size_t count) {
    static const float x[] = {1, 2, 4};
    struct onnx_graph *g = end(graph);
    size_t got;
    for (size_t i = 0; i < g->node_count; i++) assert_false(!strcmp(g->nodes[i]->op, "Loop") || !strcmp(g->nodes[i]->op, "If"));
    graph_optimize(g, NULL);
    float *y = run_graph(g, x, &got);
    assert_int_equal(got, count);
    for (size_t i = 0; i < count; i++)
        if (y[i] != want[i]) fail_msg("element %zu is %g, not %g", i, (double)y[i], (double)want[i]);
    free(y);
    onnx_free(g);
}

#define GIVES(graph, ...) gives(graph, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

static void loops_are_rounds(void **state) {
    (void)state;
    int k = 0;
    /* a sum that goes on, of what stands around, and each of its states */
    struct bytes g = begin(ROUNDS), body = body_of("n c a", "Add a x > b; Mul b #2 > m; Identity c > d", "d b m", &k);
    add_loop(&g, "count yes x", "last all", &body);
    add_node(&g, "s", "ReduceMax", "all", "most", "axes=1 keepdims:0");
    add_node(&g, "j", "Concat", "last most", "y", "axis:0");
    GIVES(&g, 4, 8, 16, 16, 24, 32);
    /* the number of the round, and no condition at all */
    g = begin(ROUNDS), body = body_of("n c a", "Cast n > f to:1; Add a f > b", "c b", &k);
    add_loop(&g, "count - x", "y", &body);
    GIVES(&g, 4, 5, 7);
    /* the condition ends it, behind the second round; there is no count */
    g = begin(0), body = body_of("n c a", "Cast n > f to:1; Less f one > d; Add a one > b", "d b", &k);
    add_loop(&g, "- yes x", "y", &body);
    GIVES(&g, 3, 4, 6);
    /* no round: what went in */
    g = begin(ROUNDS), body = body_of("n c a", "Add a x > b", "c b", &k);
    add_loop(&g, "count no x", "y", &body);
    GIVES(&g, 1, 2, 4);
    /* names of the body are those of values around it */
    g = begin(ROUNDS), body = body_of("n c a", "Add a x > b; Add b #1 > count", "c count", &k);
    add_loop(&g, "count yes x", "l", &body);
    add_node(&g, "b", "Neg", "l", "b", "");
    add_node(&g, "n", "Neg", "b", "y", "");
    GIVES(&g, 7, 11, 19);
    /* what it reads may be a constant, and what comes out is one where all is */
    g = begin(ROUNDS), body = body_of("n c a", "Add a one > b", "c b", &k);
    add_loop(&g, "count yes one", "l", &body);
    add_node(&g, "m", "Mul", "x l", "y", "");
    GIVES(&g, 4, 8, 16);
    /* loops beside each other may have the same names */
    g = begin(ROUNDS), body = body_of("n c a", "Add a x > b", "c b", &k);
    add_loop(&g, "count yes x", "l", &body);
    body = body_of("n c a", "Add a one > b; Mul b #2 > d", "c b d", &k);
    add_loop(&g, "count yes l", "m s", &body);
    body = body_of("n c a", "Add a x > b", "c b b", &k);
    add_loop(&g, "count yes m", "o p", &body);
    add_node(&g, "r", "ReduceMax", "p", "t", "axes=0 keepdims:0");
    add_node(&g, "u", "Add", "t o", "y", "");
    GIVES(&g, 20, 34, 62);
}

static void branches_are_chosen(void **state) {
    (void)state;
    int k = 0;
    for (int yes = 0; yes < 2; yes++) {
        struct bytes g = begin(0), bodies[2] = {body_of("", "Add x x > t", "t", &k), body_of("", "Sub x #1 > e", "e", &k)};
        add_if(&g, yes ? "yes" : "no", "y", bodies);
        if (yes) GIVES(&g, 2, 4, 8);
        else GIVES(&g, 0, 1, 3);
    }
    /* what stands around it goes through, and the branch that never runs may hold anything */
    struct bytes g = begin(0), bodies[2] = {body_of("", "", "x", &k), body_of("", "Unknown x > e", "e", &k)};
    add_if(&g, "yes", "y", bodies);
    GIVES(&g, 1, 2, 4);
}

static void rounds_hold_rounds(void **state) {
    (void)state;
    int k = 0;
    /* b = a + x in both inner rounds, or -a where the number of the round is not 0 */
    struct bytes g = begin(2), inner = body_of("i j p", "Add p x > q", "j q", &k), bodies[2];
    struct bytes turn = body_of("", "Neg l > t", "t", &k), keep = body_of("", "Identity l > e", "e", &k);
    struct bytes outer = body_of("n c a", "Cast n > r to:9", "c b", &k);
    add_loop(&outer, "count c a", "l", &inner);
    bodies[0] = turn, bodies[1] = keep;
    add_if(&outer, "r", "b", bodies);
    add_loop(&g, "count yes x", "y", &outer);
    GIVES(&g, -5, -10, -20);
}

/* No --output-node names what a round makes: refusals do not tell of it. */
static void what_is_inside_is_marked(void **state) {
    (void)state;
    int k = 0;
    struct bytes g = begin(ROUNDS), body = body_of("n c a", "Add a x > b", "c b b", &k);
    add_loop(&g, "count yes x", "y s", &body);
    add_value(&g, 12, "s", FLOAT, NULL);
    struct onnx_graph *graph = end(&g);
    size_t marked = 0;
    for (size_t i = 0; i < graph->value_count; i++) marked += graph->values[i]->inside;
    assert_int_equal(marked, 2 * ROUNDS);
    assert_true(onnx_find(graph, "b/2")->inside && !onnx_find(graph, "s")->inside && !onnx_find(graph, "y")->inside);
    onnx_free(graph);
}

/* The node is there, and nothing of what is in it. */
static void stays(struct bytes *graph) {
    struct onnx_graph *g = end(graph);
    size_t left = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const bool flow = !strcmp(g->nodes[i]->op, "Loop") || !strcmp(g->nodes[i]->op, "If");
        left += flow;
        assert_true(flow || strcmp(g->nodes[i]->op, "Add"));
    }
    assert_int_equal(left, 1);
    onnx_free(g);
}

static void what_a_run_decides_stays(void **state) {
    (void)state;
    int k = 0;
    const char *const inputs[] = {"late yes x", "count less x", "- yes x", "count yes", "count yes x x"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct bytes g = begin(ROUNDS), body = body_of("n c a", "Add a x > b", "c b", &k);
        add_node(&g, "m", "ArgMax", "x", "late", "axis:0 keepdims:0");
        add_node(&g, "z", "ReduceMax", "x", "z", "keepdims:0");
        add_node(&g, "l", "Less", "z one", "less", "");
        add_loop(&g, inputs[i], "y", &body);
        stays(&g);
    }
    /* the condition of the next round; a value that is not there; a node in front of what it reads; outputs that lack */
    const char *const bodies[][2] = {{"Add a x > b; ReduceMax a > z keepdims:0; Less z one > d", "d b"},
                                     {"Add a nothing > b", "c b"},
                                     {"Add d x > b; Neg a > d", "c b"},
                                     {"Add a x > b", "c"}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct bytes g = begin(ROUNDS), body = body_of("n c a", bodies[i][0], bodies[i][1], &k);
        add_loop(&g, "count yes x", "y", &body);
        stays(&g);
    }
    struct bytes g = begin(ROUNDS), branches[2] = {body_of("", "Add x x > t", "t", &k), body_of("", "Sub x #1 > e", "e", &k)};
    add_node(&g, "z", "ReduceMax", "x", "z", "keepdims:0");
    add_node(&g, "l", "Less", "z one", "less", "");
    add_if(&g, "less", "y", branches);
    stays(&g);
    /* a count that is no integer, and a condition that is only read inside */
    g = begin(ROUNDS);
    struct bytes body = body_of("n c a", "Add a x > b", "c b", &k),
                 bare[2] = {body_of("", "Where yes x x > t", "t", &k), body_of("", "Sub x #1 > e", "e", &k)};
    add_loop(&g, "one yes x", "y", &body);
    stays(&g);
    g = begin(ROUNDS);
    add_if(&g, "", "y", bare);
    stays(&g);
}

/* What each round has a copy of is bounded: names, and what a file packs. Without a bound it would be gigabytes here. */
static void long_names_stay(void **state) {
    (void)state;
    enum { LONG = 1 << 18, MANY = 1 << 12, MOST = 200 << 20 };
    int k = 0;
    char *name = calloc(1, LONG + 1);
    memset(name, 'q', LONG);
    for (int node = 0; node < 2; node++) {
        struct bytes g = begin(MANY), body = body_of("n c a", "", "c b", &k),
                     loop = node_message(node ? name : "l", "Loop", "count yes x", "y", ""), attribute = {0};
        add_node(&body, node ? "n" : name, "Neg", "a", "b", "");
        put_text(&attribute, 1, "body");
        put_message(&attribute, 6, &body);
        put_number(&attribute, 20, 5);
        put_message(&loop, 5, &attribute);
        put_message(&g, 1, &loop);
        struct onnx_graph *graph = end(&g);
        assert_int_equal(graph->node_count, 1);
        assert_in_range(graph->memory->arena.taken, 0, MOST);
        onnx_free(graph);
    }
    free(name);
}

/* Rounds without end that hold nothing, graphs in graphs, and bytes that are none end soon. */
static void too_much_stays(void **state) {
    (void)state;
    int k = 0;
    struct bytes g = begin((int64_t)1 << 40), body = body_of("n c a", "", "c a", &k);
    add_loop(&g, "count yes x", "y", &body);
    stays(&g);
    g = begin(2), body = body_of("n c a", "Neg a > b", "c b", &k);
    for (int deep = 0; deep < 40; deep++) {
        struct bytes outer = body_of("n c a", "", "c b", &k);
        add_loop(&outer, "count c a", "b", &body);
        body = outer;
    }
    add_loop(&g, "count yes x", "y", &body);
    stays(&g);
    for (size_t cut = 1; cut < 60; cut += 7) {
        g = begin(ROUNDS), body = body_of("n c a", "Neg a > b", "c b", &k);
        body.size -= cut;
        add_loop(&g, "count yes x", "y", &body);
        onnx_free(end(&g));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_are_rounds),         cmocka_unit_test(branches_are_chosen), cmocka_unit_test(rounds_hold_rounds),
        cmocka_unit_test(what_a_run_decides_stays), cmocka_unit_test(too_much_stays),      cmocka_unit_test(long_names_stay),
        cmocka_unit_test(what_is_inside_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
