/* SPDX-License-Identifier: MIT */
/* The table of operators: which there are, in which opsets, with how many inputs and outputs, and who infers and folds them. */
#include "tools/onnx/operator.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>

enum { ANY = INT_MAX };
#define MICROSOFT "com.microsoft"

static const struct onnx_list_input axes_from_13[] = {{"axes", 1, 13}, {0}}, axes_from_18[] = {{"axes", 1, 18}, {0}},
                                    shape_list[] = {{"shape", 1, 0}, {0}}, repeats_list[] = {{"repeats", 1, 0}, {0}},
                                    split_list[] = {{"split", 1, 13}, {0}}, pad_lists[] = {{"pads", 1, 11}, {"axes", 3, 11}, {0}},
                                    fill_list[] = {{"input", 0, 0}, {0}},
                                    slice_lists[] = {{"starts", 1, 10}, {"ends", 2, 10}, {"axes", 3, 10}, {"steps", 4, 10}, {0}};

/* domain, name, since, until, least inputs, most inputs, most outputs, type */
static const struct onnx_operator operators[] = {
    /* windows */
    {"", "Conv", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_conv},
    {"", "ConvInteger", 10, ANY, 2, 4, 1, GIVES_INT32, .infer = onnx_infer_conv_integer},
    {"", "QLinearConv", 10, ANY, 8, 9, 1, 7, .infer = onnx_infer_qlinear_conv},
    {"", "ConvTranspose", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_conv_transpose},
    {MICROSOFT, "FusedConv", 1, ANY, 2, 4, 1, 0, .infer = onnx_infer_conv},
    {"", "MaxPool", 1, ANY, 1, 1, 2, 0, .infer = onnx_infer_pool},
    {"", "AveragePool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_pool},
    {MICROSOFT, "QLinearAveragePool", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_pool},
    {"", "GlobalAveragePool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_global_pool},
    {"", "GlobalMaxPool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_global_pool},
    {MICROSOFT, "QLinearGlobalAveragePool", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_global_pool},

    /* matrices */
    {"", "MatMul", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_matmul, .fold = onnx_fold_matmul},
    {"", "MatMulInteger", 10, ANY, 2, 4, 1, GIVES_INT32, .infer = onnx_infer_matmul},
    {"", "QLinearMatMul", 10, ANY, 8, 8, 1, 7, .infer = onnx_infer_qlinear_matmul},
    {"", "Gemm", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_gemm, .fold = onnx_fold_gemm},
    {MICROSOFT, "QGemm", 1, ANY, 6, 9, 1, GIVES_QGEMM, .infer = onnx_infer_qgemm},
    {MICROSOFT, "MatMulIntegerToFloat", 1, ANY, 4, 7, 1, 2, .infer = onnx_infer_matmul},
    {MICROSOFT, "DynamicQuantizeMatMul", 1, ANY, 3, 5, 1, 0, .infer = onnx_infer_matmul},

    /* quantization */
    {"", "QuantizeLinear", 10, ANY, 2, 3, 1, GIVES_QUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_quantize},
    {"", "DequantizeLinear", 10, ANY, 2, 3, 1, GIVES_DEQUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_dequantize},
    {MICROSOFT, "QuantizeLinear", 1, ANY, 2, 3, 1, GIVES_QUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_quantize},
    {MICROSOFT, "DequantizeLinear", 1, ANY, 2, 3, 1, GIVES_DEQUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_dequantize},
    {"", "DynamicQuantizeLinear", 11, ANY, 1, 1, 3, GIVES_UINT8, .infer = onnx_infer_dynamic_quantize},

    /* quantized elementwise operators */
    {MICROSOFT, "QLinearAdd", 1, ANY, 7, 8, 1, 0, .infer = onnx_infer_qlinear_binary},
    {MICROSOFT, "QLinearMul", 1, ANY, 7, 8, 1, 0, .infer = onnx_infer_qlinear_binary},
    {MICROSOFT, "QLinearConcat", 1, ANY, 5, ANY, 1, 1, .infer = onnx_infer_qlinear_concat},
    {MICROSOFT, "QLinearSigmoid", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same},
    {MICROSOFT, "QLinearLeakyRelu", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same},
    {MICROSOFT, "QLinearSoftmax", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same},
    {MICROSOFT, "QLinearWhere", 1, ANY, 9, 9, 1, 1, .infer = onnx_infer_qlinear_where},
    {MICROSOFT, "QLinearReduceMean", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_reduce},

    /* two or more inputs that broadcast */
    {"", "Add", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Sub", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Mul", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Div", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Max", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Min", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Sum", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Mean", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic},
    {"", "Pow", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_broadcast_all, .fold = onnx_fold_binary},
    {"", "Mod", 10, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "And", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Or", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Xor", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Equal", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Greater", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Less", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "GreaterOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "LessOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_binary},
    {"", "Where", 9, ANY, 3, 3, 1, 1, .infer = onnx_infer_broadcast_all, .fold = onnx_fold_where},
    {"", "PRelu", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_prelu},

    /* one input, its shape */
    {"", "Identity", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_copy},
    {"", "Relu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "LeakyRelu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Clip", 1, ANY, 1, 3, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_clip},
    {"", "Sigmoid", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "HardSigmoid", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "HardSwish", 14, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Swish", 24, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Mish", 18, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Tanh", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Erf", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Exp", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Log", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Sqrt", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Abs", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Neg", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Sign", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Reciprocal", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Floor", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Ceil", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Round", 11, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Not", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_unary},
    {"", "Softplus", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Softsign", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "ThresholdedRelu", 10, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Elu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Selu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Celu", 12, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Gelu", 20, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {MICROSOFT, "Gelu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},
    {"", "Softmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "LogSoftmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "Hardmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "LpNormalization", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "Dropout", 1, ANY, 1, 3, 2, 0, .infer = onnx_infer_dropout},
    {"", "Cast", 1, ANY, 1, 1, 1, GIVES_TO, .infer = onnx_infer_same, .fold = onnx_fold_cast},
    {"", "CastLike", 15, ANY, 2, 2, 1, 1, .infer = onnx_infer_same, .fold = onnx_fold_cast},
    {"", "BatchNormalization", 1, ANY, 5, 5, 5, 0, .infer = onnx_infer_batch_norm},
    {"", "InstanceNormalization", 1, ANY, 3, 3, 1, 0, .infer = onnx_infer_same},
    {"", "LayerNormalization", 17, ANY, 2, 3, 3, 0, .infer = onnx_infer_layer_norm},
    {"", "GroupNormalization", 18, ANY, 3, 3, 1, 0, .infer = onnx_infer_same},
    {"", "RMSNormalization", 23, ANY, 2, 2, 1, 0, .infer = onnx_infer_same},
    {"", "LRN", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same},

    /* the same bytes in another shape or order */
    {"", "Reshape", 5, ANY, 2, 2, 1, 0, .infer = onnx_infer_reshape, .fold = onnx_fold_copy, .lists = shape_list},
    {"", "Flatten", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_flatten, .fold = onnx_fold_copy},
    {"", "Squeeze", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_squeeze, .fold = onnx_fold_copy, .lists = axes_from_13},
    {"", "Unsqueeze", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_unsqueeze, .fold = onnx_fold_copy, .lists = axes_from_13},
    {"", "Transpose", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_transpose, .fold = onnx_fold_transpose},
    {"", "Expand", 8, ANY, 2, 2, 1, 0, .infer = onnx_infer_expand, .fold = onnx_fold_expand, .lists = shape_list},
    {"", "Tile", 6, ANY, 2, 2, 1, 0, .infer = onnx_infer_tile, .fold = onnx_fold_tile, .lists = repeats_list},
    {"", "DepthToSpace", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_depth_to_space},
    {"", "SpaceToDepth", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_space_to_depth},
    {"", "Slice", 1, ANY, 3, 5, 1, 0, .infer = onnx_infer_slice, .fold = onnx_fold_slice, .lists = slice_lists},
    {"", "Split", 2, ANY, 1, 2, ANY, 0, .infer = onnx_infer_split, .fold = onnx_fold_split, .lists = split_list},
    {"", "Pad", 2, ANY, 1, 4, 1, 0, .infer = onnx_infer_pad, .lists = pad_lists},
    {"", "Concat", 4, ANY, 1, ANY, 1, 0, .infer = onnx_infer_concat, .fold = onnx_fold_concat},
    {"", "Gather", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_gather, .fold = onnx_fold_gather},
    {"", "GatherElements", 11, ANY, 2, 2, 1, 0, .infer = onnx_infer_gather_elements},
    {"", "Resize", 10, ANY, 1, 4, 1, 0, .infer = onnx_infer_resize},
    {"", "Upsample", 7, 9, 2, 2, 1, 0, .infer = onnx_infer_resize}, /* too old to be read: here for its refusal */

    /* from attributes and shapes */
    {"", "Constant", 1, ANY, 0, 0, 1, GIVES_CONSTANT, .infer = onnx_infer_constant, .fold = onnx_fold_constant},
    {"", "ConstantOfShape", 9, ANY, 1, 1, 1, GIVES_CONSTANT, .infer = onnx_infer_constant_of_shape, .fold = onnx_fold_constant_of_shape,
     .lists = fill_list},
    {"", "Range", 11, ANY, 3, 3, 1, 0, .infer = onnx_infer_range, .fold = onnx_fold_range},
    {"", "Shape", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_shape_of, .fold = onnx_fold_shape_of},
    {"", "Size", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_size_of, .fold = onnx_fold_size_of},

    /* over axes */
    {"", "ReduceMean", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_18},
    {"", "ReduceSum", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_13},
    {"", "ReduceMax", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_18},
    {"", "ReduceMin", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_18},
    {"", "ReduceProd", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_18},
    {"", "ReduceL1", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceL2", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceSumSquare", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceLogSum", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceLogSumExp", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ArgMax", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_arg},
    {"", "ArgMin", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_arg},
};

const struct onnx_operator *onnx_operator_find(const char *domain, const char *name) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].name, name) && !strcmp(operators[i].domain, domain)) return &operators[i];
    return NULL;
}

const struct onnx_operator *onnx_operator_of(const struct onnx_node *node) {
    return node ? onnx_operator_find(node->domain, node->op) : NULL;
}
