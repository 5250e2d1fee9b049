/* SPDX-License-Identifier: MIT */
/*
 * The order of a graph's nodes while a pass changes it. One long array would move at every change: in a network of 100,000 nodes that
 * costs more than all else. So the first change opens the list into blocks, and edit_settle() puts it back into graph->nodes, which is
 * NULL in between: passes ask graph_node_at().
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_ORDER_H
#define MORSEL_TOOLS_OPTIMIZE_ORDER_H

#include "tools/onnx/graph.h"

/* Node i of node_count, whether the list is open or not. One after the other they cost nothing. */
struct onnx_node *graph_node_at(const struct onnx_graph *g, size_t i);

/* In front of `before`; at the end where that is NULL or stands in no list. */
void edit_order_insert(struct onnx_graph *g, const struct onnx_node *before, struct onnx_node *node);
/* The node stands in the list. */
void edit_order_remove(struct onnx_graph *g, const struct onnx_node *node);

/* graph->nodes holds the list again. */
void edit_settle(struct onnx_graph *g);

#endif
