/* SPDX-License-Identifier: MIT */
/*
 * Roots of sums of squares, as magnitudes of a spectrum inside of the network are (silero-vad): bytes of squares have half the range of
 * what is squared. The root, the sum, the squares and what is moved to them run in float.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/quant/insert/place.h"

enum { WAY_MOST = 8 }; /* nodes between the root and the sum, or a square and the layer */

static struct onnx_value *activation(const struct onnx_node *node, int i) {
    struct onnx_value *value = onnx_input(node, i);
    return value && !value->constant ? value : NULL;
}

static struct onnx_value *moved_from(const struct onnx_node *node) {
    return node && !node->folded && onnx_class_of(node) == ONNX_MOVE ? activation(node, 0) : NULL;
}

/* What a root is of but for moves, a constant added and a bound. */
static struct onnx_value *before_root(const struct onnx_node *node) {
    static const char *const ops[] = {"Add", "Max", "Clip"};
    if (moved_from(node)) return moved_from(node);
    for (size_t i = 0; node && i < sizeof ops / sizeof *ops; i++)
        if (graph_is(node, ops[i]) && (!activation(node, 0) || !activation(node, 1))) return activation(node, activation(node, 0) ? 0 : 1);
    return NULL;
}

static bool is_square(const struct onnx_node *node) {
    double power;
    if (graph_is(node, "Pow")) return activation(node, 0) && graph_scalar(onnx_input(node, 1), &power) && power == 2;
    return graph_is(node, "Mul") && activation(node, 0) && node->inputs[0] == node->inputs[1];
}

/* The square that a value is, but for moves. */
static const struct onnx_node *square_of(const struct onnx_value *value) {
    for (int k = 0; k < WAY_MOST && value && value->producer; k++) {
        if (is_square(value->producer)) return value->producer;
        value = moved_from(value->producer);
    }
    return NULL;
}

static bool sums_squares(const struct onnx_node *node) {
    if (!graph_is(node, "Add") && !graph_is(node, "Sum") && !graph_is(node, "ReduceSum")) return false;
    const int count = graph_is(node, "ReduceSum") ? 1 : node->input_count;
    for (int i = 0; i < count; i++)
        if (!square_of(activation(node, i))) return false;
    return true;
}

/* The sum of squares that a root is of; NULL: it is of something else. */
static const struct onnx_node *sum_of(const struct onnx_node *root) {
    const struct onnx_value *x = activation(root, 0);
    for (int k = 0; k < WAY_MOST && x && x->producer; k++) {
        if (sums_squares(x->producer)) return x->producer;
        x = before_root(x->producer);
    }
    return NULL;
}

static void stay_float(struct scheme *scheme, const struct onnx_node *node) {
    scheme->nodes[scheme_node_index(scheme, node)].role = SCHEME_FLOAT;
}

/* The square, and moves on both sides of it. */
static void stay_float_to_layer(struct scheme *scheme, const struct onnx_value *summed) {
    const struct onnx_node *square = square_of(summed), *node = summed->producer;
    for (; node != square; node = moved_from(node)->producer) stay_float(scheme, node);
    stay_float(scheme, square);
    node = square->inputs[0]->producer;
    for (int k = 0; k < WAY_MOST && moved_from(node); k++) {
        stay_float(scheme, node);
        node = moved_from(node)->producer;
    }
}

void place_magnitudes(struct scheme *scheme) {
    const struct onnx_graph *g = scheme->graph;
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *root = g->nodes[n], *sum = graph_is(root, "Sqrt") ? sum_of(root) : NULL;
        if (!sum) continue;
        for (const struct onnx_node *node = root; node != sum;) {
            stay_float(scheme, node);
            const struct onnx_value *x = node == root ? activation(root, 0) : before_root(node);
            node = x->producer;
        }
        stay_float(scheme, sum);
        for (int i = 0; i < (graph_is(sum, "ReduceSum") ? 1 : sum->input_count); i++) stay_float_to_layer(scheme, sum->inputs[i]);
    }
}
