/* SPDX-License-Identifier: MIT */
/*
 * Gemm as layers have it. Alpha and beta go into its constants; what it adds that is no constant is added behind it, and where its second
 * operand is none, it is a MatMul. (MatMul and Add become Gemm when the sum goes into the weights' bias.)
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/linear.h"
#include "tools/optimize/say.h"

static struct onnx_value *product_of_weights(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *y = say(g, node, "Gemm", node->inputs[0], node->inputs[1], &node->outputs[0]->shape);
    struct onnx_node *gemm = y->producer;
    gemm->attributes = onnx_alloc(g, (node->attribute_count + 1) * sizeof *gemm->attributes);
    for (size_t i = 0; i < node->attribute_count; i++) gemm->attributes[gemm->attribute_count++] = node->attributes[i];
    graph_fold(g, gemm);
    return y;
}

static struct onnx_value *product_of_values(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *sides[2];
    for (int i = 0; i < 2; i++)
        sides[i] = onnx_attribute_int(node, i ? "transB" : "transA", 0) ? say_turned(g, node, node->inputs[i]) : node->inputs[i];
    return say_scaled(g, node, say(g, node, "MatMul", sides[0], sides[1], &node->outputs[0]->shape),
                      (double)onnx_attribute_float(node, "alpha", 1));
}

/* One number for each channel, or for all, goes into the weights' bias. */
static bool is_bias(const struct onnx_value *c) {
    return c->constant && (c->shape.rank < 2 || c->shape.dims[0] == 1);
}

static bool change_sum(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_is(node, "Gemm") || node->folded || !onnx_is_checked(node) || node->outputs[0]->type != ONNX_FLOAT) return false;
    struct onnx_value *c = onnx_input(node, 2);
    const bool weights = node->inputs[1]->constant != NULL;
    if (node->outputs[0]->shape.rank != 2 || (weights && (!c || is_bias(c)))) return false;
    struct onnx_value *y = weights ? product_of_weights(g, node) : product_of_values(g, node);
    if (!c) return say_as(g, node, y), true;
    struct onnx_value *inputs[2] = {y, say_scaled(g, node, c, (double)onnx_attribute_float(node, "beta", 1))};
    edit_become(g, node, "Add", "", inputs, 2);
    node->opset = SAY_OPSET;
    return true;
}

static bool change_factors(struct onnx_graph *g, struct onnx_node *node) {
    struct linear l;
    return graph_is(node, "Gemm") && linear_read(node, &l) && (l.gain != 1 || l.bias_gain != 1) && linear_has_room(g, &l) &&
           linear_rewrite(g, &l, NULL, NULL, NULL);
}

int pass_dense(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        changes += change_sum(g, node) || change_factors(g, node);
    }
    return changes;
}
