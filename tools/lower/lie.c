/* SPDX-License-Identifier: MIT */
/* Operands of products and their results as they lie in memory. */
#include "tools/lower/lie.h"

#include <string.h>

bool lie_of(const struct view *v, uint32_t rank, struct net_buffer *buffer, struct lie *out) {
    *out = (struct lie){.buffer = buffer};
    for (uint32_t i = 0; i < v->rank; i++) {
        const int32_t *t = v->table[i], stride = v->dims[i] > 1 ? t[1] - t[0] : 0;
        for (uint32_t k = 0; !v->step[i] && k < v->dims[i]; k++)
            if (stride < 0 || t[0] < 0 || t[k] != t[0] + (int32_t)k * stride) return false;
        out->first += (uint32_t)t[0];
        out->step[rank - v->rank + i] = (uint32_t)stride;
    }
    return true;
}

bool lie_batch(const struct onnx_shape *out, const struct lie *const *lies, uint32_t count, struct morsel_blob_float_matmul *p) {
    uint32_t *const strides[] = {p->a_stride, p->b_stride, p->term_stride}, n = (uint32_t)out->rank - 2;
    uint32_t found = 0, dims[2] = {1, 1}, steps[3][2] = {{0}};
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t dim = (uint32_t)out->dims[i];
        bool runs_on = found > 0;
        if (dim == 1) continue;
        for (uint32_t k = 0; k < count; k++) runs_on = runs_on && lies[k]->step[i] == steps[k][found - 1] * dims[found - 1];
        if (!runs_on && found == 2) return false;
        if (!runs_on) {
            for (uint32_t k = 0; k < count; k++) steps[k][found] = lies[k]->step[i];
            found++;
        }
        dims[found - 1] *= dim;
    }
    p->dims[0] = dims[1];
    p->dims[1] = dims[0];
    for (uint32_t k = 0; k < count; k++) strides[k][0] = steps[k][1], strides[k][1] = steps[k][0];
    return true;
}

void lie_rows(const struct onnx_shape *out, const struct lie *lies, struct morsel_blob_float_matmul *p) {
    const uint32_t rank = (uint32_t)out->rank;
    p->dims[2] = (uint32_t)out->dims[rank - 2];
    p->dims[3] = (uint32_t)out->dims[rank - 1];
    p->a_first = lies[0].first;
    p->b_first = lies[1].first;
    p->a_stride[2] = lies[0].step[rank - 2];
    memcpy(p->b_stride + 2, lies[1].step + rank - 2, 2 * sizeof(uint32_t));
}

bool lie_turned(const struct onnx_value *value, const struct morsel_blob_float_matmul *p) {
    const struct onnx_node *node = only_reader(value);
    const int rank = value->shape.rank;
    if (rank < 3 || p->dims[1] < 2 || p->dims[1] != value->shape.dims[rank - 3]) return false;
    if (node_is(node, "QuantizeLinear")) node = only_reader(node->outputs[0]);
    if (node_is(node, "DequantizeLinear")) node = only_reader(node->outputs[0]);
    if (!node_is(node, "Transpose")) return false;
    const struct onnx_attribute *perm = onnx_attribute(node, "perm");
    for (int i = 0; i < rank; i++) {
        const int64_t axis = i == rank - 3 ? rank - 2 : i == rank - 2 ? rank - 3 : i;
        if (!perm || perm->ints[i] != axis) return false;
    }
    return true;
}

struct net_buffer *lie_result(struct lowering *l, const struct tail *tail, bool turned) {
    struct onnx_value lying = *tail->value;
    struct tail as_it_lies = *tail;
    uint32_t axes[VIEW_MAX_RANK], rank = (uint32_t)lying.shape.rank;
    for (uint32_t i = 0; i < rank; i++) axes[i] = turned && i + 3 == rank ? i + 1 : turned && i + 2 == rank ? i - 1 : i;
    for (uint32_t i = 0; i < rank; i++) lying.shape.dims[i] = tail->value->shape.dims[axes[i]];
    as_it_lies.value = &lying;
    struct net_buffer *y = tail_buffer(l, &as_it_lies, MORSEL_ROW_MAJOR);
    struct meaning *m = meaning_of(l, tail->value);
    m->view = view_transpose(&m->view, axes); /* which is its own inverse */
    return y;
}
