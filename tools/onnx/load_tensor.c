/* SPDX-License-Identifier: MIT */
/* A tensor of the file: raw bytes, one of the typed fields, or a piece of another file. The count must match the shape exactly. */
#include "tools/onnx/internal.h"
#include <inttypes.h>
#include <string.h>

enum {
    DATA_EXTERNAL = 1,
    FIRST_NARROW = 17, /* of the element types: float8 and, behind it, those of 4 bits */
};

static bool read_shape(const Onnx__Tensor *from, struct onnx_tensor *to, struct failure *failure) {
    if (from->n_dims > ONNX_MAX_RANK)
        return failure_set(failure, STATUS_INPUT, "tensor '%s' has %zu dimensions; %d are the most", from->name, from->n_dims,
                           ONNX_MAX_RANK);
    to->shape.rank = (int)from->n_dims;
    for (size_t i = 0; i < from->n_dims; i++) to->shape.dims[i] = from->dims[i];
    int64_t count = onnx_elements(&to->shape);
    if (count < 0 || (uint64_t)count > SIZE_MAX / 8)
        return failure_set(failure, STATUS_INPUT, "tensor '%s' has an impossible shape", from->name);
    to->count = (size_t)count;
    return true;
}

/* Values that the file keeps in int32_data, whatever their width. */
static void narrow_int32(const int32_t *from, struct onnx_tensor *to) {
    size_t bytes = onnx_type_bytes(to->type);
    for (size_t i = 0; i < to->count; i++) {
        uint32_t bits = (uint32_t)from[i];
        if (to->type == ONNX_BOOL) bits = bits != 0;
        memcpy((unsigned char *)to->data + i * bytes, &bits, bytes); /* little-endian: the low bytes come first */
    }
}

static void narrow_uint64(const uint64_t *from, struct onnx_tensor *to) {
    uint32_t *out = to->data;
    for (size_t i = 0; i < to->count; i++) out[i] = (uint32_t)from[i];
}

/* How many values the typed field of this type holds. */
static size_t typed_count(const Onnx__Tensor *from, enum onnx_type type) {
    switch (type) {
    case ONNX_FLOAT: return from->n_float_data;
    case ONNX_DOUBLE: return from->n_double_data;
    case ONNX_INT64: return from->n_int64_data;
    case ONNX_UINT64:
    case ONNX_UINT32: return from->n_uint64_data;
    default: return from->n_int32_data;
    }
}

static void *typed_data(struct onnx_graph *graph, const Onnx__Tensor *from, struct onnx_tensor *to) {
    switch (to->type) {
    case ONNX_FLOAT: return from->float_data;
    case ONNX_DOUBLE: return from->double_data;
    case ONNX_INT64: return from->int64_data;
    case ONNX_UINT64: return from->uint64_data;
    case ONNX_INT32: return from->int32_data;
    default: break;
    }
    to->data = onnx_alloc(graph, to->count * onnx_type_bytes(to->type));
    if (to->type == ONNX_UINT32) narrow_uint64(from->uint64_data, to);
    else narrow_int32(from->int32_data, to);
    return to->data;
}

static bool read_data(struct onnx_graph *graph, const Onnx__Tensor *from, struct onnx_tensor *to, const char *folder,
                      struct failure *failure) {
    size_t bytes = to->count * onnx_type_bytes(to->type);
    if (from->data_location == DATA_EXTERNAL) {
        to->data = onnx_read_external(graph, from, folder, bytes, failure);
        return to->data != NULL;
    }
    size_t typed = typed_count(from, to->type);
    if (from->raw_data.len || (!typed && !to->count)) {
        if (from->raw_data.len != bytes)
            return failure_set(failure, STATUS_INPUT, "tensor '%s' should have %zu bytes of data but has %zu", from->name, bytes,
                               from->raw_data.len);
        to->data = from->raw_data.data;
    } else if (typed != to->count) {
        return failure_set(failure, STATUS_INPUT, "tensor '%s' should have %zu values but has %zu", from->name, to->count, typed);
    } else {
        to->data = typed_data(graph, from, to);
    }
    if (!to->data) to->data = onnx_alloc(graph, 1);
    return true;
}

struct onnx_tensor *onnx_read_tensor(struct onnx_graph *graph, const Onnx__Tensor *from, const char *folder, const char **unreadable,
                                     struct failure *failure) {
    struct onnx_tensor *to = onnx_alloc(graph, sizeof *to);
    if (!read_shape(from, to, failure)) return NULL;
    to->type = from->data_type > 0 && from->data_type < 64 ? (enum onnx_type)from->data_type : ONNX_UNKNOWN;
    if (!onnx_type_bytes(to->type)) {
        const char *name = onnx_type_name(from->data_type);
        *unreadable = from->data_type >= FIRST_NARROW
                          ? onnx_text(graph, "is of type %s: quantize the float network to 8 bits, int8 or uint8", name)
                          : onnx_text(graph, "has element type %s (%" PRId32 "), which is not read", name, from->data_type);
        return NULL;
    }
    if (!read_data(graph, from, to, folder, failure)) return NULL;
    graph->numbers_read += to->count;
    return to;
}
