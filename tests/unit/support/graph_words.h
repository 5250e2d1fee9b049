/* SPDX-License-Identifier: MIT */
/*
 * Networks given in words, their nodes separated by semicolons: `Conv x %4x3x1x1 > c pads=1,1,1,1`. x is the input, y the output.
 *     #0.5   a scalar      %4x1x1   a float constant of that shape, all of its numbers different      ~4x1x1   the same, all 0.25
 *     $1,-1  a list of int64      -   left out
 */
#ifndef GRAPH_WORDS_H
#define GRAPH_WORDS_H

#include "tests/unit/support/onnx_file.h"

#include "tools/float/executor.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"
#include "tools/onnx/internal.h"

static int read_dims(const char *text, int64_t *dims) {
    int rank = 0;
    while (*text) {
        char *end;
        dims[rank++] = strtoll(text, &end, 10);
        text = *end == 'x' ? end + 1 : end;
    }
    return rank;
}

/* Different, none of them 0, 1 or a whole number; variances are positive. */
static float some_number(int i) {
    return 0.3F + 0.0137F * (float)(i % 97) + 0.001F * (float)(i / 97);
}

static void add_word(struct bytes *graph, const char *word, const char *name) {
    static float floats[1 << 16];
    struct number numbers[16];
    int64_t dims[8], count = 1;
    if (*word == '#') {
        numbers[0].floating = atof(word + 1);
        add_constant(graph, name, 1, 0, NULL, numbers, 1);
        return;
    }
    if (*word == '$') {
        dims[0] = read_numbers(word + 1, numbers, 16);
        add_constant(graph, name, 7, 1, dims, numbers, (int)dims[0]);
        return;
    }
    int rank = read_dims(word + 1, dims);
    for (int i = 0; i < rank; i++) count *= dims[i];
    assert_true(count <= 1 << 16);
    for (int i = 0; i < count; i++) floats[i] = *word == '%' ? some_number(i) : 0.25F;
    struct bytes t = tensor_message(name, 1, rank, dims, floats, (size_t)count * 4);
    put_message(graph, 5, &t);
}

/* "Op in in > out out attribute attribute" */
static void add_words(struct bytes *graph, char *text, int *constants) {
    char inputs[300] = "", outputs[100] = "", attributes[300] = "", name[16], *next = text, *word, *op = NULL;
    bool behind = false;
    while ((word = strsep(&next, " "))) {
        if (!*word) continue;
        if (!op) {
            op = word;
        } else if (!strcmp(word, ">")) {
            behind = true;
        } else if (strpbrk(word, ":=@") || (strchr(word, '~') && *word != '~')) {
            strcat(strcat(attributes, " "), word);
        } else if (behind) {
            strcat(strcat(outputs, *outputs ? " " : ""), word);
        } else {
            snprintf(name, sizeof name, "k%d", *constants);
            bool constant = strchr("#%$~", *word);
            if (constant) add_word(graph, word, name), ++*constants;
            strcat(strcat(inputs, *inputs ? " " : ""), constant ? name : word);
        }
    }
    assert_non_null(op);
    snprintf(name, sizeof name, "n%d", (*constants)++);
    add_node(graph, name, op, inputs, outputs, attributes);
}

/* As it is read. y: the shape that the file claims for the output, or NULL. */
static struct onnx_graph *read_words(int opset, const char *x, const char *y, const char *text) {
    struct bytes graph = {0};
    char copy[3000], *next = copy, *node;
    struct failure failure;
    int constants = 0;
    snprintf(copy, sizeof copy, "%s", text);
    add_value(&graph, 11, "x", 1, x);
    add_value(&graph, 12, "y", 1, y);
    while ((node = strsep(&next, ";"))) add_words(&graph, node, &constants);
    struct bytes model = model_message(&graph, opset);
    struct onnx_graph *g = load_bytes(&model, &failure);
    if (!g) fail_msg("%s: %s", text, failure.text);
    return g;
}

/* Without a word on the nodes that are refused. */
static struct onnx_graph *claimed_network(int opset, const char *x, const char *y, const char *text, struct onnx_report *report) {
    struct onnx_graph *g = read_words(opset, x, y, text);
    struct failure failure;
    if (!onnx_bind(g, NULL, 0, 1, report, &failure) || !onnx_infer(g, report, &failure)) fail_msg("%s: %s", text, failure.text);
    return g;
}

static struct onnx_graph *network(int opset, const char *x, const char *text) {
    struct onnx_report report = {0};
    struct onnx_graph *g = claimed_network(opset, x, NULL, text, &report);
    if (report.refusal_count) fail_msg("%s: %s", text, report.refusals[0].why);
    onnx_report_free(&report);
    return g;
}

struct row {
    int opset;
    const char *x, *nodes, *left; /* operators in their order */
};

static inline void check_row(const struct row *row) {
    struct onnx_graph *g = network(row->opset, row->x, row->nodes);
    struct onnx_shape shape = g->outputs[0]->shape;
    char left[600] = "";
    graph_optimize(g, NULL);
    for (size_t i = 0; i < g->node_count; i++) {
        strcat(left, i ? " " : "");
        strcat(strcat(left, *g->nodes[i]->domain ? "ms." : ""), g->nodes[i]->op);
    }
    if (strcmp(left, row->left)) fail_msg("opset %d, x %s, %s\n    became %s, not %s", row->opset, row->x, row->nodes, left, row->left);
    assert_string_equal(g->inputs[0]->name, "x");
    assert_string_equal(g->outputs[0]->name, "y");
    assert_int_equal(g->outputs[0]->shape.rank, shape.rank);
    assert_memory_equal(g->outputs[0]->shape.dims, shape.dims, sizeof shape.dims);
    /* What inference makes of the new graph is what the passes said. */
    struct onnx_graph *copy = edit_copy(g);
    struct onnx_report report = {0};
    struct failure failure;
    assert_true(onnx_infer(copy, &report, &failure));
    if (report.refusal_count) fail_msg("%s: %s: %s", row->nodes, report.refusals[0].node, report.refusals[0].why);
    for (size_t i = 0; i < g->value_count; i++) {
        const struct onnx_value *a = g->values[i], *b = onnx_find(copy, a->name);
        if (!b || a->type != b->type || a->shape.rank != b->shape.rank || memcmp(a->shape.dims, b->shape.dims, (size_t)a->shape.rank * 8))
            fail_msg("%s: '%s' has another shape or type than inference finds", row->nodes, a->name);
    }
    onnx_report_free(&report);
    onnx_free(copy);
    onnx_free(g);
}

static inline void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) check_row(&rows[i]);
}
/* What the graph's output is for this input. */
static inline float *run_graph(const struct onnx_graph *g, const float *x, size_t *count) {
    struct failure failure;
    struct executor *executor = executor_open(g, &failure);
    if (!executor) fail_msg("%s", failure.text);
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_non_null(run);
    assert_true(executor_run(run, &x, NULL, NULL, &failure));
    const float *y = executor_output(run, 0, count);
    float *copy = malloc(*count * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, y, *count * sizeof *copy);
    executor_run_close(run);
    executor_close(executor);
    return copy;
}

/* The passes change something, but no number by more than 1e-5 of the largest. x[i] is `size` times a number between -1 and 1, or 0 where
 * `size` is 0; `least`: the largest result is at least this, so that there is something to compare. */
static inline void check_numbers(int opset, const char *x, const char *nodes, float size, float least) {
    static float in[8192];
    struct onnx_graph *g = network(opset, x, nodes);
    struct graph_pass_done done[GRAPH_PASSES];
    size_t count, again;
    int changes = 0;
    assert_in_range(onnx_elements(&g->inputs[0]->shape), 1, 8192);
    for (int i = 0; i < 8192; i++) in[i] = size * ((float)(i * 37 % 101) / 50 - 1);
    float *before = run_graph(g, in, &count), most = 0;
    graph_optimize_counted(g, done);
    for (int i = 0; i < GRAPH_PASSES; i++) changes += done[i].changes;
    assert_true(changes > 0);
    float *after = run_graph(g, in, &again);
    assert_int_equal(count, again);
    for (size_t i = 0; i < count; i++) most = isfinite(before[i]) ? fmaxf(most, fabsf(before[i])) : most;
    if (!(most >= least)) fail_msg("%s: the largest result is %g", nodes, (double)most);
    for (size_t i = 0; i < count; i++)
        if (after[i] != before[i] && !(fabsf(after[i] - before[i]) <= 1e-5F * most))
            fail_msg("%s: element %zu was %g, became %g", nodes, i, (double)before[i], (double)after[i]);
    free(before);
    free(after);
    onnx_free(g);
}

/* Element i of a constant input. */
static inline double number_at(const struct onnx_node *node, int input, size_t i) {
    const struct onnx_tensor *t = onnx_input_constant(node, input);
    assert_non_null(t);
    assert_true(i < t->count);
    return onnx_number(t, i);
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))
#define PICTURE "1,4,8,8"
#define CONV "Conv x %6x4x3x3 %6 > c pads=1,1,1,1;"
#define NORM4 " %4 %4 %4 %4 "
#define NORM6 " %6 %6 %6 %6 "

#endif
