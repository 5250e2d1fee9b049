/* SPDX-License-Identifier: MIT */
/* Movements of movements: a reshape of a reshape is one, and so is a transpose of a transpose; both go where nothing is left of them. */
#include "tools/optimize/pass.h"
#include <string.h>

static bool merge_reshapes(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *middle = onnx_input(node, 0), *y = node->outputs[0];
    if (!graph_reshapes(node) || !middle || !graph_reshapes(middle->producer) || y->constant || onnx_elements(&y->shape) < 0) return false;
    struct onnx_value *x = onnx_input(middle->producer, 0);
    if (!x) return false;
    if (graph_same_shape(x, y)) return graph_bypass(g, node, x);
    if (!graph_alone(middle) || onnx_elements(&y->shape) == 0) /* a 0 in Reshape's list means something else */
        return false;
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}

static bool merge_transposes(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *middle = onnx_input(node, 0), *y = node->outputs[0];
    int64_t both[ONNX_MAX_RANK];
    int first[ONNX_MAX_RANK], second[ONNX_MAX_RANK];
    if (!graph_is(node, "Transpose") || !middle || !graph_is(middle->producer, "Transpose") || y->constant) return false;
    struct onnx_value *x = onnx_input(middle->producer, 0);
    int rank = x ? x->shape.rank : -1;
    bool nothing = true;
    if (!onnx_permutation(middle->producer, rank, first) || !onnx_permutation(node, rank, second)) return false;
    for (int i = 0; i < rank; i++) {
        both[i] = first[second[i]];
        nothing = nothing && both[i] == i;
    }
    if (nothing) return graph_bypass(g, node, x);
    if (!graph_alone(middle)) return false;
    edit_become(g, node, "Transpose", "", &x, 1);
    edit_attribute_ints(g, node, "perm", both, (size_t)rank);
    return true;
}

/* Where only dimensions of 1 change places, the elements stay in order. */
static bool moves_ones_only(const struct onnx_node *node) {
    int perm[ONNX_MAX_RANK], last = -1;
    const struct onnx_shape *x = &node->inputs[0]->shape;
    if (onnx_elements(x) < 1 || !onnx_permutation(node, x->rank, perm)) return false;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[perm[i]] == 1) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

static bool transpose_to_reshape(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_shape *y = &node->outputs[0]->shape; /* of a type that is unknown nothing is inferred */
    if (!graph_is(node, "Transpose") || !onnx_input(node, 0) || node->outputs[0]->constant || onnx_elements(y) < 0) return false;
    if (!moves_ones_only(node)) return false;
    struct onnx_value *inputs[2] = {node->inputs[0], graph_int64s(g, node, "shape", y->dims, y->rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}

int pass_moves(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (!node->folded) changes += merge_reshapes(g, node) || merge_transposes(g, node) || transpose_to_reshape(g, node);
    }
    return changes;
}
