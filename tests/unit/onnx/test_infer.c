/* SPDX-License-Identifier: MIT */
/* Types and shapes that onnx_infer() gives, operator by operator and opset by opset; constants that it computes. */
#include "tests/unit/support/onnx_file.h"

struct row {
    const char *op;
    int opset;
    const char *inputs, *attributes;
    const char *outputs; /* "f1,3,4,4 l1,3": type and shape each, `f` alone for a scalar, `?` unknown */
};

/* Shapes by onnx.shape_inference and ONNX Runtime. */
static const struct row rows[] = {
    {"Conv", 11, "f:1,3,8,8 f:4,3,3,3", "pads=1,1,1,1", "f1,4,8,8"},
    {"Conv", 11, "f:2,4,8,8 f:6,2,3,3 f:6", "group:2 strides=2,2", "f2,6,3,3"},
    {"Conv", 11, "f:1,4,9 f:8,4,3", "", "f1,8,7"},
    {"Conv", 11, "f:1,1,5,5,5 f:2,1,3,3,3", "", "f1,2,3,3,3"},
    {"ms.FusedConv", 11, "f:1,3,8,8 f:4,3,3,3", "activation@Relu", "f1,4,6,6"},
    {"ConvInteger", 11, "u:1,3,8,8 b:4,3,3,3 u#3", "", "w1,4,6,6"},
    {"QLinearConv", 11, "u:1,3,8,8 f#0.1 u#3 b:4,3,3,3 f:4 b:4 f#0.2 b#0 w:4", "pads=1,1,1,1", "b1,4,8,8"},
    {"ConvTranspose", 11, "f:1,3,5,5 f:3,4,3,3", "strides=2,2 pads=1,1,1,1 output_padding=1,1", "f1,4,10,10"},
    {"MaxPool", 12, "u:1,3,8,8", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", "u1,3,4,4"},
    {"MaxPool", 12, "f:1,3,8,8", "kernel_shape=2,2 strides=2,2", "f1,3,4,4 l1,3,4,4"},
    {"AveragePool", 19, "f:1,3,8,8", "kernel_shape=3,3 strides=2,2 ceil_mode:1", "f1,3,4,4"},
    {"ms.QLinearAveragePool", 11, "u:1,3,8,8 f#0.1 u#0 f#0.1 u#0", "kernel_shape=2,2 strides=2,2", "u1,3,4,4"},
    {"ms.QLinearAveragePool", 11, "u:1,8,8,3 f#0.1 u#0 f#0.1 u#0", "kernel_shape=2,4 strides=2,4 channels_last:1", "u1,4,2,3"},
    {"GlobalAveragePool", 11, "f:2,3,8,7", "", "f2,3,1,1"},
    {"GlobalLpPool", 11, "f:2,3,8,7", "p:1", "f2,3,1,1"},
    {"Col2Im", 18, "f:1,12,5 l=1,6 l=1,2", "", "f1,6,1,6"},
    {"Col2Im", 18, "f:1,12,5 l:2 l=1,2", "", "f?"},
    {"LpPool", 18, "f:1,3,8,8", "kernel_shape=2,2 strides=2,2", "f1,3,4,4"},
    {"ms.QLinearGlobalAveragePool", 11, "u:2,3,8,7 f#0.1 u#0 f#0.1 u#0", "", "u2,3,1,1"},
    {"ms.QLinearGlobalAveragePool", 11, "u:2,8,7,3 f#0.1 u#0 f#0.1 u#0", "channels_last:1", "u2,1,1,3"},
    {"MatMul", 13, "f:2,3 f:3,4", "", "f2,4"},
    {"MatMul", 13, "f:5,1,2,3 f:6,3,4", "", "f5,6,2,4"},
    {"MatMul", 13, "f:3 f:3,4", "", "f4"},
    {"MatMul", 13, "f:2,3 f:3", "", "f2"},
    {"MatMul", 13, "f:3 f:3", "", "f"},
    {"ms.BiasGelu", 13, "f:2,3,4 f:4", "", "f2,3,4"},
    {"ms.FastGelu", 13, "f:2,3,4", "", "f2,3,4"},
    {"ms.SkipLayerNormalization", 13, "f:2,3,4 f:3,4 f:4 f:4 f:4", "", "f2,3,4 f? f? f2,3,4"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 l:2,3 f:9,4 f:3,4 f:2,4 f:4 f:4 l:2,3", "", "f2,3,4 w2"},
    {"ms.EmbedLayerNormalization", 13, "l:2,3 - f:9,4 f:2,4 - f:4 f:4 - l:1,3", "", "f2,3,4"},
    {"ms.QEmbedLayerNormalization", 13, "w:2,3 - u:9,4 u:3,4 - u:4 u:4 - f#1 f#1 - f#1 f#1 u#0 u#0 - u#0 u#0", "", "f2,3,4"},
    {"ms.Attention", 13, "f:2,3,4 f:4,12 f:12", "num_heads:2", "f2,3,4"},
    {"RotaryEmbedding", 23, "f:2,5,8 f:2,5,2 f:2,5,2", "num_heads:2", "f2,5,8"},
    {"RotaryEmbedding", 23, "f:2,3,5,8 f:9,3 f:9,3 l:2,5", "rotary_embedding_dim:6", "f2,3,5,8"},
    {"ms.RotaryEmbedding", 13, "f:2,5,8 l:1 f:9,2 f:9,2", "", "f2,5,8"},
    {"SwiGLU", 28, "f:2,3 f:2,3", "", "f2,3"},
    {"MeanVarianceNormalization", 13, "f:2,3,4", "axes=1", "f2,3,4"},
    {"EyeLike", 9, "u:2,3", "", "u2,3"},
    {"EyeLike", 9, "u:2,3", "dtype:1", "f2,3"},
    {"NonZero", 9, "u:2,3", "", "l?"},
    {"NonZero", 9, "l=0,3,0,4", "", "l1,2"},
    {"Compress", 9, "f:4,3 o=1,0,1", "axis:0", "f2,3"},
    {"Compress", 9, "f:4,3 o=1,0,1,1", "", "f3"},
    {"Compress", 9, "f:4,3 o:4", "axis:0", "f?"},
    {"Einsum", 12, "f:2,3,4 f:2,5,4", "equation@bik,bjk->bij", "f2,3,5"},
    {"Einsum", 12, "f:2,3 f:3,4", "equation@zb,ba", "f4,2"},
    {"Einsum", 13, "f:2,3,4", "equation@abc->ca", "f4,2"},
    {"MatMulInteger", 10, "u:2,3 b:3,4", "", "w2,4"},
    {"QLinearMatMul", 13, "u:2,3 f#1 u#0 b:3,4 f#1 b#0 f#1 u#0", "", "u2,4"},
    {"Gemm", 13, "f:2,3 f:4,3 f:4", "transB:1", "f2,4"},
    {"Gemm", 13, "f:3,2 f:3,4", "transA:1", "f2,4"},
    {"ms.QGemm", 13, "u:2,3 f#1 u#0 b:4,3 f#1 b#0 w:4 f#1 u#0", "transB:1", "u2,4"},
    {"ms.QGemm", 13, "u:2,3 f#1 u#0 b:4,3 f#1 b#0 w:4", "transB:1", "f2,4"},
    {"QuantizeLinear", 13, "f:2,3 f#0.1 b#0", "", "b2,3"},
    {"QuantizeLinear", 13, "f:2,3 f#0.1", "", "u2,3"},
    {"QuantizeLinear", 21, "f:2,3 f#0.1", "output_dtype:5", "s2,3"},
    {"ms.QuantizeLinear", 13, "f:2,3 f#0.1 b#0", "", "b2,3"},
    {"DequantizeLinear", 13, "b:2,3 f:3 b:3", "", "f2,3"},
    {"DequantizeLinear", 13, "w:2,3 f=1,2", "axis:0", "f2,3"},
    {"DynamicQuantizeLinear", 11, "f:2,3", "", "u2,3 f u"},
    {"Add", 13, "f:2,1,4 f:3,1", "", "f2,3,4"},
    {"Equal", 13, "l:2,1 l:3", "", "o2,3"},
    {"Where", 13, "o:2,1 f:3 f#1", "", "f2,3"},
    {"Pow", 13, "f:2,3 w#2", "", "f2,3"},
    {"Max", 13, "f:2,1 f:3 f:4,1,1", "", "f4,2,3"},
    {"PRelu", 13, "f:2,3,4 f:3,1", "", "f2,3,4"},
    {"ms.QLinearAdd", 13, "u:2,1,4 f#1 u#0 u:3,1 f#1 u#0 f#1 u#0", "", "u2,3,4"},
    {"ms.QLinearMul", 13, "b:1,4,5,5 f#1 b#0 b:1,4,1,1 f#1 b#0 f#1 b#0", "", "b1,4,5,5"},
    {"ms.QLinearSigmoid", 13, "u:2,3 f#1 u#0 f#1 u#0", "", "u2,3"},
    {"ms.QLinearLeakyRelu", 13, "u:2,3 f#1 u#0 f#1 u#0", "alpha~0.1", "u2,3"},
    {"ms.QLinearSoftmax", 13, "u:2,3 f#1 u#0 f#1 u#0", "opset:13", "u2,3"},
    {"ms.QLinearConcat", 13, "f#1 u#0 u:1,2,3 f#1 u#0 u:1,5,3 f#1 u#0", "axis:1", "u1,7,3"},
    {"ms.QLinearWhere", 13, "o:2,1 u:3 f#1 u#0 u#3 f#1 u#0 f#1 u#0", "", "u2,3"},
    {"ms.QLinearReduceMean", 13, "u:2,3,4,5 f#1 u#0 f#1 u#0", "axes=2,3 keepdims:0", "u2,3"},
    {"ms.Gelu", 13, "f:2,3", "", "f2,3"},
    {"Clip", 10, "f:2,3", "min~0 max~6", "f2,3"},
    {"Clip", 13, "b:2,3 b#0 b#6", "", "b2,3"},
    {"Cast", 13, "f:2,3", "to:3", "b2,3"},
    {"OneHot", 11, "l:2,3 l#5 f=0,1", "", "f2,3,5"},
    {"OneHot", 11, "l:2,3 f#5 l=0,1", "axis:0", "l5,2,3"},
    {"Trilu", 14, "f:2,3,4 l#1", "upper:0", "f2,3,4"},
    {"Softmax", 11, "f:2,3", "axis:2", "f2,3"},
    {"Dropout", 10, "f:2,3", "", "f2,3 o2,3"},
    {"Dropout", 13, "f:2,3 f#0.5 o#0", "", "f2,3"},
    {"BatchNormalization", 15, "f:2,3,4 f:3 f:3 f:3 f:3", "", "f2,3,4"},
    {"LSTM", 14, "f:5,1,3 f:2,16,3 f:2,16,4 f:2,32", "direction@bidirectional hidden_size:4", "f5,2,1,4 f2,1,4 f2,1,4"},
    {"ms.DynamicQuantizeLSTM", 14, "f:5,1,3 b:2,3,16 b:2,4,16 f:2,32 - - - - f:2 b:2 f:2,16 b:2,16", "direction@bidirectional",
     "f5,2,1,4 f2,1,4 f2,1,4"},
    {"GRU", 14, "f:5,2,3 f:1,12,3 f:1,12,4", "linear_before_reset:1", "f5,1,2,4 f1,2,4"},
    {"RNN", 7, "f:5,2,3 f:1,4,3 f:1,4,4", "direction@reverse", "f5,1,2,4 f1,2,4"},
    {"LayerNormalization", 17, "f:2,3,4 f:3,4 f:3,4", "axis:1", "f2,3,4 f2,1,1 f2,1,1"},

    {"Shrink", 13, "f:2,3", "lambd~1.5 bias~0.5", "f2,3"},
    {"Atan", 13, "f:2,3", "", "f2,3"},
    {"STFT", 17, "f:2,100 l#10 - l#32", "", "f2,7,17,2"},
    {"STFT", 17, "f:2,32,2 l#10 - l=32", "onesided:0", "f2,1,32,2"},
    {"DFT", 17, "f:2,5,7,1", "", "f2,5,7,2"},
    {"DFT", 17, "f:2,5,7,1 l#8", "axis:2 onesided:1", "f2,5,5,2"},
    {"DFT", 20, "f:2,5,7,2 - l#-3", "inverse:1", "f2,5,7,2"},
    {"Reshape", 13, "f:2,3,4 l=0,-1", "", "f2,12"},
    {"Reshape", 13, "f:2,3,4 l=-1,4,2,3", "", "f1,4,2,3"},
    {"Reshape", 13, "f:2,3,4 l:2", "", "f?"},
    {"Flatten", 13, "f:2,3,4", "", "f2,12"},
    {"Flatten", 13, "f:2,3,4", "axis:-1", "f6,4"},
    {"Flatten", 13, "f:2,3,4", "axis:0", "f1,24"},
    {"Squeeze", 11, "f:1,3,1,4", "axes=0", "f3,1,4"},
    {"Squeeze", 13, "f:1,3,1,4 l=-2", "", "f1,3,4"},
    {"Squeeze", 13, "f:1,3,1,4", "", "f3,4"},
    {"Unsqueeze", 11, "f:3,4", "axes=0,3", "f1,3,4,1"},
    {"Unsqueeze", 13, "f:3,4 l=-1,0", "", "f1,3,4,1"},
    {"Transpose", 13, "f:2,3,4", "perm=0,2,1", "f2,4,3"},
    {"Transpose", 13, "f:2,3,4", "perm=0,-1,-2", "f2,4,3"},
    {"Transpose", 13, "f:2,3,4", "", "f4,3,2"},
    {"Expand", 13, "f:3,1 l=2,1,6", "", "f2,3,6"},
    {"Tile", 13, "f:2,3 l=1,2", "", "f2,6"},
    {"DepthToSpace", 13, "f:1,8,2,3", "blocksize:2", "f1,2,4,6"},
    {"SpaceToDepth", 13, "f:1,2,4,6", "blocksize:2", "f1,8,2,3"},
    {"Slice", 13, "f:5,6,7 l=1,-1 l=4,-9 l=0,2 l=2,-3", "", "f2,6,3"},
    {"Slice", 10, "f:5,6 l=1 l=9223372036854775807 l=-1", "", "f5,5"},
    {"Slice", 13, "f:5 l=-1 l=-9223372036854775807 l=0 l=-9223372036854775807", "", "f1"},
    {"Slice", 13, "f:5 l=3 l=1", "", "f0"},
    {"Split", 11, "f:6,4", "axis:0 split=1,2,3", "f1,4 f2,4 f3,4"},
    {"Split", 13, "f:6,4 l=3,1", "axis:1", "f6,3 f6,1"},
    {"Split", 13, "f:6,4", "axis:-1", "f6,2 f6,2"},
    {"Split", 18, "f:7,4", "num_outputs:3", "f3,4 f3,4 f1,4"},
    {"Concat", 13, "f:2,3 f:2,1 f:2,5", "axis:-1", "f2,9"},
    {"Pad", 10, "f:2,3", "pads=0,1,2,0", "f4,4"},
    {"Pad", 13, "f:2,3 l=0,-1,0,3", "", "f2,5"},
    {"Pad", 18, "f:2,3 l=2,1 - l=-1", "", "f2,6"},
    {"Gather", 13, "f:5,6,7 l:2,3", "axis:1", "f5,2,3,7"},
    {"Gather", 13, "f:5,6 l#-1", "axis:0", "f6"},
    {"GatherElements", 13, "f:5,6 l:2,6", "axis:0", "f2,6"},
    {"ReverseSequence", 10, "f:4,2,3 l=4,2", "", "f4,2,3"},
    {"Upsample", 7, "f:1,2,3,4", "scales~~1,1,2,2.5", "f1,2,6,10"},
    {"Upsample", 9, "f:1,2,3,4 f=1,1,2,2.5", "mode@linear", "f1,2,6,10"},
    {"Slice", 9, "f:2,3,4", "starts=1,0 ends=3,-1 axes=1,2", "f2,2,3"},
    {"Resize", 10, "f:1,2,3,4 f=1,1,2,2.5", "", "f1,2,6,10"},
    {"Resize", 11, "f:1,2,3,4 - - l=1,2,5,6", "", "f1,2,5,6"},
    {"Resize", 13, "f:1,2,3,4 - f=1,1,0.6,0.6", "", "f1,2,1,2"},
    {"Resize", 18, "f:1,2,4,6 - - l=8,9", "axes=2,3 keep_aspect_ratio_policy@not_larger", "f1,2,6,9"},
    {"Resize", 19, "f:1,2,4,6 - - l=8,9", "axes=2,3 keep_aspect_ratio_policy@not_smaller", "f1,2,8,12"},
    {"AffineGrid", 20, "f:2,2,3 l=2,5,7,8", "", "f2,7,8,2"},
    {"GridSample", 16, "f:2,3,5,6 f:2,7,8,2", "mode@bilinear", "f2,3,7,8"},
    {"GridSample", 20, "f:1,3,5,6 f%1,1,9,2", "", "f1,3,1,9"},
    {"NonMaxSuppression", 11, "f:2,9,4 f:2,3,9 l=5", "", "l30,3"},
    {"NonMaxSuppression", 11, "f:1,9,4 f:1,3,9 l=100 f#0.5 f#0.1", "center_point_box:1", "l27,3"},
    {"ReduceMean", 13, "f:2,3,4", "axes=-1 keepdims:0", "f2,3"},
    {"ReduceMean", 18, "f:2,3,4 l=1", "", "f2,1,4"},
    {"ReduceMean", 18, "f:2,3,4", "", "f1,1,1"},
    {"ReduceMean", 18, "f:2,3,4", "noop_with_empty_axes:1", "f2,3,4"},
    {"ReduceSum", 11, "f:2,3,4", "axes=0 keepdims:0", "f3,4"},
    {"ReduceSum", 13, "f:2,3,4 l=0", "keepdims:0", "f3,4"},
    {"ArgMax", 13, "f:2,3,4", "axis:1 keepdims:0", "l2,4"},
    {"TopK", 13, "f:2,3,4 l=2", "axis:1", "f2,2,4 l2,2,4"},
    {"TopK", 13, "f:2,3,4 l:1", "", "f? l?"},
    {"Range", 13, "l#3 l:1 l#1", "", "l?"},
    {"Nonsense", 13, "f:2,3", "", "f?"}, /* the type that the file declares */
};

static char letter_of(enum onnx_type type) {
    return "?fub?swl?o?d"[type];
}

/* As rows[].outputs has it. */
static void describe(const struct onnx_value *value, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%c%s", letter_of(value->type), value->shape.rank < 0 ? "?" : "");
    for (int i = 0; i < value->shape.rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "", (long long)value->shape.dims[i]);
}

static int words(const char *text) {
    int count = *text != 0;
    for (; *text; text++) count += *text == ' ';
    return count;
}

static struct onnx_graph *infer(struct bytes *model, struct onnx_report *report) {
    struct failure failure;
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph || !onnx_bind(graph, NULL, 0, 1, report, &failure) || !onnx_infer(graph, report, &failure)) fail_msg("%s", failure.text);
    return graph;
}

static void check_row(const struct row *row) {
    struct bytes model = one_node(row->op, row->opset, row->inputs, row->attributes, words(row->outputs));
    struct onnx_report report = {0};
    struct onnx_graph *graph = infer(&model, &report);
    char text[400] = "", one[100];
    for (size_t i = 0; i < graph->output_count; i++) {
        describe(graph->outputs[i], one, sizeof one);
        strcat(strcat(text, i ? " " : ""), one);
    }
    if (report.refusal_count || strcmp(text, row->outputs))
        fail_msg("%s, opset %d, '%s' '%s': %s, not %s; %s", row->op, row->opset, row->inputs, row->attributes, text, row->outputs,
                 report.refusal_count ? report.refusals[0].why : "");
    onnx_free(graph);
    onnx_report_free(&report);
}

static void shapes_are_inferred(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&rows[i]);
}

/* outputs: the constant's values, NULL where it must not be computed */
static const struct row folds[] = {
    {"Add", 13, "l=1,2 l#10", "", "11,12"},
    {"Add", 13, "l#9223372036854775807 l#1", "", "-9223372036854775808"},
    {"Sub", 13, "w=5,7 w=1,9", "", "4,-2"},
    {"Mul", 13, "f=0.1,3 f#3", "", "0.300000012,9"},
    {"Div", 13, "l=7,-7 l#2", "", "3,-3"},
    {"Div", 13, "f=1,2 f#3", "", "0.333333343,0.666666687"},
    {"Div", 13, "l=7,1 l=1,0", "", NULL},
    {"Div", 13, "l#-9223372036854775808 l#-1", "", "-9223372036854775808"},
    {"Mod", 13, "l=7,-7 l#3", "", "1,2"},
    {"Mod", 13, "l=7,-7 l#3", "fmod:1", "1,-1"},
    {"Add", 13, "l=7,-7 l#3", "fmod:1", "10,-4"},
    {"Pow", 13, "l=2,-3 l#3", "", "8,-27"},
    {"DynamicQuantizeLinear", 13, "f=-1,0,1.6,4", "", "0,51,133,255"}, /* steps of 5 / 255 */
    {"DynamicQuantizeLinear", 13, "f=0,0", "", "0,0"},
    {"Max", 13, "l=1,5 l#3", "", "3,5"},
    {"Equal", 13, "l=1,5 l#5", "", "0,1"},
    {"Less", 13, "f=1,5 f#5", "", "1,0"},
    {"And", 13, "o=1,1,0 o=1,0,0", "", "1,0,0"},
    {"Where", 13, "o=1,0 l=1,2 l=8,9", "", "1,9"},
    {"Not", 13, "o=1,0", "", "0,1"},
    {"Neg", 13, "l=1,-2", "", "-1,2"},
    {"Sqrt", 13, "f=2,9", "", "1.41421354,3"},
    {"Floor", 13, "f=2.5,-2.5", "", "2,-3"},
    {"Round", 13, "f=2.5,3.5,-2.5", "", "2,4,-2"},
    {"Clip", 13, "f=-1,3,9 f#0 f#6", "", "0,3,6"},
    {"EyeLike", 9, "f:2,3", "", "1,0,0,0,1,0"},
    {"EyeLike", 9, "f:2,3", "dtype:7 k:-1", "0,0,0,1,0,0"},
    {"EyeLike", 9, "f:2,3", "k:9223372036854775807", "0,0,0,0,0,0"},
    {"NonZero", 9, "l=0,3,0,4", "", "1,3"},
    {"NonZero", 9, "f#0.5", "", "0"},
    {"NonZero", 9, "f:2,3", "", NULL},
    {"Clip", 13, "l=-1,3,9 l#0 l#6", "", "0,3,6"},
    {"Clip", 13, "l=-1,3,9223372036854775807 - l#9223372036854775806", "", "-1,3,9223372036854775806"},
    {"Clip", 11, "l=-1,3,9 l#0 l#6", "", NULL},
    {"GatherElements", 13, "l=7,7,7 l:2", "", "7,7"},
    {"GatherElements", 13, "l=7,7,8 l:2", "", NULL},
    {"Cast", 13, "f=2.9,-2.9", "to:7", "2,-2"},
    {"Cast", 13, "l=0,3", "to:9", "0,1"},
    {"Identity", 13, "l=4,5", "", "4,5"},
    {"Reshape", 13, "l=1,2,3,4 l=2,2", "", "1,2,3,4"},
    {"Unsqueeze", 13, "l#7 l=0", "", "7"},
    {"Expand", 13, "l=1,2 l=2,2", "", "1,2,1,2"},
    {"Tile", 13, "l=1,2 l=2", "", "1,2,1,2"},
    {"Slice", 13, "l=1,2,3,4,5 l=-1 l=-9 l=0 l=-2", "", "5,3,1"},
    {"Slice", 13, "l=1,2,3,4,5 l=1 l=3", "", "2,3"},
    {"Concat", 13, "l=1,2 l=3", "axis:0", "1,2,3"},
    {"Gather", 13, "l=5,6,7 l=-1,0", "", "7,5"},
    {"Gather", 13, "l=5,6,7 l#1", "", "6"},
    {"Gather", 13, "l=5,6,7 l#3", "", NULL},
    {"GatherND", 13, "l=5,6,7 l=-1", "", "7"},
    {"GatherND", 13, "l=5,6,7 l=3", "", NULL},
    {"GatherElements", 13, "l=5,6,7 l=2,-3,1,1", "", "7,5,6,6"},
    {"GatherElements", 13, "l=5,6,7 l=-4", "", NULL},
    {"ScatterND", 13, "l=5,6,7 l%1,1 l=9", "", "5,9,7"},
    {"ScatterND", 13, "l=5,6,7 l%1,1 l=9", "reduction@add", NULL},
    {"ScatterND", 13, "l=5,6,7 l=3 l#9", "", NULL},
    {"ScatterND", 13, "l=5,6,7 l=-1 l#9", "", "5,6,9"},
    {"ScatterND", 13, "f=5,6,7 l=-1 l#9", "", NULL},
    {"ScatterElements", 13, "l=5,6,7 l=-1,0 l=8,9", "", "9,6,8"},
    {"ScatterElements", 13, "l=5,6,7 l=-1,3 l=8,9", "", NULL},
    {"ScatterElements", 13, "l=5,6,7 l=-1,0 l=8,9", "reduction@mul", NULL},
    {"Dropout", 13, "f=1,2", "", "1,2"},
    {"Dropout", 13, "f=1,2 f#0.5 o#0", "", "1,2"},
    {"Dropout", 13, "f=1,2 f#0 o#1", "", "1,2"},
    {"Dropout", 13, "f=1,2 f#0.5 o#1", "", NULL},
    {"ConstantOfShape", 13, "l=2", "", "0,0"},
    {"Range", 13, "l#2 l#9 l#3", "", "2,5,8"},
    {"Range", 13, "l#9 l#2 l#-3", "", "9,6,3"},
    {"Range", 13, "f#0 f#1 f#0.5", "", "0,0.5"},
    {"Shape", 13, "f:4,5,6", "", "4,5,6"},
    {"Shape", 15, "f:4,5,6", "start:1 end:-1", "5"},
    {"Size", 13, "f:4,5,6", "", "120"},
    {"Constant", 13, "", "value_ints=3,4", "3,4"},
    {"Constant", 13, "", "value_float~0.5", "0.5"},
    {"CumSum", 13, "f=1,2,4 l#0", "", "1,3,7"},
    {"CumSum", 13, "l=1,2,4 l#0", "exclusive:1", "0,1,3"},
    {"CumSum", 13, "w=1,2,4 w#-1", "reverse:1", "7,6,4"},
    {"CumSum", 13, "l=1,2,4 l#1", "", NULL},
    /* mean 2, variance 4 */
    {"BatchNormalization", 15, "f=0,4 f=3 f=1 f=9 f=9", "training_mode:1 epsilon~0", "-2,4"},
    {"BatchNormalization", 15, "f=0,4 f=3 f=1 f=9 f=9", "", NULL},
    {"ReduceProd", 13, "l=2,3,4", "axes=0", "24"},
    {"ReduceMean", 13, "f=1,2,6", "axes=0", "3"},
    {"ReduceMax", 13, "l=2,9,4", "axes=0 keepdims:0", "9"},
    /* half to even, saturated; the zero point comes after rounding */
    {"QuantizeLinear", 13, "f=0.5,1.5,2.5,-0.5,300,-300 f#1 b#1", "", "1,3,3,1,127,-128"},
    {"QuantizeLinear", 13, "f=0.25,0.75,-1,200 f#0.5 u#128", "", "128,130,126,255"},
    {"QuantizeLinear", 13, "f=1,1 f=0.5,0.25 b=0,1", "axis:0", "2,5"},
    /* weights and biases stay visible */
    {"DequantizeLinear", 13, "b=1,2 f#0.5 b#0", "", NULL},
    {"DequantizeLinear", 13, "u=1,2 f#0.5 u#0", "", NULL},
    {"DequantizeLinear", 13, "w=1,2 f#0.5", "", NULL},
    {"DequantizeLinear", 21, "s=1,2 f#0.5 s#1", "", "0,0.5"},
    {"DequantizeLinear", 21, "s=1,2 f#0.5 l#1", "", NULL}, /* of another type than what is quantized: it may be anything */
    {"Conv", 13, "f:1,3,8,8 f:4,3,3,3", "", NULL},
};

static void check_fold(const struct row *row) {
    struct bytes model = one_node(row->op, row->opset, row->inputs, row->attributes, 1);
    struct onnx_report report = {0};
    struct onnx_graph *graph = infer(&model, &report);
    const struct onnx_tensor *constant = graph->outputs[0]->constant;
    struct number numbers[16];
    if (report.refusal_count) fail_msg("%s '%s': %s", row->op, row->inputs, report.refusals[0].why);
    if (!constant != !row->outputs) fail_msg("%s '%s': %s", row->op, row->inputs, constant ? "computed" : "not computed");
    int count = row->outputs ? read_numbers(row->outputs, numbers, 16) : 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(constant->count, count);
        bool good = constant->type == ONNX_INT64 ? onnx_integer(constant, (size_t)i) == numbers[i].integer
                                                 : (float)onnx_number(constant, (size_t)i) == (float)numbers[i].floating;
        if (!good)
            fail_msg("%s '%s': value %d is %.9g, not %.9g", row->op, row->inputs, i, onnx_number(constant, (size_t)i), numbers[i].floating);
    }
    assert_int_equal(graph->nodes[0]->folded, constant != NULL);
    onnx_free(graph);
    onnx_report_free(&report);
}

static void constants_are_folded(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) check_fold(&folds[i]);
}

/* The way a PyTorch export flattens: Shape, Gather, Unsqueeze, Concat, Reshape. Only the Reshape is left to run. */
static void arithmetic_on_shapes_is_folded(void **state) {
    (void)state;
    struct bytes graph = {0};
    struct onnx_report report = {0};
    const struct number zero = {0, 0}, minus_one = {-1, -1};
    add_value(&graph, 11, "x", 1, "batch,3,4,4");
    add_value(&graph, 12, "y", 1, NULL);
    add_constant(&graph, "zero", 7, 0, NULL, &zero, 1);
    add_constant(&graph, "axes", 7, 1, (const int64_t[]){1}, &zero, 1);
    add_constant(&graph, "rest", 7, 1, (const int64_t[]){1}, &minus_one, 1);
    add_node(&graph, "before", "Relu", "x", "r", "");
    add_node(&graph, "shape", "Shape", "r", "s", "");
    add_node(&graph, "gather", "Gather", "s zero", "g", "");
    add_node(&graph, "unsqueeze", "Unsqueeze", "g axes", "u", "");
    add_node(&graph, "concat", "Concat", "u rest", "c", "axis:0");
    add_node(&graph, "reshape", "Reshape", "r c", "y", "");
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *net = infer(&model, &report);
    int left = 0;
    for (size_t i = 0; i < net->node_count; i++) left += !net->nodes[i]->folded;
    assert_int_equal(left, 2);
    assert_int_equal(net->outputs[0]->shape.rank, 2);
    assert_int_equal(net->outputs[0]->shape.dims[1], 48);
    assert_int_equal(net->inputs[0]->uses, 1);
    assert_int_equal(net->nodes[0]->outputs[0]->uses, 1); /* folded nodes read nothing */
    onnx_free(net);
    onnx_report_free(&report);
}

/* value_info fills what cannot be inferred, but not once a fixed shape was overridden. */
static void declared_shapes_fill_what_is_unknown(void **state) {
    (void)state;
    for (int override = 0; override < 2; override++) {
        struct bytes graph = {0};
        struct onnx_report report = {0};
        struct failure failure;
        struct onnx_binding binding = {"x", {2, {1, 3}}, false};
        add_value(&graph, 11, "x", 1, "4,3");
        add_value(&graph, 12, "y", 1, "4,7");
        add_node(&graph, "n", "Nonsense", "x", "m", "");
        add_value(&graph, 13, "m", 1, "4,7");
        add_node(&graph, "r", "Relu", "m", "y", "");
        struct bytes model = model_message(&graph, 13);
        struct onnx_graph *net = load_bytes(&model, &failure);
        assert_true(onnx_bind(net, &binding, (size_t) override, 1, &report, &failure));
        assert_true(onnx_infer(net, &report, &failure));
        assert_int_equal(net->outputs[0]->shape.rank, override ? -1 : 2);
        onnx_free(net);
        onnx_report_free(&report);
    }
}

/* A shape that is known at run time only is the one that the file states, if it holds what is copied. */
static void stated_shapes_hold_what_is_copied(void **state) {
    (void)state;
    static const char *const stated[] = {"2,2,3", "2,2,7"};
    for (int i = 0; i < 2; i++) {
        struct bytes file = {0};
        struct onnx_report report = {0};
        add_value(&file, 11, "x", ONNX_FLOAT, "2,6");
        add_value(&file, 11, "s", ONNX_INT64, "3");
        add_value(&file, 12, "y", ONNX_FLOAT, stated[i]);
        add_node(&file, "r", "Reshape", "x s", "y", "");
        struct bytes model = model_message(&file, 13);
        struct onnx_graph *graph = infer(&model, &report);
        assert_int_equal(report.refusal_count, i);
        if (i) assert_non_null(strstr(report.refusals[0].why, "states 28 elements for its output, and it has 12"));
        onnx_free(graph);
        onnx_report_free(&report);
    }
}

/* Weights of 4 bits: the network is quantized all the same, and the reason says to what it should be. */
static void narrow_weights_are_refused_with_what_to_do(void **state) {
    (void)state;
    struct bytes file = {0};
    struct onnx_report report = {0};
    struct bytes tensor = tensor_message("w", 22, 2, (const int64_t[]){2, 2}, "\x12\x34", 2);
    add_value(&file, 11, "x", ONNX_FLOAT, "1,2");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &(const struct number){0.5, 0}, 1);
    put_message(&file, 5, &tensor);
    add_node(&file, "d", "DequantizeLinear", "w s", "f", "");
    add_node(&file, "m", "MatMul", "x f", "y", "");
    struct bytes model = model_message(&file, 21);
    struct onnx_graph *graph = infer(&model, &report);
    assert_true(onnx_is_quantized(graph));
    assert_int_equal(report.refusal_count, 1);
    assert_non_null(strstr(report.refusals[0].why, "is of type int4: quantize the float network to 8 bits"));
    onnx_free(graph);
    onnx_report_free(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(narrow_weights_are_refused_with_what_to_do),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(arithmetic_on_shapes_is_folded),
        cmocka_unit_test(declared_shapes_fill_what_is_unknown),
        cmocka_unit_test(stated_shapes_hold_what_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
