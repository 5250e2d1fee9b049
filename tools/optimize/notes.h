/* SPDX-License-Identifier: MIT */
/*
 * What edit.c notes of a graph between two calls of edit_clean(), so that a change takes as long in a network of 100,000 nodes as in a
 * small one: which nodes read a value, and which names nodes have.
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_NOTES_H
#define MORSEL_TOOLS_OPTIMIZE_NOTES_H

#include "tools/onnx/graph.h"

/* The node reads the value that is this input of it from now on, if any is. */
void edit_note_read(struct onnx_graph *g, struct onnx_node *node, int input);
/* A node and which of its inputs the value is, or was once; the next call gives the next one, and NULL is behind the last. */
struct onnx_node *edit_pop_reader(struct onnx_graph *g, struct onnx_value *value, int *input);
/* The nodes that read the value, one by one, in any order, a node perhaps twice. *at is 0 at first; NULL: there are no more. */
struct onnx_node *edit_next_reader(struct onnx_graph *g, struct onnx_value *value, size_t *at);

/* NULL: no node has the name, or had it since the last edit_clean(). Else the number up to which NAME_2, NAME_3 .. are known to be taken,
 * 0 where nobody asked; it is good until a name is noted. */
unsigned *edit_node_numbered(struct onnx_graph *g, const char *name);
void edit_note_node_name(struct onnx_graph *g, const char *name);

/* Nothing is known any more: lists were changed by others. */
void edit_forget(struct onnx_graph *g);

#endif
