/* SPDX-License-Identifier: MIT */
/* Questions about one node: its attributes and inputs. */
#include "tools/onnx/operator.h"
#include <string.h>

enum { A_FLOAT = 1, A_INT = 2, A_STRING = 3, A_INTS = 7 };

const struct onnx_attribute *onnx_attribute(const struct onnx_node *node, const char *name) {
    for (size_t i = 0; i < node->attribute_count; i++)
        if (!strcmp(node->attributes[i].name, name)) return &node->attributes[i];
    return NULL;
}

int64_t onnx_attribute_int(const struct onnx_node *node, const char *name, int64_t otherwise) {
    const struct onnx_attribute *a = onnx_attribute(node, name);
    return a && a->type == A_INT ? a->i : otherwise;
}

float onnx_attribute_float(const struct onnx_node *node, const char *name, float otherwise) {
    const struct onnx_attribute *a = onnx_attribute(node, name);
    return a && a->type == A_FLOAT ? a->f : otherwise;
}

const char *onnx_attribute_string(const struct onnx_node *node, const char *name, const char *otherwise) {
    const struct onnx_attribute *a = onnx_attribute(node, name);
    return a && a->type == A_STRING ? a->s : otherwise;
}

int onnx_attribute_ints(const struct onnx_node *node, const char *name, int64_t *out, int max) {
    const struct onnx_attribute *a = onnx_attribute(node, name);
    if (!a || a->type != A_INTS) return -1;
    int count = a->count < (size_t)max ? (int)a->count : max;
    for (int i = 0; i < count; i++) out[i] = a->ints[i];
    return a->count <= INT32_MAX ? (int)a->count : INT32_MAX;
}

struct onnx_value *onnx_input(const struct onnx_node *node, int i) {
    return i >= 0 && i < node->input_count ? node->inputs[i] : NULL;
}

const struct onnx_tensor *onnx_input_constant(const struct onnx_node *node, int i) {
    const struct onnx_value *value = onnx_input(node, i);
    return value ? value->constant : NULL;
}

bool onnx_drops(const struct onnx_node *node) {
    if (strcmp(node->op, "Dropout")) return false;
    const struct onnx_tensor *ratio = onnx_input_constant(node, 1), *training = onnx_input_constant(node, 2);
    if (ratio && ratio->count == 1 && onnx_number(ratio, 0) == 0) return false;
    return training && training->count == 1 && onnx_integer(training, 0);
}

int onnx_varying_axis(const struct onnx_tensor *constant, int rank) {
    const struct onnx_shape *shape = &constant->shape;
    int axis = -1;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1) axis = axis == -1 ? rank - shape->rank + i : -2;
    return axis;
}

bool onnx_is_quantized(const struct onnx_graph *graph) {
    /* Refused ones, too: what is quantized in a way that is not read is no float network. */
    for (size_t i = 0; i < graph->node_count; i++)
        if (onnx_operator_of(graph->nodes[i]) && onnx_operator_of(graph->nodes[i])->traits & ONNX_QUANTIZED) return true;
    return false;
}
