/* SPDX-License-Identifier: MIT */
/*
 * A float network in fewer operators that compute the same: passes over the graph, in the order of one table, until none finds anything.
 * Results stay the same but for the rounding of floats; what is folded is computed in double.
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_OPTIMIZE_H
#define MORSEL_TOOLS_OPTIMIZE_OPTIMIZE_H

#include "tools/onnx/graph.h"

enum { GRAPH_PASSES = 24 };
struct graph_pass_done {
    const char *name, *what; /* "pads", "zeros of Pad become the padding of windows" */
    int changes;
};

/* The graph comes from onnx_infer(). What each pass did goes to `done`. */
void graph_optimize_counted(struct onnx_graph *g, struct graph_pass_done done[GRAPH_PASSES]);
/* The same; a notice for each pass that did something, where `report` is not NULL. */
void graph_optimize(struct onnx_graph *g, struct onnx_report *report);

/* Whether the last of these ended, and the report refuses the network, because decompositions made it longer than any blob. */
bool graph_outgrown(const struct onnx_graph *g);

/* Before that, of networks whose products of two activations stay in float: numbers that these are multiplied by come behind them. */
void graph_scale_products(struct onnx_graph *g);

/* Only what stands for several operators of ONNX, as an Attention, for runs in float. */
void graph_unfuse(struct onnx_graph *g);
/* Whether a pass says a window over three dimensions in windows over two. */
bool graph_is_volume(const struct onnx_node *node);

/* Only what blobs have no form for, of a quantized graph: float16, normalizations, reductions. */
void graph_decompose(struct onnx_graph *g, struct onnx_report *report);

#endif
