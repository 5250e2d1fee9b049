/* SPDX-License-Identifier: MIT */
/* The equation of an Einsum: which dimension of which operand goes by which letter. */
#ifndef MORSEL_TOOLS_ONNX_EINSUM_H
#define MORSEL_TOOLS_ONNX_EINSUM_H

#include "tools/onnx/graph.h"

struct onnx_einsum {
    int operands;                  /* 1 or 2 */
    char in[2][ONNX_MAX_RANK + 1]; /* a letter or digit for each dimension, each once */
    char out[2 * ONNX_MAX_RANK + 1];
};

/* Three dots stand for digits, as many as the operand has dimensions without a letter. False: it is malformed, has a letter twice in an
 * operand, or more than two operands; *why says which. */
bool onnx_einsum_read(const struct onnx_node *node, struct onnx_einsum *e, const char **why);

#endif
