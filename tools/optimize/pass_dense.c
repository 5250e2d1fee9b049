/* SPDX-License-Identifier: MIT */
/* Gemm without factors: alpha and beta go into its constants. (MatMul and Add become Gemm when the sum goes into the weights' bias.) */
#include "tools/optimize/linear.h"

int pass_dense(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct linear l;
        if (graph_is(graph_node_at(g, i), "Gemm") && linear_read(graph_node_at(g, i), &l) && (l.gain != 1 || l.bias_gain != 1) &&
            linear_has_room(g, &l))
            changes += linear_rewrite(g, &l, NULL, NULL, NULL);
    }
    return changes;
}
