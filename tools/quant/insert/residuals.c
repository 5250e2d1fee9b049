/* SPDX-License-Identifier: MIT */
/*
 * Sums that a layer normalization reads, as between the blocks of a transformer. A few channels of theirs are a hundred times as large as
 * others, which one scale for all would take to a few steps: the sum and the mean that is taken of it run in float. What the normalization
 * makes of them goes to layers in bytes, and to the next sum in float (insert.c).
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/quant/insert/place.h"

#include <string.h>

/* Of two of one shape, of which one may be constant, as positions are. */
static bool is_sum(const struct onnx_node *node) {
    if (!graph_is(node, "Add") || node->folded) return false;
    const struct onnx_shape *a = &node->inputs[0]->shape, *b = &node->inputs[1]->shape;
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

/* The mean along the last axis that is subtracted from what it was taken of; NULL: the node does not center. */
static struct onnx_node *mean_of(const struct onnx_node *node) {
    struct onnx_node *mean = graph_is(node, "Sub") && node->inputs[1] ? node->inputs[1]->producer : NULL;
    if (!graph_is(mean, "ReduceMean") || mean->inputs[0] != node->inputs[0]) return NULL;
    const struct onnx_shape *x = &mean->inputs[0]->shape, *y = &mean->outputs[0]->shape;
    return x->rank > 1 && y->rank == x->rank && y->dims[y->rank - 1] == 1 && onnx_elements(y) * x->dims[x->rank - 1] == onnx_elements(x)
               ? mean
               : NULL;
}

void place_residuals(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *mean = scheme->nodes[n].role == SCHEME_FLOAT && !g->nodes[n]->folded ? mean_of(g->nodes[n]) : NULL;
        const struct onnx_node *sum = mean ? mean->inputs[0]->producer : NULL;
        if (!is_sum(sum)) continue;
        scheme->nodes[scheme_node_index(scheme, mean)].role = SCHEME_FLOAT;
        scheme->nodes[scheme_node_index(scheme, sum)].role = SCHEME_FLOAT;
    }
}
