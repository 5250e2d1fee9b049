/* SPDX-License-Identifier: MIT */
/* Cuts a part out of a graph: values by name become its inputs and outputs. */
#include "tools/base/message.h"
#include "tools/onnx/internal.h"
#include <stdio.h>
#include <string.h>

struct cutter {
    struct onnx_graph *graph;
    struct onnx_report *report;
    struct failure *failure;
    const char *last; /* the file's own first output */
};

#define FAIL(c, ...) failure_set((c)->failure, STATUS_CALL, __VA_ARGS__)

/* What a name that is none may have meant: one that is nearly the same, or the first that holds it. */
static const char *near(const struct onnx_graph *graph, const char *name) {
    const char **names = onnx_alloc((struct onnx_graph *)graph, (graph->value_count + graph->node_count + 1) * sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < graph->value_count; i++) names[count++] = graph->values[i]->name;
    for (size_t i = 0; i < graph->node_count; i++) names[count++] = graph->nodes[i]->name;
    const char *found = message_nearest(name, names);
    for (size_t i = 0; i < count && !found; i++)
        if (*name && strstr(names[i], name)) found = names[i];
    return found;
}

static bool unknown(struct cutter *c, const char *option, const char *name) {
    const char *other = near(c->graph, name);
    if (other) return FAIL(c, "%s %.200s: no node and no value has that name; did you mean '%.200s'?", option, name, other);
    return FAIL(c, "%s %.200s: no node and no value has that name; the network as it is ends with '%.200s'", option, name, c->last);
}

static struct onnx_node *node_named(const struct onnx_graph *graph, const char *name) {
    for (size_t i = 0; i < graph->node_count; i++)
        if (!strcmp(graph->nodes[i]->name, name)) return graph->nodes[i];
    return NULL;
}

/* The node, where it is still needed, gets another value in the place of one that is an input now. */
static bool detach(struct cutter *c, struct onnx_value *value) {
    struct onnx_node *node = value->producer;
    int at = 0;
    while (node->outputs[at] != value) at++;
    struct onnx_value *other = onnx_named(c->graph, onnx_text(c->graph, "(output %d of %s)", at, node->name));
    if (other->producer || other->is_input || other->constant || other->uses)
        return FAIL(c, "there is a value named '%.200s', which no exporter writes", other->name);
    other->producer = node;
    node->outputs[at] = other;
    value->producer = NULL;
    return true;
}

static bool begin_at(struct cutter *c, struct onnx_value *value) {
    const struct onnx_declared *declared = onnx_declared(value);
    if (value->is_input) return true;
    if (value->constant || declared->unreadable) return FAIL(c, "--input-node %.200s: it is a constant", value->name);
    if (!detach(c, value)) return false;
    value->is_input = true;
    value->shape = declared->shape;
    value->type = declared->type ? declared->type : ONNX_FLOAT;
    if (!declared->type) onnx_notice(c->report, "input '%s': the file does not state its type, which is taken as float", value->name);
    c->graph->inputs[c->graph->input_count++] = value;
    return true;
}

static bool end_at(struct cutter *c, struct onnx_value *value) {
    if (value->constant || onnx_declared(value)->unreadable) return FAIL(c, "--output-node %.200s: it is a constant", value->name);
    if (!value->is_output) c->graph->outputs[c->graph->output_count++] = value;
    value->is_output = true;
    return true;
}

typedef bool cut_at(struct cutter *c, struct onnx_value *value);

/* A value of that name, or else the node, which stands for those of its outputs that are read. */
static bool cut_named(struct cutter *c, const char *option, const char *name, cut_at *cut) {
    struct onnx_value *value = onnx_find(c->graph, name);
    const struct onnx_node *node = value ? NULL : node_named(c->graph, name);
    if (value) return cut(c, value);
    if (!node || !node->output_count) return unknown(c, option, name);
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] && (!i || node->outputs[i]->uses) && !cut(c, node->outputs[i])) return false;
    return true;
}

/* Room for every value: nodes stand for several. */
static void *room_for_all(const struct cutter *c, struct onnx_value **values, size_t count) {
    struct onnx_value **all = onnx_alloc(c->graph, (c->graph->value_count + count + 1) * sizeof *all);
    if (count) memcpy(all, values, count * sizeof *all);
    return all;
}

/* Inputs that nothing in the graph reads any more are none. */
static bool drop_inputs(struct cutter *c, const struct onnx_names_given *inputs) {
    struct onnx_graph *graph = c->graph;
    size_t kept = 0;
    onnx_count_uses(graph);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct onnx_value *value = onnx_find(graph, inputs->names[i]);
        if (value && !value->uses)
            return FAIL(c, "--input-node %.200s: nothing that leads to an output of the network reads it", value->name);
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        graph->inputs[i]->is_input = graph->inputs[i]->uses != 0;
        if (graph->inputs[i]->is_input) graph->inputs[kept++] = graph->inputs[i];
    }
    graph->input_count = kept;
    return true;
}

bool onnx_cut(struct onnx_graph *graph, const struct onnx_names_given *inputs, const struct onnx_names_given *outputs,
              struct onnx_report *report, struct failure *failure) {
    struct cutter c = {graph, report, failure, graph->outputs[0]->name};
    if (!inputs->count && !outputs->count) return true;
    onnx_count_uses(graph);
    graph->inputs = room_for_all(&c, graph->inputs, graph->input_count);
    for (size_t i = 0; i < inputs->count; i++)
        if (!cut_named(&c, "--input-node", inputs->names[i], begin_at)) return false;
    if (outputs->count) {
        for (size_t i = 0; i < graph->output_count; i++) graph->outputs[i]->is_output = false;
        graph->outputs = room_for_all(&c, NULL, 0);
        graph->output_count = 0;
    }
    for (size_t i = 0; i < outputs->count; i++)
        if (!cut_named(&c, "--output-node", outputs->names[i], end_at)) return false;
    return onnx_sort(graph, failure) && drop_inputs(&c, inputs);
}
