/* SPDX-License-Identifier: MIT */
/* Runs a network over samples by the loop of workers. */
#include "tools/network/host/over.h"
#include "tools/base/arena.h"
#include <stdlib.h>

struct over;

/* One thread's own. */
struct worker {
    const struct over *over;
    unsigned index;
    size_t sample;
    float **inputs;
    struct network_run *run;
};

struct over {
    const struct quant_data *data;
    over_watch *watch;
    over_sample *after;
    void *context;
    struct worker *workers;
};

static void watch_value(void *context, const struct network_value *value) {
    const struct worker *worker = context;
    worker->over->watch(worker->over->context, worker->index, worker->sample, value->value, value->data, value->count);
}

static bool run_sample(void *context, unsigned index, size_t sample, struct failure *failure) {
    const struct over *over = context;
    struct worker *worker = &over->workers[index];
    worker->sample = sample;
    if (!quant_data_load(over->data, sample, worker->inputs, failure)) return false;
    for (uint32_t i = 0; worker->inputs[i]; i++)
        if (!network_put(worker->run, i, worker->inputs[i], failure)) return false;
    return network_compute(worker->run, over->watch ? watch_value : NULL, worker, failure) &&
           (!over->after || over->after(over->context, index, sample, worker->run, failure));
}

static bool worker_open(struct worker *worker, const struct over *over, const struct network *network, struct failure *failure) {
    size_t inputs = quant_data_inputs(over->data);
    worker->over = over;
    worker->index = (unsigned)(worker - over->workers);
    worker->inputs = must_calloc(inputs + 1, sizeof *worker->inputs);
    for (size_t i = 0; i < inputs; i++) worker->inputs[i] = must_calloc(quant_data_elements(over->data, i), sizeof(float));
    worker->run = network_run_open(network, failure);
    return worker->run != NULL;
}

static void worker_close(struct worker *worker) {
    for (size_t i = 0; worker->inputs && worker->inputs[i]; i++) free(worker->inputs[i]);
    free(worker->inputs);
    network_run_close(worker->run);
}

bool over_data(const struct network *network, const struct quant_data *data, unsigned threads, const char *what, over_watch *watch,
               over_sample *after, void *context, struct failure *failure) {
    struct over over = {.data = data, .watch = watch, .after = after, .context = context};
    size_t samples = quant_data_count(data);
    unsigned count = each_workers(samples, threads);
    bool good = true;
    over.workers = must_calloc(count, sizeof *over.workers);
    for (unsigned i = 0; good && i < count; i++) good = worker_open(&over.workers[i], &over, network, failure);
    good = good && each(samples, count, what, run_sample, &over, failure);
    for (unsigned i = 0; i < count; i++) worker_close(&over.workers[i]);
    free(over.workers);
    return good;
}
