/* SPDX-License-Identifier: MIT */
/* What folding shares: room for results, walks over broadcast and strided tensors, stores of any number type. */
#include "tools/onnx/internal.h"
#include "tools/onnx/operator.h"
#include <string.h>

/* Bounds that no network comes near: they only keep a hostile file from taking the machine's memory and time. Of networks seen, none
 * computed more than half of LEAST_WORK and one element for each number that it holds. */
enum { MOST_FOLDED_ONCE = 64 << 20, LEAST_WORK = 1 << 21, WORK_OF_A_NUMBER = 64 };
enum { LEAST_BYTES = 512 << 20, BYTES_OF_A_NUMBER = 32 }; /* weights that are standardized: 20 bytes for each */
#define MOST_WORK ((size_t)1 << 31) /* SwinV2-CR of 384 pixels: 1.3e9, for places of windows that a network computes */
#define MOST_BYTES ((size_t)3 << 30)

bool onnx_spend(struct onnx_context *c, size_t elements) {
    struct onnx_memory *memory = c->graph->memory;
    const size_t room = onnx_room(c->graph, LEAST_WORK, WORK_OF_A_NUMBER, MOST_WORK);
    return onnx_pays(&memory->folded_work, elements, room);
}

struct onnx_tensor *onnx_out_constant(struct onnx_context *c, int i) {
    struct onnx_memory *memory = c->graph->memory;
    struct onnx_value *value = i < c->node->output_count ? c->node->outputs[i] : NULL;
    size_t width = value ? onnx_type_bytes(value->type) : 0;
    int64_t count = value ? onnx_elements(&value->shape) : -1;
    if (!width || count < 0 || (uint64_t)count > MOST_FOLDED_ONCE / width) return NULL;
    size_t bytes = (size_t)count * width;
    const size_t room = onnx_room(c->graph, LEAST_BYTES, BYTES_OF_A_NUMBER, MOST_BYTES);
    if (!onnx_spend(c, (size_t)count) || !onnx_pays(&memory->folded_bytes, bytes, room)) return NULL;
    struct onnx_tensor *tensor = onnx_alloc(c->graph, sizeof *tensor);
    *tensor = (struct onnx_tensor){value->type, value->shape, (size_t)count, onnx_alloc(c->graph, bytes), 0, 0, 0};
    value->constant = tensor;
    return tensor;
}

void onnx_strides(const struct onnx_shape *shape, int64_t *strides) {
    int64_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= shape->dims[i] ? shape->dims[i] : 1; /* at most 2^40, see onnx_elements() */
    }
}

void onnx_broadcast_strides(const struct onnx_shape *from, const struct onnx_shape *to, int64_t *strides) {
    int64_t own[ONNX_MAX_RANK];
    onnx_strides(from, own);
    for (int i = 1; i <= to->rank; i++) {
        int at = from->rank - i;
        strides[to->rank - i] = at < 0 || from->dims[at] == 1 ? 0 : own[at];
    }
}

void onnx_advance(const struct onnx_shape *shape, int64_t *index, int operands, const int64_t (*strides)[ONNX_MAX_RANK], int64_t *at) {
    for (int d = shape->rank - 1; d >= 0; d--) {
        for (int k = 0; k < operands; k++) at[k] += strides[k][d];
        if (++index[d] < shape->dims[d]) return;
        for (int k = 0; k < operands; k++) at[k] -= strides[k][d] * shape->dims[d];
        index[d] = 0;
    }
}

void onnx_copy_strided(const struct onnx_tensor *from, int64_t offset, const int64_t *strides, struct onnx_tensor *to) {
    size_t width = onnx_type_bytes(to->type);
    int64_t index[ONNX_MAX_RANK] = {0}, table[1][ONNX_MAX_RANK] = {{0}}, at[1] = {offset};
    memcpy(table[0], strides, (size_t)(to->shape.rank > 0 ? to->shape.rank : 0) * sizeof *strides);
    const unsigned char *source = from->data;
    unsigned char *target = to->data;
    for (size_t i = 0; i < to->count; i++) {
        memcpy(target + i * width, source + (size_t)at[0] * width, width);
        onnx_advance(&to->shape, index, 1, (const int64_t(*)[ONNX_MAX_RANK])table, at);
    }
}

bool onnx_is_float(enum onnx_type type) {
    return type == ONNX_FLOAT || type == ONNX_DOUBLE;
}

bool onnx_is_integer(enum onnx_type type) {
    return type != ONNX_FLOAT && type != ONNX_DOUBLE && type != ONNX_FLOAT16 && onnx_type_bytes(type);
}

void onnx_store_integer(struct onnx_tensor *tensor, size_t i, int64_t value) {
    uint64_t bits = (uint64_t)value;
    if (tensor->type == ONNX_BOOL) bits = bits != 0;
    if (onnx_is_float(tensor->type)) {
        onnx_store_number(tensor, i, (double)value);
        return;
    }
    size_t width = onnx_type_bytes(tensor->type);
    memcpy((unsigned char *)tensor->data + i * width, &bits, width); /* little-endian: the low bytes come first */
}

void onnx_store_number(struct onnx_tensor *tensor, size_t i, double value) {
    if (tensor->type == ONNX_FLOAT) ((float *)tensor->data)[i] = (float)value;
    else ((double *)tensor->data)[i] = value;
}
