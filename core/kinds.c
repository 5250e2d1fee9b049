/* SPDX-License-Identifier: MIT */
/* The step kinds: a row says all that is particular to one. kinds_all.c has the table of them. */
#include "kind.h"

#include "../kernels/kernels.h"
#include "check.h"
#include "prepare.h"
#include "run.h"

/* Sets of tensor types. */
#define BYTES (1u << MORSEL_UINT8 | 1u << MORSEL_INT8)
#define FOUND (1u << MORSEL_UINT8) /* of bytes whose numbers are found at run time */
#define FLOATS (1u << MORSEL_FLOAT32)
#define BOTH (BYTES | FLOATS)
#define INTEGERS (1u << MORSEL_INT32)
#define ANY (BOTH | INTEGERS)

#define NONE MORSEL_ROWS_NONE
#define WINDOW MORSEL_ROWS_WINDOW
#define NUMBERED MORSEL_ROWS_NUMBERED
#define SAME MORSEL_ROWS_SAME

#define NUMBERS 1 /* the second input is of FACTORS */

#define CONV_SUMS offsetof(struct morsel_blob_conv, sums)
#define FC_SUMS offsetof(struct morsel_blob_fc, sums)

#define KIND(symbol, ...) const struct morsel_kind symbol = {__VA_ARGS__}

/* name, inputs, x types, y types, same type, rows, sums, record, for each input, numbers; functions */
KIND(morsel_kind_conv, "conv", 1, BYTES, BOTH, 0, WINDOW, CONV_SUMS, sizeof(struct morsel_blob_conv), 0, .kernels = morsel_kernels_conv,
     .work = morsel_work_conv, .check = morsel_check_conv, .prepare = morsel_prepare_conv, .run_rows = morsel_run_conv,
     .run_pictures = morsel_run_pictures);
KIND(morsel_kind_depthwise, "depthwise", 1, BYTES, BOTH, 0, WINDOW, CONV_SUMS, sizeof(struct morsel_blob_conv), 0,
     .kernels = morsel_kernels_depthwise, .work = morsel_work_conv, .check = morsel_check_conv, .prepare = morsel_prepare_conv,
     .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_fc, "fc", 1, BYTES, BOTH, 0, NONE, FC_SUMS, sizeof(struct morsel_blob_fc), 0, .kernels = morsel_kernels_fc,
     .work = morsel_work_fc, .check = morsel_check_fc, .prepare = morsel_prepare_fc, .run = morsel_run_fc);
KIND(morsel_kind_matmul, "matmul", 2, BYTES, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_matmul), 0, .kernels = morsel_kernels_matmul,
     .work = morsel_work_matmul, .check = morsel_check_matmul, .prepare = morsel_prepare_matmul, .run = morsel_run_matmul);
KIND(morsel_kind_view_matmul, "view_matmul", 2, BYTES, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_view_matmul), 0,
     .kernels = morsel_kernels_matmul, .work = morsel_work_float_matmul, .check = morsel_check_view_matmul,
     .prepare = morsel_prepare_view_matmul, .run = morsel_run_matmul);
KIND(morsel_kind_float_matmul, "float_matmul", 2, FLOATS, FLOATS, 0, NONE, 0, sizeof(struct morsel_blob_float_matmul), 0, .optional = 1,
     .kernels = morsel_kernels_float_matmul, .work = morsel_work_float_matmul, .check = morsel_check_float_matmul,
     .prepare = morsel_prepare_float_matmul, .run = morsel_run_float_matmul);
KIND(morsel_kind_binary, "binary", 2, BOTH, BOTH, 0, SAME, 0, sizeof(struct morsel_blob_binary), 0, .kernels = morsel_kernels_binary,
     .work = morsel_work_binary, .check = morsel_check_binary, .prepare = morsel_prepare_binary, .run = morsel_run_binary,
     .point = morsel_point_binary, .period = morsel_binary_period);
/* Sums of bytes alone, in the place of that for programs whose networks have no others. */
KIND(morsel_kind_qadd, "binary", 2, BYTES, BYTES, 0, SAME, 0, sizeof(struct morsel_blob_binary), 0, .kernels = morsel_kernels_qadd,
     .work = morsel_work_binary, .check = morsel_check_qadd, .prepare = morsel_prepare_binary, .run = morsel_run_binary,
     .point = morsel_point_binary, .period = morsel_binary_period);
KIND(morsel_kind_unary, "unary", 1, BOTH, BOTH, 0, SAME, 0, sizeof(struct morsel_blob_unary), 0, .kernels = morsel_kernels_unary,
     .work = morsel_work_elements, .check = morsel_check_unary, .prepare = morsel_prepare_unary, .run = morsel_run_unary,
     .point = morsel_point_unary, .period = morsel_unary_period);
KIND(morsel_kind_lut, "lut", 1, BYTES, BOTH, 0, SAME, 0, sizeof(struct morsel_blob_lut), 0, .kernels = morsel_kernels_lut,
     .work = morsel_work_elements, .check = morsel_check_lut, .prepare = morsel_prepare_lut, .run = morsel_run_lut,
     .point = morsel_point_lut, .period = morsel_lut_period);
KIND(morsel_kind_average_pool, "average_pool", 1, BOTH, BOTH, 1, NUMBERED, 0, sizeof(struct morsel_blob_pool), 0,
     .kernels = morsel_kernels_average_pool, .work = morsel_work_pool, .check = morsel_check_pool, .prepare = morsel_prepare_pool,
     .run_rows = morsel_run_pool, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_max_pool, "max_pool", 1, BOTH, BOTH, 1, WINDOW, 0, sizeof(struct morsel_blob_pool), 0, .kernels = morsel_kernels_max_pool,
     .work = morsel_work_pool, .check = morsel_check_pool, .prepare = morsel_prepare_pool, .run_rows = morsel_run_pool,
     .run_pictures = morsel_run_pictures);
KIND(morsel_kind_mean, "mean", 1, BOTH, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_mean), 0, .kernels = morsel_kernels_mean,
     .work = morsel_work_elements, .check = morsel_check_mean, .prepare = morsel_prepare_mean, .run = morsel_run_mean);
KIND(morsel_kind_softmax, "softmax", 1, BOTH, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_softmax), 0, .by_line = 1,
     .kernels = morsel_kernels_softmax, .work = morsel_work_softmax, .check = morsel_check_softmax, .prepare = morsel_prepare_softmax,
     .run = morsel_run_softmax);
KIND(morsel_kind_layer_norm, "layer_norm", 1, BOTH, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_layer_norm), 0, .by_line = 1,
     .kernels = morsel_kernels_layer_norm, .work = morsel_work_layer_norm, .check = morsel_check_layer_norm,
     .prepare = morsel_prepare_layer_norm, .run = morsel_run_layer_norm);
KIND(morsel_kind_resize, "resize", 1, BOTH, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_resize), 0, .kernels = morsel_kernels_resize,
     .work = morsel_work_resize, .check = morsel_check_resize, .prepare = morsel_prepare_resize, .run = morsel_run_resize);
KIND(morsel_kind_concat, "concat", 0, ANY, ANY, 1, NONE, 0, sizeof(struct morsel_blob_concat), 4, .kernels = morsel_kernels_copy,
     .work = morsel_work_concat, .check = morsel_check_concat, .prepare = morsel_prepare_concat, .run = morsel_run_concat);
KIND(morsel_kind_gather, "gather", 1, ANY, ANY, 1, NONE, 0, sizeof(struct morsel_blob_gather), 0, .kernels = morsel_kernels_gather,
     .work = morsel_work_gather, .check = morsel_check_gather, .prepare = morsel_prepare_gather, .run = morsel_run_gather);
KIND(morsel_kind_float_conv, "float_conv", 1, BOTH, BOTH, 0, WINDOW, 0, sizeof(struct morsel_blob_float_conv), 0,
     .kernels = morsel_kernels_float_conv, .work = morsel_work_float_conv, .check = morsel_check_float_conv,
     .prepare = morsel_prepare_float_conv, .run_rows = morsel_run_float_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_range, "range", 1, FLOATS, FLOATS, 0, NONE, 0, sizeof(struct morsel_blob_range), 0, .kernels = morsel_kernels_range,
     .work = morsel_work_elements, .check = morsel_check_range_step, .prepare = morsel_prepare_range, .run = morsel_run_range);
KIND(morsel_kind_factors, "factors", 1, FLOATS, FLOATS, 0, NONE, 0, sizeof(struct morsel_blob_factors), 0,
     .kernels = morsel_kernels_factors, .work = morsel_work_elements, .check = morsel_check_factors, .prepare = morsel_prepare_factors,
     .run = morsel_run_factors);
KIND(morsel_kind_quantize, "quantize", 2, FLOATS, FOUND, 0, NONE, 0, sizeof(struct morsel_blob_quantize), 0, NUMBERS,
     .kernels = morsel_kernels_quantize, .work = morsel_work_elements, .check = morsel_check_quantize, .prepare = morsel_prepare_quantize,
     .run = morsel_run_quantize);
KIND(morsel_kind_dynamic_conv, "dynamic_conv", 2, FOUND, FLOATS, 0, NUMBERED, CONV_SUMS, sizeof(struct morsel_blob_conv), 0, NUMBERS,
     .kernels = morsel_kernels_conv, .work = morsel_work_conv, .check = morsel_check_conv, .prepare = morsel_prepare_conv,
     .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_dynamic_depthwise, "dynamic_depthwise", 2, FOUND, FLOATS, 0, NUMBERED, CONV_SUMS, sizeof(struct morsel_blob_conv), 0,
     NUMBERS, .kernels = morsel_kernels_depthwise, .work = morsel_work_conv, .check = morsel_check_conv, .prepare = morsel_prepare_conv,
     .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_dynamic_fc, "dynamic_fc", 2, FOUND, FLOATS, 0, NONE, FC_SUMS, sizeof(struct morsel_blob_fc), 0, NUMBERS,
     .kernels = morsel_kernels_fc, .work = morsel_work_fc, .check = morsel_check_fc, .prepare = morsel_prepare_fc, .run = morsel_run_fc);
KIND(morsel_kind_lookup, "lookup", 1, INTEGERS | FLOATS, BOTH, 0, NONE, 0, sizeof(struct morsel_blob_lookup), 0,
     .kernels = morsel_kernels_lookup, .work = morsel_work_lookup, .check = morsel_check_lookup, .prepare = morsel_prepare_lookup,
     .run = morsel_run_lookup);
KIND(morsel_kind_cast, "cast", 1, INTEGERS, FLOATS, 0, NONE, 0, sizeof(struct morsel_blob_cast), 0, .kernels = morsel_kernels_cast,
     .work = morsel_work_elements, .check = morsel_check_cast, .prepare = morsel_prepare_cast, .run = morsel_run_cast);
KIND(morsel_kind_grid_sample, "grid_sample", 2, FLOATS, FLOATS, 0, NONE, 0, sizeof(struct morsel_blob_grid_sample), 0,
     .kernels = morsel_kernels_grid_sample, .work = morsel_work_resize, .check = morsel_check_grid_sample,
     .prepare = morsel_prepare_grid_sample, .run = morsel_run_grid_sample);
KIND(morsel_kind_non_max_suppression, "non_max_suppression", 2, FLOATS, INTEGERS, 0, NONE, 0,
     sizeof(struct morsel_blob_non_max_suppression), 0, .kernels = morsel_kernels_non_max_suppression,
     .work = morsel_work_non_max_suppression, .check = morsel_check_non_max_suppression, .prepare = morsel_prepare_non_max_suppression,
     .run = morsel_run_non_max_suppression);

_Static_assert(!offsetof(struct morsel_blob_conv, window) && !offsetof(struct morsel_blob_float_conv, window) &&
                   !offsetof(struct morsel_blob_pool, window),
               "records begin with their window");
