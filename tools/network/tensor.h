/* SPDX-License-Identifier: MIT */
/* Tensors as the ONNX graph states them (its type, its shape, row-major) into and out of a network's views. */
#ifndef MORSEL_TOOLS_NETWORK_TENSOR_H
#define MORSEL_TOOLS_NETWORK_TENSOR_H

#include "core/morsel.h"
#include "tools/base/npy.h"

/*
 * Whether the array fits the input: the same rank, dimensions equal but for the first, which may be a multiple of the network's. `runs` is
 * that multiple. False: the failure states both.
 */
bool tensor_fits(const struct npy *array, const struct morsel_view *view, uint32_t *runs, struct failure *failure);

/* Makes the array's type the one that the ONNX graph states: float64 and int64 become float32 (`converted` is set), int64 becomes int32
 * where every value fits. False: the types differ otherwise. */
bool tensor_convert(struct npy *array, const struct morsel_view *view, bool *converted, struct failure *failure);

/* The values of one run (onnx_type, row-major) into the view: quantized where the graph states floats. */
bool tensor_store(const struct morsel_view *view, const void *values, struct failure *failure);

/* The view's values, as the ONNX graph states them, to `values`: tensor_bytes() of them. */
bool tensor_load(const struct morsel_view *view, void *values, struct failure *failure);
size_t tensor_bytes(const struct morsel_view *view);

/* The type as a .npy file states it. */
enum npy_type tensor_npy_type(enum morsel_type type);

#endif
