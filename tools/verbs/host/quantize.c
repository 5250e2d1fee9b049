/* SPDX-License-Identifier: MIT */
/* morsel quantize: a float ONNX file and typical inputs to a blob, and to ONNX in QDQ form, whole or not at all. */
#include "tools/verbs/host/max_drop.h"
#include "tools/verbs/host/convert_report.h"
#include "tools/verbs/host/ends.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"
#include "tools/lower/lower.h"
#include "tools/base/message.h"
#include "tools/onnx/write.h"
#include "tools/quant/insert/insert.h"
#include "tools/quant/insert/place.h"
#include "tools/quant/insert/transfer.h"
#include "tools/verbs/host/quantize_call.h"
#include "tools/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct conversion conversion;
    struct quantizer quantizer;
    struct quant_data *data;
    struct morsel_text_rule text;
    struct attempts attempts;                             /* its graph: the quantized one */
    struct onnx_graph *sizes[MORSEL_FORMAT_MAX_VARIANTS]; /* the float network of each variant behind the first */
    uint8_t *qdq;
    size_t qdq_bytes;
};

static void work_free(struct work *w) {
    max_drop_free(&w->attempts);
    quantize_close(&w->quantizer);
    quant_data_close(w->data);
    conversion_free(&w->conversion);
    for (size_t k = 0; k < MORSEL_FORMAT_MAX_VARIANTS; k++) onnx_free(w->sizes[k]);
    free(w->qdq);
}

/* A name that excludes nothing is a mistake in it. */
static bool excluded_exist(const struct quantize_call *call, const struct onnx_graph *graph, struct failure *failure) {
    for (int i = 0; i < call->excluded.count; i++) {
        const char *name = call->excluded.values[i];
        bool found = false;
        for (size_t n = 0; n < graph->node_count; n++)
            found = found || !strcmp(graph->nodes[n]->name, name) || !strcmp(graph->nodes[n]->op, name);
        if (!found) return failure_set(failure, STATUS_CALL, "--exclude %s: no node and no operator of the network has that name", name);
    }
    return true;
}

/* Of the optimized network. */
static bool layers_exist(const struct quantize_call *call, const struct onnx_graph *graph, struct failure *failure) {
    for (int i = 0; i < call->at_run_time.count; i++) {
        const struct scheme_options one = {.at_run_time = &call->at_run_time.values[i], .at_run_time_count = 1};
        bool found = false;
        for (size_t n = 0; n < graph->node_count; n++) found = found || scheme_at_run_time(&one, graph->nodes[n]);
        if (!found)
            return failure_set(failure, STATUS_CALL,
                               "--dynamic-node %s: no Conv of one picture, MatMul or Gemm with constant weights has that name",
                               call->at_run_time.values[i]);
    }
    return true;
}

/* What an excluded node is decomposed into has other names and operators: it stays float by a mark. */
static void mark_excluded(const struct scheme_options *options, struct onnx_graph *graph) {
    for (size_t n = 0; n < graph->node_count; n++) {
        struct onnx_node *node = graph->nodes[n];
        if (onnx_class_of(node) == ONNX_OTHER && scheme_excludes(options, node))
            edit_attribute_int(graph, node, ONNX_EXACT_MARK, ONNX_STAYS_FLOAT);
    }
}

static void any_range(void *context, const struct onnx_value *value, float *low, float *high) {
    (void)context, (void)value;
    *low = -1;
    *high = 1;
}

/* Before the data are gone through, with ranges out of the air: whether what will come out can run, and fits a blob unless attempts will
 * make others of it. False: refusals in the report, or a failure. */
static bool can_come_out(const struct quantize_call *call, const struct quantizer *q, struct failure *failure) {
    struct onnx_graph *copy = edit_copy(q->graph);
    struct scheme *scheme = place(copy, &q->options.scheme);
    size_t notices = q->report->notice_count;
    scheme_set_ranges(scheme, any_range, NULL);
    scheme_make_layers(scheme);
    struct onnx_graph *made = insert(scheme);
    struct net *net = lower(made, q->report);
    bool good = net && (call->max_drop || conversion_fits(&call->conversion, net, failure));
    net_free(net);
    onnx_free(made);
    onnx_free(copy);
    while (q->report->notice_count > notices) free(q->report->notices[--q->report->notice_count]);
    return good;
}

/* What was chosen for the first variant, at the sizes of another. */
static struct onnx_graph *graph_of_variant(void *context, const struct conversion_call *call, const struct conversion *c, uint32_t variant,
                                           struct onnx_report *report, struct failure *failure) {
    struct work *w = context;
    struct onnx_graph **own = &w->sizes[variant];
    const struct quantizer *q = &w->quantizer;
    char text[256];
    if (!*own) {
        if (!(*own = conversion_load(call, c, variant, report, failure))) return NULL;
        (*own)->floats_meant = true;
        mark_excluded(&q->options.scheme, *own);
        if (q->options.scheme.dynamic) graph_scale_products(*own);
        graph_optimize(*own, NULL);
        outliers_repeat(*own, &q->outliers);
    }
    struct scheme *scheme = scheme_transfer(q->scheme, q->original ? q->original : q->graph, *own, failure);
    if (scheme) return insert(scheme);
    failure_prefix(failure, sizes_text(&c->sizes, variant, text, sizeof text));
    return NULL;
}

/* The optimized network. Where the float executor lacks operators, what blobs lack is told with them. */
static bool prepare(const struct quantize_call *call, struct quantizer *q, struct failure *failure) {
    const bool blob = call->conversion.output || call->eval;
    struct failure other = {0};
    size_t refused = q->report->refusal_count;
    if (quantize_prepare(q, failure)) return !blob || can_come_out(call, q, failure);
    if (blob && q->report->refusal_count > refused && !graph_outgrown(q->graph)) {
        refused = q->report->refusal_count;
        can_come_out(call, q, &other);
        onnx_report_once(q->report, refused);
    }
    return false;
}

/* No output is one of the samples' files. */
static bool data_stay(const struct quantize_call *call, const struct work *w, const struct quant_data *data, struct failure *failure) {
    for (size_t i = 0; data && i < CONVERSION_WRITTEN; i++) {
        const char *written = conversion_written(&call->conversion, &w->conversion, i);
        if (quant_data_reads(data, written))
            return failure_set(failure, STATUS_CALL, "%s would be written over: it is read as well; name another output", written);
    }
    return true;
}

/* From the file to ranges. False with refusals in the report (and no failure), or with a failure. */
static bool observe(const struct quantize_call *call, struct work *w, struct failure *failure) {
    struct conversion *c = &w->conversion;
    struct quantizer *q = &w->quantizer;
    struct quant_data_wish wish = {.paths = call->data.values, .path_count = (size_t)call->data.count, .count = (size_t)call->count};
    c->graph_of = graph_of_variant;
    c->graph_context = w;
    if (!conversion_read(&call->conversion, c, failure)) return false;
    if (onnx_is_quantized(c->graph) && (!c->report.refusal_count || report_dynamic(c->graph)))
        return failure_set(failure, STATUS_INPUT, "%s is quantized already%s", call->conversion.input,
                           report_dynamic(c->graph) ? ", dynamically: quantize takes the float network that it was made from"
                                                    : ": morsel convert takes it");
    if (c->report.refusal_count || !excluded_exist(call, c->graph, failure)) return false;
    wish.seed = (uint64_t)call->seed;
    wish.usual = QUANTIZE_USUAL_SAMPLES;
    wish.rule = c->extras.picture;
    if (c->text.words && !morsel_text_open(&w->text, c->text.words, c->text.word_count)) wish.text = &w->text;
    c->graph->floats_meant = true;
    mark_excluded(&q->options.scheme, c->graph);
    q->graph = c->graph;
    q->report = &c->report;
    if (call->dynamic) { /* layers that --max-drop ranks run over what it measures on */
        wish.paths = &call->eval;
        wish.path_count = 1;
        w->attempts.wish = wish;
        return prepare(call, q, failure);
    }
    if (!prepare(call, q, failure) || !layers_exist(call, q->graph, failure) ||
        !(q->data = w->data = quant_data_open(&wish, q->graph, failure)) || !data_stay(call, w, w->data, failure) ||
        !quant_data_look(w->data, failure))
        return false;
    w->attempts.wish = wish;
    return quantize_equalize(q, failure) && quantize_observe(q, failure);
}

static bool make(const struct quantize_call *call, struct work *w, struct failure *failure) {
    struct attempts *a = &w->attempts;
    a->call = &call->conversion;
    a->conversion = &w->conversion;
    a->quantizer = &w->quantizer;
    a->eval = call->eval;
    a->eval_limit = (size_t)call->eval_limit;
    a->want_blob = call->conversion.output != NULL;
    return observe(call, w, failure) && max_drop_run(a, failure);
}

/* What a blob has beside its network, and an ONNX file has not. */
static void notice_left_out(const struct conversion_call *call, const char *qdq, struct conversion *c) {
    const struct {
        const char *option, *given;
    } list[] = {{"--picture", call->picture},
                {"--labels", call->labels},
                {"--answer", call->answer},
                {"--text", call->text},
                {"--set", call->set.count ? call->set.values[0] : NULL}};
    char text[64] = "";
    if (call->output) return;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t at = strlen(text);
        if (list[i].given) snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "", list[i].option);
    }
    if (*text)
        onnx_notice(&c->report, "%s does not hold what %s say%s: give them to morsel convert, too", qdq, text,
                    strchr(text, ',') ? "" : "s");
}

/* Lines are looked up, and no average shows that others are. */
static void notice_rough(const struct scheme *scheme, struct conversion *c) {
    for (size_t n = 0; scheme && n < scheme->graph->node_count; n++)
        if (scheme->nodes[n].rough)
            onnx_notice(&c->report, "%s: layers in 8 bits make its indices, which may choose other lines; --exclude keeps layers in float",
                        scheme->graph->nodes[n]->name);
}

/* A sine of steps of a quarter is within an eighth; no average shows that it is worse. */
static void notice_coarse_angles(const struct scheme *scheme, struct conversion *c) {
    const float most = 0.25F;
    for (size_t n = 0; scheme && n < scheme->graph->node_count; n++) {
        const struct onnx_node *node = scheme->graph->nodes[n];
        const bool angle = node_is(node, "Sin") || node_is(node, "Cos") || node_is(node, "Tan");
        const struct scheme_value *x = angle && scheme->nodes[n].role == SCHEME_FUNCTION ? scheme_value(scheme, node->inputs[0]) : NULL;
        if (x && x->quantized && x->scale > most)
            onnx_notice(&c->report, "%s: in 8 bits its angle has steps of %.2g radians; --exclude keeps it, and layers before it, in float",
                        node->name, (double)x->scale);
    }
}

static bool quantize(const struct quantize_call *call, struct work *w, struct failure *failure) {
    struct file_new files[CONVERSION_FILES + 1];
    size_t count = 0;
    if (!conversion_check_files(&call->conversion, &w->conversion, call->qdq, failure) || !make(call, w, failure) ||
        !data_stay(call, w, w->attempts.data, failure))
        return false;
    notice_left_out(&call->conversion, call->qdq, &w->conversion);
    notice_rough(w->quantizer.scheme, &w->conversion);
    notice_coarse_angles(w->quantizer.scheme, &w->conversion);
    if (call->qdq && !(w->qdq = onnx_write(w->attempts.graph, &w->qdq_bytes, failure))) return failure_prefix(failure, call->qdq);
    if (call->conversion.output) count = conversion_files(&call->conversion, &w->conversion, files);
    if (call->qdq) files[count++] = (struct file_new){call->qdq, w->qdq, w->qdq_bytes};
    return file_write_all(files, count, failure);
}

static void print_json(const struct work *w) {
    struct json json = {.file = stdout};
    json_open(&json, NULL);
    conversion_json(&json, &w->conversion);
    json_text(&json, "method", w->quantizer.options.scheme.dynamic ? "dynamic" : range_method_name(w->quantizer.options.method));
    json_integer(&json, "samples", w->data ? (int64_t)quant_data_count(w->data) : 0);
    if (w->data) quant_data_json(w->data, &json);
    max_drop_json(&json, &w->attempts);
    json_close(&json);
}

static int run(const struct quantize_call *call, struct work *w) {
    struct failure failure = {0};
    struct conversion *c = &w->conversion;
    bool done = quantize(call, w, &failure);
    if (!done && failure.status) {
        if (!call->conversion.json) max_drop_print(&w->attempts);
        if (c->report.refusal_count) report_refusals(call->conversion.input, NULL, &c->report);
        return message_failure(&failure);
    }
    if (!done) ends_find(&call->conversion, c);
    if (done) conversion_notices(c);
    if (call->conversion.json) print_json(w);
    if (!done) {
        report_refusals(call->conversion.input, NULL, &c->report);
        ends_print(&call->conversion, c);
        return message_flush() ? STATUS_SYSTEM : STATUS_INPUT;
    }
    if (!call->conversion.json && call->conversion.output) conversion_summary(&call->conversion, c);
    if (!call->conversion.json && call->qdq)
        message_print("%s\n  QDQ form, for ONNX Runtime; opset %d\n", call->qdq, w->attempts.graph->opset);
    if (!call->conversion.json) max_drop_print(&w->attempts);
    return message_flush();
}

int verb_quantize(int argc, char **argv) {
    static struct work w;
    int status;
    const struct quantize_call *call = quantize_call_read(argc, argv, &status);
    if (!call) return status;
    w.quantizer.options = call->options;
    w.attempts.max_drop = call->most_drop;
    status = run(call, &w);
    work_free(&w);
    return status;
}
