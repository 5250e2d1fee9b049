/* SPDX-License-Identifier: MIT */
/* The table of operators: which there are, in which opsets, with how many inputs and outputs, and who infers and folds them. */
#include "tools/base/text.h"
#include "tools/onnx/operator.h"
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ANY = INT_MAX };
#define MICROSOFT "com.microsoft"
#define TAKES " in this form; morsel takes "
#define NO_FLOW \
    "; morsel takes no control flow but Loop and If of constant counts and conditions, some 30,000 nodes in all: export with fixed " \
    "shapes and the branch that runs"

static const struct onnx_list_input axes_from_13[] = {{"axes", 1, 13}, {0}}, axes_from_18[] = {{"axes", 1, 18}, {0}},
                                    shape_list[] = {{"shape", 1, 0}, {0}}, repeats_list[] = {{"repeats", 1, 0}, {0}},
                                    split_list[] = {{"split", 1, 13}, {0}}, pad_lists[] = {{"pads", 1, 11}, {"axes", 3, 11}, {0}},
                                    fill_list[] = {{"input", 0, 0}, {0}},
                                    slice_lists[] = {{"starts", 1, 10}, {"ends", 2, 10}, {"axes", 3, 10}, {"steps", 4, 10}, {0}};

static const char
    masked[] = TAKES "a mask of integers [batch, keys] or [batch, queries, keys], as many keys as queries where it is unidirectional, "
                     "no past, no further output that is read",
    cells[] = TAKES
    "constant weights, sequences that are all as long, up to 512 cells in all directions, Sigmoid and Tanh, of an RNN also Relu, no "
    "peepholes, no clip, no input_forget",
    byte_cells[] = TAKES "what an LSTM does, and a first state that is no constant, or zeros",
    waves[] =
        TAKES "constant lengths of up to 16384, steps, windows as long as frames, nothing that is inverse and onesided, and matrices that "
              "there is room for",
    turned[] = TAKES "texts in lines of their own, places that are told one by one or begin at a constant, tables there is room for",
    powers[] = TAKES "floats, p of 1 or 2, no ceil_mode", placed[] = TAKES "constant indices, and a reduction only of a whole slice",
    unread[] = TAKES "no mean and no deviation that is read",
    ends[] = TAKES "Relu, Sigmoid, Tanh, LeakyRelu or HardSigmoid at its end, of a FusedConv also Clip";

/* domain, name, since, until, least inputs, most inputs, most outputs, type */
static const struct onnx_operator operators[] = {
    /* windows */
    {"", "Conv", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_conv, .class = ONNX_LAYER, .traits = ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "ConvInteger", 10, ANY, 2, 4, 1, GIVES_INT32, .infer = onnx_infer_conv_integer, .traits = ONNX_DYNAMIC},
    {"", "QLinearConv", 10, ANY, 8, 9, 1, 7, .infer = onnx_infer_qlinear_conv, .traits = ONNX_QUANTIZED},
    {"", "ConvTranspose", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_conv_transpose, .class = ONNX_LAYER,
     .traits = ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "Col2Im", 18, ANY, 3, 3, 1, 0, .infer = onnx_infer_columns, .taken = TAKES "floats, a constant size and block of 2 dimensions"},
    {MICROSOFT, "FusedConv", 1, ANY, 2, 4, 1, 0, .infer = onnx_infer_fused_conv, .taken = ends},
    {"", "MaxPool", 1, ANY, 1, 1, 2, 0, .infer = onnx_infer_pool, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "AveragePool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_pool, .class = ONNX_POOL,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "LpPool", 2, ANY, 1, 1, 1, 0, .infer = onnx_infer_pool, .taken = powers},
    {"", "GlobalLpPool", 2, ANY, 1, 1, 1, 0, .infer = onnx_infer_global_pool, .taken = powers},
    {MICROSOFT, "QLinearAveragePool", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_pool, .traits = ONNX_QUANTIZED},
    {"", "GlobalAveragePool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_global_pool, .class = ONNX_POOL,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_KEEPS_ORDER | ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "GlobalMaxPool", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_global_pool, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_KEEPS_ORDER | ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {MICROSOFT, "QLinearGlobalAveragePool", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_global_pool, .traits = ONNX_QUANTIZED},

    /* matrices */
    {"", "MatMul", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_matmul, .fold = onnx_fold_matmul, .class = ONNX_LAYER, .traits = ONNX_UNCHANGED},
    {"", "Einsum", 12, ANY, 1, ANY, 1, 0, .infer = onnx_infer_einsum, .traits = ONNX_UNCHANGED},
    {"", "MatMulInteger", 10, ANY, 2, 4, 1, GIVES_INT32, .infer = onnx_infer_matmul, .fold = onnx_fold_matmul_integer,
     .traits = ONNX_DYNAMIC},
    {"", "QLinearMatMul", 10, ANY, 8, 8, 1, 7, .infer = onnx_infer_qlinear_matmul, .traits = ONNX_QUANTIZED},
    {"", "Gemm", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_gemm, .fold = onnx_fold_gemm, .class = ONNX_LAYER, .traits = ONNX_UNCHANGED},
    {MICROSOFT, "QGemm", 1, ANY, 6, 9, 1, GIVES_QGEMM, .infer = onnx_infer_qgemm, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "MatMulIntegerToFloat", 1, ANY, 4, 7, 1, 2, .infer = onnx_infer_matmul, .traits = ONNX_DYNAMIC},
    {MICROSOFT, "DynamicQuantizeMatMul", 1, ANY, 3, 5, 1, 0, .infer = onnx_infer_matmul, .traits = ONNX_DYNAMIC},

    /* quantization */
    {"", "QuantizeLinear", 10, ANY, 2, 3, 1, GIVES_QUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_quantize,
     .traits = ONNX_QUANTIZED},
    {"", "DequantizeLinear", 10, ANY, 2, 3, 1, GIVES_DEQUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_dequantize,
     .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QuantizeLinear", 1, ANY, 2, 3, 1, GIVES_QUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_quantize,
     .traits = ONNX_QUANTIZED},
    {MICROSOFT, "DequantizeLinear", 1, ANY, 2, 3, 1, GIVES_DEQUANTIZED, .infer = onnx_infer_quantize, .fold = onnx_fold_dequantize,
     .traits = ONNX_QUANTIZED},
    {"", "DynamicQuantizeLinear", 11, ANY, 1, 1, 3, GIVES_UINT8, .infer = onnx_infer_dynamic_quantize, .fold = onnx_fold_dynamic_quantize,
     .traits = ONNX_QUANTIZED | ONNX_DYNAMIC},

    /* quantized elementwise operators */
    {MICROSOFT, "QLinearAdd", 1, ANY, 7, 8, 1, 0, .infer = onnx_infer_qlinear_binary, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QLinearMul", 1, ANY, 7, 8, 1, 0, .infer = onnx_infer_qlinear_binary, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QLinearConcat", 1, ANY, 5, ANY, 1, 1, .infer = onnx_infer_qlinear_concat, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QLinearSigmoid", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same, .traits = ONNX_QUANTIZED, .function = &onnx_sigmoid},
    {MICROSOFT, "QLinearLeakyRelu", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same, .traits = ONNX_QUANTIZED, .function = &onnx_leaky_relu},
    {MICROSOFT, "QLinearSoftmax", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_same, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QLinearWhere", 1, ANY, 9, 9, 1, 1, .infer = onnx_infer_qlinear_where, .traits = ONNX_QUANTIZED},
    {MICROSOFT, "QLinearReduceMean", 1, ANY, 4, 5, 1, 0, .infer = onnx_infer_qlinear_reduce, .traits = ONNX_QUANTIZED},

    /* two or more inputs that broadcast */
    {"", "Add", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_UNCHANGED, .of_two = &onnx_add},
    {"", "Sub", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_UNCHANGED, .of_two = &onnx_sub},
    {"", "Mul", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_UNCHANGED, .of_two = &onnx_mul},
    {"", "Div", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_UNCHANGED, .of_two = &onnx_div},
    {"", "Max", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_KEEPS_ONE | ONNX_WHOLE | ONNX_UNCHANGED, .of_two = &onnx_max},
    {"", "Min", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_KEEPS_ONE | ONNX_WHOLE | ONNX_UNCHANGED, .of_two = &onnx_min},
    {"", "Sum", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .class = ONNX_PAIR,
     .traits = ONNX_KEEPS_ONE | ONNX_UNCHANGED, .of_two = &onnx_add},
    {"", "Mean", 1, ANY, 1, ANY, 1, 0, .infer = onnx_infer_arithmetic, .traits = ONNX_KEEPS_ONE | ONNX_UNCHANGED},
    {"", "Pow", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_power, .fold = onnx_fold_function_of_two, .class = ONNX_FUNCTION,
     .traits = ONNX_UNCHANGED, .of_two = &onnx_pow},
    {"", "Mod", 10, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .of_two = &onnx_mod},
    {"", "And", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_logic, .fold = onnx_fold_function_of_two, .traits = ONNX_WHOLE,
     .of_two = &onnx_and},
    {"", "Or", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_logic, .fold = onnx_fold_function_of_two, .traits = ONNX_WHOLE,
     .of_two = &onnx_or},
    {"", "Xor", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_logic, .fold = onnx_fold_function_of_two, .traits = ONNX_WHOLE,
     .of_two = &onnx_xor},
    {"", "Equal", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two,
     .traits = ONNX_WHOLE | ONNX_UNCHANGED, .of_two = &onnx_equal},
    {"", "Greater", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .traits = ONNX_WHOLE,
     .of_two = &onnx_greater},
    {"", "Less", 1, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two, .traits = ONNX_WHOLE,
     .of_two = &onnx_less},
    {"", "GreaterOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two,
     .traits = ONNX_WHOLE, .of_two = &onnx_greater_or_equal},
    {"", "LessOrEqual", 12, ANY, 2, 2, 1, GIVES_BOOL, .infer = onnx_infer_arithmetic, .fold = onnx_fold_function_of_two,
     .traits = ONNX_WHOLE, .of_two = &onnx_less_or_equal},
    {"", "Where", 9, ANY, 3, 3, 1, 1, .infer = onnx_infer_where, .fold = onnx_fold_where, .traits = ONNX_UNCHANGED},
    /* Ours, of pass_masks.c: a float where the condition is 1, and 0 elsewhere. A file has it as Mul. */
    {ONNX_OWN, "Mask", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_arithmetic, .of_two = &onnx_mask},
    {"", "PRelu", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_prelu, .class = ONNX_FUNCTION, .traits = ONNX_SCALES | ONNX_UNCHANGED,
     .of_two = &onnx_prelu},

    /* one input, its shape */
    {"", "Identity", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_copy, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_KEEPS_ORDER | ONNX_VIEW | ONNX_UNCHANGED},
    {"", "Relu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .traits = ONNX_BOUND | ONNX_NOT_NEGATIVE | ONNX_SCALES | ONNX_WHOLE, .function = &onnx_relu},
    {"", "LeakyRelu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .traits = ONNX_SCALES,
     .function = &onnx_leaky_relu},
    {"", "Clip", 1, ANY, 1, 3, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_clip, .class = ONNX_FUNCTION, .traits = ONNX_BOUND,
     .function = &onnx_clip},
    {"", "Sigmoid", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .traits = ONNX_NOT_NEGATIVE | ONNX_AT_MOST_ONE, .function = &onnx_sigmoid},
    {"", "HardSigmoid", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION,
     .traits = ONNX_NOT_NEGATIVE | ONNX_AT_MOST_ONE, .function = &onnx_hard_sigmoid},
    {"", "HardSwish", 14, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_hard_swish},
    {"", "Swish", 24, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_swish},
    {"", "Mish", 18, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_mish},
    {"", "Tanh", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_tanh},
    {"", "Erf", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_erf},
    {"", "Exp", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_exp},
    {"", "Log", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_log},
    {"", "Sqrt", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_sqrt},
    {"", "Abs", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_abs},
    {"", "Neg", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_neg},
    {"", "Sign", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_sign},
    {"", "Reciprocal", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_reciprocal},
    {"", "Floor", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_floor},
    {"", "Ceil", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_ceil},
    {"", "Round", 11, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_round},
    {"", "Not", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_not, .fold = onnx_fold_function, .traits = ONNX_WHOLE, .function = &onnx_not},
    {"", "Sin", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_sin},
    {"", "Cos", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_cos},
    {"", "Tan", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_tan},
    {"", "Asin", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_asin},
    {"", "Acos", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_acos},
    {"", "Atan", 7, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_atan},
    {"", "Sinh", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_sinh},
    {"", "Cosh", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_cosh},
    {"", "Asinh", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_asinh},
    {"", "Acosh", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_acosh},
    {"", "Atanh", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_atanh},
    {"", "IsNaN", 9, ANY, 1, 1, 1, GIVES_BOOL, .infer = onnx_infer_same},
    {"", "Softplus", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_softplus},
    {"", "Softsign", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_softsign},
    {"", "ThresholdedRelu", 10, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_thresholded_relu},
    {"", "Shrink", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_shrink},
    {"", "Elu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_elu},
    {"", "Selu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_selu},
    {"", "Celu", 12, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_celu},
    {"", "Gelu", 20, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION, .function = &onnx_gelu},
    {MICROSOFT, "Gelu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_function, .class = ONNX_FUNCTION,
     .function = &onnx_gelu},
    {MICROSOFT, "QuickGelu", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_same, .class = ONNX_FUNCTION, .function = &onnx_quick_gelu},
    {"", "Softmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same, .class = ONNX_SOFTMAX,
     .traits = ONNX_NOT_NEGATIVE | ONNX_AT_MOST_ONE},
    {"", "LogSoftmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "Hardmax", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "LpNormalization", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_axis_same},
    {"", "Dropout", 1, ANY, 1, 3, 2, 0, .infer = onnx_infer_dropout, .fold = onnx_fold_dropout, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_VIEW},
    {"", "Cast", 1, ANY, 1, 1, 1, GIVES_TO, .infer = onnx_infer_same, .fold = onnx_fold_cast, .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED},
    {"", "CastLike", 15, ANY, 2, 2, 1, 1, .infer = onnx_infer_same, .fold = onnx_fold_cast, .traits = ONNX_KEEPS_ORDER},
    {"", "BatchNormalization", 1, ANY, 5, 5, 5, 0, .infer = onnx_infer_batch_norm, .fold = onnx_fold_batch_norm, .class = ONNX_FUNCTION,
     .traits = ONNX_CHANNELS_FIRST},
    {"", "MeanVarianceNormalization", 9, ANY, 1, 1, 1, 0, .infer = onnx_infer_numbers, .taken = TAKES "floats"},
    {"", "SwiGLU", 28, ANY, 2, 2, 1, 0, .infer = onnx_infer_gated, .taken = TAKES "floats"},
    {"", "InstanceNormalization", 1, ANY, 3, 3, 1, 0, .infer = onnx_infer_numbers, .traits = ONNX_CHANNELS_FIRST | ONNX_UNCHANGED},
    {"", "LayerNormalization", 17, ANY, 2, 3, 3, 0, .infer = onnx_infer_layer_norm},
    {"", "GroupNormalization", 18, ANY, 3, 3, 1, 0, .infer = onnx_infer_numbers},
    {"", "RMSNormalization", 23, ANY, 2, 2, 1, 0, .infer = onnx_infer_numbers},
    {MICROSOFT, "FusedMatMul", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_fused_matmul, .taken = TAKES "no transBatchA, no transBatchB"},
    {MICROSOFT, "BiasGelu", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_bias_gelu},
    {MICROSOFT, "FastGelu", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_bias_gelu, .class = ONNX_FUNCTION, .function = &onnx_fast_gelu},
    {"", "LSTM", 1, ANY, 3, 8, 3, 0, .infer = onnx_infer_recurrent, .taken = cells},
    {"", "GRU", 1, ANY, 3, 6, 2, 0, .infer = onnx_infer_recurrent, .taken = cells},
    {"", "RNN", 1, ANY, 3, 6, 2, 0, .infer = onnx_infer_recurrent, .taken = cells},
    {MICROSOFT, "DynamicQuantizeLSTM", 1, ANY, 3, 12, 3, 0, .infer = onnx_infer_recurrent, .traits = ONNX_DYNAMIC, .taken = byte_cells},
    {MICROSOFT, "SkipLayerNormalization", 1, ANY, 3, 5, 4, 0, .infer = onnx_infer_skip_layer_norm, .taken = unread},
    {MICROSOFT, "EmbedLayerNormalization", 1, ANY, 1, 9, 3, 2, .infer = onnx_infer_embed_layer_norm,
     .taken = TAKES "a constant table of positions, and a second output that Attention alone reads"},
    {MICROSOFT, "QEmbedLayerNormalization", 1, ANY, 1, 18, 2, GIVES_FLOAT, .infer = onnx_infer_qembed_layer_norm, .traits = ONNX_QUANTIZED,
     .taken = TAKES "constants, and a second output that Attention alone reads"},
    {MICROSOFT, "SkipSimplifiedLayerNormalization", 1, ANY, 3, 4, 4, 0, .infer = onnx_infer_skip_layer_norm, .taken = unread},
    {"", "SimplifiedLayerNormalization", 1, ANY, 2, 2, 2, 0, .infer = onnx_infer_layer_norm, .taken = unread},
    {MICROSOFT, "Attention", 1, ANY, 2, 7, 2, 0, .infer = onnx_infer_attention, .taken = masked},
    {MICROSOFT, "QAttention", 1, ANY, 5, 9, 2, 2, .infer = onnx_infer_qattention, .traits = ONNX_DYNAMIC, .taken = masked},
    {MICROSOFT, "MultiHeadAttention", 1, ANY, 1, 10, 4, 0, .infer = onnx_infer_multi_head_attention, .taken = masked},
    {"", "Attention", 23, ANY, 3, 7, 4, 0, .infer = onnx_infer_standard_attention,
     .taken =
         TAKES "floats, a mask that broadcasts to [batch, heads, queries, keys], no past, no softcap, no mask beside a window, no further "
               "output that is read"},
    {"", "RotaryEmbedding", 23, ANY, 3, 4, 1, 0, .infer = onnx_infer_rotary, .taken = turned},
    {MICROSOFT, "RotaryEmbedding", 1, ANY, 4, 4, 1, 0, .infer = onnx_infer_rotary, .taken = turned},
    {MICROSOFT, "FusedGemm", 1, ANY, 2, 3, 1, 0, .infer = onnx_infer_gemm, .taken = ends},
    {"", "LRN", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_numbers, .taken = TAKES "floats of 3 dimensions and more, a size of up to 64"},

    /* the same bytes in another shape or order */
    {"", "Reshape", 5, ANY, 2, 2, 1, 0, .infer = onnx_infer_reshape, .fold = onnx_fold_copy, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_RESHAPES | ONNX_KEEPS_ORDER | ONNX_VIEW | ONNX_UNCHANGED, .lists = shape_list},
    {"", "Flatten", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_flatten, .fold = onnx_fold_copy, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_RESHAPES | ONNX_KEEPS_ORDER | ONNX_VIEW | ONNX_UNCHANGED},
    {"", "Squeeze", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_squeeze, .fold = onnx_fold_copy, .class = ONNX_MOVE,
     .traits = ONNX_SCALES | ONNX_SHIFTS | ONNX_RESHAPES | ONNX_KEEPS_ORDER | ONNX_VIEW, .lists = axes_from_13},
    {"", "Unsqueeze", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_unsqueeze, .fold = onnx_fold_copy, .class = ONNX_MOVE,
     .traits = ONNX_RESHAPES | ONNX_KEEPS_ORDER | ONNX_VIEW, .lists = axes_from_13},
    {"", "Transpose", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_transpose, .fold = onnx_fold_transpose, .class = ONNX_MOVE,
     .traits = ONNX_VIEW | ONNX_UNCHANGED},
    {"", "Expand", 8, ANY, 2, 2, 1, 0, .infer = onnx_infer_expand, .fold = onnx_fold_expand, .class = ONNX_MOVE,
     .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED, .lists = shape_list},
    {"", "Tile", 6, ANY, 2, 2, 1, 0, .infer = onnx_infer_tile, .fold = onnx_fold_tile, .class = ONNX_MOVE,
     .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED, .lists = repeats_list},
    {"", "DepthToSpace", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_depth_to_space, .class = ONNX_MOVE, .traits = ONNX_UNCHANGED},
    {"", "SpaceToDepth", 1, ANY, 1, 1, 1, 0, .infer = onnx_infer_space_to_depth, .class = ONNX_MOVE, .traits = ONNX_UNCHANGED},
    {"", "Slice", 1, ANY, 1, 5, 1, 0, .infer = onnx_infer_slice, .fold = onnx_fold_slice, .class = ONNX_MOVE,
     .traits = ONNX_VIEW | ONNX_UNCHANGED, .lists = slice_lists},
    {"", "Split", 2, ANY, 1, 2, ANY, 0, .infer = onnx_infer_split, .fold = onnx_fold_split, .class = ONNX_MOVE,
     .traits = ONNX_KEEPS_ORDER | ONNX_VIEW, .lists = split_list},
    {"", "Pad", 2, ANY, 1, 4, 1, 0, .infer = onnx_infer_pad, .class = ONNX_MOVE, .lists = pad_lists},
    {"", "Concat", 4, ANY, 1, ANY, 1, 0, .infer = onnx_infer_concat, .fold = onnx_fold_concat, .class = ONNX_JOIN,
     .traits = ONNX_KEEPS_ONE | ONNX_UNCHANGED},
    {"", "Gather", 1, ANY, 2, 2, 1, 0, .infer = onnx_infer_gather, .fold = onnx_fold_gather, .class = ONNX_MOVE, .traits = ONNX_UNCHANGED},
    {"", "Compress", 9, ANY, 2, 2, 1, 0, .infer = onnx_infer_compress, .taken = TAKES "a constant choice that is not empty"},
    {"", "CumSum", 11, ANY, 2, 2, 1, 0, .infer = onnx_infer_sums, .fold = onnx_fold_sums},
    {"", "ReverseSequence", 10, ANY, 2, 2, 1, 0, .infer = onnx_infer_same, .taken = TAKES "constant lengths, the first two axes"},
    {"", "OneHot", 9, ANY, 3, 3, 1, 2, .infer = onnx_infer_one_hot, .fold = onnx_fold_one_hot,
     .taken = TAKES "int32 or int64, constant values"},
    {"", "GatherElements", 11, ANY, 2, 2, 1, 0, .infer = onnx_infer_gather_elements, .fold = onnx_fold_gather_elements},
    {"", "GatherND", 11, ANY, 2, 2, 1, 0, .infer = onnx_infer_gather_nd, .fold = onnx_fold_gather_nd},
    {"", "ScatterElements", 11, ANY, 3, 3, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_scatter_elements, .taken = placed},
    {"", "Scatter", 9, 10, 3, 3, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_scatter_elements, .taken = placed},
    {"", "ScatterND", 11, ANY, 3, 3, 1, 0, .infer = onnx_infer_same, .fold = onnx_fold_scatter_nd, .taken = placed},
    {"", "Resize", 10, ANY, 1, 4, 1, 0, .infer = onnx_infer_resize, .class = ONNX_MOVE},
    {"", "Upsample", 7, 9, 1, 2, 1, 0, .infer = onnx_infer_resize, .class = ONNX_MOVE},
    {"", "AffineGrid", 20, ANY, 2, 2, 1, 0, .infer = onnx_infer_affine_grid,
     .taken = TAKES "pictures of constant sizes, of which there is room for the places of all pixels"},
    {"", "GridSample", 16, ANY, 2, 2, 1, 0, .infer = onnx_infer_grid_sample, .traits = ONNX_CHANNELS_FIRST},
    {"", "NonMaxSuppression", 10, ANY, 2, 5, 1, GIVES_INT64, .infer = onnx_infer_suppression},

    /* from attributes and shapes */
    {"", "Constant", 1, ANY, 0, 0, 1, GIVES_CONSTANT, .infer = onnx_infer_constant, .fold = onnx_fold_constant},
    {"", "ConstantOfShape", 9, ANY, 1, 1, 1, GIVES_CONSTANT, .infer = onnx_infer_constant_of_shape, .fold = onnx_fold_constant_of_shape,
     .lists = fill_list},
    {"", "HannWindow", 17, ANY, 1, 1, 1, GIVES_FLOAT, .infer = onnx_infer_window, .fold = onnx_fold_window},
    {"", "HammingWindow", 17, ANY, 1, 1, 1, GIVES_FLOAT, .infer = onnx_infer_window, .fold = onnx_fold_window},
    {"", "BlackmanWindow", 17, ANY, 1, 1, 1, GIVES_FLOAT, .infer = onnx_infer_window, .fold = onnx_fold_window},
    {"", "DFT", 17, ANY, 1, 3, 1, 0, .infer = onnx_infer_spectrum, .taken = waves},
    {"", "STFT", 17, ANY, 2, 4, 1, 0, .infer = onnx_infer_spectrum, .taken = waves},
    {"", "EyeLike", 9, ANY, 1, 1, 1, GIVES_CONSTANT, .infer = onnx_infer_eye, .fold = onnx_fold_eye},
    {"", "NonZero", 9, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_non_zero, .fold = onnx_fold_non_zero, .taken = TAKES "constants"},
    {"", "Range", 11, ANY, 3, 3, 1, 0, .infer = onnx_infer_range, .fold = onnx_fold_range},
    {"", "Shape", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_shape_of, .fold = onnx_fold_shape_of},
    {"", "Trilu", 14, ANY, 1, 2, 1, 0, .infer = onnx_infer_trilu, .fold = onnx_fold_trilu, .taken = TAKES "floats and a constant diagonal"},
    {"", "Size", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_size_of, .fold = onnx_fold_size_of},

    /* over axes */
    {"", "ReduceMean", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .class = ONNX_POOL,
     .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED, .lists = axes_from_18},
    {"", "ReduceSum", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .traits = ONNX_KEEPS_ORDER,
     .lists = axes_from_13},
    {"", "ReduceMax", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED,
     .lists = axes_from_18},
    {"", "ReduceMin", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .traits = ONNX_KEEPS_ORDER | ONNX_UNCHANGED,
     .lists = axes_from_18},
    {"", "ReduceProd", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .fold = onnx_fold_reduce, .lists = axes_from_18},
    {"", "ReduceL1", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceL2", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceSumSquare", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceLogSum", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ReduceLogSumExp", 1, ANY, 1, 2, 1, 0, .infer = onnx_infer_reduce, .lists = axes_from_18},
    {"", "ArgMax", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_arg, .traits = ONNX_UNCHANGED},
    {"", "ArgMin", 1, ANY, 1, 1, 1, GIVES_INT64, .infer = onnx_infer_arg, .traits = ONNX_UNCHANGED},
    {"", "TopK", 1, ANY, 1, 2, 2, 0, .infer = onnx_infer_topk},
};

/* Operators by their names: open addressing. Passes ask for those of all nodes again and again. */
enum { SLOTS = 1024 };
static uint16_t slots[SLOTS]; /* their numbers, counted from 1 */
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

_Static_assert(4 * sizeof operators / sizeof *operators < 3 * SLOTS, "slots stay empty, where a search ends");

static size_t slot_of(const char *name) {
    return text_hash(name) & (SLOTS - 1);
}

static void fill_slots(void) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t at = slot_of(operators[i].name);
        while (slots[at]) at = (at + 1) & (SLOTS - 1);
        slots[at] = (uint16_t)(i + 1);
    }
}

const struct onnx_operator *onnx_operator_find(const char *domain, const char *name) {
    pthread_once(&slots_once, fill_slots);
    for (size_t at = slot_of(name); slots[at]; at = (at + 1) & (SLOTS - 1)) {
        const struct onnx_operator *op = &operators[slots[at] - 1];
        if (!strcmp(op->name, name) && !strcmp(op->domain, domain)) return op;
    }
    return NULL;
}

const struct onnx_operator *onnx_operator_at(size_t index) {
    return index < sizeof operators / sizeof *operators ? &operators[index] : NULL;
}

const struct onnx_operator *onnx_operator_of(const struct onnx_node *node) {
    if (!node) return NULL;
    return node->rules ? node->rules : onnx_operator_find(node->domain, node->op);
}

/* What exporters write otherwise if they are asked to. */
static const struct {
    const char *op, *advice;
} exported_otherwise[] = {
    {"Loop", NO_FLOW},
    {"If", NO_FLOW},
    {"Scan", NO_FLOW},
};

const char *onnx_advice(const struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    if (op && op->taken) return op->taken;
    for (size_t i = 0; !*node->domain && i < sizeof exported_otherwise / sizeof *exported_otherwise; i++)
        if (!strcmp(node->op, exported_otherwise[i].op)) return exported_otherwise[i].advice;
    return strcmp(node->domain, MICROSOFT) ? "" : "; morsel takes the file as it was before ONNX Runtime optimized it";
}

bool onnx_has(const struct onnx_node *node, enum onnx_trait trait) {
    const struct onnx_operator *op = onnx_operator_of(node);
    return op && op->traits & trait && onnx_is_checked(node);
}

enum onnx_class onnx_class_of(const struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    return op && onnx_is_checked(node) ? op->class : ONNX_OTHER;
}

bool onnx_adds(const struct onnx_node *node) {
    return !strcmp(node->domain, MICROSOFT) && !strcmp(node->op, "FastGelu") && onnx_input(node, 1);
}

const struct onnx_function *onnx_function_of(const struct onnx_node *node, struct onnx_parameters *p) {
    const struct onnx_operator *op = onnx_operator_of(node);
    const struct onnx_function *f = op && onnx_is_checked(node) ? op->function : NULL;
    float *const numbers[2] = {&p->alpha, &p->beta};
    if (f && f->tanh_form && !strcmp(onnx_attribute_string(node, "approximate", "none"), "tanh")) f = f->tanh_form;
    for (int i = 0; f && i < 2; i++) {
        *numbers[i] = f->parameters[i].otherwise;
        if (f->parameters[i].attribute) *numbers[i] = onnx_attribute_float(node, f->parameters[i].attribute, *numbers[i]);
    }
    return f;
}
