/* SPDX-License-Identifier: MIT */
/* Keeps layers in float until accuracy holds, the most harmful ones first. */
#include "tools/verbs/host/max_drop.h"
#include "tools/base/clock.h"
#include "tools/optimize/edit.h"
#include "tools/lower/lower.h"
#include "tools/onnx/operator.h"
#include "tools/net/plan/plan.h"
#include "tools/base/message.h"
#include "tools/base/progress.h"
#include "tools/quant/insert/insert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many typical inputs tell what a layer does to the outputs. */
#define RANKING_SAMPLES 32

enum { LISTED_MOST = 20 };

static double share(const struct attempts *a, size_t right) {
    return (double)right / (double)(a->reference.samples ? a->reference.samples : 1);
}

/* A drop of less than one sample is a drop of none; the smallest that is more, up to the sixth digit. */
static void notice_resolution(const struct attempts *a, size_t samples) {
    double least = ceil(1e6 / (double)samples) / 1e6;
    if (a->max_drop > 0 && a->max_drop * (double)samples < 1)
        message_notice("--max-drop %g: one of %zu labelled samples is a drop of %.3g, so that this allows none, as 0 does; the smallest "
                       "value that means more is %g, and more samples tell smaller drops",
                       a->max_drop, samples, 1 / (double)samples, least);
}

static bool run_reference(struct attempts *a, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    double start = clock_seconds();
    size_t samples = quant_data_count(a->data);
    notice_resolution(a, samples);
    progress_say("%zu labelled sample%s of %s: the float network runs", samples, samples == 1 ? "" : "s", a->eval);
    if (!accuracy_of_float(&a->reference, q->graph, quantize_original(q), a->data, true, q->options.threads, failure)) return false;
    progress_say("float network: top-1 %.2f %%, %.1f s", 100 * share(a, a->reference.right), clock_seconds() - start);
    return true;
}

/* As judge.c asks it of a network: all dimensions behind the first but one are 1. */
static bool is_line(const struct onnx_shape *shape) {
    int wide = 0;
    for (int i = 1; i < shape->rank; i++) wide += shape->dims[i] != 1;
    return shape->rank > 0 && wide <= 1;
}

static bool open_reference(struct attempts *a, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    const struct onnx_shape *out = &q->graph->outputs[0]->shape;
    int64_t width = onnx_elements(out);
    const struct dataset_classes classes = {(uint32_t)width, conversion_label, a->conversion};
    const struct quant_data_wish wish = {
        .paths = &a->eval, .path_count = 1, .rule = a->wish.rule, .classes = &classes, .first = a->eval_limit};
    if (!is_line(out) || width < 1 || width > 1 << 20)
        return failure_set(failure, STATUS_INPUT, "--eval wants a network whose first output is a score for each class");
    a->data = quant_data_open(&wish, q->graph, failure);
    return a->data && run_reference(a, failure);
}

/* The caller's exclusions and these. */
static const char **excluded_with(struct attempts *a, const char *const *names, size_t count) {
    const struct scheme_options *o = &a->quantizer->options.scheme;
    const char **list = onnx_alloc(a->quantizer->graph, (o->excluded_count + count) * sizeof *list);
    for (size_t i = 0; i < o->excluded_count + count; i++) list[i] = i < o->excluded_count ? o->excluded[i] : names[i - o->excluded_count];
    return list;
}

/* --- ranking --- */

/* The outputs' SQNR with one more layer in float; false where that cannot be lowered. */
static bool sqnr_without(struct attempts *a, const struct reference *some, const char *name, double *db, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    struct scheme_options options = q->options.scheme;
    struct onnx_report report = {0};
    struct accuracy accuracy = {0};
    struct blob_extras extras = {.strip = true};
    struct onnx_graph *copy = edit_copy(q->graph);
    options.excluded = excluded_with(a, &name, name ? 1 : 0);
    options.excluded_count += name ? 1 : 0;
    struct onnx_graph *graph = insert(quantize_scheme(q, copy, &options));
    struct net *net = lower(graph, &report);
    size_t bytes = 0;
    uint8_t *blob = NULL;
    if (net) {
        net->no_streaming = true;
        blob = plan_arena(net) ? blob_write(net, &extras, &bytes) : NULL;
    }
    bool good = blob && accuracy_of_blob(&accuracy, some, blob, bytes, q->options.threads, failure);
    *db = accuracy.sqnr_db;
    free(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    onnx_free(copy);
    return good;
}

static void insert_ranked(struct attempts *a, const char *name, double gain) {
    size_t at = a->ranked_count++;
    for (; at > 0 && a->gains[at - 1] < gain; at--) {
        a->gains[at] = a->gains[at - 1];
        a->ranked[at] = a->ranked[at - 1];
    }
    a->gains[at] = gain;
    a->ranked[at] = name;
}

/* What can be kept in float: layers, and what else computes in integers and has a float form. */
static bool can_be_float(const struct onnx_graph *graph, const struct scheme *scheme, size_t n) {
    const enum scheme_role role = scheme->nodes[n].role;
    return scheme->nodes[n].layer || (role == SCHEME_INTEGER && strcmp(graph->nodes[n]->op, "MatMul"));
}

static bool rank(struct attempts *a, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    struct reference some = {0};
    struct quant_data_wish wish = a->wish;
    struct progress progress;
    const struct quant_data *typical = q->data ? q->data : a->data;
    wish.count = quant_data_count(typical) < RANKING_SAMPLES ? quant_data_count(typical) : RANKING_SAMPLES;
    a->ranked = onnx_alloc(q->graph, q->graph->node_count * sizeof *a->ranked);
    a->gains = onnx_alloc(q->graph, q->graph->node_count * sizeof *a->gains);
    a->some = quant_data_open(&wish, q->graph, failure);
    struct scheme *scheme = q->scheme;
    size_t layers = 0;
    for (size_t n = 0; n < q->graph->node_count; n++) layers += can_be_float(q->graph, scheme, n);
    progress_say("top-1 drops by more than %g: each of %zu layers runs in float alone, over %zu of the typical inputs", a->max_drop, layers,
                 wish.count);
    bool good = a->some && accuracy_of_float(&some, q->graph, quantize_original(q), a->some, false, q->options.threads, failure) &&
                sqnr_without(a, &some, NULL, &a->base_db, failure);
    progress_start(&progress, "layers tried in float", layers);
    for (size_t n = 0, tried = 0; good && n < q->graph->node_count; n++) {
        double db;
        if (!can_be_float(q->graph, scheme, n)) continue;
        progress_show(&progress, tried++);
        if (sqnr_without(a, &some, q->graph->nodes[n]->name, &db, failure))
            insert_ranked(a, q->graph->nodes[n]->name, fmin(db - a->base_db, 1000));
    }
    progress_end(&progress);
    reference_free(&some);
    return good;
}

/* --- attempts --- */

/*
 * At most so many attempts with n ranked layers: one with none of them; with 1, 2, 4 ... n, which are 1 + ceil(log2(n)) numbers; between
 * the last two of these, at most n / 2 apart, halving; and the number that was found once more.
 */
static size_t max_drop_attempts_most(size_t n) {
    size_t doublings = 0;
    while (n > (size_t)1 << doublings) doublings++;
    return 3 + doublings + (doublings ? doublings - 1 : 0);
}

static void say_attempt(const struct attempts *a, size_t float_count) {
    if (a->max_drop < 0) return;
    if (a->ranked_count)
        progress_say("attempt %zu of at most %zu, %zu layer%s in float", a->count + 1, max_drop_attempts_most(a->ranked_count), float_count,
                     float_count == 1 ? "" : "s");
    else progress_say("attempt 1, all layers in 8 bits");
}

static void say_outcome(const struct attempts *a, const struct attempt *made, double seconds) {
    progress_say("quantized network: top-1 %.2f %%, a drop of %g, %.1f s", 100 * share(a, made->accuracy.right), made->drop, seconds);
}

/* One with the first `float_count` of the ranked layers in float. */
static bool attempt(struct attempts *a, size_t float_count, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    double start = clock_seconds();
    struct scheme_options before = q->options.scheme;
    struct attempt *made = &a->list[a->count];
    if (a->count == ATTEMPTS_MOST) return failure_set(failure, STATUS_INPUT, "%d attempts were made and none was kept", ATTEMPTS_MOST);
    say_attempt(a, float_count);
    q->options.scheme.excluded = excluded_with(a, a->ranked, float_count);
    q->options.scheme.excluded_count += float_count;
    quantize_choose(q);
    bool good = quantize_refine(q, failure);
    q->options.scheme = before;
    onnx_free(a->graph);
    a->graph = good ? insert(q->scheme) : NULL;
    if (!good || ((a->want_blob || a->eval) && !conversion_make(a->call, a->conversion, a->graph, failure))) return false;
    if (!a->eval) return true;
    const struct reference *r = &a->reference;
    if (!accuracy_of_blob(&made->accuracy, r, a->conversion->blob, a->conversion->blob_bytes, q->options.threads, failure)) return false;
    made->float_count = float_count;
    made->drop = ((double)r->right - (double)made->accuracy.right) / (double)(r->samples ? r->samples : 1);
    made->blob_bytes = a->conversion->blob_bytes;
    made->arena_bytes = conversion_arena(a->conversion);
    a->chosen = a->count++;
    say_outcome(a, made, clock_seconds() - start);
    return true;
}

static bool holds(const struct attempts *a) {
    return a->max_drop < 0 || a->list[a->count - 1].drop <= a->max_drop;
}

/* From the first number of layers that fails and the first that holds to the smallest that holds. */
static bool as_few(struct attempts *a, size_t fails, size_t works, struct failure *failure) {
    while (works - fails > 1) {
        size_t middle = fails + (works - fails) / 2;
        if (!attempt(a, middle, failure)) return false;
        *(holds(a) ? &works : &fails) = middle;
    }
    return a->list[a->count - 1].float_count == works || attempt(a, works, failure);
}

/* Where most had to be kept in float, it is seldom the layers' fault. */
static void notice_floats(const struct attempts *a) {
    size_t given = a->list[a->chosen].float_count;
    if (2 * given > a->ranked_count)
        message_notice("--max-drop %g holds with %zu of %zu layers in float%s: are the data what the network was trained on (--data, "
                       "--picture)? morsel compare shows which layers suffer",
                       a->max_drop, given, a->ranked_count, given == a->ranked_count ? ", which leaves none in 8 bits" : "");
}

bool max_drop_run(struct attempts *a, struct failure *failure) {
    if ((a->eval && !open_reference(a, failure)) || !attempt(a, 0, failure)) return false;
    if (!a->eval || holds(a)) return true;
    if (!rank(a, failure)) return false;
    size_t fails = 0, works = 0;
    for (size_t count = 1; !works && fails < a->ranked_count; count *= 2) {
        count = count < a->ranked_count ? count : a->ranked_count;
        if (!attempt(a, count, failure)) return false;
        *(holds(a) ? &works : &fails) = count;
    }
    if (works && !as_few(a, fails, works, failure)) return false;
    if (works) {
        notice_floats(a);
        return true;
    }
    return failure_set(failure, STATUS_INPUT,
                       "with all of its %zu layers in float, top-1 is still %.4f under the float network's, more than --max-drop %g; "
                       "nothing was written",
                       a->ranked_count, a->list[a->count - 1].drop, a->max_drop);
}

void max_drop_free(struct attempts *a) {
    reference_free(&a->reference);
    quant_data_close(a->data);
    quant_data_close(a->some);
    onnx_free(a->graph);
}

/* --- report --- */

/* Layers kept in float for --max-drop, and those that the caller left in float. */
static void floats_json(struct json *json, const struct attempts *a) {
    const struct scheme *scheme = a->quantizer ? a->quantizer->scheme : NULL;
    size_t given = a->count ? a->list[a->chosen].float_count : 0;
    json_open_array(json, "layers_float");
    for (size_t i = 0; i < given; i++) json_text(json, NULL, a->ranked[i]);
    for (size_t n = 0; scheme && n < scheme->graph->node_count; n++) {
        const struct onnx_node *node = scheme->graph->nodes[n];
        bool listed = scheme->nodes[n].role != SCHEME_FLOAT || scheme->nodes[n].layer;
        for (size_t i = 0; i < given; i++) listed = listed || !strcmp(a->ranked[i], node->name);
        if (onnx_class_of(node) == ONNX_LAYER && !listed) json_text(json, NULL, node->name);
    }
    json_close_array(json);
}

void max_drop_json(struct json *json, const struct attempts *a) {
    const struct attempt *chosen = &a->list[a->chosen];
    bool measured = a->count > 0;
    json_integer(json, "eval_samples", measured ? (int64_t)a->reference.samples : 0);
    json_number(json, "float_top1", measured ? share(a, a->reference.right) : (double)NAN);
    json_number(json, "int8_top1", measured ? share(a, chosen->accuracy.right) : (double)NAN);
    json_number(json, "drop", measured ? chosen->drop : (double)NAN);
    json_number(json, "changed", measured ? (double)chosen->accuracy.changed : (double)NAN);
    json_number(json, "sqnr_db", measured ? chosen->accuracy.sqnr_db : (double)NAN);
    floats_json(json, a);
    json_open_array(json, "attempts");
    for (size_t i = 0; i < a->count; i++) {
        const struct attempt *one = &a->list[i];
        json_open_flat(json, NULL);
        json_integer(json, "layers_float", (int64_t)one->float_count);
        json_number(json, "top1", share(a, one->accuracy.right));
        json_number(json, "drop", one->drop);
        json_integer(json, "changed", (int64_t)one->accuracy.changed);
        json_number(json, "sqnr_db", one->accuracy.sqnr_db);
        json_integer(json, "blob_bytes", (int64_t)one->blob_bytes);
        json_integer(json, "arena_bytes", one->arena_bytes);
        json_number(json, "ms", one->accuracy.run_ms);
        json_close(json);
    }
    json_close_array(json);
}

/* What the figures mean, and how far those of other samples may be from them. Top-1 differs by answers that changed alone. */
static void print_errors(const struct attempts *a, const struct attempt *chosen) {
    double n = (double)(a->reference.samples ? a->reference.samples : 1), p = share(a, a->reference.right);
    message_print("points: how much more top-1 than the float network's; changed: answers that are not its own; ms: of one run in\n"
                  "one thread, the shortest on this machine. Standard error of so many samples: %.2f points of top-1, at most %.2f of the "
                  "difference\n",
                  100 * sqrt(p * (1 - p) / n), 100 * sqrt((double)(chosen->accuracy.changed ? chosen->accuracy.changed : 1)) / n);
}

void max_drop_print(const struct attempts *a) {
    if (!a->count) return;
    const struct attempt *chosen = &a->list[a->chosen];
    message_print("\n%zu samples, float network: top-1 %.2f %%\n", a->reference.samples, 100 * share(a, a->reference.right));
    message_print("float layers    top-1 %%   points  changed  SQNR dB  blob bytes arena bytes        ms\n");
    for (size_t i = 0; i < a->count; i++) {
        const struct attempt *one = &a->list[i];
        message_print("%-14zu %8.2f %+8.2f %8zu %8.2f %11zu %11u %9.3f%s\n", one->float_count, 100 * share(a, one->accuracy.right),
                      0 - 100 * one->drop, one->accuracy.changed, one->accuracy.sqnr_db, one->blob_bytes, one->arena_bytes,
                      one->accuracy.run_ms, i == a->chosen && a->count > 1 ? "  <" : "");
    }
    print_errors(a, chosen);
    for (size_t i = 0; i < chosen->float_count && i < LISTED_MOST; i++)
        message_print("float: %s (alone: %+.2f dB)\n", a->ranked[i], a->gains[i]);
    if (chosen->float_count > LISTED_MOST) message_print("float: %zu others, which --json lists\n", chosen->float_count - LISTED_MOST);
}
