/* SPDX-License-Identifier: MIT */
/* The table of operators that run in float. */
#include "tools/float/operator.h"

#include <limits.h>
#include <string.h>

#define MICROSOFT "com.microsoft"
enum { EACH = INT_MAX }; /* all outputs */

/* domain, name, outputs that are computed, types of input 0, who prepares it */
static const struct float_operator operators[] = {
    {"", "Conv", 1, FLOATS, prepare_conv},
    {MICROSOFT, "FusedConv", 1, FLOATS, prepare_conv},
    {"", "ConvTranspose", 1, FLOATS, prepare_conv_transpose},
    {"", "Gemm", 1, FLOATS, prepare_gemm},
    {"", "MatMul", 1, FLOATS, prepare_matmul},

    {"", "MaxPool", 1, NUMBERS, prepare_pool},
    {"", "AveragePool", 1, FLOATS, prepare_pool},
    {"", "GlobalAveragePool", 1, FLOATS, prepare_global_pool},
    {"", "GlobalMaxPool", 1, NUMBERS, prepare_global_pool},
    {"", "ReduceMean", 1, FLOATS, prepare_reduce},
    {"", "ReduceSum", 1, FLOATS, prepare_reduce},
    {"", "ReduceMax", 1, NUMBERS, prepare_reduce},
    {"", "ReduceMin", 1, NUMBERS, prepare_reduce},
    {"", "ReduceProd", 1, FLOATS, prepare_reduce},
    {"", "ReduceL1", 1, FLOATS, prepare_reduce},
    {"", "ReduceL2", 1, FLOATS, prepare_reduce},
    {"", "ReduceSumSquare", 1, FLOATS, prepare_reduce},
    {"", "ReduceLogSum", 1, FLOATS, prepare_reduce},
    {"", "ReduceLogSumExp", 1, FLOATS, prepare_reduce},
    {"", "ArgMax", 1, NUMBERS, prepare_arg},
    {"", "ArgMin", 1, NUMBERS, prepare_arg},
    {"", "Softmax", 1, FLOATS, prepare_softmax},
    {"", "LogSoftmax", 1, FLOATS, prepare_softmax},
    {"", "BatchNormalization", 1, FLOATS, prepare_batch_norm},
    {"", "InstanceNormalization", 1, FLOATS, prepare_instance_norm},
    {"", "GroupNormalization", 1, FLOATS, prepare_group_norm},
    {"", "LayerNormalization", 3, FLOATS, prepare_layer_norm},
    {"", "RMSNormalization", 1, FLOATS, prepare_layer_norm},
    {"", "LpNormalization", 1, FLOATS, prepare_lp_norm},
    {"", "LRN", 1, FLOATS, prepare_lrn},

    {"", "Add", 1, FLOATS, prepare_binary},
    {"", "Sub", 1, FLOATS, prepare_binary},
    {"", "Mul", 1, FLOATS, prepare_binary},
    {"", "Div", 1, FLOATS, prepare_binary},
    {"", "Pow", 1, FLOATS, prepare_binary},
    {"", "Max", 1, NUMBERS, prepare_binary},
    {"", "Min", 1, NUMBERS, prepare_binary},
    {"", "Sum", 1, FLOATS, prepare_binary},
    {"", "Mean", 1, FLOATS, prepare_binary},
    {"", "PRelu", 1, FLOATS, prepare_binary},
    {"", "Equal", 1, NUMBERS, prepare_binary},
    {"", "Greater", 1, NUMBERS, prepare_binary},
    {"", "Less", 1, NUMBERS, prepare_binary},
    {"", "GreaterOrEqual", 1, NUMBERS, prepare_binary},
    {"", "LessOrEqual", 1, NUMBERS, prepare_binary},
    {"", "And", 1, NUMBERS, prepare_binary},
    {"", "Or", 1, NUMBERS, prepare_binary},
    {"", "Xor", 1, NUMBERS, prepare_binary},
    {"", "Where", 1, NUMBERS, prepare_where},

    {"", "Clip", 1, NUMBERS, prepare_clip},
    {"", "Cast", 1, NUMBERS, prepare_cast},
    {"", "CastLike", 1, NUMBERS, prepare_cast},
    {"", "Relu", 1, NUMBERS, prepare_unary},
    {"", "LeakyRelu", 1, FLOATS, prepare_unary},
    {"", "ThresholdedRelu", 1, FLOATS, prepare_unary},
    {"", "Elu", 1, FLOATS, prepare_unary},
    {"", "Selu", 1, FLOATS, prepare_unary},
    {"", "Celu", 1, FLOATS, prepare_unary},
    {"", "Sigmoid", 1, FLOATS, prepare_unary},
    {"", "HardSigmoid", 1, FLOATS, prepare_unary},
    {"", "HardSwish", 1, FLOATS, prepare_unary},
    {"", "Swish", 1, FLOATS, prepare_unary},
    {"", "Mish", 1, FLOATS, prepare_unary},
    {"", "Softplus", 1, FLOATS, prepare_unary},
    {"", "Softsign", 1, FLOATS, prepare_unary},
    {"", "Tanh", 1, FLOATS, prepare_unary},
    {"", "Erf", 1, FLOATS, prepare_unary},
    {"", "Gelu", 1, FLOATS, prepare_unary},
    {MICROSOFT, "Gelu", 1, FLOATS, prepare_unary},
    {"", "Exp", 1, FLOATS, prepare_unary},
    {"", "Log", 1, FLOATS, prepare_unary},
    {"", "Sqrt", 1, FLOATS, prepare_unary},
    {"", "Abs", 1, FLOATS, prepare_unary},
    {"", "Neg", 1, FLOATS, prepare_unary},
    {"", "Sign", 1, FLOATS, prepare_unary},
    {"", "Reciprocal", 1, FLOATS, prepare_unary},
    {"", "Floor", 1, FLOATS, prepare_unary},
    {"", "Ceil", 1, FLOATS, prepare_unary},
    {"", "Round", 1, FLOATS, prepare_unary},
    {"", "Not", 1, NUMBERS, prepare_unary},

    {"", "Identity", 1, NUMBERS, prepare_alias},
    {"", "Dropout", 1, NUMBERS, prepare_alias},
    {"", "Reshape", 1, NUMBERS, prepare_alias},
    {"", "Flatten", 1, NUMBERS, prepare_alias},
    {"", "Squeeze", 1, NUMBERS, prepare_alias},
    {"", "Unsqueeze", 1, NUMBERS, prepare_alias},
    {"", "Transpose", 1, NUMBERS, prepare_transpose},
    {"", "Slice", 1, NUMBERS, prepare_slice},
    {"", "Split", EACH, NUMBERS, prepare_split},
    {"", "Concat", 1, NUMBERS, prepare_concat},
    {"", "Expand", 1, NUMBERS, prepare_expand},
    {"", "Tile", 1, NUMBERS, prepare_tile},
    {"", "Gather", 1, NUMBERS, prepare_gather},
    {"", "Pad", 1, NUMBERS, prepare_pad},
    {"", "DepthToSpace", 1, NUMBERS, prepare_depth_to_space},
    {"", "SpaceToDepth", 1, NUMBERS, prepare_space_to_depth},
    {"", "Resize", 1, FLOATS, prepare_resize},

    {"", "QuantizeLinear", 1, FLOATS, prepare_quantize},
    {"", "DequantizeLinear", 1, NUMBERS, prepare_dequantize},
    {MICROSOFT, "QuantizeLinear", 1, FLOATS, prepare_quantize},
    {MICROSOFT, "DequantizeLinear", 1, NUMBERS, prepare_dequantize},
};

const struct float_operator *float_operator_find(const char *domain, const char *name) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].name, name) && !strcmp(operators[i].domain, domain))
            return &operators[i];
    return NULL;
}
