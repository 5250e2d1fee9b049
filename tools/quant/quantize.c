/* SPDX-License-Identifier: MIT */
#include "tools/quant/quantize.h"
#include "tools/float/executor.h"
#include "tools/graph/optimize.h"
#include "tools/quant/over.h"
#include "tools/quant/place.h"

#include <stdlib.h>
#include <string.h>

bool quantize_prepare(struct quantizer *q, struct failure *failure) {
    size_t refused = q->report->refusal_count;
    graph_optimize(q->graph, q->report);
    if (!executor_check(q->graph, q->report) || q->report->refusal_count > refused)
        return false;
    q->executor = executor_open(q->graph, failure);
    return q->executor != NULL;
}

/* The values whose range a scheme asks for, with whatever options: those of the default scheme. */
static bool *wanted_values(const struct quantizer *q) {
    const struct scheme_options all = {0};
    struct scheme *scheme = place(q->graph, &all);
    bool *wanted = onnx_alloc(q->graph, q->graph->value_count * sizeof *wanted);
    for (size_t i = 0; i < q->graph->value_count; i++)
        wanted[i] = q->graph->values[i]->type == ONNX_FLOAT && (scheme->values[i].watched || scheme->values[i].quantized);
    return wanted;
}

bool quantize_observe(struct quantizer *q, struct failure *failure) {
    q->observer = over_observe(q->graph, q->executor, q->data, q->options.threads, wanted_values(q), failure);
    return q->observer != NULL;
}

static void seen_range(void *context, const struct onnx_value *value, float *low, float *high) {
    const struct quantizer *q = context;
    const struct observed *seen = observer_of(q->observer, value);
    struct range range = range_sane(0, 1, q->options.scheme.symmetric, 256);
    if (seen)
        range = range_of(seen, q->options.method, q->options.percentile, q->options.scheme.symmetric, 256);
    *low = range.low;
    *high = range.high;
}

void quantize_choose(struct quantizer *q) {
    q->scheme = place(q->graph, &q->options.scheme);
    scheme_set_ranges(q->scheme, seen_range, q);
    scheme_make_layers(q->scheme);
}

void quantize_close(struct quantizer *q) {
    executor_close(q->executor);
    observer_close(q->observer);
    q->executor = NULL;
    q->observer = NULL;
}
