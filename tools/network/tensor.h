/* SPDX-License-Identifier: MIT */
/* Tensors as the ONNX graph states them, row-major: whether arrays fit one, and the way into a blob's views and out of them. */
#ifndef MORSEL_TOOLS_NETWORK_TENSOR_H
#define MORSEL_TOOLS_NETWORK_TENSOR_H

#include "tools/network/network.h"

/* "'x', float32 [1, 3, 224, 224]" into `text`. */
const char *tensor_describe(const struct network_tensor *tensor, char *text, size_t size);

/*
 * Whether the array fits the input: the same rank, dimensions equal but for the first, which may be a multiple of the network's. `runs` is
 * that multiple. False: the failure states both.
 */
bool tensor_fits(const struct npy *array, const struct network_tensor *tensor, uint32_t *runs, struct failure *failure);

/* Makes the array's type the tensor's: float64 and int64 become float32 (`converted` is set), int64 becomes int32 where every value fits;
 * any type what takes_any. False: the types differ otherwise. */
bool tensor_convert(struct npy *array, const struct network_tensor *tensor, bool *converted, struct failure *failure);

/* --- A blob's views --- */

/* The values of one run (onnx_type, row-major) into the view: quantized where the graph states floats. */
bool tensor_store(const struct morsel_view *view, const void *values, struct failure *failure);

/* The view's values, as the ONNX graph states them, to `values`. */
bool tensor_load(const struct morsel_view *view, void *values, struct failure *failure);

const char *tensor_type_name(enum morsel_type type); /* "float32" */
enum npy_type tensor_npy_type(enum morsel_type type);

/* "[1, 3, 224, 224]" */
const char *tensor_dims(const uint32_t *dims, uint32_t rank, char *text, size_t size);

#endif
