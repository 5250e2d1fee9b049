/* SPDX-License-Identifier: MIT */
/* A copy of a graph: its own values, nodes and lists; names, attributes' contents and constants are the original's. */
#include "tools/optimize/edit.h"
#include "tools/onnx/internal.h"
#include <string.h>

static struct onnx_value *copied(const struct onnx_graph *to, const struct onnx_value *value) {
    return value ? onnx_find(to, value->name) : NULL;
}

static struct onnx_value **copy_list(struct onnx_graph *to, struct onnx_value *const *values, size_t count) {
    struct onnx_value **list = onnx_alloc(to, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) list[i] = copied(to, values[i]);
    return list;
}

/* Names are unique, so the copy of a value is found by its name. */
static void copy_value(struct onnx_graph *to, struct onnx_value *from) {
    struct onnx_value *value = onnx_named(to, from->name);
    *onnx_declared(value) = *onnx_declared(from);
    value->producer = NULL;
    value->lowered = NULL;
    onnx_declared(value)->reads = 0; /* the copy has no notes yet */
}

static struct onnx_node *copy_node(struct onnx_graph *to, const struct onnx_node *from) {
    struct onnx_node *node = onnx_alloc(to, sizeof *node);
    *node = *from;
    node->done = false;
    node->inputs = copy_list(to, from->inputs, (size_t)from->input_count);
    node->outputs = copy_list(to, from->outputs, (size_t)from->output_count);
    node->attributes = onnx_alloc(to, from->attribute_count * sizeof *node->attributes);
    if (from->attribute_count) memcpy(node->attributes, from->attributes, from->attribute_count * sizeof *node->attributes);
    for (int i = 0; i < node->output_count; i++)
        if (from->outputs[i] && from->outputs[i]->producer == from) node->outputs[i]->producer = node;
    return node;
}

struct onnx_graph *edit_copy(const struct onnx_graph *g) {
    struct onnx_graph *to = onnx_new_graph(NULL);
    to->name = g->name;
    to->producer = g->producer;
    to->ir_version = g->ir_version;
    to->opset = g->opset;
    to->floats_meant = g->floats_meant;
    to->numbers_read = g->numbers_read;
    to->numbers_copied = g->numbers_copied;
    to->numbers_tried = g->numbers_tried;
    to->memory->rebound = g->memory->rebound;
    for (size_t i = 0; i < g->value_count; i++) copy_value(to, g->values[i]);
    to->input_count = g->input_count;
    to->output_count = g->output_count;
    to->node_count = to->memory->node_room = g->node_count;
    to->inputs = copy_list(to, g->inputs, g->input_count);
    to->outputs = copy_list(to, g->outputs, g->output_count);
    to->nodes = onnx_alloc(to, g->node_count * sizeof(void *));
    for (size_t i = 0; i < g->node_count; i++) to->nodes[i] = copy_node(to, g->nodes[i]);
    return to;
}
