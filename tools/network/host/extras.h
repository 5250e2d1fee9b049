/* SPDX-License-Identifier: MIT */
/* An ONNX file, and how rules and labels go with it. */
#ifndef MORSEL_TOOLS_NETWORK_HOST_EXTRAS_H
#define MORSEL_TOOLS_NETWORK_HOST_EXTRAS_H

#include "core/format.h"
#include "tools/base/failure.h"
#include "tools/onnx/graph.h"
#include "tools/samples/rules/answer_rule.h"

/* Reads an ONNX file. NULL: `failure` says why that cannot be done, also what to do with a blob. */
struct onnx_graph *extras_load(const char *path, struct failure *failure);

/* Says what the rule makes of pictures and what the network's first input is; always false. */
bool extras_rule_misfits(const struct morsel_blob_picture *rule, const struct onnx_graph *graph, struct failure *failure);

/* A notice for inputs whose first dimension is more than 1 because the file says so. */
void extras_check_batch(const struct onnx_graph *graph, struct onnx_report *report);

/* False: more labels than the first output has classes. Notices of fewer, and of labels that are blank. */
bool extras_check_labels(const char *path, char *const *labels, size_t count, const struct onnx_graph *graph, struct onnx_report *report,
                         struct failure *failure);

/* Outputs become what the answer rule's head tells of, which exporters write otherwise: a detector's levels become one, and boxes that it
 * sorts out itself are left to the rule. Graph and shapes as after onnx_infer(). */
bool extras_shape_answer(struct onnx_graph *graph, const struct answer_rule *rule, struct onnx_report *report, struct failure *failure);

#endif
