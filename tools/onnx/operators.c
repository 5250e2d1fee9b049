/* SPDX-License-Identifier: MIT */
/* The table of operators: which there are, in which opsets, with how many inputs and outputs, and who infers and folds them. */
#include "tools/onnx/operator.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>

enum { ANY = INT_MAX };
#define MICROSOFT "com.microsoft"

/* domain, name, since, until, least inputs, most inputs, most outputs, type, infer, fold */
static const struct onnx_operator operators[] = {
    /* windows */
    {"", "Conv", 1, ANY, 2, 3, 1, 0, onnx_infer_conv, NULL},
    {"", "ConvInteger", 10, ANY, 2, 4, 1, GIVES_INT32, onnx_infer_conv_integer, NULL},
    {"", "QLinearConv", 10, ANY, 8, 9, 1, 7, onnx_infer_qlinear_conv, NULL},
    {"", "ConvTranspose", 1, ANY, 2, 3, 1, 0, onnx_infer_conv_transpose, NULL},
    {MICROSOFT, "FusedConv", 1, ANY, 2, 4, 1, 0, onnx_infer_conv, NULL},
    {"", "MaxPool", 1, ANY, 1, 1, 2, 0, onnx_infer_pool, NULL},
    {"", "AveragePool", 1, ANY, 1, 1, 1, 0, onnx_infer_pool, NULL},
    {MICROSOFT, "QLinearAveragePool", 1, ANY, 4, 5, 1, 0, onnx_infer_qlinear_pool, NULL},
    {"", "GlobalAveragePool", 1, ANY, 1, 1, 1, 0, onnx_infer_global_pool, NULL},
    {"", "GlobalMaxPool", 1, ANY, 1, 1, 1, 0, onnx_infer_global_pool, NULL},
    {MICROSOFT, "QLinearGlobalAveragePool", 1, ANY, 4, 5, 1, 0, onnx_infer_qlinear_global_pool, NULL},

    /* matrices */
    {"", "MatMul", 1, ANY, 2, 2, 1, 0, onnx_infer_matmul, onnx_fold_matmul},
    {"", "MatMulInteger", 10, ANY, 2, 4, 1, GIVES_INT32, onnx_infer_matmul, NULL},
    {"", "QLinearMatMul", 10, ANY, 8, 8, 1, 7, onnx_infer_qlinear_matmul, NULL},
    {"", "Gemm", 1, ANY, 2, 3, 1, 0, onnx_infer_gemm, onnx_fold_gemm},
    {MICROSOFT, "QGemm", 1, ANY, 6, 9, 1, GIVES_QGEMM, onnx_infer_qgemm, NULL},
    {MICROSOFT, "MatMulIntegerToFloat", 1, ANY, 4, 7, 1, 2, onnx_infer_matmul, NULL},
    {MICROSOFT, "DynamicQuantizeMatMul", 1, ANY, 3, 5, 1, 0, onnx_infer_matmul, NULL},

    /* quantization */
    {"", "QuantizeLinear", 10, ANY, 2, 3, 1, GIVES_QUANTIZED, onnx_infer_quantize, onnx_fold_quantize},
    {"", "DequantizeLinear", 10, ANY, 2, 3, 1, GIVES_DEQUANTIZED, onnx_infer_quantize, onnx_fold_dequantize},
    {MICROSOFT, "QuantizeLinear", 1, ANY, 2, 3, 1, GIVES_QUANTIZED, onnx_infer_quantize, onnx_fold_quantize},
    {MICROSOFT, "DequantizeLinear", 1, ANY, 2, 3, 1, GIVES_DEQUANTIZED, onnx_infer_quantize, onnx_fold_dequantize},
    {"", "DynamicQuantizeLinear", 11, ANY, 1, 1, 3, GIVES_UINT8, onnx_infer_dynamic_quantize, NULL},

    /* quantized elementwise operators */
    {MICROSOFT, "QLinearAdd", 1, ANY, 7, 8, 1, 0, onnx_infer_qlinear_binary, NULL},
    {MICROSOFT, "QLinearMul", 1, ANY, 7, 8, 1, 0, onnx_infer_qlinear_binary, NULL},
    {MICROSOFT, "QLinearConcat", 1, ANY, 5, ANY, 1, 1, onnx_infer_qlinear_concat, NULL},
    {MICROSOFT, "QLinearSigmoid", 1, ANY, 4, 5, 1, 0, onnx_infer_same, NULL},
    {MICROSOFT, "QLinearLeakyRelu", 1, ANY, 4, 5, 1, 0, onnx_infer_same, NULL},
    {MICROSOFT, "QLinearSoftmax", 1, ANY, 4, 5, 1, 0, onnx_infer_same, NULL},
    {MICROSOFT, "QLinearWhere", 1, ANY, 9, 9, 1, 1, onnx_infer_qlinear_where, NULL},
    {MICROSOFT, "QLinearReduceMean", 1, ANY, 4, 5, 1, 0, onnx_infer_qlinear_reduce, NULL},

    /* two or more inputs that broadcast */
    {"", "Add", 1, ANY, 2, 2, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Sub", 1, ANY, 2, 2, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Mul", 1, ANY, 2, 2, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Div", 1, ANY, 2, 2, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Max", 1, ANY, 1, ANY, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Min", 1, ANY, 1, ANY, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Sum", 1, ANY, 1, ANY, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Mean", 1, ANY, 1, ANY, 1, 0, onnx_infer_arithmetic, NULL},
    {"", "Pow", 1, ANY, 2, 2, 1, 0, onnx_infer_broadcast_all, onnx_fold_binary},
    {"", "Mod", 10, ANY, 2, 2, 1, 0, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "And", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Or", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Xor", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Equal", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Greater", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Less", 1, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "GreaterOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "LessOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, onnx_infer_arithmetic, onnx_fold_binary},
    {"", "Where", 9, ANY, 3, 3, 1, 1, onnx_infer_broadcast_all, onnx_fold_where},
    {"", "PRelu", 1, ANY, 2, 2, 1, 0, onnx_infer_prelu, NULL},

    /* one input, its shape */
    {"", "Identity", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_copy},
    {"", "Relu", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "LeakyRelu", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Clip", 1, ANY, 1, 3, 1, 0, onnx_infer_same, onnx_fold_clip},
    {"", "Sigmoid", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "HardSigmoid", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "HardSwish", 14, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Swish", 24, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Mish", 18, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Tanh", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Erf", 9, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Exp", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Log", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Sqrt", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Abs", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Neg", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Sign", 9, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Reciprocal", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Floor", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Ceil", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Round", 11, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Not", 1, ANY, 1, 1, 1, 0, onnx_infer_same, onnx_fold_unary},
    {"", "Softplus", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Softsign", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "ThresholdedRelu", 10, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Elu", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Selu", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Celu", 12, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Gelu", 20, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {MICROSOFT, "Gelu", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},
    {"", "Softmax", 1, ANY, 1, 1, 1, 0, onnx_infer_axis_same, NULL},
    {"", "LogSoftmax", 1, ANY, 1, 1, 1, 0, onnx_infer_axis_same, NULL},
    {"", "Hardmax", 1, ANY, 1, 1, 1, 0, onnx_infer_axis_same, NULL},
    {"", "LpNormalization", 1, ANY, 1, 1, 1, 0, onnx_infer_axis_same, NULL},
    {"", "Dropout", 1, ANY, 1, 3, 2, 0, onnx_infer_dropout, NULL},
    {"", "Cast", 1, ANY, 1, 1, 1, GIVES_TO, onnx_infer_same, onnx_fold_cast},
    {"", "CastLike", 15, ANY, 2, 2, 1, 1, onnx_infer_same, onnx_fold_cast},
    {"", "BatchNormalization", 1, ANY, 5, 5, 5, 0, onnx_infer_batch_norm, NULL},
    {"", "InstanceNormalization", 1, ANY, 3, 3, 1, 0, onnx_infer_same, NULL},
    {"", "LayerNormalization", 17, ANY, 2, 3, 3, 0, onnx_infer_layer_norm, NULL},
    {"", "GroupNormalization", 18, ANY, 3, 3, 1, 0, onnx_infer_same, NULL},
    {"", "RMSNormalization", 23, ANY, 2, 2, 1, 0, onnx_infer_same, NULL},
    {"", "LRN", 1, ANY, 1, 1, 1, 0, onnx_infer_same, NULL},

    /* the same bytes in another shape or order */
    {"", "Reshape", 5, ANY, 2, 2, 1, 0, onnx_infer_reshape, onnx_fold_copy},
    {"", "Flatten", 1, ANY, 1, 1, 1, 0, onnx_infer_flatten, onnx_fold_copy},
    {"", "Squeeze", 1, ANY, 1, 2, 1, 0, onnx_infer_squeeze, onnx_fold_copy},
    {"", "Unsqueeze", 1, ANY, 1, 2, 1, 0, onnx_infer_unsqueeze, onnx_fold_copy},
    {"", "Transpose", 1, ANY, 1, 1, 1, 0, onnx_infer_transpose, onnx_fold_transpose},
    {"", "Expand", 8, ANY, 2, 2, 1, 0, onnx_infer_expand, onnx_fold_expand},
    {"", "Tile", 6, ANY, 2, 2, 1, 0, onnx_infer_tile, onnx_fold_tile},
    {"", "DepthToSpace", 1, ANY, 1, 1, 1, 0, onnx_infer_depth_to_space, NULL},
    {"", "SpaceToDepth", 1, ANY, 1, 1, 1, 0, onnx_infer_space_to_depth, NULL},
    {"", "Slice", 1, ANY, 3, 5, 1, 0, onnx_infer_slice, onnx_fold_slice},
    {"", "Split", 2, ANY, 1, 2, ANY, 0, onnx_infer_split, onnx_fold_split},
    {"", "Pad", 2, ANY, 1, 4, 1, 0, onnx_infer_pad, NULL},
    {"", "Concat", 4, ANY, 1, ANY, 1, 0, onnx_infer_concat, onnx_fold_concat},
    {"", "Gather", 1, ANY, 2, 2, 1, 0, onnx_infer_gather, onnx_fold_gather},
    {"", "GatherElements", 11, ANY, 2, 2, 1, 0, onnx_infer_gather_elements, NULL},
    {"", "Resize", 10, ANY, 1, 4, 1, 0, onnx_infer_resize, NULL},
    {"", "Upsample", 7, 9, 2, 2, 1, 0, onnx_infer_resize, NULL}, /* too old to be read: here for its refusal */

    /* from attributes and shapes */
    {"", "Constant", 1, ANY, 0, 0, 1, GIVES_CONSTANT, onnx_infer_constant, onnx_fold_constant},
    {"", "ConstantOfShape", 9, ANY, 1, 1, 1, GIVES_CONSTANT, onnx_infer_constant_of_shape, onnx_fold_constant_of_shape},
    {"", "Range", 11, ANY, 3, 3, 1, 0, onnx_infer_range, onnx_fold_range},
    {"", "Shape", 1, ANY, 1, 1, 1, GIVES_INT64, onnx_infer_shape_of, onnx_fold_shape_of},
    {"", "Size", 1, ANY, 1, 1, 1, GIVES_INT64, onnx_infer_size_of, onnx_fold_size_of},

    /* over axes */
    {"", "ReduceMean", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, onnx_fold_reduce},
    {"", "ReduceSum", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, onnx_fold_reduce},
    {"", "ReduceMax", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, onnx_fold_reduce},
    {"", "ReduceMin", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, onnx_fold_reduce},
    {"", "ReduceProd", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, onnx_fold_reduce},
    {"", "ReduceL1", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, NULL},
    {"", "ReduceL2", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, NULL},
    {"", "ReduceSumSquare", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, NULL},
    {"", "ReduceLogSum", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, NULL},
    {"", "ReduceLogSumExp", 1, ANY, 1, 2, 1, 0, onnx_infer_reduce, NULL},
    {"", "ArgMax", 1, ANY, 1, 1, 1, GIVES_INT64, onnx_infer_arg, NULL},
    {"", "ArgMin", 1, ANY, 1, 1, 1, GIVES_INT64, onnx_infer_arg, NULL},
};

const struct onnx_operator *onnx_operator_find(const char *domain, const char *name) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].name, name) && !strcmp(operators[i].domain, domain)) return &operators[i];
    return NULL;
}
