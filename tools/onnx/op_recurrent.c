/* SPDX-License-Identifier: MIT */
/* Shapes of recurrent layers: LSTM, GRU, RNN, DynamicQuantizeLSTM. */
#include "tools/onnx/operator.h"

#include <string.h>

int onnx_recurrent_gates(const struct onnx_node *node) {
    return strstr(node->op, "LSTM") ? 4 : !strcmp(node->op, "GRU") ? 3 : 1;
}

bool onnx_recurrent_bytes(const struct onnx_node *node) {
    return !strcmp(node->op, "DynamicQuantizeLSTM");
}

/* Input i is not there, or so large. */
static bool has_dims(struct onnx_context *c, int i, int rank, int64_t a, int64_t b, int64_t last) {
    const struct onnx_value *value = onnx_input(c->node, i);
    const struct onnx_shape want = {rank, {a, b, last}};
    return !value || onnx_same_shape(&value->shape, &want) || onnx_bad(c, "its input %d does not fit its weights", i);
}

/* Scales and zero points of weights in bytes: one for a direction, or one for each of its columns. */
static bool has_steps(struct onnx_context *c, int i, int64_t directions, int64_t wide) {
    const struct onnx_value *value = onnx_input(c->node, i);
    if (value && value->shape.rank == 2) return has_dims(c, i, 2, directions, wide, 0);
    return has_dims(c, i, 1, directions, 0, 0);
}

/* What weights in bytes have besides: scales and zero points of those of x, then of those of the state. */
static bool has_all_steps(struct onnx_context *c, int64_t directions, int64_t wide) {
    for (int i = 8; i < 12; i++) {
        const struct onnx_value *zero = i & 1 ? onnx_input(c->node, i) : NULL;
        if (!(i & 1) && !onnx_input(c->node, i)) return onnx_bad(c, "input %d is missing", i);
        if (zero && zero->type != c->node->inputs[i / 2 - 3]->type)
            return onnx_bad(c, "inputs %d and %d have different types", i / 2 - 3, i);
        if (!has_steps(c, i, directions, wide)) return false;
    }
    return true;
}

/* Inputs x [times, batch, inputs], weights of x, those of the state [directions, gates x hidden, hidden], bias, lengths, states, and
 * peepholes; weights in bytes lie turned. Outputs: all states [times, directions, batch, hidden], and the last ones. */
bool onnx_infer_recurrent(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *w = onnx_in(c, 1), *r = onnx_in(c, 2);
    const int64_t gates = onnx_recurrent_gates(c->node);
    if (onnx_is_integer(onnx_input(c->node, 0)->type)) return onnx_bad(c, "its input 0 must be floats");
    if (onnx_attribute_int(c->node, "layout", 0)) return onnx_bad(c, "a batch in front of the sequence, layout 1, is not supported");
    if (x->rank != 3 || w->rank != 3 || r->rank != 3) return onnx_bad(c, "its inputs must have 3 dimensions");
    const bool bytes = onnx_recurrent_bytes(c->node);
    const int64_t directions = r->dims[0], hidden = r->dims[2 - bytes], batch = x->dims[1], wide = gates * hidden;
    const bool both = !strcmp(onnx_attribute_string(c->node, "direction", "forward"), "bidirectional");
    if (x->dims[0] < 1 || batch < 1 || x->dims[2] < 1 || hidden < 1 || directions != 1 + both)
        return onnx_bad(c, "it has no sequence, no weights, or other directions than its weights");
    if (bytes && !has_all_steps(c, directions, wide)) return false;
    if (!has_dims(c, 1, 3, directions, bytes ? x->dims[2] : wide, bytes ? wide : x->dims[2]) ||
        !has_dims(c, 2, 3, directions, bytes ? hidden : wide, bytes ? wide : hidden) || !has_dims(c, 3, 2, directions, 2 * wide, 0) ||
        !has_dims(c, 4, 1, batch, 0, 0) || !has_dims(c, 5, 3, directions, batch, hidden) || !has_dims(c, 6, 3, directions, batch, hidden))
        return false;
    const struct onnx_shape all = {4, {x->dims[0], directions, batch, hidden}}, last = {3, {directions, batch, hidden}};
    return onnx_out(c, 0, &all) && onnx_out(c, 1, &last) && onnx_out(c, 2, &last);
}
