/* SPDX-License-Identifier: MIT */
/* A network over samples, in several threads, with progress on the terminal. */
#ifndef MORSEL_TOOLS_NETWORK_HOST_OVER_H
#define MORSEL_TOOLS_NETWORK_HOST_OVER_H

#include "tools/network/each.h"
#include "tools/network/host/float.h"
#include "tools/samples/data/data.h"

/* Called for each value of a graph in float as executor_watch; `worker` is below the number of threads, and calls of one worker never
 * overlap. */
typedef void over_watch(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count);

/* Called after each sample, with the run's outputs still there. */
typedef bool over_sample(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure);

/*
 * Every sample once, in no fixed order: what a caller keeps must not depend on that, or be kept by sample. `what` is for the progress
 * ("pictures"). watch and after may be NULL. False: as each().
 */
bool over_data(const struct network *network, const struct quant_data *data, unsigned threads, const char *what, over_watch *watch,
               over_sample *after, void *context, struct failure *failure);

#endif
