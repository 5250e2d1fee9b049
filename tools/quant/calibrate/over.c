/* SPDX-License-Identifier: MIT */
#include "tools/quant/calibrate/over.h"
#include "tools/base/progress.h"
#include "tools/quant/insert/place.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct over;

/* One thread's own. */
struct worker {
    struct over *over;
    unsigned index;
    size_t sample; /* in work, or the one that failed */
    float **inputs;
    struct executor_run *run;
    bool failed;
    struct failure failure;
    pthread_t thread;
};

struct over {
    const struct executor *executor;
    const struct quant_data *data;
    over_watch *watch;
    over_sample *after;
    void *context;
    atomic_size_t next, done;
    atomic_bool stop;
    unsigned count;
    struct worker *workers;
};

static void watch_value(void *context, const struct onnx_value *value, const float *data, size_t count) {
    const struct worker *worker = context;
    worker->over->watch(worker->over->context, worker->index, worker->sample, value, data, count);
}

static bool run_sample(struct worker *worker) {
    const struct over *over = worker->over;
    if (!quant_data_load(over->data, worker->sample, worker->inputs, &worker->failure) ||
        !executor_run(worker->run, (const float *const *)worker->inputs, over->watch ? watch_value : NULL, worker, &worker->failure))
        return false;
    if (over->after) over->after(over->context, worker->index, worker->sample, worker->run);
    return true;
}

/* Takes samples until there are none. One that fails stops all from taking more; those before it were taken already and are finished, so
 * that the first of all failures is among those found. */
static void work(struct worker *worker, struct progress *progress) {
    struct over *over = worker->over;
    size_t count = quant_data_count(over->data);
    while (!atomic_load(&over->stop) && (worker->sample = atomic_fetch_add(&over->next, 1)) < count) {
        if (!run_sample(worker)) {
            worker->failed = true;
            atomic_store(&over->stop, true);
            return;
        }
        size_t done = atomic_fetch_add(&over->done, 1) + 1;
        if (progress) progress_show(progress, done);
    }
}

static void *work_thread(void *context) {
    work(context, NULL);
    return NULL;
}

/* Worker 0 is this thread. Where a thread cannot be started the others do its part. */
static void run_workers(struct over *over, const char *what) {
    struct progress progress;
    unsigned started = 1;
    progress_start(&progress, what, quant_data_count(over->data));
    while (started < over->count && pthread_create(&over->workers[started].thread, NULL, work_thread, &over->workers[started]) == 0)
        started++;
    work(&over->workers[0], &progress);
    for (unsigned i = 1; i < started; i++) pthread_join(over->workers[i].thread, NULL);
    progress_end(&progress);
}

static bool worker_open(struct worker *worker, struct over *over, unsigned index, struct failure *failure) {
    size_t inputs = quant_data_inputs(over->data);
    worker->over = over;
    worker->index = index;
    if (!(worker->inputs = calloc(inputs + 1, sizeof *worker->inputs)))
        return failure_memory(failure, (inputs + 1) * sizeof *worker->inputs);
    for (size_t i = 0; i < inputs; i++) {
        size_t bytes = quant_data_elements(over->data, i) * sizeof(float);
        if (!(worker->inputs[i] = malloc(bytes + 1))) return failure_memory(failure, bytes);
    }
    worker->run = executor_run_open(over->executor, failure);
    return worker->run != NULL;
}

static void worker_close(struct worker *worker) {
    for (size_t i = 0; worker->inputs && worker->inputs[i]; i++) free(worker->inputs[i]);
    free(worker->inputs);
    executor_run_close(worker->run);
}

static bool first_failure(const struct over *over, struct failure *failure) {
    const struct worker *first = NULL;
    for (unsigned i = 0; i < over->count; i++) {
        const struct worker *worker = &over->workers[i];
        if (worker->failed && (!first || worker->sample < first->sample)) first = worker;
    }
    if (first) *failure = first->failure;
    return first;
}

bool over_data(const struct executor *executor, const struct quant_data *data, unsigned threads, const char *what, over_watch *watch,
               over_sample *after, void *context, struct failure *failure) {
    struct over over = {.executor = executor, .data = data, .watch = watch, .after = after, .context = context};
    size_t samples = quant_data_count(data);
    over.count = threads < 1 ? 1 : threads < OVER_THREADS_MOST ? threads : OVER_THREADS_MOST;
    over.count = over.count > samples && samples ? (unsigned)samples : over.count;
    over.workers = calloc(over.count, sizeof *over.workers);
    bool good = over.workers || failure_memory(failure, over.count * sizeof *over.workers);
    for (unsigned i = 0; good && i < over.count; i++) good = worker_open(&over.workers[i], &over, i, failure);
    if (good) {
        run_workers(&over, what);
        good = !first_failure(&over, failure);
    }
    for (unsigned i = 0; over.workers && i < over.count; i++) worker_close(&over.workers[i]);
    free(over.workers);
    return good;
}

/* --- Observers --- */

static void see(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct observer **observers = context;
    (void)sample;
    observer_see(observers[worker], value, data, count);
}

/* Names the first value, in the order of the graph, that held NaN or an infinity; what a mask of infinities was added to may. */
static bool all_finite(const struct onnx_graph *graph, struct observer *observer, struct failure *failure) {
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < graph->nodes[i]->output_count; k++) {
            const struct onnx_value *value = graph->nodes[i]->outputs[k];
            const struct observed *seen = value ? observer_of(observer, value) : NULL;
            if (seen && seen->broken && !place_masks_sum(graph->nodes[i]))
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
    struct observer *observers[OVER_THREADS_MOST] = {0};
    unsigned count = threads < 1 ? 1 : threads < OVER_THREADS_MOST ? threads : OVER_THREADS_MOST;
    count = quant_data_count(data) < count ? (unsigned)quant_data_count(data) : count;
    bool good = true;
    for (unsigned i = 0; good && i < count; i++) good = (observers[i] = observer_open(graph, wanted, failure)) != NULL;
    const char *what = wanted ? "samples, ranges" : "samples, widths of channels";
    good = good && over_data(executor, data, count, what, see, NULL, observers, failure);
    for (unsigned i = 1; i < count; i++) {
        if (good) observer_merge(observers[0], observers[i]);
        observer_close(observers[i]);
    }
    if (good && all_finite(graph, observers[0], failure)) return observers[0];
    observer_close(observers[0]);
    return NULL;
}
