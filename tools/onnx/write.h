/* SPDX-License-Identifier: MIT */
/* From a graph back to a file that ONNX Runtime and onnx.checker take. */
#ifndef MORSEL_TOOLS_ONNX_WRITE_H
#define MORSEL_TOOLS_ONNX_WRITE_H

#include "tools/onnx/graph.h"

/*
 * The graph as an ONNX file: constants as initializers with raw data, value_info for every value whose type and shape are known, the
 * opsets of the graph and of its nodes' domains, the IR version (4 at least: before it, initializers were inputs). Folded nodes are left
 * out. Free with free(). NULL: `failure` says why (one line): something of the file was not read and so cannot be written, or it takes
 * more than the 2 GiB that a protobuf file can have.
 */
uint8_t *onnx_write(const struct onnx_graph *graph, size_t *bytes, struct failure *failure);

#endif
