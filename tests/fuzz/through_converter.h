/* SPDX-License-Identifier: MIT */
/*
 * Bytes as an ONNX file, through the whole converter, and what comes out through the library. Besides what sanitizers see: whatever is
 * converted opens, whatever is not converted has a reason, and the passes over float networks leave a graph that is as sound as before and
 * can be written and read again. One network in eight is cut at some of its values and nodes first; of one in eight that are refused it is
 * asked which options cut that off. Included once, by the fuzzer.
 */
#ifndef MORSEL_TEST_THROUGH_CONVERTER_H
#define MORSEL_TEST_THROUGH_CONVERTER_H

#include "as_file.h"
#include "core/blob.h"
#include "tools/float/executor.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/heads.h"
#include "tools/net/plan/plan.h"
#include "tools/onnx/graph.h"
#include "tools/onnx/write.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"
#include "tools/verbs/host/ends.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARENA_MOST = 1 << 22, WORK_MOST = 1 << 22, ELEMENTS_MOST = 1 << 22 };

static unsigned long long converted, grouped;

static void run_blob(const uint8_t *blob, size_t bytes) {
    struct morsel_model model;
    struct morsel_session session;
    void *arena = NULL;
    enum morsel_error error = morsel_open(&model, blob, bytes, 0);
    if (error) {
        fprintf(stderr, "the blob that was made does not open: %s\n", morsel_error_text(error));
        abort();
    }
    size_t need = morsel_arena_bytes(&model);
    if (need > ARENA_MOST || morsel_work(&model) > WORK_MOST) return;
    if (posix_memalign(&arena, MORSEL_ALIGNMENT, need ? need : 1)) exit(3);
    memset(arena, 0, need);
    if (morsel_session_open(&session, &model, arena, need, NULL) || morsel_run(&session)) abort();
    free(arena);
}

/* Legal networks that would take gigabytes are no defect. */
static int small(const struct onnx_graph *graph) {
    int64_t total = 0;
    for (size_t i = 0; i < graph->value_count && total < ELEMENTS_MOST; i++) {
        int64_t elements = onnx_elements(&graph->values[i]->shape);
        total += elements > 0 ? elements : 0;
    }
    return total < ELEMENTS_MOST;
}

static void convert_inferred(struct onnx_graph *graph, struct onnx_report *report);

/* What is unknown may turn out to be at fault once passes have computed it. */
static int all_known(const struct onnx_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++)
        for (int i = 0; i < graph->nodes[n]->output_count; i++)
            if (graph->nodes[n]->outputs[i] &&
                (!graph->nodes[n]->outputs[i]->type || onnx_elements(&graph->nodes[n]->outputs[i]->shape) < 0))
                return 0;
    return 1;
}

/* A graph that was sound is so after the passes, and as a file, and for the steps behind. */
static void optimize(const struct onnx_graph *graph) {
    struct onnx_report report = {0};
    struct onnx_graph *copy = edit_copy(graph);
    struct failure failure = {0};
    size_t bytes;
    graph_optimize(copy, NULL);
    bool good = onnx_infer(copy, &report, &failure) && !report.refusal_count;
    if (!good && all_known(graph)) {
        fprintf(stderr, "the passes spoil it: %s%s\n", failure.text, report.refusal_count ? report.refusals[0].why : "");
        abort();
    }
    uint8_t *file = onnx_write(copy, &bytes, &failure);
    struct onnx_graph *again = file ? onnx_load(as_file(file, bytes), &failure) : NULL;
    if (file && !again) {
        fprintf(stderr, "what was written cannot be read: %s\n", failure.text);
        abort();
    }
    free(file);
    onnx_free(again);
    if (good) convert_inferred(copy, &report);
    onnx_free(copy);
    copy = edit_copy(graph);
    graph_decompose(copy, NULL);
    onnx_free(copy);
    onnx_report_free(&report);
}

static void convert_inferred(struct onnx_graph *graph, struct onnx_report *report) {
    static const struct blob_extras extras = {0};
    size_t bytes;
    struct net *net = lower(graph, report);
    if (!net && !report->refusal_count) abort();
    if (net) net->arena_room = graph->node_count % 2;                                     /* the least arena for some */
    if (net && !report->refusal_count && graph->node_count % 3) net_split_heads(net, 64); /* networks are small here */
    if (net && !report->refusal_count && plan_arena(net)) {
        converted++;
        grouped += net->group_count > 0;
        uint8_t *blob = blob_write(net, &extras, &bytes);
        if (blob) run_blob(blob, bytes);
        free(blob);
    }
    if (net) net_free(net);
}

/* A value's name or a node's, as 32 bits choose it; "": there is none, which is no name either. */
static const char *name_by(const struct onnx_graph *graph, uint32_t bits) {
    if (bits & 1) return graph->node_count ? graph->nodes[(bits >> 1) % graph->node_count]->name : "";
    return graph->value_count ? graph->values[(bits >> 1) % graph->value_count]->name : "";
}

/* False: it is no place to cut, which is said. */
static bool cut_somewhere(struct onnx_graph *graph, uint64_t state, struct onnx_report *report) {
    struct failure failure = {0};
    const char *inputs[2], *outputs[2];
    for (int i = 0; i < 2; i++) {
        inputs[i] = name_by(graph, (uint32_t)fuzz_random(&state));
        outputs[i] = name_by(graph, (uint32_t)fuzz_random(&state));
    }
    const struct onnx_names_given in = {inputs, fuzz_below(&state, 3)}, out = {outputs, fuzz_below(&state, 3)};
    bool good = onnx_cut(graph, &in, &out, report, &failure);
    if (!good && !*failure.text) abort();
    return good;
}

static void ask_for_ends(const char *path, const struct onnx_report *report) {
    const struct conversion_call call = {.input = path, .batch = 1};
    struct conversion c = {.report = *report};
    struct failure failure = {0};
    if (!sizes_read(&call.shapes, &call.dims, &c.sizes, &failure)) abort();
    ends_find(&call, &c);
    if (c.ends && !*c.ends) abort();
    sizes_free(&c.sizes);
    free(c.ends);
}

static void convert(struct onnx_graph *graph, struct onnx_report *report) {
    struct failure failure = {0};
    if (!onnx_bind(graph, NULL, 0, 1, report, &failure) || !onnx_infer(graph, report, &failure)) {
        if (!*failure.text && !report->refusal_count) abort();
        return;
    }
    if (!small(graph)) return;
    if (!report->refusal_count && executor_fold(graph)) { /* as whoever opens a file does */
        edit_clean(graph);
        if (!onnx_infer(graph, report, &failure) || !small(graph)) return;
    }
    if (!report->refusal_count) optimize(graph);
    convert_inferred(graph, report);
}

static inline int through_converter(const uint8_t *bytes, size_t size) {
    struct onnx_report report = {0};
    struct failure failure = {0};
    unsigned long long before = converted;
    uint64_t sum = 1469598103934665603u;
    for (size_t i = 0; i < size; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    struct onnx_graph *graph = onnx_load(as_file(bytes, size), &failure);
    if (!graph && !*failure.text) abort();
    bool cut = sum % 8 == 0, good = graph && (!cut || cut_somewhere(graph, sum, &report));
    if (good) convert(graph, &report);
    if (good && sum % 8 == 1 && report.refusal_count) ask_for_ends(as_file(bytes, size), &report);
    onnx_report_free(&report);
    if (graph) onnx_free(graph);
    fuzz_taken += converted > before; /* as it is, or by its passes, or both */
    return 0;
}

#endif
