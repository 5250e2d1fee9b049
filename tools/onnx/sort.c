/* SPDX-License-Identifier: MIT */
/* Which nodes matter, and in which order they can run. */
#include "tools/onnx/internal.h"
#include <stdlib.h>

enum mark { UNSEEN = 0, OPEN, DONE };

/* A depth-first walk without recursion: how far each open node's inputs have been followed. Nodes are known by their numbers. */
struct walk {
    struct onnx_node **stack, **order;
    int *next_input;
    enum mark *marks;
    size_t depth, ordered;
};

static void push(struct walk *w, struct onnx_node *node) {
    w->marks[node->number] = OPEN;
    w->next_input[node->number] = 0;
    w->stack[w->depth++] = node;
}

/* Follows one node to all that it needs. False: a cycle, through the node on top of the stack. */
static bool visit(struct walk *w, struct onnx_node *root) {
    if (w->marks[root->number] == UNSEEN) push(w, root);
    while (w->depth) {
        struct onnx_node *node = w->stack[w->depth - 1];
        if (w->next_input[node->number] == node->input_count) {
            w->marks[node->number] = DONE;
            w->order[w->ordered++] = node;
            w->depth--;
            continue;
        }
        const struct onnx_value *value = node->inputs[w->next_input[node->number]++];
        struct onnx_node *maker = value ? value->producer : NULL;
        if (!maker) continue;
        if (w->marks[maker->number] == OPEN) return false;
        if (w->marks[maker->number] == UNSEEN) push(w, maker);
    }
    return true;
}

static bool in_order(const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < graph->nodes[i]->input_count; k++) {
            const struct onnx_value *value = graph->nodes[i]->inputs[k];
            if (value && value->producer && value->producer->number >= i) return false;
        }
    return true;
}

/* The walk's order, or the file's own among the nodes that were reached, where that works: people know the file's. */
static void keep_reached(struct onnx_graph *graph, const struct walk *w) {
    bool files_own = in_order(graph);
    size_t kept = 0;
    if (files_own)
        for (size_t i = 0; i < graph->node_count; i++) {
            if (w->marks[i] == DONE) graph->nodes[kept++] = graph->nodes[i];
        }
    else
        for (; kept < w->ordered; kept++) graph->nodes[kept] = w->order[kept];
    graph->node_count = kept;
}

static bool walk_all(struct onnx_graph *graph, struct walk *w, struct failure *failure) {
    for (size_t i = 0; i < graph->output_count; i++) {
        struct onnx_node *maker = graph->outputs[i]->producer;
        if (maker && !visit(w, maker))
            return failure_set(failure, STATUS_INPUT, "node '%s' (%s) needs its own output: the graph has a cycle",
                               w->stack[w->depth - 1]->name, w->stack[w->depth - 1]->op);
    }
    keep_reached(graph, w);
    return true;
}

/* Every pass sorts: what it takes is given back, and not the graph's. */
bool onnx_sort(struct onnx_graph *graph, struct failure *failure) {
    size_t count = graph->node_count;
    for (size_t i = 0; i < count; i++) graph->nodes[i]->number = i;
    struct walk w = {.stack = must_calloc(count, sizeof(void *)),
                     .order = must_calloc(count, sizeof(void *)),
                     .next_input = must_calloc(count, sizeof(int)),
                     .marks = must_calloc(count, sizeof(enum mark))};
    bool sorted = walk_all(graph, &w, failure);
    free(w.stack);
    free(w.order);
    free(w.next_input);
    free(w.marks);
    return sorted;
}

void onnx_count_uses(struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->value_count; i++) graph->values[i]->uses = graph->values[i]->is_output;
    for (size_t i = 0; i < graph->node_count; i++)
        for (int k = 0; k < graph->nodes[i]->input_count; k++)
            if (graph->nodes[i]->inputs[k]) graph->nodes[i]->inputs[k]->uses++;
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
