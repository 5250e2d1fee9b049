/* SPDX-License-Identifier: MIT */
/*
 * Layer normalization as exporters write it: d = x - mean(x); d / sqrt(mean(d * d) + epsilon), then a factor and a term by channel. Squares
 * take twice the bits of what they are squares of, and a root of their mean is divided by: all of it runs in float.
 */
#include "tools/graph/edit.h"
#include "tools/quant/kind.h"
#include "tools/quant/place.h"

#include <string.h>

static bool is(const struct onnx_node *node, const char *op) {
    return node && !node->domain[0] && !strcmp(node->op, op);
}

static const struct onnx_node *producer(const struct onnx_node *node, int i) {
    const struct onnx_value *value = node ? onnx_input(node, i) : NULL;
    return value ? value->producer : NULL;
}

/* The nodes of a normalization whose root is `root`; how many, 0 where it is none. */
static int find_norm(const struct onnx_graph *g, struct onnx_node *root, const struct onnx_node **out) {
    struct onnx_node *readers[2];
    const struct onnx_node *sum = producer(root, 0), *mean = sum;
    if (is(sum, "Add")) /* epsilon */
        mean = producer(sum, onnx_input_constant(sum, 0) ? 1 : 0);
    const struct onnx_node *square = is(mean, "ReduceMean") ? producer(mean, 0) : NULL;
    if (!is(square, "Pow") && !is(square, "Mul"))
        return 0;
    const struct onnx_node *difference = producer(square, 0);
    if (is(square, "Mul") ? square->inputs[0] != square->inputs[1] : !onnx_input_constant(square, 1))
        return 0;
    if (!is(difference, "Sub") || !is(producer(difference, 1), "ReduceMean") || edit_readers(g, root->outputs[0], readers, 2) != 1 ||
        !is(readers[0], "Div") || readers[0]->inputs[0] != difference->outputs[0])
        return 0;
    const struct onnx_node *all[] = {sum, mean, square, difference, root, readers[0]};
    memcpy(out, all, sizeof all);
    return 6;
}

void place_norms(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *norm[6];
        int count = is(g->nodes[n], "Sqrt") ? find_norm(g, g->nodes[n], norm) : 0;
        for (int k = 0; k < count; k++)
            scheme->nodes[scheme_node_index(scheme, norm[k])].role = SCHEME_FLOAT;
        /* The factor and the term behind it. */
        struct onnx_node *next = NULL;
        for (const struct onnx_node *last = count ? norm[5] : NULL; last; last = next) {
            int axis;
            bool one = edit_readers(g, last->outputs[0], &next, 1) == 1 && !last->outputs[0]->is_output;
            if (!one || kind_of(next, &axis) != KIND_FUNCTION || (!is(next, "Mul") && !is(next, "Add")))
                break;
            scheme->nodes[scheme_node_index(scheme, next)].role = SCHEME_FLOAT;
        }
    }
}
