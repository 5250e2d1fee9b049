/* SPDX-License-Identifier: MIT */
/* Observes a network over samples, with an observer for each thread. */
#include "tools/quant/calibrate/over.h"
#include "tools/network/host/over.h"
#include "tools/onnx/operator.h"
#include "tools/quant/insert/place.h"

static void see(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct observer **observers = context;
    (void)sample;
    observer_see(observers[worker], value, data, count);
}

/* What a mask of infinities was added to is infinite, and so is what the passes put in the place of TopK: log(0) for what is taken. Nodes
 * of that kind stay in float, whatever their range. */
static bool may_be_infinite(const struct onnx_node *node) {
    return place_masks_sum(node) || onnx_attribute_int(node, ONNX_EXACT_MARK, 0);
}

/* Names the first value, in the order of the graph, that held NaN or an infinity and should not. */
static bool all_finite(const struct onnx_graph *graph, struct observer *observer, struct failure *failure) {
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < graph->nodes[i]->output_count; k++) {
            const struct onnx_value *value = graph->nodes[i]->outputs[k];
            const struct observed *seen = value ? observer_of(observer, value) : NULL;
            if (seen && seen->broken && !may_be_infinite(graph->nodes[i]))
                return failure_set(
                    failure, STATUS_INPUT,
                    "node '%.100s' (%s): %llu of %llu numbers of its output '%.100s' are not finite: the float network itself "
                    "fails on these data",
                    graph->nodes[i]->name, graph->nodes[i]->op, (unsigned long long)seen->broken, (unsigned long long)seen->count,
                    value->name);
        }
    return true;
}

struct observer *over_observe(const struct onnx_graph *graph, const struct executor *executor, const struct quant_data *data,
                              unsigned threads, const bool *wanted, struct failure *failure) {
    struct observer *observers[POOL_THREADS_MOST] = {0};
    const struct network network = network_of_executor(executor);
    unsigned count = each_workers(quant_data_count(data), threads);
    for (unsigned i = 0; i < count; i++) observers[i] = observer_open(graph, wanted);
    const char *what = wanted ? "samples, ranges" : "samples, widths of channels";
    bool good = over_data(&network, data, count, what, see, NULL, observers, failure);
    for (unsigned i = 1; i < count; i++) {
        if (good) observer_merge(observers[0], observers[i]);
        observer_close(observers[i]);
    }
    if (good && all_finite(graph, observers[0], failure)) return observers[0];
    observer_close(observers[0]);
    return NULL;
}
