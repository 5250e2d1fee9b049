/* SPDX-License-Identifier: MIT */
/* Nodes that give what they get: their readers read what they read. */
#include "tools/optimize/pass.h"
#include <math.h>
#include <string.h>

/* Whatever their attributes: the same elements in the same order, as long as the shape is the same. */
static bool keeps_order(const struct onnx_node *node) {
    return onnx_has(node, ONNX_KEEPS_ORDER) || (onnx_has(node, ONNX_KEEPS_ONE) && node->input_count == 1);
}

/* Arithmetic with a constant that changes nothing: x + 0, x - 0, x * 1, x / 1, x ^ 1. */
static bool neutral_number(const struct onnx_node *node, struct onnx_value **x) {
    bool sum = graph_is(node, "Add"), product = graph_is(node, "Mul"), right_only = graph_is(node, "Div") || graph_is(node, "Pow");
    bool difference = graph_is(node, "Sub");
    int constant;
    double number;
    if (!(sum || product || right_only || difference) || !graph_constant_and_other(node, &constant, x)) return false;
    if (((right_only || difference) && constant == 0) || !graph_scalar(node->inputs[constant], &number)) return false;
    return number == (sum || difference ? 0 : 1);
}

static bool all_ones(const struct onnx_node *node, const char *attribute, int otherwise) {
    int64_t list[ONNX_MAX_RANK];
    int count = onnx_attribute_ints(node, attribute, list, ONNX_MAX_RANK);
    for (int i = 0; i < count && i < ONNX_MAX_RANK; i++)
        if (list[i] != 1) return false;
    return count >= 0 || otherwise;
}

/* A window of one element, step by step. */
static bool pool_of_one(const struct onnx_node *node) {
    bool second = node->output_count > 1 && node->outputs[1] && node->outputs[1]->uses;
    return (graph_is(node, "MaxPool") || graph_is(node, "AveragePool")) && !second && all_ones(node, "kernel_shape", false) &&
           all_ones(node, "strides", true);
}

/* The same shape with steps of 1 is all of it; as is a slice backwards of dimensions of 1. */
static bool slice_of_all(const struct onnx_node *node) {
    int64_t steps[ONNX_MAX_RANK];
    int count = graph_is(node, "Slice") ? onnx_integers(node, "steps", steps, ONNX_MAX_RANK) : -1;
    for (int i = 0; i < count; i++)
        if (steps[i] != 1) return false;
    return count >= 0;
}

static bool pad_of_nothing(const struct onnx_node *node) {
    int64_t pads[2 * ONNX_MAX_RANK];
    int count = graph_is(node, "Pad") ? onnx_integers(node, "pads", pads, 2 * ONNX_MAX_RANK) : -1;
    for (int i = 0; i < count; i++)
        if (pads[i]) return false;
    return count >= 0;
}

static bool transpose_of_nothing(const struct onnx_node *node) {
    int perm[ONNX_MAX_RANK], rank = graph_is(node, "Transpose") ? node->inputs[0]->shape.rank : -1;
    if (!onnx_permutation(node, rank, perm)) return false;
    for (int i = 0; i < rank; i++)
        if (perm[i] != i) return false;
    return true;
}

/* To the size that is there; by scales only where they are 1, and not where TensorFlow's modes shift it. */
static bool resize_of_nothing(const struct onnx_node *node) {
    if (!graph_is(node, "Resize") || !strncmp(onnx_attribute_string(node, "coordinate_transformation_mode", "half_pixel"), "tf_", 3))
        return false;
    const struct onnx_value *scales = onnx_input(node, node->opset < 11 ? 1 : 2);
    double scale = 1;
    return !scales || (scales->constant && !scales->constant->count) || (graph_scalar(scales, &scale) && scale == 1);
}

/* But for one of pass_ends.c, which is there for infinities. */
static bool clip_of_nothing(const struct onnx_node *node) {
    double low = -INFINITY, high = INFINITY;
    if (!graph_is(node, "Clip") || node->inputs[0]->type != ONNX_FLOAT || onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) return false;
    if (node->opset < 11)
        return !(onnx_attribute_float(node, "min", -INFINITY) > -3.4e38F) && !(onnx_attribute_float(node, "max", INFINITY) < 3.4e38F);
    const struct onnx_value *least = onnx_input(node, 1), *most = onnx_input(node, 2);
    return (!least || graph_scalar(least, &low)) && (!most || graph_scalar(most, &high)) && low < -3.4e38 && high > 3.4e38;
}

/* What the node hands on, or NULL where it does something. */
static struct onnx_value *handed_on(const struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *y = node->output_count ? node->outputs[0] : NULL;
    if (!x || !y || y->constant) return NULL;
    bool nothing = keeps_order(node) || neutral_number(node, &x) || pool_of_one(node) || slice_of_all(node) || pad_of_nothing(node) ||
                   transpose_of_nothing(node) || resize_of_nothing(node) || clip_of_nothing(node) ||
                   (graph_is(node, "Dropout") && graph_inference(node));
    return nothing && x->type == y->type && graph_same_shape(x, y) ? x : NULL;
}

int pass_noops(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        struct onnx_value *x = node->folded ? NULL : handed_on(node);
        changes += x && graph_bypass(g, node, x);
    }
    return changes;
}
