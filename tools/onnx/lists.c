/* SPDX-License-Identifier: MIT */
/* Lists of integers, which operators take as an attribute in older opsets and as an input in newer ones. Every room reads them here, so
 * that all see what shape inference checked. */
#include "tools/onnx/operator.h"
#include <string.h>

/* Where the operator has its list; NULL: it is an attribute in every opset. */
static const struct onnx_list_input *list_input(const struct onnx_node *node, const char *name) {
    const struct onnx_operator *op = onnx_operator_of(node);
    for (const struct onnx_list_input *list = op ? op->lists : NULL; list && list->name; list++)
        if (!strcmp(list->name, name)) return list;
    return NULL;
}

static int from_attribute(const struct onnx_node *node, const char *name, int64_t *out, int max) {
    int count = onnx_attribute_ints(node, name, out, max);
    return count > max ? ONNX_NO_LIST : count < 0 ? 0 : count;
}

/* What ONNX has for lists. Bytes would be what some quantization left, and be known only once passes have computed it. */
static bool lists_integers(enum onnx_type type) {
    return type == ONNX_INT64 || type == ONNX_INT32;
}

int onnx_integers(const struct onnx_node *node, const char *name, int64_t *out, int max) {
    const struct onnx_list_input *list = list_input(node, name);
    const struct onnx_value *value = list ? onnx_input(node, list->input) : NULL;
    if (!value) return list && node->opset >= list->from_opset ? 0 : from_attribute(node, name, out, max);
    const struct onnx_tensor *tensor = value->constant;
    if (!tensor) return value->shape.rank > 1 || (value->type && !lists_integers(value->type)) ? ONNX_NO_LIST : ONNX_LATE_LIST;
    if (tensor->shape.rank > 1 || tensor->count > (size_t)max || !lists_integers(tensor->type)) return ONNX_NO_LIST;
    for (size_t i = 0; i < tensor->count; i++) out[i] = onnx_integer(tensor, i);
    return (int)tensor->count;
}

bool onnx_list_is_input(const struct onnx_node *node, const char *name) {
    const struct onnx_list_input *list = list_input(node, name);
    return list && node->opset >= list->from_opset;
}

bool onnx_axis_of(int64_t axis, int rank, int *out) {
    if (axis < -rank || axis >= rank) return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

bool onnx_reduced(const struct onnx_node *node, int rank, bool *reduced) {
    int64_t axes[ONNX_MAX_RANK];
    int count = onnx_integers(node, "axes", axes, ONNX_MAX_RANK), axis;
    bool all = !count && !onnx_attribute_int(node, "noop_with_empty_axes", 0);
    for (int i = 0; i < ONNX_MAX_RANK; i++) reduced[i] = all;
    for (int i = 0; i < count; i++) {
        if (!onnx_axis_of(axes[i], rank, &axis)) return false;
        reduced[axis] = true;
    }
    return count >= 0;
}

bool onnx_permutation(const struct onnx_node *node, int rank, int *perm) {
    int64_t given[ONNX_MAX_RANK];
    unsigned seen = 0;
    int count = onnx_attribute_ints(node, "perm", given, ONNX_MAX_RANK);
    if (rank < 0 || (count >= 0 && count != rank)) return false;
    for (int i = 0; i < rank; i++) {
        if (!onnx_axis_of(count < 0 ? rank - 1 - i : given[i], rank, &perm[i])) return false;
        seen |= 1u << perm[i];
    }
    return seen == (1u << rank) - 1;
}
