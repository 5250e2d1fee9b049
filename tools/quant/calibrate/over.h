/* SPDX-License-Identifier: MIT */
/* A float network over samples, in several threads, with progress on the terminal. */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_OVER_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_OVER_H

#include "tools/float/executor.h"
#include "tools/samples/data/data.h"
#include "tools/quant/calibrate/observe.h"

enum { OVER_THREADS_MOST = 256 };

/* Called for each value as executor_watch; `worker` is below the number of threads, and calls of one worker never overlap. */
typedef void over_watch(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count);

/* Called after each sample, with the run's outputs still there. */
typedef void over_sample(void *context, unsigned worker, size_t sample, const struct executor_run *run);

/*
 * Every sample once, in no fixed order: what a caller keeps must not depend on that, or be kept by sample. `what` is for the progress
 * ("pictures"). watch and after may be NULL. False: of the samples that failed the first one's failure, whatever the threads; the rest was
 * not run.
 */
bool over_data(const struct executor *executor, const struct quant_data *data, unsigned threads, const char *what, over_watch *watch,
               over_sample *after, void *context, struct failure *failure);

/*
 * What the graph's values take on over the data; `wanted` as of observer_open(). NULL also where a value is not finite, which the failure
 * names with its node. The same bits whatever the threads.
 */
struct observer *over_observe(const struct onnx_graph *graph, const struct executor *executor, const struct quant_data *data,
                              unsigned threads, const bool *wanted, struct failure *failure);

#endif
