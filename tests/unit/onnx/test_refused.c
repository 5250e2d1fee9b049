/* SPDX-License-Identifier: MIT */
/* Nodes that onnx_infer() refuses, operator by operator, and the reason that it gives. */
#include "tests/unit/support/onnx_file.h"

struct row {
    const char *op;
    int opset;
    const char *inputs, *attributes, *why; /* a piece of the reason */
};

static const struct row refused[] = {
    {"Conv", 11, "f:1,3,8,8", "", "input 1 is missing"},
    {"Conv", 11, "f:1,3,8,8 f:4,2,3,3", "", "channels"},
    {"Conv", 11, "f:1,3,8,8 f:4,3,3,3 f:3", "", "bias"},
    {"Conv", 11, "f:1,4,8,8 f:3,2,3,3", "group:2", "groups"},
    {"Conv", 11, "f:1,3,2,2 f:4,3,3,3", "", "larger than the padded input"},
    {"Gelu", 17, "f:2,3", "", "from opset 20"},
    {"Cast", 13, "f:2,3", "", "'to' is 0, which is no type"},
    {"Cast", 13, "f:2,3", "to:64", "'to' is 64, which is no type"},
    {"Cast", 13, "f:2,3", "to:2147483649", "'to' is 2147483649, which is no type"},
    {"QuantizeLinear", 21, "f:2,3 f#0.1", "output_dtype:-1", "'output_dtype' is -1, which is no type"},
    {"DequantizeLinear", 23, "b:2,3 f#0.1", "output_dtype:99", "'output_dtype' is 99, which is no type"},
    {"ReduceSum", 12, "f:2,3 l=1", "axes=0", "from opset 13"},
    {"ReduceMax", 17, "f:2,3 l=1", "", "from opset 18"},
    {"Squeeze", 11, "f:1,3 l=0", "", "from opset 13"},
    {"Pad", 10, "f:2,3 l=0,1,0,1", "pads=0,0,0,0", "from opset 11"},
    {"Upsample", 11, "f:1,2,3,4 f=1,1,2,2", "", "up to opset 9"},
    {"Upsample", 9, "f:1,2,3,4", "scales~~1,1,2,2", "neither scales"},
    {"Upsample", 8, "f:1,2,3,4", "scales~~1,1,2", "4 scales"},
    {"Slice", 9, "f:2,3", "starts=1", "left out"},
    {"Slice", 10, "f:2,3 l=1", "ends=2", "left out"},
    {"BatchNormalization", 8, "f:1,2,3 f:2 f:2 f:2 f:2", "spatial:0", "spatial"},
    {"Relu", 13, "f:2 f:2", "", "2 inputs"},
    {"Add", 13, "f:2,3 f:2", "", "do not broadcast"},
    {"Add", 13, "f:2 l:2", "", "different types"},
    {"Mul", 13, "o:2 o:2", "", "are truth values"},
    {"Sigmoid", 13, "o:2", "", "are truth values"},
    {"Softmax", 13, "o:2", "", "are truth values"},
    {"Not", 13, "l:2", "", "no truth value"},
    {"And", 13, "o:2 l:2", "", "input 1 is no truth value"},
    {"ReduceL2", 13, "o:2,3", "axes=1", "are truth values"},
    {"ReduceMax", 19, "o:2,3", "", "are truth values"},
    {"ArgMax", 13, "o:2,3", "axis:1", "are truth values"},
    {"TopK", 13, "o:2,3 l=2", "", "are truth values"},
    {"MaxPool", 13, "o:1,2,4,4", "kernel_shape=2,2", "are truth values"},
    {"GlobalMaxPool", 13, "o:1,2,4,4", "", "are truth values"},
    {"MatMul", 13, "o:2,2 o:2,2", "", "are truth values"},
    {"MatMul", 13, "f:2,2 o:2,2", "", "are truth values"},
    {"Pow", 13, "o:2 f:2", "", "are truth values"},
    {"LayerNormalization", 17, "o:2,3 f:3", "", "are truth values"},
    {"BatchNormalization", 15, "o:1,2,3 f:2 f:2 f:2 f:2", "", "are truth values"},
    {"CumSum", 13, "o:2 l=0", "", "are truth values"},
    {"CumSum", 13, "f:2,3 l=0,1", "", "its axis must be one integer"},
    {"CumSum", 13, "f:2,3 f#0", "", "its axis must be one integer"},
    {"Einsum", 13, "o:2,3", "equation@ij->ji", "are truth values"},
    {"MatMul", 13, "f:2,3 f:2,3", "", "do not fit"},
    {"Gemm", 13, "f:2,3,1 f:3,4", "", "2 dimensions"},
    {"ms.BiasGelu", 13, "f:2,3,4 f:3", "", "input 1 must be 4 numbers"},
    {"ms.BiasGelu", 13, "f:2,3,4 f:1,4", "", "input 1 must be 4 numbers"},
    {"ms.BiasGelu", 13, "f:4 f:1,1,1,4", "", "input 1 must be 4 numbers"},
    {"ms.FastGelu", 13, "f:2,3,4 f:1", "", "input 1 must be 4 numbers"},
    {"ms.FusedMatMul", 13, "u:2,3 u:3,4", "", "must be floats"},
    {"ms.FusedConv", 13, "f:1,3,8,8 f:4,3,3,3 f:4 f:4", "activation@Relu", "input 3 must have the shape of its result"},
    {"ms.FusedConv", 13, "f:1,3,8,8 f:4,3,3,3 f:4 w:1,4,6,6", "activation@Relu", "different types"},
    {"ms.BiasGelu", 13, "f:2,3,4 u:4", "", "0 and 1 have different types"},
    {"LSTM", 14, "f:5,1,3 f:1,16,3 f:1,12,4", "", "input 2 does not fit"},
    {"LSTM", 14, "f:5,1,3 f:1,16,2 f:1,16,4", "", "input 1 does not fit"},
    {"LSTM", 14, "f:5,1,3 f:1,16,3 f:1,16,4 f:1,16", "", "input 3 does not fit"},
    {"OneHot", 11, "l:2,3 l:1 f=0,1", "", "depth must be a constant"},
    {"OneHot", 11, "l:2,3 l#0 f=0,1", "", "depth is below 1"},
    {"OneHot", 11, "l:2,3 f#1e30 f=0,1", "", "would be too large"},
    {"OneHot", 11, "l:2,3 l#5 f=0,1,2", "", "values must be two"},
    {"ms.DynamicQuantizeLSTM", 14, "f:5,1,3 b:1,3,16 b:1,4,16 - - - - - f:1 b:1", "", "input 10 is missing"},
    {"ms.DynamicQuantizeLSTM", 14, "f:5,1,3 b:1,3,16 b:1,4,16 - - - - - f:1,4 b:1 f:1", "", "input 8 does not fit"},
    {"ms.DynamicQuantizeLSTM", 14, "f:5,1,3 b:1,3,16 b:1,4,16 - - - - - f:1 u:1 f:1", "", "inputs 1 and 9 have different types"},
    {"ms.DynamicQuantizeLSTM", 14, "f:5,1,3 b:1,16,3 b:1,4,16 - - - - - f:1 b:1 f:1", "", "input 1 does not fit"},
    {"GRU", 14, "f:5,1,3 f:1,12,3 f:1,12,4", "direction@bidirectional", "other directions"},
    {"RNN", 14, "f:5,3 f:1,4,3 f:1,4,4", "", "3 dimensions"},
    {"RNN", 14, "f:5,1,3 f:1,4,3 f:1,4,4", "layout:1", "layout 1"},
    {"RNN", 14, "u:5,1,3 f:1,4,3 f:1,4,4", "", "must be floats"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 u:2,3,4 f:4", "", "0 and 1 have different types"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 u:3,4 f:2,4 f:4 f:4", "", "2 and 3 have different types"},
    {"ms.Attention", 13, "f:2,3,4 f:4,12 u:12", "num_heads:2", "0 and 2 have different types"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 f:2,3,4 f:8", "", "input 2 must be 4 numbers"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 f:2,3,4 f:4 f:3", "", "input 3 must be 4 numbers"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 f:2,3,4 f:4 f:4 f:12", "", "input 4 must be 4 numbers"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 f:2,3,3 f:4", "", "do not broadcast"},
    {"ms.SkipLayerNormalization", 13, "f:3,4 f:1,3,4 f:4", "", "must not be larger"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:2,4 f:2,4 f:4 f:4", "", "more tokens than positions"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:3,5 f:2,4 f:4 f:4", "", "lines that are as long"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:4,1000,1 f:2,4 f:4 f:4", "", "2 dimensions"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:3,4 f:4 f:4 f:4", "", "2 dimensions"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,1 f:9,4 f:3,4 f:2,4 f:4 f:4", "", "input 1 must have the shape"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:3,4 f:2,4 f:4 f:3", "", "input 6 must be 4 numbers"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 - f:9,4 f:3,4 - f:4 f:4 l:2", "", "input 7 must have the shape"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 - f:9,4 f:3,4 - f:4 f:4 - l:2,1", "", "input 8 must have the shape"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 - f:9,4 f:3,4 - f:4", "", "input 6 is missing"},
    {"ms.Attention", 13, "f:2,3,4 f:4,12 f:4", "num_heads:2", "input 2 must be 12 numbers"},
    {"ms.Attention", 13, "f:2,3,4 f:4,12 f:12", "num_heads:3", "no 3 heads"},
    {"Einsum", 12, "f:2,2", "equation@aa->a", "malformed"},
    {"Einsum", 12, "f:2,2", "equation@...a->a", "malformed"},
    {"Einsum", 12, "f:2,2", "equation@ab->c", "malformed"},
    {"Einsum", 12, "f:2,2", "equation@a->a", "name the 2 dimensions"},
    {"Einsum", 12, "f:2,3 f:2,3", "equation@ab,bc->ac", "is 3 and 2"},
    {"Einsum", 12, "f:2,3", "equation@ab,bc->ac", "2 operands"},
    {"Einsum", 12, "f:2,3 f:3,2 f:2,2", "equation@ab,bc,cd->ad", "more than two"},
    {"Reshape", 13, "f:2,3 l=4,-1", "", "6 elements"},
    {"Reshape", 14, "f:2,3 l=0,6", "allowzero:1", "6 elements"},
    {"Reshape", 13, "f:2,3 l=-1,-1", "", "two dimensions of -1"},
    {"Reshape", 13, "f:2,3 f:2", "", "must be a list"},
    {"Reshape", 13, "f:2,3 l:2,1", "", "must be a list"},
    {"Where", 13, "l:2 f:2 f:2", "", "no truth value"},
    {"Where", 13, "o:2 f:2 b:2", "", "different types"},
    {"Reshape", 13, "f:2,3 l=-2,-3", "", "impossible"},
    {"Reshape", 13, "f:2,3 l=4611686018427387904,4611686018427387904", "", "impossible"},
    {"Transpose", 13, "f:2,3", "perm=0,0", "twice"},
    {"Transpose", 13, "f:2,3", "perm=0,-3", "perm"},
    {"ReduceMean", 13, "f:2,3", "axes=0,-3", "axis -3"},
    {"ReduceMean", 18, "f:2,3 l=0,2", "", "axis 2"},
    {"Squeeze", 11, "f:2,3", "axes=0", "cannot be squeezed"},
    {"Unsqueeze", 11, "f:2", "axes=5", "axis 5"},
    {"Concat", 13, "f:2,3 f:3,3", "axis:1", "does not fit"},
    {"Concat", 13, "f:2,3", "", "'axis' is missing"},
    {"Split", 13, "f:5,3 l=2", "", "add up"},
    {"Tile", 13, "f:2,3 l=9223372036854775807,1", "", "cannot repeat"},
    {"Pad", 13, "f:2,3 l=-3,0,0,0", "", "cuts more"},
    {"ReduceMean", 18, "f:2,3 u=1", "", "must be a list"},
    {"Pad", 13, "f:2,3 l:3", "", "3 pads for 2"},
    {"Pad", 18, "f:2,3 l:4 - l=1", "", "4 pads for 1"},
    {"Pad", 13, "f#1 l:1", "", "1 pads for 0"},
    {"Slice", 13, "f:5 l=1 l=2 l=0 l=0", "", "step is 0"},
    {"Gather", 13, "f:5,6 l:2", "axis:2", "axis 2"},
    {"QuantizeLinear", 13, "f:2,3 f=1,2", "", "scale"},
    {"ConstantOfShape", 13, "l=-1", "", "impossible"},
    {"Range", 13, "l#0 l#9 l#0", "", "delta is 0"},
    {"Range", 13, "l#0 l#9223372036854775807 l#1", "", "impossible"},
    {"Resize", 13, "f:1,2,3,4 - f=1,1,-1,1", "", "positive"},
    {"GridSample", 15, "f:1,2,3,4 f:1,2,2,2", "", "from opset 16"},
    {"GridSample", 16, "f:1,2,3,4,5 f:1,2,2,2,3", "", "only pictures"},
    {"GridSample", 16, "f:2,2,3,4 f:1,2,2,2", "", "its grid is not"},
    {"GridSample", 16, "f:2,2,3,4 f:2,2,2,3", "", "its grid is not"},
    {"GridSample", 16, "o:2,2,3,4 f:2,2,2,2", "", "are truth values"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l:1", "", "max_output_boxes_per_class is not one constant"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9", "", "selects nothing"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=0", "", "selects nothing"},
    {"NonMaxSuppression", 11, "f:1,9,5 f:1,3,9 l=1", "", "its boxes are not"},
    {"NonMaxSuppression", 11, "f:1,8,4 f:1,3,9 l=1", "", "its boxes are not"},
    {"NonMaxSuppression", 11, "f:2,9,4 f:1,3,9 l=1", "", "its boxes are not"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=1 f#1.5", "", "iou_threshold"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=1 f:1", "", "iou_threshold"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=1 f#0.5 f:1", "", "score_threshold"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=1", "center_point_box:2", "center_point_box"},
    {"Constant", 13, "", "", "no value"},
};

static void nodes_at_fault_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const struct row *row = &refused[i];
        struct onnx_report report = {0};
        struct bytes model = one_node(row->op, row->opset, row->inputs, row->attributes, 1);
        struct failure failure;
        struct onnx_graph *graph = load_bytes(&model, &failure);
        if (!graph || !onnx_bind(graph, NULL, 0, 1, &report, &failure) || !onnx_infer(graph, &report, &failure))
            fail_msg("%s", failure.text);
        if (report.refusal_count != 1 || !strstr(report.refusals[0].why, row->why))
            fail_msg("%s '%s' '%s': %s, not '%s'", row->op, row->inputs, row->attributes,
                     report.refusal_count ? report.refusals[0].why : "taken", row->why);
        assert_string_equal(report.refusals[0].node, "the_node");
        assert_int_equal(report.refusals[0].opset, row->opset > 0 && strncmp(row->op, "ms.", 3) ? row->opset : 1);
        onnx_free(graph);
        onnx_report_free(&report);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_at_fault_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
