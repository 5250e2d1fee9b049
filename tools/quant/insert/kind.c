/* SPDX-License-Identifier: MIT */
/* Tells operators apart for quantization, by class and constants. */
#include "tools/quant/insert/kind.h"
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"

#include <string.h>

static bool is_constant(const struct onnx_value *value) {
    return value && value->constant;
}

/* Two operands: a table beside a constant that varies along one axis and does not make the other operand larger. */
static enum kind kind_of_binary(const struct onnx_node *node, int *axis) {
    if (node->input_count != 2 || !node->inputs[0] || !node->inputs[1]) return KIND_UNKNOWN;
    int constant = is_constant(node->inputs[0]) ? 0 : is_constant(node->inputs[1]) ? 1 : -1;
    if (constant < 0) return KIND_PAIR;
    *axis = onnx_varying_axis(node->inputs[constant]->constant, node->outputs[0]->shape.rank);
    bool fits = *axis > -2 && node->inputs[constant]->constant->type == ONNX_FLOAT &&
                graph_same_shape(node->inputs[1 - constant], node->outputs[0]);
    return fits ? KIND_FUNCTION : KIND_PAIR;
}

/* A vector of one number for each output, or one for all. */
static bool is_vector(const struct onnx_value *value, int64_t outputs) {
    if (!value) return true;
    const struct onnx_tensor *t = value->constant;
    return t && t->type == ONNX_FLOAT && (t->count == 1 || ((int64_t)t->count == outputs && t->shape.dims[t->shape.rank - 1] == outputs));
}

static enum kind kind_of_layer(const struct onnx_node *node) {
    const struct onnx_value *w = onnx_input(node, 1), *x = onnx_input(node, 0);
    bool product = !strcmp(node->op, "MatMul"), gemm = !strcmp(node->op, "Gemm");
    if (!w || !x) return KIND_UNKNOWN;
    if (!w->constant) return product ? KIND_PAIR : KIND_UNKNOWN;
    int rank = w->constant->shape.rank;
    if (is_constant(x) || w->constant->type != ONNX_FLOAT || (product && rank != 2)) return product ? KIND_PAIR : KIND_UNKNOWN;
    int64_t outputs = gemm ? w->shape.dims[onnx_attribute_int(node, "transB", 0) ? 0 : 1] : rank < 2 ? 0 : w->shape.dims[0];
    if (!strcmp(node->op, "ConvTranspose")) outputs = rank < 2 ? 0 : w->shape.dims[1] * onnx_attribute_int(node, "group", 1);
    return product || (rank > 1 && is_vector(onnx_input(node, 2), outputs)) ? KIND_LAYER : KIND_UNKNOWN;
}

static enum kind kind_of_function(const struct onnx_node *node, int *axis) {
    if (is_constant(onnx_input(node, 0))) return KIND_UNKNOWN;
    if (!strcmp(node->op, "BatchNormalization")) *axis = 1;
    if (!onnx_operator_of(node)->of_two) return !onnx_has(node, ONNX_BOUND) || kind_is_bound(node) ? KIND_FUNCTION : KIND_UNKNOWN;
    if (!is_constant(onnx_input(node, 1))) return KIND_UNKNOWN;
    *axis = onnx_varying_axis(node->inputs[1]->constant, node->outputs[0]->shape.rank);
    bool fits = *axis > -2 && graph_same_shape(node->inputs[0], node->outputs[0]);
    return fits && node->inputs[1]->constant->type == ONNX_FLOAT ? KIND_FUNCTION : KIND_UNKNOWN;
}

enum kind kind_of(const struct onnx_node *node, int *axis) {
    int ignored;
    axis = axis ? axis : &ignored;
    *axis = -1;
    if (!node->output_count || !node->outputs[0]) return KIND_UNKNOWN;
    switch (onnx_class_of(node)) {
    case ONNX_LAYER: return kind_of_layer(node);
    case ONNX_PAIR: return kind_of_binary(node, axis);
    case ONNX_FUNCTION: return kind_of_function(node, axis);
    case ONNX_POOL: return KIND_POOL;
    case ONNX_MOVE: return node->inputs[0] && node->outputs[0]->type == ONNX_FLOAT ? KIND_MOVE : KIND_UNKNOWN;
    case ONNX_SOFTMAX: return KIND_SOFTMAX;
    case ONNX_JOIN: return KIND_JOIN;
    default: return KIND_UNKNOWN;
    }
}

bool kind_is_bound(const struct onnx_node *node) {
    if (!onnx_has(node, ONNX_BOUND)) return false;
    for (int i = 1; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->constant) return false;
    return true;
}

bool kind_is_bias(const struct onnx_node *node, const struct onnx_value *to) {
    if (strcmp(node->op, "Add") || node->domain[0] || node->input_count != 2 || !node->inputs[0] || !node->inputs[1]) return false;
    const struct onnx_tensor *c = node->inputs[node->inputs[0] == to]->constant;
    int rank = to->shape.rank;
    return c && c->type == ONNX_FLOAT && rank > 0 && c->shape.rank > 0 && c->shape.rank <= rank &&
           (int64_t)c->count == to->shape.dims[rank - 1] && c->shape.dims[c->shape.rank - 1] == to->shape.dims[rank - 1];
}

bool kind_runs_in_float(const struct onnx_node *node, enum kind kind) {
    return kind == KIND_FUNCTION || kind == KIND_SOFTMAX || kind == KIND_JOIN || kind == KIND_MOVE ||
           (kind == KIND_PAIR && strcmp(node->op, "MatMul"));
}
