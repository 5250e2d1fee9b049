/* SPDX-License-Identifier: MIT */
/*
 * Normalization as exporters and pass_norms.c write it: d = x, or x - mean(x); d / sqrt(mean(d * d) + epsilon), then a factor and a term.
 * Squares take twice the bits of their roots, and there is a division by the root of their mean: all of it runs in float.
 */
#include "tools/optimize/edit.h"
#include "tools/quant/insert/place.h"

#include <string.h>

static bool is(const struct onnx_node *node, const char *op) {
    return node && !node->domain[0] && !strcmp(node->op, op);
}

static const struct onnx_node *producer(const struct onnx_node *node, int i) {
    const struct onnx_value *value = node ? onnx_input(node, i) : NULL;
    return value ? value->producer : NULL;
}

static bool is_mean(const struct onnx_node *node) {
    return is(node, "ReduceMean") || is(node, "GlobalAveragePool");
}

enum { NODES_MOST = 6 };

/* The nodes of a normalization whose root is `root`, the division last; how many, 0 where it is none. */
static int find_norm(const struct onnx_graph *g, struct onnx_node *root, const struct onnx_node **out) {
    struct onnx_node *division;
    const struct onnx_node *sum = producer(root, 0), *mean = sum;
    if (is(sum, "Add")) /* epsilon */
        mean = producer(sum, onnx_input_constant(sum, 0) ? 1 : 0);
    const struct onnx_node *square = is_mean(mean) ? producer(mean, 0) : NULL;
    if (!is(square, "Pow") && !is(square, "Mul")) return 0;
    if (is(square, "Mul") ? square->inputs[0] != square->inputs[1] : !onnx_input_constant(square, 1)) return 0;
    if (edit_readers(g, root->outputs[0], &division, 1) != 1 || !is(division, "Div") || division->inputs[0] != square->inputs[0]) return 0;
    const struct onnx_node *difference = producer(square, 0);
    bool centred = is(difference, "Sub") && is_mean(producer(difference, 1)); /* else the mean of the squares alone counts */
    const struct onnx_node *all[NODES_MOST] = {sum, mean, square, root, centred ? difference : division, division};
    memcpy(out, all, sizeof all);
    return centred ? NODES_MOST : NODES_MOST - 1;
}

/* A factor, a term, or both, that are constant. */
static bool is_map(const struct onnx_node *node) {
    return ((is(node, "Mul") || is(node, "Add")) && (onnx_input_constant(node, 0) || onnx_input_constant(node, 1))) ||
           is(node, "BatchNormalization");
}

/* The factor or the term behind it, also where rows of groups become channels again in between. */
static struct onnx_node *next_map(const struct onnx_graph *g, const struct onnx_node *last, struct onnx_node **move) {
    struct onnx_node *next = NULL;
    *move = NULL;
    for (int steps = 0; steps < 2; steps++, last = *move = next) {
        if (last->outputs[0]->is_output || edit_readers(g, last->outputs[0], &next, 1) != 1) return NULL;
        if (is_map(next)) return next;
        if (!is(next, "Reshape")) return NULL;
    }
    return NULL;
}

static void stays_float(struct scheme *scheme, const struct onnx_node *node) {
    scheme->nodes[scheme_node_index(scheme, node)].role = SCHEME_FLOAT;
}

void place_norms(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *norm[NODES_MOST];
        struct onnx_node *move;
        int count = is(g->nodes[n], "Sqrt") ? find_norm(g, g->nodes[n], norm) : 0;
        for (int k = 0; k < count; k++) stays_float(scheme, norm[k]);
        for (const struct onnx_node *last = count ? norm[count - 1] : NULL; last && (last = next_map(g, last, &move));) {
            if (move) stays_float(scheme, move);
            stays_float(scheme, last);
        }
    }
}
