/* SPDX-License-Identifier: MIT */
#include "tools/verbs/host/eval_float.h"
#include "tools/base/clock.h"
#include "tools/verbs/host/conversion.h"
#include "tools/float/executor.h"
#include "tools/samples/data/data.h"
#include "tools/quant/calibrate/over.h"
#include "tools/network/scores.h"

struct job {
    struct conversion conversion;
    struct executor *executor;
    struct quant_data *data;
    size_t classes;
    struct eval_counts counts[OVER_THREADS_MOST]; /* by worker */
};

static bool open_network(struct job *job, const struct eval_float_call *call, struct failure *failure) {
    const struct conversion_call read = {.input = call->path, .picture = call->picture, .labels = call->labels, .batch = 1};
    if (!call->picture) return failure_set(failure, STATUS_CALL, "an ONNX file has no picture rule: give one by --picture RULE.json");
    if (!conversion_read(&read, &job->conversion, failure)) return false;
    const struct onnx_graph *graph = job->conversion.graph;
    if (graph->input_count != 1 || graph->output_count < 1)
        return failure_set(failure, STATUS_INPUT, "%s has %zu inputs and %zu outputs; accuracy is measured on networks with one input",
                           call->path, graph->input_count, graph->output_count);
    int64_t classes = onnx_elements(&graph->outputs[0]->shape);
    if (classes < 1 || classes > 1 << 20)
        return failure_set(failure, STATUS_INPUT, "%s: its first output is no list of classes", call->path);
    job->classes = (size_t)classes;
    job->executor = executor_open(graph, failure);
    return job->executor || failure_prefix(failure, call->path);
}

static bool open_data(struct job *job, const struct eval_float_call *call, struct failure *failure) {
    const struct dataset_classes classes = {(uint32_t)job->classes, conversion_label, &job->conversion};
    const struct quant_data_wish wish = {
        .paths = &call->dataset, .path_count = 1, .first = call->limit, .rule = job->conversion.extras.picture, .classes = &classes};
    job->data = quant_data_open(&wish, job->conversion.graph, failure);
    for (size_t i = 0; job->data && i < quant_data_count(job->data); i++)
        if (quant_data_class(job->data, i) >= job->classes)
            return failure_set(failure, STATUS_INPUT, "the dataset has class %u, the network's output %zu classes",
                               quant_data_class(job->data, i), job->classes);
    return job->data != NULL;
}

static void judge(void *context, unsigned worker, size_t sample, const struct executor_run *run) {
    struct job *job = context;
    struct eval_counts *counts = &job->counts[worker];
    size_t count;
    const float *scores = executor_output(run, 0, &count);
    size_t rank = scores_rank(scores, count, quant_data_class(job->data, sample));
    counts->images++;
    counts->top1 += rank < 1;
    counts->top5 += rank < 5;
}

bool eval_float(const struct eval_float_call *call, struct eval_counts *counts, struct failure *failure) {
    static struct job job;
    bool good = open_network(&job, call, failure) && open_data(&job, call, failure);
    double start = clock_seconds();
    good = good && over_data(job.executor, job.data, call->threads, "pictures in float", NULL, judge, &job, failure);
    *counts = (struct eval_counts){.seconds = clock_seconds() - start};
    for (size_t i = 0; i < OVER_THREADS_MOST; i++) {
        counts->images += job.counts[i].images;
        counts->top1 += job.counts[i].top1;
        counts->top5 += job.counts[i].top5;
    }
    quant_data_close(job.data);
    executor_close(job.executor);
    conversion_free(&job.conversion);
    return good;
}
