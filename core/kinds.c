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

#define CONV_SUMS offsetof(struct morsel_blob_conv, sums)
#define FC_SUMS offsetof(struct morsel_blob_fc, sums)

#define KIND(symbol, ...) const struct morsel_kind symbol = {__VA_ARGS__}

/* What is 0 is left out. */
KIND(morsel_kind_conv, "conv", .inputs = 1, .x_types = BYTES, .y_types = BOTH, .rows = WINDOW, .sums = CONV_SUMS,
     .record = sizeof(struct morsel_blob_conv), .kernels = morsel_kernels_conv, .work = morsel_work_conv, .check = morsel_check_conv,
     .prepare = morsel_prepare_conv, .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_depthwise, "depthwise", .inputs = 1, .x_types = BYTES, .y_types = BOTH, .rows = WINDOW, .sums = CONV_SUMS,
     .record = sizeof(struct morsel_blob_conv), .kernels = morsel_kernels_depthwise, .work = morsel_work_conv, .check = morsel_check_conv,
     .prepare = morsel_prepare_conv, .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_fc, "fc", .inputs = 1, .x_types = BYTES, .y_types = BOTH, .rows = NONE, .sums = FC_SUMS,
     .record = sizeof(struct morsel_blob_fc), .kernels = morsel_kernels_fc, .work = morsel_work_fc, .check = morsel_check_fc,
     .prepare = morsel_prepare_fc, .run = morsel_run_fc);
KIND(morsel_kind_matmul, "matmul", .inputs = 2, .x_types = BYTES, .y_types = BOTH, .rows = NONE,
     .record = sizeof(struct morsel_blob_matmul), .kernels = morsel_kernels_matmul, .work = morsel_work_matmul,
     .check = morsel_check_matmul, .prepare = morsel_prepare_matmul, .run = morsel_run_matmul);
KIND(morsel_kind_view_matmul, "view_matmul", .inputs = 2, .x_types = BYTES, .y_types = BOTH, .rows = NONE,
     .record = sizeof(struct morsel_blob_view_matmul), .kernels = morsel_kernels_matmul, .work = morsel_work_float_matmul,
     .check = morsel_check_view_matmul, .prepare = morsel_prepare_view_matmul, .run = morsel_run_matmul);
KIND(morsel_kind_float_matmul, "float_matmul", .inputs = 2, .x_types = FLOATS, .y_types = FLOATS, .rows = NONE,
     .record = sizeof(struct morsel_blob_float_matmul), .optional = 1, .kernels = morsel_kernels_float_matmul,
     .work = morsel_work_float_matmul, .check = morsel_check_float_matmul, .prepare = morsel_prepare_float_matmul,
     .run = morsel_run_float_matmul);
KIND(morsel_kind_binary, "binary", .inputs = 2, .x_types = BOTH, .y_types = BOTH, .rows = SAME, .record = sizeof(struct morsel_blob_binary),
     .kernels = morsel_kernels_binary, .work = morsel_work_binary, .check = morsel_check_binary, .prepare = morsel_prepare_binary,
     .run = morsel_run_binary, .point = morsel_point_binary, .period = morsel_binary_period);
/* Sums of bytes alone, in the place of that for programs whose networks have no others. */
KIND(morsel_kind_qadd, "binary", .inputs = 2, .x_types = BYTES, .y_types = BYTES, .rows = SAME, .record = sizeof(struct morsel_blob_binary),
     .kernels = morsel_kernels_qadd, .work = morsel_work_binary, .check = morsel_check_qadd, .prepare = morsel_prepare_binary,
     .run = morsel_run_binary, .point = morsel_point_binary, .period = morsel_binary_period);
KIND(morsel_kind_unary, "unary", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = SAME, .record = sizeof(struct morsel_blob_unary),
     .kernels = morsel_kernels_unary, .work = morsel_work_elements, .check = morsel_check_unary, .prepare = morsel_prepare_unary,
     .run = morsel_run_unary, .point = morsel_point_unary, .period = morsel_unary_period);
KIND(morsel_kind_lut, "lut", .inputs = 1, .x_types = BYTES, .y_types = BOTH, .rows = SAME, .record = sizeof(struct morsel_blob_lut),
     .kernels = morsel_kernels_lut, .work = morsel_work_elements, .check = morsel_check_lut, .prepare = morsel_prepare_lut,
     .run = morsel_run_lut, .point = morsel_point_lut, .period = morsel_lut_period);
KIND(morsel_kind_average_pool, "average_pool", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .same_type = 1, .rows = NUMBERED,
     .record = sizeof(struct morsel_blob_pool), .kernels = morsel_kernels_average_pool, .work = morsel_work_pool,
     .check = morsel_check_pool, .prepare = morsel_prepare_pool, .run_rows = morsel_run_pool, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_max_pool, "max_pool", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .same_type = 1, .rows = WINDOW,
     .record = sizeof(struct morsel_blob_pool), .kernels = morsel_kernels_max_pool, .work = morsel_work_pool, .check = morsel_check_pool,
     .prepare = morsel_prepare_pool, .run_rows = morsel_run_pool, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_mean, "mean", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = NONE, .record = sizeof(struct morsel_blob_mean),
     .kernels = morsel_kernels_mean, .work = morsel_work_elements, .check = morsel_check_mean, .prepare = morsel_prepare_mean,
     .run = morsel_run_mean);
KIND(morsel_kind_softmax, "softmax", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = NONE,
     .record = sizeof(struct morsel_blob_softmax), .by_line = 1, .kernels = morsel_kernels_softmax, .work = morsel_work_softmax,
     .check = morsel_check_softmax, .prepare = morsel_prepare_softmax, .run = morsel_run_softmax);
KIND(morsel_kind_layer_norm, "layer_norm", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = NONE,
     .record = sizeof(struct morsel_blob_layer_norm), .by_line = 1, .kernels = morsel_kernels_layer_norm, .work = morsel_work_layer_norm,
     .check = morsel_check_layer_norm, .prepare = morsel_prepare_layer_norm, .run = morsel_run_layer_norm);
KIND(morsel_kind_resize, "resize", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = NONE, .record = sizeof(struct morsel_blob_resize),
     .kernels = morsel_kernels_resize, .work = morsel_work_resize, .check = morsel_check_resize, .prepare = morsel_prepare_resize,
     .run = morsel_run_resize);
KIND(morsel_kind_concat, "concat", .inputs = 0, .x_types = ANY, .y_types = ANY, .same_type = 1, .rows = NONE,
     .record = sizeof(struct morsel_blob_concat), .record_input = 4, .kernels = morsel_kernels_copy, .work = morsel_work_concat,
     .check = morsel_check_concat, .prepare = morsel_prepare_concat, .run = morsel_run_concat);
KIND(morsel_kind_gather, "gather", .inputs = 1, .x_types = ANY, .y_types = ANY, .same_type = 1, .rows = NONE,
     .record = sizeof(struct morsel_blob_gather), .kernels = morsel_kernels_gather, .work = morsel_work_gather,
     .check = morsel_check_gather, .prepare = morsel_prepare_gather, .run = morsel_run_gather);
KIND(morsel_kind_float_conv, "float_conv", .inputs = 1, .x_types = BOTH, .y_types = BOTH, .rows = WINDOW,
     .record = sizeof(struct morsel_blob_float_conv), .kernels = morsel_kernels_float_conv, .work = morsel_work_float_conv,
     .check = morsel_check_float_conv, .prepare = morsel_prepare_float_conv, .run_rows = morsel_run_float_conv,
     .run_pictures = morsel_run_pictures);
KIND(morsel_kind_range, "range", .inputs = 1, .x_types = FLOATS, .y_types = FLOATS, .rows = NONE,
     .record = sizeof(struct morsel_blob_range), .kernels = morsel_kernels_range, .work = morsel_work_elements,
     .check = morsel_check_range_step, .prepare = morsel_prepare_range, .run = morsel_run_range);
KIND(morsel_kind_factors, "factors", .inputs = 1, .x_types = FLOATS, .y_types = FLOATS, .rows = NONE,
     .record = sizeof(struct morsel_blob_factors), .kernels = morsel_kernels_factors, .work = morsel_work_elements,
     .check = morsel_check_factors, .prepare = morsel_prepare_factors, .run = morsel_run_factors);
KIND(morsel_kind_quantize, "quantize", .inputs = 2, .x_types = FLOATS, .y_types = FOUND, .rows = NONE,
     .record = sizeof(struct morsel_blob_quantize), .numbers = 1, .kernels = morsel_kernels_quantize, .work = morsel_work_elements,
     .check = morsel_check_quantize, .prepare = morsel_prepare_quantize, .run = morsel_run_quantize);
KIND(morsel_kind_dynamic_conv, "dynamic_conv", .inputs = 2, .x_types = FOUND, .y_types = FLOATS, .rows = NUMBERED, .sums = CONV_SUMS,
     .record = sizeof(struct morsel_blob_conv), .numbers = 1, .kernels = morsel_kernels_conv, .work = morsel_work_conv,
     .check = morsel_check_conv, .prepare = morsel_prepare_conv, .run_rows = morsel_run_conv, .run_pictures = morsel_run_pictures);
KIND(morsel_kind_dynamic_depthwise, "dynamic_depthwise", .inputs = 2, .x_types = FOUND, .y_types = FLOATS, .rows = NUMBERED,
     .sums = CONV_SUMS, .record = sizeof(struct morsel_blob_conv), .numbers = 1, .kernels = morsel_kernels_depthwise,
     .work = morsel_work_conv, .check = morsel_check_conv, .prepare = morsel_prepare_conv, .run_rows = morsel_run_conv,
     .run_pictures = morsel_run_pictures);
KIND(morsel_kind_dynamic_fc, "dynamic_fc", .inputs = 2, .x_types = FOUND, .y_types = FLOATS, .rows = NONE, .sums = FC_SUMS,
     .record = sizeof(struct morsel_blob_fc), .numbers = 1, .kernels = morsel_kernels_fc, .work = morsel_work_fc, .check = morsel_check_fc,
     .prepare = morsel_prepare_fc, .run = morsel_run_fc);
KIND(morsel_kind_lookup, "lookup", .inputs = 1, .x_types = INTEGERS | FLOATS, .y_types = BOTH, .rows = NONE,
     .record = sizeof(struct morsel_blob_lookup), .kernels = morsel_kernels_lookup, .work = morsel_work_lookup,
     .check = morsel_check_lookup, .prepare = morsel_prepare_lookup, .run = morsel_run_lookup);
KIND(morsel_kind_cast, "cast", .inputs = 1, .x_types = INTEGERS, .y_types = FLOATS, .rows = NONE, .record = sizeof(struct morsel_blob_cast),
     .kernels = morsel_kernels_cast, .work = morsel_work_elements, .check = morsel_check_cast, .prepare = morsel_prepare_cast,
     .run = morsel_run_cast);
KIND(morsel_kind_grid_sample, "grid_sample", .inputs = 2, .x_types = FLOATS, .y_types = FLOATS, .rows = NONE,
     .record = sizeof(struct morsel_blob_grid_sample), .kernels = morsel_kernels_grid_sample, .work = morsel_work_resize,
     .check = morsel_check_grid_sample, .prepare = morsel_prepare_grid_sample, .run = morsel_run_grid_sample);
KIND(morsel_kind_non_max_suppression, "non_max_suppression", .inputs = 2, .x_types = FLOATS, .y_types = INTEGERS, .rows = NONE,
     .record = sizeof(struct morsel_blob_non_max_suppression), .kernels = morsel_kernels_non_max_suppression,
     .work = morsel_work_non_max_suppression, .check = morsel_check_non_max_suppression, .prepare = morsel_prepare_non_max_suppression,
     .run = morsel_run_non_max_suppression);

_Static_assert(!offsetof(struct morsel_blob_conv, window) && !offsetof(struct morsel_blob_float_conv, window) &&
                   !offsetof(struct morsel_blob_pool, window),
               "records begin with their window");
