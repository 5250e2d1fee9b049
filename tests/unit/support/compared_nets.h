/* SPDX-License-Identifier: MIT */
/* What the tests of comparisons share: a small network, changed and quantized here, and the comparison of both. */
#ifndef COMPARED_NETS_H
#define COMPARED_NETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/compare/compare.h"
#include "tools/compare/whole.h"
#include "tools/verbs/host/conversion.h"
#include "tools/optimize/optimize.h"
#include "tools/samples/rules/picture_rule.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/quantize.h"

#include <stdlib.h>
#include <string.h>

#define NETWORK "tests/cli/float_small.onnx"

typedef void change_graph(struct onnx_graph *graph);
typedef void change_scheme(struct scheme *scheme);

struct made {
    struct conversion wanted, model;
    struct morsel_blob_picture rule;
    struct quant_data *data;
    struct quantizer quantizer;
    struct morsel_model network;
    struct onnx_graph *qdq;
    struct onnx_report report;
    struct comparison comparison;
};

static const struct conversion_call call = {.input = NETWORK, .batch = 1};

static bool dynamic; /* layers quantize their input when they run */

static struct quant_data *open_data(struct made *m, const struct onnx_graph *graph) {
    static const char *const path = "models/cifar10/pictures";
    const struct quant_data_wish wish = {.paths = &path, .path_count = 1, .rule = &m->rule};
    struct failure failure;
    struct quant_data *data = quant_data_open(&wish, graph, &failure);
    assert_non_null(data);
    return data;
}

/* A network with a change to the graph of both, and what is made of it with a change to its graph before it is quantized, and to its
 * scheme after that. */
static struct made *make_of(change_graph *both, change_graph *before, change_scheme *after) {
    struct made *m = calloc(1, sizeof *m);
    struct failure failure = {0};
    assert_non_null(m);
    assert_true(picture_rule_read("models/cifar10/picture.json", &m->rule, &failure));
    assert_true(conversion_read(&call, &m->wanted, &failure) && conversion_read(&call, &m->model, &failure));
    graph_optimize(m->wanted.graph, NULL);
    m->quantizer = (struct quantizer){.graph = m->model.graph,
                                      .report = &m->model.report,
                                      .options = {.method = RANGE_MSE, .threads = 1, .scheme.dynamic = dynamic}};
    graph_optimize(m->model.graph, NULL);
    if (both) {
        both(m->wanted.graph);
        both(m->model.graph);
    }
    if (before) before(m->model.graph);
    assert_true(quantize_prepare(&m->quantizer, &failure));
    m->quantizer.data = m->data = open_data(m, m->model.graph);
    assert_true(quantize_observe(&m->quantizer, &failure));
    quantize_choose(&m->quantizer);
    if (after) after(m->quantizer.scheme);
    m->qdq = insert(m->quantizer.scheme);
    assert_true(conversion_make(&call, &m->model, m->qdq, &failure));
    assert_true(whole_open(&m->network, m->model.blob, m->model.blob_bytes, &failure));
    m->comparison = (struct comparison){.graph = m->wanted.graph, .network = &m->network, .threads = 2, .report = &m->report};
    assert_true(compare_match(&m->comparison, &failure));
    m->comparison.data = m->data;
    assert_true(compare_measure(&m->comparison, &failure));
    compare_warn(&m->comparison);
    return m;
}

static void made_free(struct made *m) {
    compare_close(&m->comparison);
    onnx_report_free(&m->report);
    onnx_free(m->qdq);
    quantize_close(&m->quantizer);
    quant_data_close(m->data);
    conversion_free(&m->model);
    conversion_free(&m->wanted);
    free(m);
}

static const struct compare_point *point_of(const struct made *m, const char *node) {
    for (size_t i = 0; i < m->comparison.point_count; i++)
        if (m->comparison.points[i].node && !strcmp(m->comparison.points[i].node->name, node)) return &m->comparison.points[i];
    fail_msg("no layer %s", node);
    return NULL;
}

static struct onnx_node *node_named(const struct onnx_graph *g, const char *name) {
    for (size_t n = 0; n < g->node_count; n++)
        if (!strcmp(g->nodes[n]->name, name)) return g->nodes[n];
    fail_msg("no node %s", name);
    return NULL;
}

#endif
