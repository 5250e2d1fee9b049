/* SPDX-License-Identifier: MIT */
/*
 * Runs an ONNX graph in float on the host: the reference that calibration, quantization and comparison measure by.
 *
 * Every value is an array of floats, row-major as ONNX states its shape. Values of integer type (what QuantizeLinear gives, positions,
 * truth values) are floats that hold integers, so that graphs with QuantizeLinear and DequantizeLinear are simulated exactly; float16 and
 * double are computed in float. Each output is summed up in one fixed order, whatever the CPU: the same bits in every run and thread.
 *
 * The graph is as onnx_infer() or an editor leaves it: shapes are numbers, and nodes stand in an order in which they can run. Only its
 * lists of nodes, inputs and outputs are read, so a graph made of a part of another's nodes serves as well. Nodes read constants, inputs,
 * and outputs of earlier nodes. Values and constants must outlive the executor, the lists need not.
 */
#ifndef MORSEL_TOOLS_FLOAT_EXECUTOR_H
#define MORSEL_TOOLS_FLOAT_EXECUTOR_H

#include "tools/base/failure.h"
#include "tools/onnx/graph.h"

struct executor; /* what to do, with packed weights and evaluated constants: immutable, shared by any number of runs */

/* NULL: `failure` names every node that cannot run, its operator and why, as far as its text goes. */
struct executor *executor_open(const struct onnx_graph *graph, struct failure *failure);
void executor_close(struct executor *executor); /* NULL is legal */

/* The same question alone: a refusal for every node that cannot run. True: there is none. */
bool executor_check(const struct onnx_graph *graph, struct onnx_report *report);

/* Constants of an inferred graph that onnx_infer() leaves to whoever runs it, as the softmax or the resized picture of a constant, are
 * computed here. True: there are more constants than before. Behind edit_clean(), onnx_infer() says what shapes follow from them. */
bool executor_fold(struct onnx_graph *graph);

struct executor_run; /* the memory of one thread: values live from their node to their last reader */
struct executor_run *executor_run_open(const struct executor *executor, struct failure *failure);
void executor_run_close(struct executor_run *run); /* NULL is legal */

/* Called for each input and then for each value as soon as it is computed, but not for what depends on constants alone. `data` is valid
 * during the call only. */
typedef void executor_watch(void *context, const struct onnx_value *value, const float *data, size_t count);

/* inputs[i]: the graph's input i, untouched; it must stay where it is as long as outputs are read. watch may be NULL. False: the data ask
 * for something impossible (a position that is not there). */
bool executor_run(struct executor_run *run, const float *const *inputs, executor_watch *watch, void *context, struct failure *failure);

size_t executor_inputs(const struct executor *executor); /* of the graph */

/* Output i of the graph after a run, valid until the next one. */
const float *executor_output(const struct executor_run *run, size_t i, size_t *count);

/*
 * After a run, of an executor whose graph has all values among its outputs, so that none lies in the place of another: a value takes on
 * other numbers, and what depends on it is computed anew, in memory of its own. Until executor_run_back() outputs are what follows from
 * those numbers. `numbers` must stay where they are up to then.
 */
bool executor_run_with(struct executor_run *run, const struct onnx_value *value, const float *numbers, struct failure *failure);
void executor_run_back(struct executor_run *run);

/* A value of a run, as an output is; NULL: there is none. */
const float *executor_value(const struct executor_run *run, const struct onnx_value *value, size_t *count);

/* Bytes that each run holds: what lives at the same time decides. */
size_t executor_run_bytes(const struct executor *executor);

#endif
