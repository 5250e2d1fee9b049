/* SPDX-License-Identifier: MIT */
#include "tools/network/tensor.h"
#include "tools/network/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum npy_type tensor_npy_type(enum morsel_type type) {
    switch (type) {
    case MORSEL_UINT8: return NPY_UINT8;
    case MORSEL_INT8: return NPY_INT8;
    case MORSEL_INT32: return NPY_INT32;
    case MORSEL_FLOAT32: break;
    }
    return NPY_FLOAT32;
}

size_t tensor_bytes(const struct morsel_view *view) {
    return model_elements(view) * model_type_bytes(view->onnx_type);
}

static bool misfit(const struct npy *array, const struct morsel_view *view, const char *more, struct failure *failure) {
    char have[256], want[512];
    return failure_set(failure, STATUS_INPUT, "it holds %s, where the network's input is %s%s", npy_describe(array, have, sizeof have),
                       model_describe(view, want, sizeof want), more);
}

bool tensor_fits(const struct npy *array, const struct morsel_view *view, uint32_t *runs, struct failure *failure) {
    bool same = array->rank == view->onnx_rank;
    for (uint32_t i = 1; same && i < array->rank; i++) same = array->dims[i] == view->onnx_dims[i];
    *runs = 1;
    if (!same) return misfit(array, view, " (the first dimension may be a multiple)", failure);
    if (array->rank == 0) return true;
    if (array->dims[0] == 0 || array->dims[0] % view->onnx_dims[0])
        return misfit(array, view, " (the first dimension may be a multiple, but not 0)", failure);
    *runs = (uint32_t)(array->dims[0] / view->onnx_dims[0]);
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

bool tensor_convert(struct npy *array, const struct morsel_view *view, bool *converted, struct failure *failure) {
    bool wide = array->type == NPY_INT64 || array->type == NPY_FLOAT64;
    *converted = false;
    if (array->type == tensor_npy_type(view->onnx_type)) return true;
    if (wide && view->onnx_type == MORSEL_FLOAT32) {
        narrow_to_float(array);
        *converted = true;
        return true;
    }
    if (array->type == NPY_INT64 && view->onnx_type == MORSEL_INT32) {
        struct npy before = *array;
        *converted = true;
        return narrow_to_int32(array) || misfit(&before, view, ": a value does not fit", failure);
    }
    return misfit(array, view, "", failure);
}

/* Copies `bytes`-wide elements between row-major (N C ...) and channels-last (N ... C) memory. */
static void permute(const struct morsel_view *view, size_t bytes, const uint8_t *from, uint8_t *to, bool to_view) {
    size_t elements = model_elements(view);
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
                       view->name, model_type_name(view->onnx_type), model_type_name(view->type));
}

bool tensor_store(const struct morsel_view *view, const void *values, struct failure *failure) {
    if (view->onnx_type == MORSEL_FLOAT32) return library_failed(view, morsel_quantize(view, values, model_elements(view)), failure);
    if (view->onnx_type != view->type) return other_type(view, failure);
    permute(view, model_type_bytes(view->type), values, view->data, true);
    return true;
}

bool tensor_load(const struct morsel_view *view, void *values, struct failure *failure) {
    if (view->onnx_type == MORSEL_FLOAT32) return library_failed(view, morsel_dequantize(view, values, model_elements(view)), failure);
    if (view->onnx_type != view->type) return other_type(view, failure);
    permute(view, model_type_bytes(view->type), view->data, values, false);
    return true;
}
