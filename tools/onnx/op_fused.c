/* SPDX-License-Identifier: MIT */
/* Shapes of what ONNX Runtime makes of several nodes: products with a transposed matrix, attention, embeddings, normalization of a sum. */
#include "tools/onnx/operator.h"

static struct onnx_shape turned(const struct onnx_shape *shape, bool turn) {
    struct onnx_shape t = *shape;
    if (turn && t.rank > 1) t.dims[t.rank - 1] = shape->dims[t.rank - 2], t.dims[t.rank - 2] = shape->dims[t.rank - 1];
    return t;
}

bool onnx_infer_fused_matmul(struct onnx_context *c) {
    const struct onnx_shape a = turned(onnx_in(c, 0), onnx_attribute_int(c->node, "transA", 0) != 0);
    const struct onnx_shape b = turned(onnx_in(c, 1), onnx_attribute_int(c->node, "transB", 0) != 0);
    return onnx_infer_product(c, &a, &b);
}

/* x, then what is added to it and by what it is normalized; a fourth output is the sum. */
bool onnx_infer_skip_layer_norm(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0);
    return onnx_out(c, 0, x) && onnx_out(c, 3, x);
}

/* Lines of tables by ids, [batch, sequence] of integers. */
bool onnx_infer_embed_layer_norm(struct onnx_context *c) {
    const struct onnx_shape *ids = onnx_in(c, 0), *words = onnx_in(c, 2);
    if (ids->rank != 2 || words->rank != 2) return onnx_bad(c, "ids and tables must have 2 dimensions");
    const struct onnx_shape y = {3, {ids->dims[0], ids->dims[1], words->dims[1]}}, lengths = {1, {ids->dims[0]}};
    onnx_out_type(c, 1, ONNX_INT32);
    return onnx_out(c, 0, &y) && onnx_out(c, 1, &lengths) && onnx_out(c, 2, &y);
}

/* x [batch, sequence, width] with weights [width, 3 * hidden]. */
bool onnx_infer_attention(struct onnx_context *c) {
    const struct onnx_shape *x = onnx_in(c, 0), *w = onnx_in(c, 1);
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2] || w->dims[1] % 3)
        return onnx_bad(c, "its input must be [batch, sequence, width], its weights [width, 3 x hidden]");
    const int64_t heads = onnx_attribute_int(c->node, "num_heads", 0), hidden = w->dims[1] / 3;
    if (heads < 1 || hidden % heads) return onnx_bad(c, "%lld elements are no %lld heads", (long long)hidden, (long long)heads);
    const struct onnx_shape y = {3, {x->dims[0], x->dims[1], hidden}};
    return onnx_out(c, 0, &y);
}
