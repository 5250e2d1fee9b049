/* SPDX-License-Identifier: MIT */
/*
 * Linear attention, as of EfficientViT: a product of two activations, of which one part is divided by another. In bytes small divisors
 * would be zero, and the sums that the divisors are made of share a scale with what is far smaller. The quotient, its operands and the
 * products that both come of run in float.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/quant/insert/place.h"

enum { WAY_MOST = 8 }; /* nodes between a product and the quotient, or the next product */

static struct onnx_value *activation(const struct onnx_node *node, int i) {
    struct onnx_value *value = onnx_input(node, i);
    return value && !value->constant ? value : NULL;
}

static bool is(const struct onnx_node *node, const char *op) {
    return graph_is(node, op) && !node->folded;
}

static bool is_product(const struct onnx_node *node) {
    return is(node, "MatMul") && activation(node, 0) && activation(node, 1);
}

/* What a value is but for moves, and in front of a quotient but for a constant added, a factor or a bound. NULL: something else. */
static struct onnx_value *before(const struct onnx_node *node, bool of_quotient) {
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Clip"};
    if (!node || node->folded) return NULL;
    if (onnx_class_of(node) == ONNX_MOVE) return activation(node, 0);
    for (size_t i = 0; of_quotient && i < sizeof ops / sizeof *ops; i++)
        if (is(node, ops[i]) && (!activation(node, 0) || !activation(node, 1))) return activation(node, activation(node, 0) ? 0 : 1);
    return NULL;
}

/* The product that a value comes of; NULL: none. */
static struct onnx_node *product_of(const struct onnx_value *value, bool of_quotient) {
    for (int k = 0; k < WAY_MOST && value && value->producer; k++) {
        if (is_product(value->producer)) return value->producer;
        value = before(value->producer, of_quotient);
    }
    return NULL;
}

static void stay_float(struct scheme *scheme, const struct onnx_value *value, const struct onnx_node *product, bool of_quotient) {
    for (const struct onnx_node *node = value->producer;; node = before(node, of_quotient)->producer) {
        scheme->nodes[scheme_node_index(scheme, node)].role = SCHEME_FLOAT;
        if (node == product) return;
    }
}

void place_quotients(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *node = g->nodes[n];
        if (!is(node, "Div") || !activation(node, 0) || !activation(node, 1)) continue;
        const struct onnx_node *product = product_of(node->inputs[1], true);
        if (!product || product_of(node->inputs[0], true) != product) continue;
        scheme->nodes[n].role = SCHEME_FLOAT;
        for (int i = 0; i < 2; i++) stay_float(scheme, node->inputs[i], product, true);
        for (int i = 0; i < 2; i++) {
            const struct onnx_node *first = product_of(product->inputs[i], false);
            if (first) stay_float(scheme, product->inputs[i], first, false);
        }
    }
}
