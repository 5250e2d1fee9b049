/* SPDX-License-Identifier: MIT */
/* What `morsel convert` says about a network that it does not take. */
#ifndef MORSEL_TOOLS_VERBS_HOST_CONVERT_REPORT_H
#define MORSEL_TOOLS_VERBS_HOST_CONVERT_REPORT_H

#include "tools/onnx/graph.h"

void report_notices(const struct onnx_report *report);

/* A line for each node, then how many of each operator for which reason. Of a file that is of another kind: a line for each node that is
 * malformed, then what kind it is and what to do; not that where a float network is what was asked for: then the graph is NULL. */
void report_refusals(const char *path, const struct onnx_graph *graph, const struct onnx_report *report);

/* Whether scales are found while the network runs: it is neither a float network nor one that can be converted. */
bool report_dynamic(const struct onnx_graph *graph);

#endif
