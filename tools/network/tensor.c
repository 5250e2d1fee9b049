/* SPDX-License-Identifier: MIT */
/* Arrays to tensors and back: types, shapes, numbers converted. */
#include "tools/network/tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tensor_type_name(enum morsel_type type) {
    static const char *const names[] = {"uint8", "int8", "int32", "float32"};
    return (unsigned)type < 4 ? names[type] : "?";
}

static size_t type_bytes(enum morsel_type type) {
    return type == MORSEL_UINT8 || type == MORSEL_INT8 ? 1 : 4;
}

enum npy_type tensor_npy_type(enum morsel_type type) {
    static const enum npy_type types[] = {[MORSEL_UINT8] = NPY_UINT8, [MORSEL_INT8] = NPY_INT8, [MORSEL_INT32] = NPY_INT32};
    return type == MORSEL_FLOAT32 ? NPY_FLOAT32 : types[type];
}

const char *tensor_dims(const uint32_t *dims, uint32_t rank, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "[");
    for (uint32_t i = 0; i < rank && at < size; i++) at += (size_t)snprintf(text + at, size - at, "%s%u", i ? ", " : "", dims[i]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}

const char *tensor_describe(const struct network_tensor *tensor, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "'%s'", tensor->name);
    struct npy like = {.type = tensor->type, .rank = tensor->rank};
    if (tensor->rank == NETWORK_RANK_UNKNOWN || at + 2 > size) return text;
    memcpy(like.dims, tensor->dims, sizeof like.dims);
    snprintf(text + at, size - at, ", ");
    npy_describe(&like, text + at + 2, size - at - 2);
    return text;
}

static bool misfit(const struct npy *array, const struct network_tensor *tensor, const char *how, const char *more,
                   struct failure *failure) {
    char have[256], want[512];
    return failure_set(failure, STATUS_INPUT, "it holds %s, %s %s%s", npy_describe(array, have, sizeof have), how,
                       tensor_describe(tensor, want, sizeof want), more);
}

bool tensor_fits(const struct npy *array, const struct network_tensor *tensor, uint32_t *runs, struct failure *failure) {
    bool same = array->rank == tensor->rank;
    for (uint32_t i = 1; same && i < array->rank; i++) same = array->dims[i] == tensor->dims[i];
    *runs = 1;
    if (!same) return misfit(array, tensor, "which does not fit input", " (the first dimension may be a multiple)", failure);
    if (array->rank == 0) return true;
    if (array->dims[0] == 0 || !tensor->dims[0] || array->dims[0] % tensor->dims[0])
        return misfit(array, tensor, "which does not fit input", " (the first dimension may be a multiple, but not 0)", failure);
    *runs = (uint32_t)(array->dims[0] / tensor->dims[0]);
    return true;
}

/* In place, front to back: the elements get narrower. */
static void narrow_to_float(struct npy *array) {
    uint8_t *data = array->data;
    for (size_t i = 0; i < array->count; i++) {
        double wide;
        int64_t integer;
        memcpy(&wide, data + 8 * i, 8);
        memcpy(&integer, data + 8 * i, 8);
        float value = array->type == NPY_INT64 ? (float)integer : (float)wide;
        memcpy(data + 4 * i, &value, 4);
    }
    array->type = NPY_FLOAT32;
}

static bool narrow_to_int32(struct npy *array) {
    uint8_t *data = array->data;
    for (size_t i = 0; i < array->count; i++) {
        int64_t wide;
        memcpy(&wide, data + 8 * i, 8);
        if (wide < INT32_MIN || wide > INT32_MAX) return false;
        int32_t value = (int32_t)wide;
        memcpy(data + 4 * i, &value, 4);
    }
    array->type = NPY_INT32;
    return true;
}

static float number(const struct npy *array, size_t i) {
    switch (array->type) {
    case NPY_UINT8: return ((const uint8_t *)array->data)[i];
    case NPY_INT8: return ((const int8_t *)array->data)[i];
    case NPY_INT32: return (float)((const int32_t *)array->data)[i];
    case NPY_INT64: return (float)((const int64_t *)array->data)[i];
    case NPY_FLOAT64: return (float)((const double *)array->data)[i];
    default: return ((const float *)array->data)[i];
    }
}

/* Into memory of its own. */
static bool widen_to_float(struct npy *array, struct failure *failure) {
    size_t bytes = array->count * sizeof(float);
    float *floats = malloc(bytes + 1);
    if (!floats) return failure_memory(failure, bytes);
    for (size_t i = 0; i < array->count; i++) floats[i] = number(array, i);
    file_free(&array->file);
    array->file = (struct file_bytes){(uint8_t *)floats, bytes};
    array->data = floats;
    array->type = NPY_FLOAT32;
    return true;
}

bool tensor_convert(struct npy *array, const struct network_tensor *tensor, bool *converted, struct failure *failure) {
    bool wide = array->type == NPY_INT64 || array->type == NPY_FLOAT64;
    *converted = false;
    if (array->type == tensor->type) return true;
    if (tensor->takes_any) return widen_to_float(array, failure);
    if (wide && tensor->type == NPY_FLOAT32) {
        narrow_to_float(array);
        *converted = true;
        return true;
    }
    if (array->type == NPY_INT64 && tensor->type == NPY_INT32) {
        struct npy before = *array;
        *converted = true;
        return narrow_to_int32(array) || misfit(&before, tensor, "where the network's input is", ": a value does not fit", failure);
    }
    return misfit(array, tensor, "where the network's input is", "", failure);
}

/* Copies `bytes`-wide elements between row-major (N C ...) and channels-last (N ... C) memory. */
static void permute(const struct morsel_view *view, size_t bytes, const uint8_t *from, uint8_t *to, bool to_view) {
    size_t elements = view->bytes / type_bytes(view->type);
    bool moved = view->layout == MORSEL_CHANNELS_LAST && view->rank > 2;
    size_t batch = moved ? view->dims[0] : 1, channels = moved ? view->dims[view->rank - 1] : 1;
    size_t inner = elements / batch / channels;
    if (channels == 1 || inner == 1) {
        memcpy(to, from, elements * bytes);
        return;
    }
    for (size_t n = 0; n < batch; n++) {
        for (size_t i = 0; i < inner; i++) {
            for (size_t c = 0; c < channels; c++) {
                size_t last = (n * inner + i) * channels + c, major = (n * channels + c) * inner + i;
                memcpy(to + (to_view ? last : major) * bytes, from + (to_view ? major : last) * bytes, bytes);
            }
        }
    }
}

static bool library_failed(const struct morsel_view *view, enum morsel_error error, struct failure *failure) {
    return !error || failure_set(failure, STATUS_INPUT, "tensor '%s': %s", view->name, morsel_error_text(error));
}

static bool other_type(const struct morsel_view *view, struct failure *failure) {
    return failure_set(failure, STATUS_INPUT, "tensor '%s' is %s in the graph and %s in the blob, which this tool cannot convert",
                       view->name, tensor_type_name(view->onnx_type), tensor_type_name(view->type));
}

bool tensor_store(const struct morsel_view *view, const void *values, struct failure *failure) {
    if (view->onnx_type == MORSEL_FLOAT32) return library_failed(view, morsel_quantize(view, values, morsel_view_elements(view)), failure);
    if (view->onnx_type != view->type) return other_type(view, failure);
    permute(view, type_bytes(view->type), values, view->data, true);
    return true;
}

bool tensor_load(const struct morsel_view *view, void *values, struct failure *failure) {
    if (view->onnx_type == MORSEL_FLOAT32)
        return library_failed(view, morsel_dequantize(view, values, morsel_view_elements(view)), failure);
    if (view->onnx_type != view->type) return other_type(view, failure);
    permute(view, type_bytes(view->type), view->data, values, false);
    return true;
}
