/* SPDX-License-Identifier: MIT */
/*
 * Bounds that are computed are a maximum and a minimum; n / d that is 0 where d is, as TensorFlow's div_no_nan writes it, is
 * n / (d + z) * (1 - z) with z = 1 where d is 0, else 0.
 */
#include "tools/optimize/pass.h"

/* What is above 1 / STEEP counts as no zero. */
#define STEEP 1e30F

static bool computed(const struct onnx_value *bound) {
    return bound && !bound->constant;
}

/* A bound is one number, which takes the shape of x. */
static bool bounds(const struct onnx_value *bound, const struct onnx_value *x) {
    return !bound || (bound->type == ONNX_FLOAT && onnx_elements(&bound->shape) == 1 && bound->shape.rank <= x->shape.rank);
}

static bool change_clip(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *low = onnx_input(node, 1), *high = onnx_input(node, 2), *x = onnx_input(node, 0);
    if (!graph_is(node, "Clip") || node->opset < 11 || !x || x->type != ONNX_FLOAT || (!computed(low) && !computed(high)) ||
        !bounds(low, x) || !bounds(high, x))
        return false;
    struct onnx_value *least[2] = {x, low};
    if (low && high) x = graph_put(g, node, "Max", least, 2, &node->outputs[0]->shape);
    struct onnx_value *most[2] = {x, high ? high : low};
    edit_become(g, node, high ? "Min" : "Max", "", most, 2);
    return true;
}

/* |d| * slope + offset between 0 and 1 */
static struct onnx_value *near_zero(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *d, float slope, float offset) {
    struct onnx_value *size = graph_put(g, node, "Abs", &d, 1, &d->shape);
    struct onnx_value *y = graph_put(g, node, "HardSigmoid", &size, 1, &d->shape);
    edit_attribute_float(g, y->producer, "alpha", slope);
    edit_attribute_float(g, y->producer, "beta", offset);
    return y;
}

static bool change_division(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *condition = onnx_input(node, 0), *otherwise = onnx_input(node, 2);
    const struct onnx_node *equal = condition ? condition->producer : NULL, *div = otherwise ? otherwise->producer : NULL;
    double zero = 1, chosen = 1;
    int constant;
    struct onnx_value *d;
    if (!graph_is(node, "Where") || !graph_is(equal, "Equal") || !graph_is(div, "Div") || otherwise->type != ONNX_FLOAT ||
        !graph_constant_and_other(equal, &constant, &d) || !graph_scalar(equal->inputs[constant], &zero) ||
        !graph_scalar(onnx_input(node, 1), &chosen) || zero != 0 || chosen != 0 || div->inputs[1] != d ||
        !graph_same_shape(otherwise, node->outputs[0]))
        return false;
    struct onnx_value *sum[2] = {d, near_zero(g, node, d, -STEEP, 1)};
    struct onnx_value *share[2] = {div->inputs[0], graph_put(g, node, "Add", sum, 2, &d->shape)};
    struct onnx_value *product[2] = {graph_put(g, node, "Div", share, 2, &otherwise->shape), near_zero(g, node, d, STEEP, 0)};
    edit_become(g, node, "Mul", "", product, 2);
    return true;
}

int pass_choices(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++)
        changes += !graph_node_at(g, i)->folded && (change_clip(g, graph_node_at(g, i)) || change_division(g, graph_node_at(g, i)));
    return changes;
}
