/* SPDX-License-Identifier: MIT */
/* Runs the float network once for each sample, then what depends on a value once for each value. */
#include "tools/quant/rounding_noise.h"
#include "tools/base/arena.h"
#include "tools/network/host/over.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each run holds all values of the network, twice: so many bytes for all runs. */
#define RUNS_BYTES ((size_t)3 << 30)

struct trying {
    const struct scheme *scheme;
    const size_t *values;
    size_t count;
    const struct reference *reference;
    float **rounded; /* of each worker: room for the largest value */
    double *noise;   /* [samples][count], so that sums do not depend on the threads */
};

static void round_value(const struct scheme *s, size_t v, const float *x, size_t count, float *out) {
    const struct scheme_value *as = &s->values[v];
    const float least = (float)(scheme_least(&s->options) - as->zero), most = (float)(scheme_most(&s->options) - as->zero);
    for (size_t i = 0; i < count; i++) out[i] = fmaxf(fminf(rintf(x[i] / as->scale), most), least) * as->scale;
}

static bool try_value(const struct trying *t, unsigned worker, size_t sample, size_t i, struct network_run *run, struct failure *failure) {
    struct executor_run *values = network_executor_run(run);
    const struct onnx_value *value = t->scheme->graph->values[t->values[i]];
    const struct boxes *wanted = &t->reference->boxes[sample];
    struct boxes boxes = {0};
    size_t count;
    const float *x = executor_value(values, value, &count);
    if (!x) return true;
    round_value(t->scheme, t->values[i], x, count, t->rounded[worker]);
    bool good = executor_run_with(values, value, t->rounded[worker], failure);
    good = good && boxes_find_every(t->reference->rule, run, &boxes, failure);
    if (good) t->noise[sample * t->count + i] = boxes_noise(t->reference->rule, &boxes, wanted);
    executor_run_back(values);
    boxes_free(&boxes);
    return good;
}

/* Samples without boxes have nothing to lose. */
static bool try_sample(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure) {
    const struct trying *t = context;
    const struct boxes *wanted = &t->reference->boxes[sample];
    bool good = true;
    if (boxes_noise(t->reference->rule, NULL, wanted) == 0) return true;
    for (size_t i = 0; good && i < t->count; i++) good = try_value(t, worker, sample, i, run, failure);
    return good;
}

/* The same graph, all values of which are outputs, behind its own. */
static struct onnx_graph all_kept(const struct onnx_graph *graph, struct onnx_value **outputs) {
    struct onnx_graph kept = *graph;
    size_t count = 0;
    for (size_t i = 0; i < graph->output_count; i++) outputs[count++] = graph->outputs[i];
    for (size_t n = 0; n < graph->node_count; n++)
        for (int k = 0; k < graph->nodes[n]->output_count; k++)
            if (graph->nodes[n]->outputs[k]) outputs[count++] = graph->nodes[n]->outputs[k];
    kept.outputs = outputs;
    kept.output_count = count;
    return kept;
}

static size_t most_outputs(const struct onnx_graph *graph) {
    size_t count = graph->output_count;
    for (size_t n = 0; n < graph->node_count; n++) count += (size_t)graph->nodes[n]->output_count;
    return count;
}

static bool try_all(struct trying *t, const struct executor *executor, unsigned threads, struct failure *failure) {
    const struct network network = network_of_executor(executor);
    const size_t bytes = 2 * executor_run_bytes(executor);
    unsigned workers = each_workers(t->reference->samples, threads);
    while (workers > 1 && workers * bytes > RUNS_BYTES) workers--;
    size_t most = 0;
    for (size_t i = 0; i < t->count; i++) {
        const size_t elements = (size_t)onnx_elements(&t->scheme->graph->values[t->values[i]]->shape);
        most = elements > most ? elements : most;
    }
    t->rounded = must_calloc(workers, sizeof *t->rounded);
    for (unsigned i = 0; i < workers; i++) t->rounded[i] = must_calloc(most + 1, sizeof(float));
    bool good = over_data(&network, t->reference->data, workers, "samples, each value rounded alone", NULL, try_sample, t, failure);
    for (unsigned i = 0; i < workers; i++) free(t->rounded[i]);
    free(t->rounded);
    return good;
}

bool rounding_noise(const struct scheme *scheme, const size_t *values, size_t count, const struct reference *reference, unsigned threads,
                    double *noise, struct failure *failure) {
    struct trying t = {.scheme = scheme, .values = values, .count = count, .reference = reference};
    struct onnx_value **outputs = must_calloc(most_outputs(scheme->graph) + 1, sizeof *outputs);
    const struct onnx_graph kept = all_kept(scheme->graph, outputs);
    struct executor *executor = executor_open(&kept, failure);
    t.noise = must_calloc(reference->samples * count + 1, sizeof *t.noise);
    bool good = executor && try_all(&t, executor, threads, failure);
    for (size_t i = 0; i < count; i++) {
        noise[i] = 0;
        for (size_t k = 0; k < reference->samples; k++) noise[i] += t.noise[k * count + i];
    }
    executor_close(executor);
    free(outputs);
    free(t.noise);
    return good;
}
