/* SPDX-License-Identifier: MIT */
/* Shapes of attention in one node: com.microsoft's Attention, QAttention and MultiHeadAttention, and ai.onnx's Attention. */
#include "tools/onnx/operator.h"

static bool has_heads(struct onnx_context *c, int64_t width, int64_t heads) {
    if (heads >= 1 && width >= heads && width % heads == 0) return true;
    return onnx_bad(c, "%lld elements are no %lld heads", (long long)width, (long long)heads);
}

/* Input i is of floats as input 0, or is not there. */
static bool is_as_first(struct onnx_context *c, int i) {
    const struct onnx_value *value = onnx_input(c->node, i);
    return !value || value->type == c->node->inputs[0]->type || onnx_bad(c, "its inputs 0 and %d have different types", i);
}

/* As many numbers as weights have columns, or none. */
static bool has_bias(struct onnx_context *c, int i, int64_t width) {
    const struct onnx_value *bias = onnx_input(c->node, i);
    if (!bias || (bias->shape.rank == 1 && bias->shape.dims[0] == width)) return true;
    return onnx_bad(c, "its input %d must be %lld numbers, in 1 dimension", i, (long long)width);
}

/* x [batch, sequence, width] with weights [width, queries + keys + values], which are as wide unless an attribute says otherwise. */
static bool infer_packed(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *w = onnx_in(c, 1);
    const int64_t heads = onnx_attribute_int(c->node, "num_heads", 0);
    int64_t widths[3];
    const int count = onnx_attribute_ints(c->node, "qkv_hidden_sizes", widths, 3);
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2] || (count < 0 && w->dims[1] % 3))
        return onnx_bad(c, "its input must be [batch, sequence, width], its weights [width, 3 x hidden]");
    if (count < 0) widths[0] = widths[1] = widths[2] = w->dims[1] / 3;
    else if (count != 3 || widths[0] < 0 || widths[0] != widths[1] || widths[0] > w->dims[1] || widths[2] != w->dims[1] - 2 * widths[0])
        return onnx_bad(c, "its qkv_hidden_sizes are not those of its weights");
    if (!has_heads(c, widths[0], heads) || !has_heads(c, widths[2], heads) || !has_bias(c, 2, w->dims[1])) return false;
    const struct onnx_shape y = {3, {x->dims[0], x->dims[1], widths[2]}};
    return onnx_out(c, 0, &y);
}

bool onnx_infer_attention(struct onnx_context *c) {
    if (onnx_is_integer(c->node->inputs[0]->type)) return onnx_bad(c, "its input 0 must be floats");
    return is_as_first(c, 1) && is_as_first(c, 2) && infer_packed(c);
}

/* Inputs x, weights, bias, their two scales, mask, two zero points: bytes give floats. */
bool onnx_infer_qattention(struct onnx_context *c) {
    for (int i = 0; i < 2; i++)
        if (c->node->inputs[i]->type != ONNX_UINT8 && c->node->inputs[i]->type != ONNX_INT8)
            return onnx_bad(c, "its input %d must be bytes", i);
    for (int i = 2; i < 5; i++)
        if (c->node->inputs[i]->type != ONNX_FLOAT) return onnx_bad(c, "its input %d must be floats", i);
    return infer_packed(c);
}

/* Queries, keys and values [batch, sequence, width]. Other forms have a shape that is not known here. */
bool onnx_infer_multi_head_attention(struct onnx_context *c) {
    const int64_t heads = onnx_attribute_int(c->node, "num_heads", 0);
    if (onnx_is_integer(c->node->inputs[0]->type)) return onnx_bad(c, "its input 0 must be floats");
    for (int i = 0; i < 3; i++)
        if (!onnx_input(c->node, i) || onnx_in(c, i)->rank != 3)
            return onnx_bad(c, "morsel takes queries, keys and values apart, of 3 dimensions");
    const struct onnx_shape *q = onnx_in(c, 0), *k = onnx_in(c, 1), *v = onnx_in(c, 2), y = {3, {q->dims[0], q->dims[1], v->dims[2]}};
    if (q->dims[0] != k->dims[0] || q->dims[0] != v->dims[0] || q->dims[2] != k->dims[2] || k->dims[1] != v->dims[1])
        return onnx_bad(c, "its queries, keys and values do not fit each other");
    if (!is_as_first(c, 1) || !is_as_first(c, 2) || !is_as_first(c, 3) || !is_as_first(c, 5)) return false;
    if (!has_heads(c, q->dims[2], heads) || !has_heads(c, v->dims[2], heads) || !has_bias(c, 3, 2 * q->dims[2] + v->dims[2])) return false;
    return onnx_out(c, 0, &y);
}

/* Heads and the size of each, of input i. */
static bool heads_of(struct onnx_context *c, int i, int64_t *heads, int64_t *size) {
    const struct onnx_shape *x = onnx_in(c, i);
    *heads = x->rank == 4 ? x->dims[1] : onnx_attribute_int(c->node, i ? "kv_num_heads" : "q_num_heads", 0);
    if (x->rank == 3 && !has_heads(c, x->dims[2], *heads)) return false;
    *size = x->rank == 4 ? x->dims[3] : x->dims[2] / *heads;
    return true;
}

/* Queries, keys and values [batch, heads, sequence, size], or of 3 dimensions, with a mask. */
bool onnx_infer_standard_attention(struct onnx_context *c) {
    const int rank = onnx_in(c, 0)->rank;
    int64_t heads[3], size[3];
    if (onnx_is_integer(c->node->inputs[0]->type)) return onnx_bad(c, "its input 0 must be floats");
    for (int i = 0; i < 3; i++) {
        if (onnx_in(c, i)->rank != rank || (rank != 3 && rank != 4)) return onnx_bad(c, "its inputs must have 3 or 4 dimensions");
        if (onnx_in(c, i)->dims[0] != onnx_in(c, 0)->dims[0] || !is_as_first(c, i)) return onnx_bad(c, "its inputs do not fit each other");
        if (!heads_of(c, i, &heads[i], &size[i])) return false;
    }
    if (onnx_in(c, 1)->dims[rank - 2] != onnx_in(c, 2)->dims[rank - 2] || heads[1] != heads[2] || size[0] != size[1] || heads[1] < 1 ||
        heads[0] % heads[1])
        return onnx_bad(c, "its queries, keys and values do not fit each other");
    struct onnx_shape y = *onnx_in(c, 0);
    y.dims[rank - 1] = rank == 4 ? size[2] : heads[0] * size[2];
    return onnx_input(c->node, 4) || onnx_out(c, 0, &y); /* of a past nothing is known here */
}

/* --- RotaryEmbedding: x, then ids, cosines, sines (com.microsoft) or cosines, sines, ids --- */

int64_t onnx_rotary_size(const struct onnx_node *node) {
    const bool microsoft = *node->domain != 0;
    const struct onnx_shape *x = &node->inputs[0]->shape, *table = &node->inputs[1 + microsoft]->shape;
    const int64_t heads = onnx_attribute_int(node, "num_heads", 0);
    if (x->rank == 4) return x->dims[3];
    return heads > 0 ? x->dims[2] / heads : microsoft && table->rank ? 2 * table->dims[table->rank - 1] : 0;
}

/* Tables of as many angles, which are no more than half of a head. */
static bool has_angles(struct onnx_context *c, const struct onnx_shape *cosines, const struct onnx_shape *sines) {
    const int64_t size = onnx_rotary_size(c->node), turns = onnx_attribute_int(c->node, "rotary_embedding_dim", 0);
    const int64_t half = cosines->rank ? cosines->dims[cosines->rank - 1] : 0;
    if (!onnx_same_shape(cosines, sines) || half < 1) return onnx_bad(c, "its cosines and sines do not fit each other");
    if (size < 1 || (turns && turns != 2 * half) || (!turns && size != 2 * half) || size < 2 * half)
        return onnx_bad(c, "its heads of %lld elements do not fit its %lld angles", (long long)size, (long long)half);
    return true;
}

bool onnx_infer_rotary(struct onnx_context *c) {
    const bool microsoft = *c->node->domain != 0;
    const int table = 1 + microsoft;
    const struct onnx_value *ids = microsoft ? c->node->inputs[1] : onnx_input(c->node, 3);
    const struct onnx_shape *x = onnx_in(c, 0), *cosines = onnx_in(c, table);
    if (onnx_is_integer(c->node->inputs[0]->type) || !is_as_first(c, table) || !is_as_first(c, table + 1))
        return onnx_bad(c, "its input and tables must be floats");
    if (x->rank != 3 && x->rank != 4) return onnx_bad(c, "its input must have 3 or 4 dimensions");
    const int64_t tokens = x->dims[x->rank - 2], size = onnx_rotary_size(c->node);
    if (!has_angles(c, cosines, onnx_in(c, table + 1))) return false;
    if (x->rank == 3 && x->dims[2] % size) return onnx_bad(c, "its width is none of heads of %lld elements", (long long)size);
    if (cosines->rank != (ids ? 2 : 3)) return onnx_bad(c, "its tables must have 2 dimensions, 3 where there are no ids");
    const struct onnx_shape *by = ids ? &ids->shape : cosines;
    const bool offset = microsoft && by->rank == 1 && by->dims[0] == 1;
    if (!offset && (by->rank != (ids ? 2 : 3) || by->dims[1] != tokens || (by->dims[0] != 1 && by->dims[0] != x->dims[0])))
        return onnx_bad(c, "its %s must have a line for each token", ids ? "ids" : "tables");
    return onnx_out(c, 0, x);
}
