/* SPDX-License-Identifier: MIT */
/* All stages of quantizing in their order, and what each leaves to the next. */
#include "tools/quant/quantize.h"
#include "tools/float/executor.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/linear.h"
#include "tools/optimize/optimize.h"
#include "tools/quant/equalize/equalize.h"
#include "tools/quant/calibrate/over.h"
#include "tools/quant/insert/place.h"
#include "tools/quant/round/refine.h"
#include "tools/base/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ODD_SAMPLES = 8, ODD_TIMES = 32 };

/* Each layer gets weights of its own, and many may read one constant: a small file would take gigabytes. Told before any are made. */
enum { LEAST_WEIGHTS = 5 << 20, WEIGHTS_OF_A_NUMBER = 64 }; /* an STFT of 2,048 numbers has 4.2 million */

static bool weights_fit(const struct onnx_graph *g, struct failure *failure) {
    const size_t room = onnx_room(g, LEAST_WEIGHTS, WEIGHTS_OF_A_NUMBER, SIZE_MAX);
    size_t left = room, layers = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct linear l;
        if (!linear_read(g->nodes[i], &l)) continue;
        layers++;
        if (l.weights->count > left)
            return failure_set(failure, STATUS_INPUT,
                               "%zu layer%s more than %zu numbers of weights: too many for what the file holds; a shorter sequence of a "
                               "recurrent layer that is unrolled, and a shorter STFT, have fewer",
                               layers, layers == 1 ? " has" : "s have", room);
        left -= l.weights->count;
    }
    return true;
}

bool quantize_prepare(struct quantizer *q, struct failure *failure) {
    size_t refused = q->report->refusal_count;
    if (q->options.scheme.dynamic) graph_scale_products(q->graph);
    graph_optimize(q->graph, q->report);
    if (graph_outgrown(q->graph) || !weights_fit(q->graph, failure)) return false;
    if (!executor_check(q->graph, q->report) || q->report->refusal_count > refused) return false;
    q->executor = executor_open(q->graph, failure);
    return q->executor != NULL;
}

static struct observer *observe_all(const struct quantizer *q, struct failure *failure) {
    return over_observe(q->graph, q->executor, q->data, q->options.threads, NULL, failure);
}

/* The graph changes where it has outliers, and is observed anew then. */
static bool split_outliers(struct quantizer *q, struct observer **observer, struct failure *failure) {
    struct onnx_graph *given = edit_copy(q->graph);
    q->outliers = outliers_split(q->graph, &q->options.scheme, *observer);
    if (!q->outliers.count) {
        onnx_free(given);
        return true;
    }
    onnx_notice(q->report, "outliers: channels behind Gelu that are far larger than others are split into parts (%zu)", q->outliers.parts);
    q->given = given;
    executor_close(q->executor);
    q->executor = executor_open(q->graph, failure);
    observer_close(*observer);
    *observer = NULL;
    if (!q->executor || !(q->original_executor = executor_open(given, failure))) return false;
    *observer = observe_all(q, failure);
    return *observer != NULL;
}

bool quantize_equalize(struct quantizer *q, struct failure *failure) {
    if (q->options.keep_channels) return true;
    struct observer *observer = observe_all(q, failure);
    if (!observer || !split_outliers(q, &observer, failure)) return false;
    q->original = edit_copy(q->graph);
    q->equalized = equalize(q->graph, &q->options.scheme, observer);
    if (!q->equalized) {
        q->observer = observer; /* all that quantize_observe() would see */
        return true;
    }
    observer_close(observer);
    executor_close(q->executor);
    q->executor = executor_open(q->graph, failure);
    if (!q->original_executor) q->original_executor = executor_open(q->original, failure);
    return q->executor && q->original_executor;
}

const struct executor *quantize_original(const struct quantizer *q) {
    return q->original_executor ? q->original_executor : q->executor;
}

/* The values whose range a scheme asks for. What is excluded may break a chain of functions, the middle of which is quantized then: the
 * scheme without exclusions does not know of that. Layers that are kept in float later break none. */
static bool *wanted_values(const struct quantizer *q) {
    const struct scheme_options all = {0};
    const struct scheme *whole = place(q->graph, &all), *given = place(q->graph, &q->options.scheme);
    bool *wanted = onnx_alloc(q->graph, q->graph->value_count * sizeof *wanted);
    for (size_t i = 0; i < q->graph->value_count; i++)
        wanted[i] = q->graph->values[i]->type == ONNX_FLOAT && (whole->values[i].quantized || given->values[i].quantized);
    return wanted;
}

/* One sample that goes far beyond the others makes the ranges that all of them get. The average of samples' ends tells: it hardly has such
 * a sample in it. */
static void notice_odd_sample(const struct quantizer *q, const struct onnx_value *input) {
    const struct observed *seen = observer_of(q->observer, input);
    if (!seen || seen->samples < ODD_SAMPLES) return;
    double most = fmax((double)seen->high, -(double)seen->low), usual = fmax(seen->mean_high, -seen->mean_low);
    if (most > usual * fmin((double)seen->samples / 2, ODD_TIMES))
        message_notice("one of the %llu samples for input '%s' goes up to %.3g, and %.3g is their average: ranges follow that one, "
                       "and the others get few of the 256 steps; leave it out if no such input is meant",
                       (unsigned long long)seen->samples, input->name, most, usual);
}

bool quantize_observe(struct quantizer *q, struct failure *failure) {
    if (!q->observer) q->observer = over_observe(q->graph, q->executor, q->data, q->options.threads, wanted_values(q), failure);
    for (size_t i = 0; q->observer && i < q->graph->input_count; i++) notice_odd_sample(q, q->graph->inputs[i]);
    return q->observer != NULL;
}

struct choosing {
    const struct quantizer *q;
    const struct scheme *scheme;
};

/* A copy's values stand in the places of the original's, which were observed. */
static void seen_range(void *context, const struct onnx_value *value, float *low, float *high) {
    const struct choosing *c = context;
    bool symmetric = c->scheme->options.symmetric;
    const struct observed *seen = observer_of(c->q->observer, c->q->graph->values[scheme_index(c->scheme, value)]);
    struct range range = range_sane(0, 1, symmetric, 256);
    if (seen) range = range_of(seen, c->q->options.method, c->q->options.percentile, symmetric, 256);
    *low = range.low;
    *high = range.high;
}

struct scheme *quantize_scheme(struct quantizer *q, struct onnx_graph *graph, const struct scheme_options *options) {
    struct scheme *scheme = place(graph, options);
    struct choosing c = {q, scheme};
    if (!options->dynamic) scheme_set_ranges(scheme, seen_range, &c);
    scheme_make_layers(scheme);
    return scheme;
}

void quantize_choose(struct quantizer *q) {
    q->scheme = quantize_scheme(q, q->graph, &q->options.scheme);
}

bool quantize_refine(struct quantizer *q, struct failure *failure) {
    const struct quantize_options *o = &q->options;
    if (o->scheme.dynamic) return true; /* there are no samples */
    const struct refine refine = {q->scheme, q->executor, q->data, o->threads, o->round_most, o->keep_biases, REFINE_BYTES};
    return refine_layers(&refine, failure);
}

void quantize_close(struct quantizer *q) {
    executor_close(q->executor);
    executor_close(q->original_executor);
    onnx_free(q->original);
    onnx_free(q->given);
    observer_close(q->observer);
    q->executor = q->original_executor = NULL;
    q->original = q->given = NULL;
    q->observer = NULL;
}
