/* SPDX-License-Identifier: MIT */
/* Graphs inside of nodes, Loop and If, where a network is read and where its shapes are found (flow.c). */
#ifndef MORSEL_TOOLS_ONNX_FLOW_H
#define MORSEL_TOOLS_ONNX_FLOW_H

#include "tools/onnx/internal.h"

enum { ONNX_GRAPH_ATTRIBUTE = 5 };

/* `around`: what it stands in; NULL: the graph itself. NULL: it is damaged, too deep or too much. */
struct onnx_body *onnx_read_body(struct onnx_graph *graph, const uint8_t *bytes, size_t size, const struct onnx_scope *around);
/* How many inputs a node has itself. */
void onnx_body_inputs(struct onnx_attribute *attribute, int count);
/* When all is loaded: nodes read what their graphs read. */
void onnx_read_flow(struct onnx_graph *graph);
/* Behind onnx_sort(): nodes in the place of what is known. False: there is no control flow. */
bool onnx_expand_flow(struct onnx_graph *graph);

/* load.c. A node by its message, whose graphs stand in `around`; a constant by its own. */
bool onnx_load_node(struct onnx_graph *graph, struct onnx_node *node, const Onnx__Node *from, size_t number,
                    const struct onnx_scope *around, struct failure *failure);
bool onnx_load_constant(struct onnx_graph *graph, struct onnx_value *value, const Onnx__Tensor *from, struct failure *failure);
bool onnx_has_source(const struct onnx_value *value); /* a node, an input, or a constant of any type */
/* wire.c. As onnx_check_message(), for a graph inside a node; *taken: of all of them so far. */
bool onnx_check_body(const uint8_t *bytes, size_t size, uint64_t *taken, struct failure *failure);
/* infer.c */
void onnx_infer_node(struct onnx_graph *graph, struct onnx_node *node, struct onnx_report *report);

#endif
