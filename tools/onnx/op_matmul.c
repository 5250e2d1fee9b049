/* SPDX-License-Identifier: MIT */
/* Matrix products: MatMul and its integer forms, Gemm, com.microsoft QGemm. */
#include "tools/onnx/operator.h"

static bool multiply(struct onnx_context *c, const struct onnx_shape *left, const struct onnx_shape *right) {
    struct onnx_shape a = *left, b = *right, y;
    if (!a.rank || !b.rank)
        return onnx_bad(c, "a matrix product needs inputs of 1 dimension or more");
    bool row = a.rank == 1, column = b.rank == 1;
    if (row)
        a = (struct onnx_shape){.rank = 2, .dims = {1, a.dims[0]}};
    if (column)
        b = (struct onnx_shape){.rank = 2, .dims = {b.dims[0], 1}};
    int64_t rows = a.dims[a.rank - 2], columns = b.dims[b.rank - 1];
    if (a.dims[a.rank - 1] != b.dims[b.rank - 2])
        return onnx_bad(c, "%lld columns do not fit %lld rows", (long long)a.dims[a.rank - 1], (long long)b.dims[b.rank - 2]);
    a.rank -= 2;
    b.rank -= 2;
    if (!onnx_broadcast(c, &a, &b, &y))
        return false;
    if (!row)
        y.dims[y.rank++] = rows;
    if (!column)
        y.dims[y.rank++] = columns;
    return onnx_out(c, 0, &y);
}

bool onnx_infer_matmul(struct onnx_context *c) {
    return multiply(c, onnx_in(c, 0), onnx_in(c, 1));
}

bool onnx_infer_qlinear_matmul(struct onnx_context *c) {
    return multiply(c, onnx_in(c, 0), onnx_in(c, 3));
}

static bool gemm(struct onnx_context *c, const struct onnx_shape *a, const struct onnx_shape *b, int bias_input) {
    bool trans_a = onnx_attribute_int(c->node, "transA", 0) != 0, trans_b = onnx_attribute_int(c->node, "transB", 0) != 0;
    if (a->rank != 2 || b->rank != 2)
        return onnx_bad(c, "both matrices must have 2 dimensions");
    struct onnx_shape y = {.rank = 2, .dims = {a->dims[trans_a], b->dims[!trans_b]}}, all;
    if (a->dims[!trans_a] != b->dims[trans_b])
        return onnx_bad(c, "%lld columns do not fit %lld rows", (long long)a->dims[!trans_a], (long long)b->dims[trans_b]);
    const struct onnx_value *bias = onnx_input(c->node, bias_input);
    if (bias && (!onnx_broadcast(c, &bias->shape, &y, &all) || !onnx_same_shape(&all, &y)))
        return onnx_bad(c, "the third matrix does not broadcast to %lldx%lld", (long long)y.dims[0], (long long)y.dims[1]);
    return onnx_out(c, 0, &y);
}

bool onnx_infer_gemm(struct onnx_context *c) {
    return gemm(c, onnx_in(c, 0), onnx_in(c, 1), 2);
}

bool onnx_infer_qgemm(struct onnx_context *c) {
    return gemm(c, onnx_in(c, 0), onnx_in(c, 3), 6);
}
