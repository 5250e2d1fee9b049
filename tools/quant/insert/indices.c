/* SPDX-License-Identifier: MIT */
/*
 * Lines of a table by an index that the network computes: bytes in front of it would choose other lines than the float network. All that
 * makes the index runs in float. Layers among it do where they are the lesser part of the network's products; else quantize tells.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/linear.h"
#include "tools/quant/insert/place.h"

/* 1 of so many products may be made in float. */
enum { SHARE = 2 };

static bool is_lookup(const struct onnx_node *node) {
    const struct onnx_value *at = graph_is(node, "Gather") && !node->folded ? onnx_input(node, 1) : NULL;
    const struct onnx_node *cast = at && !at->constant ? at->producer : NULL;
    return graph_is(cast, "Cast") && cast->inputs[0] && cast->inputs[0]->type == ONNX_FLOAT;
}

static double products(struct onnx_node *node) {
    struct linear l;
    if (node->folded || !linear_read(node, &l) || !l.weights->count) return 0;
    const struct onnx_value *rows = l.rows_are_inputs ? node->inputs[0] : node->outputs[0];
    return (double)onnx_elements(&rows->shape) * (double)l.weights->count / (double)(l.rows_are_inputs ? l.in_channels : l.out_channels);
}

static bool is_layer(const struct scheme *scheme, size_t n) {
    return scheme->nodes[n].role == SCHEME_LAYER || scheme_at_run_time(&scheme->options, scheme->graph->nodes[n]);
}

/* What makes the indices of all lookups, back to the network's inputs or to layers. */
static bool *makers(const struct scheme *scheme, bool through_layers) {
    const struct onnx_graph *g = scheme->graph;
    bool *makes = onnx_alloc(scheme->graph, g->node_count * sizeof *makes);
    for (size_t n = g->node_count; n-- > 0;) { /* who makes a value stands in front of who reads it */
        const struct onnx_node *node = g->nodes[n];
        const bool lookup = is_lookup(node), goes_on = makes[n] && (through_layers || !is_layer(scheme, n));
        for (int i = 0; i < node->input_count; i++)
            if ((goes_on || (lookup && i == 1)) && node->inputs[i] && !node->inputs[i]->constant && node->inputs[i]->producer)
                makes[scheme_node_index(scheme, node->inputs[i]->producer)] = true;
    }
    return makes;
}

/* Behind layers that are not in float. */
static void mark_rough(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    bool *rough = onnx_alloc(scheme->graph, g->node_count * sizeof *rough);
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *node = g->nodes[n];
        rough[n] = is_layer(scheme, n);
        for (int i = 0; i < node->input_count; i++) {
            const bool of_rough = node->inputs[i] && node->inputs[i]->producer && !node->inputs[i]->constant &&
                                  rough[scheme_node_index(scheme, node->inputs[i]->producer)];
            rough[n] = rough[n] || of_rough;
            if (of_rough && i == 1 && is_lookup(node)) scheme->nodes[n].rough = true;
        }
    }
}

void place_indices(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    const bool *makes = makers(scheme, true);
    double some = 0, all = 0;
    for (size_t n = 0; n < g->node_count; n++) {
        const double count = products(g->nodes[n]);
        some += makes[n] ? count : 0;
        all += count;
    }
    const bool few = some * SHARE <= all;
    if (!few) makes = makers(scheme, false);
    for (size_t n = 0; n < g->node_count; n++)
        if (makes[n] && scheme->nodes[n].role != SCHEME_NOTHING && (few || !is_layer(scheme, n))) scheme->nodes[n].role = SCHEME_FLOAT;
    mark_rough(scheme);
}
