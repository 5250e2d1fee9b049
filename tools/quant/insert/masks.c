/* SPDX-License-Identifier: MIT */
/*
 * Attention masks: 0 and numbers far below all others, which are added to what a Softmax reads. One scale for both would leave nothing of
 * the scores: the sum and the Softmax run in float. A mask that is no constant comes of the network's inputs; where the Softmax runs in
 * float all the same, a sum of two values does, too: the product in front gives floats at no cost.
 */
#include "tools/quant/insert/place.h"

#include <string.h>

/* Far below any score, and still within what half floats hold, for which many masks are made. */
#define FAR_BELOW (-1000.0)

static bool has_both(const struct onnx_tensor *t) {
    double least = 0, largest = FAR_BELOW;
    for (size_t i = 0; i < t->count; i++) {
        double number = onnx_number(t, i);
        least = number < least ? number : least;
        largest = number > largest ? number : largest;
    }
    return least <= FAR_BELOW && largest > FAR_BELOW / 2;
}

static bool is_mask(const struct onnx_tensor *t) {
    if (!t || t->type != ONNX_FLOAT) return false;
    signed char *mask = (signed char *)&t->mask;
    if (!*mask) *mask = has_both(t) ? 1 : -1;
    return *mask > 0;
}

bool place_masks_sum(const struct onnx_node *node) {
    if (strcmp(node->op, "Add") || *node->domain) return false;
    return is_mask(onnx_input_constant(node, 0)) || is_mask(onnx_input_constant(node, 1));
}

static bool is_sum_of_values(const struct onnx_node *node) {
    return !strcmp(node->op, "Add") && !*node->domain && !onnx_input_constant(node, 0) && !onnx_input_constant(node, 1);
}

void place_masks(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        struct onnx_node *const *readers = g->nodes[n]->folded ? NULL : scheme_readers(scheme, g->nodes[n]->outputs[0]);
        if (!readers || !readers[0] || readers[1] || strcmp(readers[0]->op, "Softmax")) continue;
        enum scheme_role *softmax = &scheme->nodes[scheme_node_index(scheme, readers[0])].role;
        if (!place_masks_sum(g->nodes[n]) && !(*softmax == SCHEME_FLOAT && is_sum_of_values(g->nodes[n]))) continue;
        scheme->nodes[n].role = *softmax = SCHEME_FLOAT;
    }
}
