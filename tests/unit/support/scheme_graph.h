/* SPDX-License-Identifier: MIT */
/* Graphs of a few nodes for tests of the quantizer, and what is decided about their values. */
#ifndef MORSEL_TESTS_SCHEME_GRAPH_H
#define MORSEL_TESTS_SCHEME_GRAPH_H

#include "tests/unit/support/onnx_file.h"

#include "tools/onnx/internal.h"
#include "tools/quant/insert/place.h"

struct building {
    struct bytes graph;
    int count;
};

static inline void constant(struct building *b, const char *name, int rank, const int64_t *dims, float (*f)(int i)) {
    struct number numbers[512];
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    assert_true(count <= 512);
    for (size_t i = 0; i < count; i++) numbers[i].floating = (double)f((int)i);
    add_constant(&b->graph, name, 1, rank, dims, numbers, count);
}

static inline void node(struct building *b, const char *op, const char *inputs, const char *output, const char *attributes) {
    char name[32];
    snprintf(name, sizeof name, "node%d", b->count++);
    add_node(&b->graph, name, op, inputs, output, attributes);
}

/* A graph from x of that shape to y. */
static inline struct building begin(const char *shape) {
    struct building b = {0};
    add_value(&b.graph, 11, "x", 1, shape);
    add_value(&b.graph, 12, "y", 1, NULL);
    return b;
}

static inline struct onnx_graph *built(struct building *b, int opset) {
    struct onnx_report report = {0};
    struct failure failure;
    struct bytes model = model_message(&b->graph, opset);
    struct onnx_graph *g = load_bytes(&model, &failure);
    if (!g || !onnx_bind(g, NULL, 0, 1, &report, &failure) || !onnx_infer(g, &report, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(report.refusal_count, 0);
    onnx_report_free(&report);
    return g;
}

/* Queries and keys of one input, and the product of both. */
static inline struct onnx_graph *queries_and_keys(float (*weights)(int i)) {
    struct building b = begin("1,6,8");
    constant(&b, "w", 2, (const int64_t[]){8, 8}, weights);
    node(&b, "MatMul", "x w", "q", "");
    node(&b, "MatMul", "x w", "k", "");
    node(&b, "Transpose", "k", "t", "perm=0,2,1");
    node(&b, "MatMul", "q t", "y", "");
    return built(&b, 13);
}

static inline const struct scheme_value *of(const struct scheme *s, const char *name) {
    const struct onnx_value *value = onnx_find(s->graph, name);
    if (!value) fail_msg("there is no value '%s'", name);
    return scheme_value(s, value);
}

#endif
