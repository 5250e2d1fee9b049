/* SPDX-License-Identifier: MIT */
/*
 * Chains of nodes that do little are walked in proportion to their length: what each node asks of those behind it or in front is kept for
 * the next. This program's strcmp() is its own, and counts: whoever looks at a node compares names.
 */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"
#include "tools/optimize/pass.h"

enum { LENGTH = 400 };

static unsigned long long compared;

int strcmp(const char *a, const char *b) {
    compared++;
    while (*a && *a == *b) a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

static const char *name(char letter, int i) {
    static char names[4][16];
    static unsigned at;
    char *text = names[at++ % 4];
    snprintf(text, sizeof names[0], "%c%d", letter, i);
    return text;
}

static struct onnx_graph *read_graph(struct bytes *file) {
    struct bytes message = model_message(file, 13);
    return inferred_bytes(&message);
}

/* Concats of one input each, and what reads the last of them. */
static unsigned long long lowered(int n) {
    struct onnx_report report = {0};
    struct bytes file = {0};
    add_value(&file, 11, "v0", ONNX_UINT8, "1,4");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    for (int i = 0; i < n; i++) add_node(&file, name('n', i), "Concat", name('v', i), name('v', i + 1), "axis:0");
    add_node(&file, "last", "MaxPool", name('v', n), "y", "");
    struct onnx_graph *graph = read_graph(&file);
    compared = 0;
    net_free(lower(graph, &report));
    const unsigned long long all = compared;
    onnx_report_free(&report);
    onnx_free(graph);
    return all;
}

/* A condition that is moved again and again, and a Where for each time. */
static unsigned long long optimized(int n) {
    const int64_t four = 4;
    const struct number order[4] = {{0, 3}, {0, 2}, {0, 1}, {0, 0}}, zero = {0, 0};
    struct bytes file = {0};
    add_value(&file, 11, "x", ONNX_FLOAT, "3,4");
    add_value(&file, 11, "b0", ONNX_BOOL, "1,4");
    add_value(&file, 12, name('y', n), ONNX_FLOAT, NULL);
    add_constant(&file, "order", ONNX_INT64, 1, &four, order, 4);
    add_constant(&file, "zero", ONNX_FLOAT, 0, NULL, &zero, 1);
    for (int i = 0; i < n; i++) {
        char gather[32], where[48];
        snprintf(gather, sizeof gather, "b%d order", i);
        snprintf(where, sizeof where, i ? "b%d y%d zero" : "b%d x zero", i + 1, i);
        add_node(&file, name('g', i), "Gather", gather, name('b', i + 1), "axis:1");
        add_node(&file, name('w', i), "Where", where, name('y', i + 1), "");
    }
    struct onnx_graph *graph = read_graph(&file);
    compared = 0;
    pass_integers(graph);
    const unsigned long long all = compared;
    onnx_free(graph);
    return all;
}

static void grows_in_proportion(unsigned long long (*work)(int n)) {
    const unsigned long long once = work(LENGTH), more = work(4 * LENGTH);
    print_message("%llu names compared, then %llu\n", once, more);
    assert_true(once >= LENGTH);
    assert_true(more < 6 * once);
}

static void chains_of_concats(void **state) {
    (void)state;
    grows_in_proportion(lowered);
}

static void conditions_that_move(void **state) {
    (void)state;
    grows_in_proportion(optimized);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_of_concats), cmocka_unit_test(conditions_that_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
