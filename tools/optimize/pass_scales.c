/* SPDX-License-Identifier: MIT */
/* Products of two activations that are multiplied by numbers before are multiplied behind, by one: a float product does so as it is stored,
 * and then its operands may be read where they lie. */
#include "tools/optimize/optimize.h"
#include "tools/optimize/pass.h"

#include <math.h>

/* What the value is a multiple of, all of it by one number; or the value itself. */
static struct onnx_value *without_number(struct onnx_value *value, double *by) {
    const struct onnx_node *mul = value->producer;
    struct onnx_value *other;
    int constant;
    double number;
    if (!graph_alone(value) || !graph_is(mul, "Mul") || mul->folded || !graph_constant_and_other(mul, &constant, &other)) return value;
    if (!graph_same_shape(other, value) || !graph_scalar(mul->inputs[constant], &number)) return value;
    *by *= number;
    return other;
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    double by = 1;
    if (!graph_is(node, "MatMul") || node->folded || node->inputs[0]->constant || node->inputs[1]->constant) return false;
    struct onnx_value *inputs[2] = {without_number(node->inputs[0], &by), without_number(node->inputs[1], &by)};
    if ((inputs[0] == node->inputs[0] && inputs[1] == node->inputs[1]) || !(fabs(by) > 1e-10 && fabs(by) < 1e10)) return false;
    struct onnx_value *product = graph_put(g, node, "MatMul", inputs, 2, &node->outputs[0]->shape);
    const struct onnx_shape one = {.rank = 0};
    edit_become(g, node, "Mul", "", (struct onnx_value *[]){product, graph_floats(g, node, "scale", &one, &by)}, 2);
    return true;
}

void graph_scale_products(struct onnx_graph *g) {
    bool changed = false;
    for (size_t i = 0; i < g->node_count; i++) changed |= change(g, graph_node_at(g, i));
    if (changed) edit_clean(g);
}
