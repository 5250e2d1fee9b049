/* SPDX-License-Identifier: MIT */
/* What the values of a float network take on over samples. */
#ifndef MORSEL_TOOLS_QUANT_CALIBRATE_OVER_H
#define MORSEL_TOOLS_QUANT_CALIBRATE_OVER_H

#include "tools/float/executor.h"
#include "tools/samples/data/data.h"
#include "tools/quant/calibrate/observe.h"

/*
 * What the graph's values take on over the data; `wanted` as of observer_open(). NULL also where a value is not finite, which the failure
 * names with its node. The same bits whatever the threads.
 */
struct observer *over_observe(const struct onnx_graph *graph, const struct executor *executor, const struct quant_data *data,
                              unsigned threads, const bool *wanted, struct failure *failure);

#endif
