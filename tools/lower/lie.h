/* SPDX-License-Identifier: MIT */
/* How operands of a product lie in memory, for steps that read them there, and its result, where it is stored turned. */
#ifndef MORSEL_TOOLS_LOWER_LIE_H
#define MORSEL_TOOLS_LOWER_LIE_H

#include "tools/lower/lower.h"

/* Where an operand's elements lie: along each dimension of the product's result but the last two, and along its own last two. */
struct lie {
    struct net_buffer *buffer;
    uint32_t first, step[VIEW_MAX_RANK];
};

/* Of a view beside a result of `rank` dimensions; false where the entries of an axis are no straight run. */
bool lie_of(const struct view *view, uint32_t rank, struct net_buffer *buffer, struct lie *lie);

/* The dimensions in front of the last two as two at most, outer and middle, and the operands' strides along them; the third operand is the
 * term. False where they are more. The last dimension of two or more is the middle one. */
bool lie_batch(const struct onnx_shape *out, const struct lie *const *lies, uint32_t count, struct morsel_blob_float_matmul *p);

/* The last two dimensions of the product, and where its operands begin and how they lie along them. */
void lie_rows(const struct onnx_shape *out, const struct lie *lies, struct morsel_blob_float_matmul *p);

/* Whether a Transpose behind the value puts its rows in front of the dimension before them, which the product has as its middle one. */
bool lie_turned(const struct onnx_value *value, const struct morsel_blob_float_matmul *p);

/* A buffer for the result that lies as dims say, or turned: rows in front of the dimension before them. */
struct net_buffer *lie_result(struct lowering *l, const struct tail *tail, bool turned);

#endif
