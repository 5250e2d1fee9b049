/* SPDX-License-Identifier: MIT */
/* Keeps layers, of detectors other nodes too, in float until accuracy holds, the most harmful ones first. */
#include "tools/verbs/host/max_drop.h"
#include "tools/verbs/host/conversion_rules.h"
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
/* Of a detector: some of them show nothing, and the others a box or two. */
#define RANKING_SAMPLES_BOXES 64

/* Of a detector: one with all in 8 bits, as many as find the number of steps, and the one that was found once more. */
enum { BOXES_ATTEMPTS_MOST = 6 };

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

/* Whether attempts are held against the float network. */
static bool is_measured(const struct attempts *a) {
    return a->eval || (a->rule && a->max_drop >= 0);
}

/* Without --eval a detector is measured on the typical inputs: boxes need no labels. */
static const struct quant_data *measured_on(const struct attempts *a) {
    return a->eval ? a->data : a->quantizer->data;
}

static bool run_reference(struct attempts *a, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    double start = clock_seconds();
    size_t samples = quant_data_count(measured_on(a));
    const struct accuracy_wish wish = {q->graph, quantize_original(q), measured_on(a), !a->rule, a->rule, q->options.threads};
    if (!a->rule) notice_resolution(a, samples);
    progress_say("%zu %ssample%s of %s: the float network runs", samples, a->rule ? "" : "labelled ", samples == 1 ? "" : "s",
                 a->eval ? a->eval : "the typical inputs");
    if (!accuracy_of_float(&a->reference, &wish, failure)) return false;
    if (!a->rule) progress_say("float network: top-1 %.2f %%, %.1f s", 100 * share(a, a->reference.right), clock_seconds() - start);
    else progress_say("float network: %zu boxes, %.1f s", a->reference.box_counts[BOXES_THRESHOLDS / 2], clock_seconds() - start);
    return !a->rule || a->reference.box_counts[BOXES_THRESHOLDS / 2] ||
           failure_set(failure, STATUS_INPUT,
                       "the float network finds no box in %zu sample%s, so that there are none to compare: pictures of what it finds are "
                       "wanted, or another threshold of the answer rule",
                       samples, samples == 1 ? "" : "s");
}

/* As judge.c asks it of a network: all dimensions behind the first but one are 1. */
static bool is_line(const struct onnx_shape *shape) {
    int wide = 0;
    for (int i = 1; i < shape->rank; i++) wide += shape->dims[i] != 1;
    return shape->rank > 0 && wide <= 1;
}

static bool open_labelled(struct attempts *a, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    const struct onnx_shape *out = &q->graph->outputs[0]->shape;
    int64_t width = onnx_elements(out);
    const struct dataset_classes classes = {(uint32_t)width, conversion_label, a->conversion};
    const struct quant_data_wish wish = {
        .paths = &a->eval, .path_count = 1, .rule = a->wish.rule, .classes = &classes, .first = a->eval_limit};
    if (!is_line(out) || width < 1 || width > 1 << 20)
        return failure_set(failure, STATUS_INPUT,
                           "--eval wants a network whose first output is a score for each class, or a detector's answer rule: --answer");
    a->data = quant_data_open(&wish, q->graph, failure);
    return a->data != NULL;
}

static bool open_unlabelled(struct attempts *a, struct failure *failure) {
    const struct quant_data_wish wish = {
        .paths = &a->eval, .path_count = 1, .count = a->eval_limit, .usual = a->eval_limit, .rule = a->wish.rule};
    a->data = quant_data_open(&wish, a->quantizer->graph, failure);
    return a->data != NULL;
}

static bool open_reference(struct attempts *a, struct failure *failure) {
    if (a->eval && !(a->rule ? open_unlabelled : open_labelled)(a, failure)) return false;
    return run_reference(a, failure);
}

/* Before anything is measured: whether it is a detector, by its answer rule. */
static bool find_rule(struct attempts *a, struct failure *failure) {
    const bool detector = a->conversion->answer.record.kind == MORSEL_ANSWER_DETECTIONS;
    if (a->max_drop >= 0 && !a->eval && !detector)
        return failure_set(failure, STATUS_CALL,
                           "--max-drop is measured on labelled pictures: --eval DATASET; of a detector, whose --answer tells boxes, on "
                           "--data or on any pictures of --eval");
    if (!detector || (!a->eval && a->max_drop < 0)) return true;
    size_t count;
    if (!(a->conversion->answer.record.threshold > 0))
        return failure_set(failure, STATUS_INPUT, "the answer rule's threshold is 0, where every candidate is a box: state one above 0");
    uint32_t *words = rules_answer(a->call, a->conversion, &count, failure);
    a->rule = words ? boxes_rule_open(words, count, a->quantizer->graph) : NULL;
    return words != NULL;
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

/* Of a detector the order is that of float_order.h, which wants scales: others are ranked layer by layer. */
static bool is_by_order(const struct attempts *a) {
    return a->rule && !a->quantizer->options.scheme.dynamic;
}

/* Some of the typical inputs in float. */
static bool run_some(struct attempts *a, struct reference *some, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    struct quant_data_wish wish = a->wish;
    const struct quant_data *typical = q->data ? q->data : a->data;
    const size_t most = is_by_order(a) ? RANKING_SAMPLES_BOXES : RANKING_SAMPLES;
    wish.count = quant_data_count(typical) < most ? quant_data_count(typical) : most;
    a->some = quant_data_open(&wish, q->graph, failure);
    const struct accuracy_wish asked = {q->graph, quantize_original(q), a->some, false, a->rule, q->options.threads};
    return a->some && accuracy_of_float(some, &asked, failure);
}

static bool rank_layers(struct attempts *a, const struct reference *some, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    struct progress progress;
    struct scheme *scheme = q->scheme;
    size_t layers = 0;
    a->ranked = onnx_alloc(q->graph, q->graph->node_count * sizeof *a->ranked);
    a->gains = onnx_alloc(q->graph, q->graph->node_count * sizeof *a->gains);
    for (size_t n = 0; n < q->graph->node_count; n++) layers += can_be_float(q->graph, scheme, n);
    progress_say("%s drops by more than %g: each of %zu layers runs in float alone, over %zu of the typical inputs",
                 a->rule ? "F1" : "top-1", a->max_drop, layers, some->samples);
    bool good = sqnr_without(a, some, NULL, &a->base_db, failure);
    progress_start(&progress, "layers tried in float", layers);
    for (size_t n = 0, tried = 0; good && n < q->graph->node_count; n++) {
        double db;
        if (!can_be_float(q->graph, scheme, n)) continue;
        progress_show(&progress, tried++);
        if (sqnr_without(a, some, q->graph->nodes[n]->name, &db, failure))
            insert_ranked(a, q->graph->nodes[n]->name, fmin(db - a->base_db, 1000));
    }
    progress_end(&progress);
    return good;
}

static bool rank_roundings(struct attempts *a, const struct reference *some, struct failure *failure) {
    progress_say("F1 drops by more than %g: each value is rounded alone, over %zu of the typical inputs", a->max_drop, some->samples);
    if (!float_order_find(&a->order, a->quantizer->scheme, some, a->quantizer->options.threads, failure)) return false;
    a->ranked_count = a->order.count;
    return true;
}

static bool rank(struct attempts *a, struct failure *failure) {
    struct reference some = {0};
    bool good = run_some(a, &some, failure) && (is_by_order(a) ? rank_roundings : rank_layers)(a, &some, failure);
    reference_free(&some);
    return good;
}

size_t max_drop_floats(const struct attempts *a, size_t steps) {
    return a->order.count && steps ? a->order.steps[steps - 1].end : steps;
}

const char *const *max_drop_names(const struct attempts *a) {
    return a->order.count ? a->order.names : a->ranked;
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

static size_t attempts_most(const struct attempts *a) {
    return is_by_order(a) ? BOXES_ATTEMPTS_MOST : max_drop_attempts_most(a->ranked_count);
}

static void say_attempt(const struct attempts *a, size_t floats) {
    const char *what = is_by_order(a) ? "node" : "layer";
    if (a->max_drop < 0) return;
    if (a->ranked_count)
        progress_say("attempt %zu of at most %zu, %zu %s%s in float", a->count + 1, attempts_most(a), floats, what, floats == 1 ? "" : "s");
    else progress_say("attempt 1, all layers in 8 bits");
}

static void say_outcome(const struct attempts *a, const struct attempt *made, double seconds) {
    if (a->rule)
        progress_say("quantized network: %zu boxes, F1 %.4f, about the threshold %.4f, %.1f s", made->accuracy.found[BOXES_THRESHOLDS / 2],
                     accuracy_f1(&made->accuracy, &a->reference), 1 - made->drop, seconds);
    else progress_say("quantized network: top-1 %.2f %%, a drop of %g, %.1f s", 100 * share(a, made->accuracy.right), made->drop, seconds);
}

static double drop_of(const struct reference *r, const struct accuracy *made) {
    return r->rule ? 1 - accuracy_f1_about(made, r) : ((double)r->right - (double)made->right) / (double)(r->samples ? r->samples : 1);
}

/* One with the first `steps` of the ranked in float. */
static bool attempt(struct attempts *a, size_t steps, struct failure *failure) {
    struct quantizer *q = a->quantizer;
    double start = clock_seconds();
    struct scheme_options before = q->options.scheme;
    struct attempt *made = &a->list[a->count];
    const size_t floats = max_drop_floats(a, steps);
    if (a->count == ATTEMPTS_MOST) return failure_set(failure, STATUS_INPUT, "%d attempts were made and none was kept", ATTEMPTS_MOST);
    say_attempt(a, floats);
    q->options.scheme.excluded = excluded_with(a, max_drop_names(a), floats);
    q->options.scheme.excluded_count += floats;
    quantize_choose(q);
    bool good = quantize_refine(q, failure);
    q->options.scheme = before;
    onnx_free(a->graph);
    a->graph = good ? insert(q->scheme) : NULL;
    if (!good || ((a->want_blob || is_measured(a)) && !conversion_make(a->call, a->conversion, a->graph, failure))) return false;
    if (!is_measured(a)) return true;
    const struct reference *r = &a->reference;
    if (!accuracy_of_blob(&made->accuracy, r, a->conversion->blob, a->conversion->blob_bytes, q->options.threads, failure)) return false;
    made->steps = steps;
    made->float_count = floats;
    made->drop = drop_of(r, &made->accuracy);
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
    return a->list[a->count - 1].steps == works || attempt(a, works, failure);
}

/* Where most had to be kept in float, it is seldom the layers' fault. */
static void notice_floats(const struct attempts *a) {
    size_t given = a->list[a->chosen].steps;
    if (2 * given > a->ranked_count)
        message_notice("--max-drop %g holds with %zu of %zu layers in float%s: are the data what the network was trained on (--data, "
                       "--picture)? morsel compare shows which layers suffer",
                       a->max_drop, given, a->ranked_count, given == a->ranked_count ? ", which leaves none in 8 bits" : "");
}

/* Twice as many each time, then as few as it holds for. */
static bool search_layers(struct attempts *a, size_t *works, struct failure *failure) {
    size_t fails = 0;
    for (size_t count = 1; !*works && fails < a->ranked_count; count *= 2) {
        count = count < a->ranked_count ? count : a->ranked_count;
        if (!attempt(a, count, failure)) return false;
        *(holds(a) ? works : &fails) = count;
    }
    if (*works && !as_few(a, fails, *works, failure)) return false;
    if (*works) notice_floats(a);
    return true;
}

/* The first step behind `after` that leaves so much of the noise, before the one with the number `end` where there is one. */
static size_t step_leaving(const struct attempts *a, double noise, size_t after, size_t end) {
    size_t step = after + 1;
    while (step + 1 < end && step < a->ranked_count && a->order.steps[step - 1].rest > noise) step++;
    return step;
}

static double noise_left(const struct attempts *a, size_t steps) {
    return steps ? a->order.steps[steps - 1].rest : 1;
}

/* Where that many run in float, 8 bits may save no time. */
static void notice_nodes(const struct attempts *a) {
    const size_t given = a->list[a->chosen].float_count, all = a->quantizer->graph->node_count;
    if (2 * given > all)
        message_notice(
            "--max-drop %g holds with %zu of %zu nodes in float: are the data what the network was trained on (--data, --picture)? "
            "morsel bench tells whether 8 bits still save time",
            a->max_drop, given, all);
}

/* Boxes that come and go are as many as p's errors are large, and noise is their square. First what that says of the noise, then half of
 * what was too much; in the end between what is too much and what is not. */
static bool search_boxes(struct attempts *a, size_t *works, struct failure *failure) {
    const double wanted = a->max_drop / a->list[0].drop;
    double noise = wanted * wanted;
    size_t fails = 0;
    while (fails < a->ranked_count && a->count < BOXES_ATTEMPTS_MOST - 1) {
        const bool last = !*works && a->count == BOXES_ATTEMPTS_MOST - 2; /* all of them, before it is given up */
        const size_t step = last ? a->ranked_count : step_leaving(a, noise, fails, *works ? *works : SIZE_MAX);
        if (!attempt(a, step, failure)) return false;
        *(holds(a) ? works : &fails) = step;
        noise = *works ? sqrt(noise_left(a, fails) * noise_left(a, *works)) : noise_left(a, fails) / 2;
        if (*works && *works - fails <= 1 + *works / 8) break;
    }
    if (*works && a->list[a->count - 1].steps != *works && !attempt(a, *works, failure)) return false;
    if (*works) notice_nodes(a);
    return true;
}

bool max_drop_run(struct attempts *a, struct failure *failure) {
    if (!find_rule(a, failure) || (is_measured(a) && !open_reference(a, failure)) || !attempt(a, 0, failure)) return false;
    if (!is_measured(a) || holds(a)) return true;
    size_t works = 0;
    if (!rank(a, failure) || !(is_by_order(a) ? search_boxes : search_layers)(a, &works, failure)) return false;
    if (works) return true;
    const struct attempt *last = &a->list[a->count - 1];
    return failure_set(failure, STATUS_INPUT,
                       "with %zu %s in float, %s is still %.4f under the float network's, more than --max-drop %g; nothing was written",
                       last->float_count, is_by_order(a) ? "nodes" : "layers, all it has,", a->rule ? "F1" : "top-1", last->drop,
                       a->max_drop);
}

void max_drop_free(struct attempts *a) {
    reference_free(&a->reference);
    quant_data_close(a->data);
    quant_data_close(a->some);
    boxes_rule_close(a->rule);
    float_order_free(&a->order);
    onnx_free(a->graph);
}
