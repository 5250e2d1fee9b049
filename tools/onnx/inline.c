/* SPDX-License-Identifier: MIT */
/* Functions of the model: their nodes take the place of every call. */
#include "tools/onnx/internal.h"
#include <string.h>

bool onnx_inline_functions(Onnx__Model *model, char *error, size_t error_size) {
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__Node *node = model->graph->node[i];
        for (size_t k = 0; k < model->n_functions; k++)
            if (!strcmp(model->functions[k]->name, node->op_type) && !strcmp(model->functions[k]->domain, node->domain))
                return onnx_fail(error, error_size,
                                 "node '%s' calls '%s', a function of the model; inline functions first (onnx.inliner.inline_local_functions)",
                                 node->name, node->op_type);
    }
    return true;
}
