/* SPDX-License-Identifier: MIT */
/* From a graph back to a file that ONNX Runtime and onnx.checker take. */
#ifndef MORSEL_TOOLS_ONNX_WRITE_H
#define MORSEL_TOOLS_ONNX_WRITE_H

#include "tools/onnx/graph.h"

/*
 * The graph as an ONNX file. Constants are initializers with raw data, and every value whose type and shape are known has a value_info.
 * Opsets are those of the graph and of its nodes' domains. The IR version is 4 at least: before it, initializers were inputs. Folded nodes
 * are left out. Free with free(). NULL: `failure` says why. Something of the file was not read and so cannot be written, or it passes the 2
 * GiB of a protobuf file.
 */
uint8_t *onnx_write(const struct onnx_graph *graph, size_t *bytes, struct failure *failure);

#endif
