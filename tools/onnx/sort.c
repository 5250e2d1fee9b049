/* SPDX-License-Identifier: MIT */
/* Which nodes matter, and in which order they can run. */
#include "tools/onnx/internal.h"
#include <stdlib.h>

enum mark { UNSEEN = 0, OPEN, DONE };

/* A depth-first walk without recursion: how far each open node's inputs have been followed. */
struct walk {
    struct onnx_node **stack, **order;
    int *next_input;
    enum mark *marks;
    size_t depth, ordered;
};

/* While sorting, a node is found by its number, which is kept beside it in this table sorted by address. */
struct numbered {
    const struct onnx_node *node;
    size_t number;
};

static int by_address(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static size_t number_of(const struct numbered *table, size_t count, const struct onnx_node *node) {
    struct numbered key = {node, 0};
    const struct numbered *found = bsearch(&key, table, count, sizeof key, by_address);
    return found->number;
}

static void push(struct walk *w, struct onnx_node *node, size_t number) {
    w->marks[number] = OPEN;
    w->next_input[number] = 0;
    w->stack[w->depth++] = node;
}

/* Follows one node to all that it needs. False: a cycle, through the node on top of the stack. */
static bool visit(struct walk *w, const struct numbered *table, size_t count, struct onnx_node *root) {
    size_t first = number_of(table, count, root);
    if (w->marks[first] == UNSEEN) push(w, root, first);
    while (w->depth) {
        struct onnx_node *node = w->stack[w->depth - 1];
        size_t number = number_of(table, count, node);
        if (w->next_input[number] == node->input_count) {
            w->marks[number] = DONE;
            w->order[w->ordered++] = node;
            w->depth--;
            continue;
        }
        const struct onnx_value *value = node->inputs[w->next_input[number]++];
        struct onnx_node *maker = value ? value->producer : NULL;
        if (!maker) continue;
        size_t other = number_of(table, count, maker);
        if (w->marks[other] == OPEN) return false;
        if (w->marks[other] == UNSEEN) push(w, maker, other);
    }
    return true;
}

static bool in_order(const struct onnx_graph *graph, const struct numbered *table) {
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < graph->nodes[i]->input_count; k++) {
            const struct onnx_value *value = graph->nodes[i]->inputs[k];
            if (value && value->producer && number_of(table, graph->node_count, value->producer) >= i) return false;
        }
    return true;
}

/* The walk's order, or the file's own among the nodes that were reached, where that works: people know the file's. */
static void keep_reached(struct onnx_graph *graph, const struct walk *w, const struct numbered *table) {
    bool files_own = in_order(graph, table);
    size_t kept = 0;
    if (files_own)
        for (size_t i = 0; i < graph->node_count; i++) {
            if (w->marks[i] == DONE) graph->nodes[kept++] = graph->nodes[i];
        }
    else
        for (; kept < w->ordered; kept++) graph->nodes[kept] = w->order[kept];
    graph->node_count = kept;
}

bool onnx_sort(struct onnx_graph *graph, struct failure *failure) {
    size_t count = graph->node_count;
    struct numbered *table = onnx_alloc(graph, count * sizeof *table);
    struct walk w = {onnx_alloc(graph, count * sizeof(void *)),
                     onnx_alloc(graph, count * sizeof(void *)),
                     onnx_alloc(graph, count * sizeof(int)),
                     onnx_alloc(graph, count * sizeof(enum mark)),
                     0,
                     0};
    for (size_t i = 0; i < count; i++) table[i] = (struct numbered){graph->nodes[i], i};
    qsort(table, count, sizeof *table, by_address);
    for (size_t i = 0; i < graph->output_count; i++) {
        struct onnx_node *maker = graph->outputs[i]->producer;
        if (maker && !visit(&w, table, count, maker))
            return failure_set(failure, STATUS_INPUT, "node '%s' (%s) needs its own output: the graph has a cycle",
                               w.stack[w.depth - 1]->name, w.stack[w.depth - 1]->op);
    }
    keep_reached(graph, &w, table);
    return true;
}

static bool all_constant(const struct onnx_node *node) {
    bool any = false;
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i] && !node->outputs[i]->constant) return false;
        any = any || node->outputs[i];
    }
    return any;
}

/* Backwards: a node whose outputs nobody reads is dropped, and reads nothing itself; nor does a folded one. */
void onnx_prune(struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->value_count; i++) graph->values[i]->uses = graph->values[i]->is_output;
    size_t first_kept = graph->node_count;
    for (size_t i = graph->node_count; i-- > 0;) {
        struct onnx_node *node = graph->nodes[i];
        bool used = false;
        for (int k = 0; k < node->output_count; k++) used = used || (node->outputs[k] && node->outputs[k]->uses);
        if (!used) continue;
        node->folded = all_constant(node);
        for (int k = 0; k < node->input_count && !node->folded; k++)
            if (node->inputs[k]) node->inputs[k]->uses++;
        graph->nodes[--first_kept] = node;
    }
    size_t kept = graph->node_count - first_kept;
    for (size_t i = 0; i < kept; i++) graph->nodes[i] = graph->nodes[first_kept + i];
    graph->node_count = kept;
}
