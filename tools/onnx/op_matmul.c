/* SPDX-License-Identifier: MIT */
/* Matrix products: MatMul and its integer forms, Gemm, com.microsoft QGemm. Of two constants (the first state of an unrolled LSTM is
 * one) they are computed in double and rounded once. */
#include "tools/onnx/operator.h"

bool onnx_infer_product(struct onnx_context *c, const struct onnx_shape *left, const struct onnx_shape *right) {
    struct onnx_shape a = *left, b = *right, y;
    if (!a.rank || !b.rank) return onnx_bad(c, "a matrix product needs inputs of 1 dimension or more");
    bool row = a.rank == 1, column = b.rank == 1;
    if (row) a = (struct onnx_shape){.rank = 2, .dims = {1, a.dims[0]}};
    if (column) b = (struct onnx_shape){.rank = 2, .dims = {b.dims[0], 1}};
    int64_t rows = a.dims[a.rank - 2], columns = b.dims[b.rank - 1];
    if (a.dims[a.rank - 1] != b.dims[b.rank - 2])
        return onnx_bad(c, "%lld columns do not fit %lld rows", (long long)a.dims[a.rank - 1], (long long)b.dims[b.rank - 2]);
    a.rank -= 2;
    b.rank -= 2;
    if (!onnx_broadcast(c, &a, &b, &y)) return false;
    if (!row) y.dims[y.rank++] = rows;
    if (!column) y.dims[y.rank++] = columns;
    return onnx_out(c, 0, &y);
}

bool onnx_infer_matmul(struct onnx_context *c) {
    return onnx_takes_numbers(c) && onnx_infer_product(c, onnx_in(c, 0), onnx_in(c, 1));
}

bool onnx_infer_qlinear_matmul(struct onnx_context *c) {
    return onnx_infer_product(c, onnx_in(c, 0), onnx_in(c, 3));
}

static bool gemm(struct onnx_context *c, const struct onnx_shape *a, const struct onnx_shape *b, int bias_input) {
    bool trans_a = onnx_attribute_int(c->node, "transA", 0) != 0, trans_b = onnx_attribute_int(c->node, "transB", 0) != 0;
    if (a->rank != 2 || b->rank != 2) return onnx_bad(c, "both matrices must have 2 dimensions");
    struct onnx_shape y = {.rank = 2, .dims = {a->dims[trans_a], b->dims[!trans_b]}}, all;
    if (a->dims[!trans_a] != b->dims[trans_b])
        return onnx_bad(c, "%lld columns do not fit %lld rows", (long long)a->dims[!trans_a], (long long)b->dims[trans_b]);
    const struct onnx_value *bias = onnx_input(c->node, bias_input);
    if (bias && (!onnx_broadcast(c, &bias->shape, &y, &all) || !onnx_same_shape(&all, &y)))
        return onnx_bad(c, "the third matrix does not broadcast to %lldx%lld", (long long)y.dims[0], (long long)y.dims[1]);
    return onnx_out(c, 0, &y);
}

bool onnx_infer_gemm(struct onnx_context *c) {
    return onnx_takes_numbers(c) && gemm(c, onnx_in(c, 0), onnx_in(c, 1), 2);
}

bool onnx_infer_qgemm(struct onnx_context *c) {
    return gemm(c, onnx_in(c, 0), onnx_in(c, 3), 6);
}

/* A matrix in a constant, or its transpose: element (r, c) lies at r * down + c * along. */
struct operand {
    const struct onnx_tensor *tensor;
    int64_t down, along;
};

static struct operand operand(const struct onnx_tensor *tensor, bool transposed) {
    int64_t width = tensor->shape.dims[tensor->shape.rank - 1];
    return transposed ? (struct operand){tensor, 1, width} : (struct operand){tensor, width, 1};
}

static double dot(const struct operand *a, const struct operand *b, int64_t row, int64_t column, int64_t depth) {
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += onnx_number(a->tensor, (size_t)(row * a->down + k * a->along)) *
               onnx_number(b->tensor, (size_t)(k * b->down + column * b->along));
    return sum;
}

/* y = alpha * a b, for all rows of y. Too much work for a network's own constants is left to run time. */
static struct onnx_tensor *fold_product(struct onnx_context *c, const struct operand *a, const struct operand *b, int64_t depth,
                                        double alpha) {
    const struct onnx_shape *shape = &c->node->outputs[0]->shape;
    int64_t columns = shape->rank ? shape->dims[shape->rank - 1] : 0, count = onnx_elements(shape);
    if (columns < 1 || count < 1 || depth < 1 || count > INT32_MAX / depth || !onnx_spend(c, (size_t)(count * depth))) return NULL;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (int64_t i = 0; y && i < count; i++) onnx_store_number(y, (size_t)i, alpha * dot(a, b, i / columns, i % columns, depth));
    return y;
}

/* Of matrices, or of a stack of them by one matrix. */
void onnx_fold_matmul(struct onnx_context *c) {
    const struct onnx_tensor *a = onnx_input_constant(c->node, 0), *b = onnx_input_constant(c->node, 1);
    if (!onnx_is_float(a->type) || b->type != a->type || a->shape.rank < 2 || b->shape.rank != 2) return;
    struct operand left = operand(a, false), right = operand(b, false);
    fold_product(c, &left, &right, b->shape.dims[0], 1);
}

/* A zero point of all, or of a column. */
static int64_t zero_of(const struct onnx_tensor *zero, int64_t column) {
    return zero ? onnx_integer(zero, zero->count > 1 ? (size_t)column : 0) : 0;
}

/* The same of whole numbers, less their zero points. */
void onnx_fold_matmul_integer(struct onnx_context *c) {
    const struct onnx_tensor *a = onnx_input_constant(c->node, 0), *b = onnx_input_constant(c->node, 1),
                             *zero_a = onnx_input_constant(c->node, 2), *zero_b = onnx_input_constant(c->node, 3);
    if (a->shape.rank < 2 || b->shape.rank != 2 || (zero_a && zero_a->count != 1)) return;
    const int64_t depth = b->shape.dims[0], columns = b->shape.dims[1], count = onnx_elements(&c->node->outputs[0]->shape);
    if (zero_b && zero_b->count != 1 && (int64_t)zero_b->count != columns) return;
    if (columns < 1 || count < 1 || depth < 1 || count > INT32_MAX / depth || !onnx_spend(c, (size_t)(count * depth))) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    const int64_t zero = zero_of(zero_a, 0);
    for (int64_t i = 0; y && i < count; i++) {
        const int64_t row = i / columns, column = i % columns, own = zero_of(zero_b, column);
        int64_t sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += (onnx_integer(a, (size_t)(row * depth + k)) - zero) * (onnx_integer(b, (size_t)(k * columns + column)) - own);
        onnx_store_integer(y, (size_t)i, sum);
    }
}

void onnx_fold_gemm(struct onnx_context *c) {
    const struct onnx_tensor *a = onnx_input_constant(c->node, 0), *b = onnx_input_constant(c->node, 1);
    const struct onnx_tensor *bias = onnx_input_constant(c->node, 2);
    bool trans_a = onnx_attribute_int(c->node, "transA", 0) != 0, trans_b = onnx_attribute_int(c->node, "transB", 0) != 0;
    double alpha = onnx_attribute_float(c->node, "alpha", 1), beta = onnx_attribute_float(c->node, "beta", 1);
    if (!onnx_is_float(a->type) || b->type != a->type || (bias && bias->type != a->type)) return;
    struct operand left = operand(a, trans_a), right = operand(b, trans_b);
    struct onnx_tensor *y = fold_product(c, &left, &right, b->shape.dims[trans_b], alpha);
    int64_t index[ONNX_MAX_RANK] = {0}, strides[1][ONNX_MAX_RANK] = {{0}}, at[1] = {0};
    if (!y || !bias) return;
    onnx_broadcast_strides(&bias->shape, &y->shape, strides[0]);
    for (size_t i = 0; i < y->count; i++) {
        onnx_store_number(y, i, onnx_number(y, i) + beta * onnx_number(bias, (size_t)at[0]));
        onnx_advance(&y->shape, index, 1, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
}
