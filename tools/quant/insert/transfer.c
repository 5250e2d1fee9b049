/* SPDX-License-Identifier: MIT */
/* Holds two graphs side by side, node by node and value by value, and hands a scheme over. */
#include "tools/quant/insert/transfer.h"
#include "tools/onnx/internal.h"
#include <string.h>

struct transfer {
    const struct scheme *from;
    const struct onnx_graph *original, *graph;
    size_t *values, *nodes; /* where those of the scheme's graph are in the other */
    struct failure *failure;
};

#define NOWHERE SIZE_MAX
#define FAIL(t, ...) failure_set((t)->failure, STATUS_INPUT, __VA_ARGS__)

/* The names of all values, sorted: many may be there at one size alone, and each of them would be looked for in all. */
static struct onnx_name *sorted_names(struct onnx_graph *room, const struct onnx_graph *graph, size_t *count) {
    struct onnx_name *names = onnx_alloc(room, graph->value_count * sizeof *names);
    for (size_t i = 0; i < graph->value_count; i++) names[i] = (struct onnx_name){graph->values[i]->name, i};
    *count = onnx_sort_names(names, graph->value_count);
    return names;
}

/* Both lists are in nearly the same order: it is looked for from where the one before was found. */
static size_t find_node(const struct onnx_graph *graph, const char *name, size_t near) {
    for (size_t n = 0, i = near; n < graph->node_count; n++, i++)
        if (!strcmp(graph->nodes[i % graph->node_count]->name, name)) return i % graph->node_count;
    return NOWHERE;
}

static bool pair_values(struct transfer *t) {
    const struct onnx_graph *a = t->from->graph;
    size_t count;
    const struct onnx_name *names = sorted_names(t->from->graph, t->graph, &count);
    t->values = onnx_alloc(t->from->graph, a->value_count * sizeof *t->values);
    for (size_t i = 0; i < t->from->value_count; i++) {
        const struct onnx_name *found = onnx_find_name(names, count, a->values[i]->name);
        t->values[i] = found ? found->number : NOWHERE;
        if (!found && !a->values[i]->constant)
            return FAIL(t, "value '%s' is not there at every size: the sizes make other networks of it", a->values[i]->name);
    }
    return true;
}

static bool pair_nodes(struct transfer *t) {
    const struct onnx_graph *a = t->from->graph;
    t->nodes = onnx_alloc(t->from->graph, a->node_count * sizeof *t->nodes);
    bool same = a->node_count == t->graph->node_count;
    for (size_t i = 0, near = 0; same && i < a->node_count; i++) {
        size_t at = t->nodes[i] = find_node(t->graph, a->nodes[i]->name, near);
        same = at != NOWHERE && !strcmp(t->graph->nodes[at]->op, a->nodes[i]->op) &&
               t->graph->nodes[at]->input_count == a->nodes[i]->input_count &&
               t->graph->nodes[at]->output_count == a->nodes[i]->output_count;
        near = at + 1;
    }
    return same || FAIL(t, "the sizes make other nodes of the network");
}

static bool same_tensor(const struct onnx_tensor *a, const struct onnx_tensor *b) {
    return a == b || (a->type == b->type && a->count == b->count && a->shape.rank == b->shape.rank &&
                      !memcmp(a->shape.dims, b->shape.dims, (size_t)(a->shape.rank > 0 ? a->shape.rank : 0) * sizeof *a->shape.dims) &&
                      !memcmp(a->data, b->data, a->count * onnx_type_bytes(a->type)));
}

/* Input i of a pair of nodes. */
static bool hand_over_input(struct transfer *t, const struct onnx_node *a, const struct onnx_node *was, struct onnx_node *b, int i,
                            bool weights) {
    struct onnx_value *x = a->inputs[i], *y = b->inputs[i];
    if (!x || !y) return x == y || FAIL(t, "node '%s' has other inputs at another size", a->name);
    if (!x->constant != !y->constant) return FAIL(t, "node '%s' has other inputs at another size", a->name);
    if (!x->constant) return !strcmp(x->name, y->name) || FAIL(t, "node '%s' has other inputs at another size", a->name);
    if (x->constant == y->constant) return true; /* by an attempt before */
    const struct onnx_tensor *before = was->inputs[i]->constant;
    bool fixed = same_tensor(before, y->constant), kept = same_tensor(before, x->constant);
    if (fixed) y->constant = x->constant;
    if (fixed || (kept && !weights)) return true;
    return FAIL(t, "node '%s' has %s of its own at each size%s", a->name, weights ? "weights" : "constants",
                weights ? "" : ", and equalization changes them: --no-equalization leaves them");
}

static bool hand_over_constants(struct transfer *t) {
    for (size_t n = 0; n < t->from->graph->node_count; n++) {
        const struct onnx_node *a = t->from->graph->nodes[n], *was = t->original->nodes[n];
        for (int i = 0; i < a->input_count; i++)
            if (!hand_over_input(t, a, was, t->graph->nodes[t->nodes[n]], i, i == 1 && t->from->nodes[n].layer)) return false;
    }
    return true;
}

static void hand_over_values(const struct transfer *t, struct scheme *to) {
    for (size_t i = 0; i < to->value_count; i++) to->values[i].group = i;
    for (size_t i = 0; i < t->from->value_count; i++) {
        if (t->values[i] == NOWHERE) continue;
        struct scheme_value *v = &to->values[t->values[i]];
        *v = t->from->values[i];
        v->group = t->values[v->group] == NOWHERE ? t->values[i] : t->values[v->group];
    }
}

static void hand_over_layers(const struct transfer *t, struct scheme *to) {
    to->layer_count = t->from->layer_count;
    to->layers = onnx_alloc(to->graph, to->layer_count * sizeof *to->layers);
    for (size_t i = 0; i < to->layer_count; i++) {
        struct scheme_layer *layer = &to->layers[i];
        *layer = t->from->layers[i];
        layer->node = t->graph->nodes[t->nodes[scheme_node_index(t->from, layer->node)]];
        if (layer->add) layer->add = t->graph->nodes[t->nodes[scheme_node_index(t->from, layer->add)]];
        layer->x = t->values[layer->x];
        layer->out = t->values[layer->out];
    }
    for (size_t n = 0; n < t->from->graph->node_count; n++) {
        struct scheme_node *node = &to->nodes[t->nodes[n]];
        *node = t->from->nodes[n];
        if (node->layer) node->layer = to->layers + (node->layer - t->from->layers);
    }
}

struct scheme *scheme_transfer(const struct scheme *from, const struct onnx_graph *original, struct onnx_graph *graph,
                               struct failure *failure) {
    struct transfer t = {.from = from, .original = original, .graph = graph, .failure = failure};
    if (!pair_values(&t) || !pair_nodes(&t) || !hand_over_constants(&t)) return NULL;
    struct scheme *to = scheme_new(graph, &from->options);
    hand_over_values(&t, to);
    hand_over_layers(&t, to);
    return to;
}
