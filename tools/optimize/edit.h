/* SPDX-License-Identifier: MIT */
/*
 * Changes to an ONNX graph that keep it well formed: after each of them producers and counts of uses are right, and names are unique.
 *
 * Nodes may be handed in any order that makes sense while a pass is at work; edit_clean() puts them in one in which they can run. What is
 * cut loose stays readable until the graph is freed: a pass may still hold pointers to it.
 */
#ifndef MORSEL_TOOLS_OPTIMIZE_EDIT_H
#define MORSEL_TOOLS_OPTIMIZE_EDIT_H

#include "tools/onnx/graph.h"
#include "tools/optimize/order.h"

/* A new value; its name is `name`, or NAME_2, NAME_3 ... where that is taken. */
struct onnx_value *edit_value(struct onnx_graph *g, const char *name, enum onnx_type type, const struct onnx_shape *shape);

/* A new constant, zeroed: it is filled through *tensor before anyone else sees it, and never changed after that. */
struct onnx_value *edit_constant(struct onnx_graph *g, const char *name, enum onnx_type type, const struct onnx_shape *shape,
                                 struct onnx_tensor **tensor);

/* A node with these inputs and outputs (NULL: left out; the outputs get it as their producer), in front of `before`, or at the end where
 * that is NULL. Its opset is the graph's for its domain. `name` as for values; NULL: OPERATOR_NUMBER. */
struct onnx_node *edit_node(struct onnx_graph *g, const struct onnx_node *before, const char *op, const char *domain, const char *name,
                            struct onnx_value *const *inputs, int input_count, struct onnx_value *const *outputs, int output_count);

/* The node becomes another operator with these inputs and without attributes, but for ONNX_EXACT_MARK. It keeps its name, its place and
 * its outputs. */
void edit_become(struct onnx_graph *g, struct onnx_node *node, const char *op, const char *domain, struct onnx_value *const *inputs,
                 int input_count);

/* Input i becomes `value` (NULL: left out). The list grows as far as it has to; what is left out at its end is cut off. */
void edit_set_input(struct onnx_graph *g, struct onnx_node *node, int i, struct onnx_value *value);

/*
 * Every node that reads `from` reads `to` instead; where `outputs`, a graph output too. A graph output keeps its name, so the two values
 * exchange theirs. False, and nothing is changed, where both have to keep their names: `from` is a graph output, `to` an input or another
 * output.
 */
bool edit_replace_uses(struct onnx_graph *g, struct onnx_value *from, struct onnx_value *to, bool outputs);

/* The graph output `from` is `to` from now on, under `to`'s own name; readers of `from` stay. */
void edit_replace_output(struct onnx_graph *g, struct onnx_value *from, struct onnx_value *to);

/* Takes a node out of the graph. Its outputs must have no uses any more; they lose their producer. */
void edit_remove_node(struct onnx_graph *g, struct onnx_node *node);

/* Adds an attribute, or replaces the one of that name. */
void edit_attribute_int(struct onnx_graph *g, struct onnx_node *node, const char *name, int64_t value);
void edit_attribute_float(struct onnx_graph *g, struct onnx_node *node, const char *name, float value);
void edit_attribute_ints(struct onnx_graph *g, struct onnx_node *node, const char *name, const int64_t *values, size_t count);
void edit_attribute_string(struct onnx_graph *g, struct onnx_node *node, const char *name, const char *text);
void edit_attribute_drop(struct onnx_node *node, const char *name); /* none of that name: nothing happens */

/* Drops folded nodes and nodes that nothing reads, then values that are left over; sorts; counts uses anew. */
void edit_clean(struct onnx_graph *g);

/* The nodes that read a value, each once, in the graph's order: up to `most` go into list; how many there are. */
int edit_readers(const struct onnx_graph *g, const struct onnx_value *value, struct onnx_node **list, int most);

/* A copy that may be changed alone. It points at the names, attributes and constants of the original, none of which ever changes: the
 * original has to outlive it. Goes with onnx_free(). */
struct onnx_graph *edit_copy(const struct onnx_graph *g);

#endif
