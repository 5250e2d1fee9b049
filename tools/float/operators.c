/* SPDX-License-Identifier: MIT */
/* The table of operators that run in float and are no functions of one number or two. */
#include "tools/float/operator.h"
#include "tools/onnx/operator.h"

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
    {"", "Einsum", 1, FLOATS, prepare_einsum},

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
    {"", "TopK", 2, NUMBERS, prepare_top},
    {"", "Hardmax", 1, FLOATS, prepare_hardmax},
    {"", "CumSum", 1, FLOATS, prepare_sums},
    {"", "BatchNormalization", 1, FLOATS, prepare_batch_norm},
    {"", "InstanceNormalization", 1, FLOATS, prepare_instance_norm},
    {"", "GroupNormalization", 1, FLOATS, prepare_group_norm},
    {"", "LayerNormalization", 3, FLOATS, prepare_layer_norm},
    {"", "RMSNormalization", 1, FLOATS, prepare_layer_norm},
    {"", "LpNormalization", 1, FLOATS, prepare_lp_norm},
    {"", "LRN", 1, FLOATS, prepare_lrn},

    {"", "Mean", 1, FLOATS, prepare_mean},
    {"", "Where", 1, NUMBERS, prepare_where},

    {"", "IsNaN", 1, NUMBERS, prepare_is_nan},
    {"", "Clip", 1, NUMBERS, prepare_clip},
    {"", "Cast", 1, NUMBERS, prepare_cast},
    {"", "CastLike", 1, NUMBERS, prepare_cast},

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
    {"", "GatherElements", 1, NUMBERS, prepare_gather_elements},
    {"", "GatherND", 1, NUMBERS, prepare_gather_nd},
    {"", "ReverseSequence", 1, NUMBERS, prepare_reverse_sequence},
    {"", "Pad", 1, NUMBERS, prepare_pad},
    {"", "DepthToSpace", 1, NUMBERS, prepare_depth_to_space},
    {"", "SpaceToDepth", 1, NUMBERS, prepare_space_to_depth},
    {"", "Resize", 1, FLOATS, prepare_resize},
    {"", "Upsample", 1, FLOATS, prepare_resize},
    {"", "GridSample", 1, FLOATS, prepare_grid_sample},
    {"", "NonMaxSuppression", 1, FLOATS, prepare_suppression},

    {"", "QuantizeLinear", 1, FLOATS, prepare_quantize},
    {"", "DequantizeLinear", 1, NUMBERS, prepare_dequantize},
    {MICROSOFT, "QuantizeLinear", 1, FLOATS, prepare_quantize},
    {MICROSOFT, "DequantizeLinear", 1, NUMBERS, prepare_dequantize},
};

/* Elementwise operators come with their functions; with whole numbers, too, where those stay whole. */
static const struct float_operator of_one[] = {{.outputs = 1, .types = FLOATS, .prepare = prepare_unary},
                                               {.outputs = 1, .types = NUMBERS, .prepare = prepare_unary}};
static const struct float_operator of_two[] = {{.outputs = 1, .types = FLOATS, .prepare = prepare_binary},
                                               {.outputs = 1, .types = NUMBERS, .prepare = prepare_binary}};

const struct float_operator *float_operator_of(const struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strcmp(operators[i].name, node->op) && !strcmp(operators[i].domain, node->domain)) return &operators[i];
    bool whole = onnx_has(node, ONNX_WHOLE);
    if (!op || op->traits & ONNX_QUANTIZED || (op->function && onnx_adds(node))) return NULL;
    return op->function ? &of_one[whole] : op->of_two && op->of_two->line ? &of_two[whole] : NULL;
}
