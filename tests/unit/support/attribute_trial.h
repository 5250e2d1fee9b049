/* SPDX-License-Identifier: MIT */
/* Nodes with attributes of any type, length and value, and what each goes through: passes, lowering, the blob, the float executor. */
#ifndef ATTRIBUTE_TRIAL_H
#define ATTRIBUTE_TRIAL_H

#include "tests/unit/support/onnx_file.h"

#include "tools/float/executor.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"
#include "tools/onnx/write.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/optimize.h"

enum { ELEMENTS_MOST = 1 << 20 };

/* Sound as it stands. Each of `attributes` is then left out and replaced, and each of `more` added: "name=" a list, "name:" a number,
 * "name~" a float, "name@" a text. */
struct row {
    const char *op;
    int opset;
    const char *inputs, *attributes, *more;
};

static const struct row rows[] = {
    {"QLinearConv", 11, "u:1,1,5,5 f#0.1 u#3 b%1,1,3,3 f#0.1 b#0 f#0.2 u#0", "pads=1,1,1,1 strides=1,1 dilations=1,1 group:1",
     "auto_pad@ kernel_shape="},
    {"Conv", 11, "f:1,2,5,5 f%2,1,3,3", "pads=1,1,1,1 strides=2,2 dilations=1,1 group:2 kernel_shape=3,3", "auto_pad@"},
    {"ConvTranspose", 11, "f:1,2,3,3 f%2,1,3,3", "pads=1,1,1,1 strides=2,2 dilations=1,1 group:1 output_padding=1,1",
     "auto_pad@ output_shape= kernel_shape="},
    {"MaxPool", 12, "f:1,2,6,6", "kernel_shape=2,2 strides=2,2 pads=0,0,0,0 dilations=1,1 ceil_mode:0 storage_order:0", "auto_pad@"},
    {"AveragePool", 19, "f:1,2,6,6", "kernel_shape=2,2 strides=2,2 pads=0,0,1,1 dilations=1,1 ceil_mode:1 count_include_pad:1",
     "auto_pad@"},
    {"ms.QLinearAveragePool", 11, "u:1,6,6,2 f#0.1 u#0 f#0.1 u#0", "kernel_shape=2,2 strides=2,2 channels_last:1 pads=0,0,0,0",
     "auto_pad@ ceil_mode: count_include_pad:"},
    {"ms.QLinearGlobalAveragePool", 11, "u:1,2,3,3 f#0.1 u#0 f#0.1 u#0", "channels_last:0", ""},
    {"Gemm", 13, "f:2,2 f%2,2 f%2", "transA:0 transB:1 alpha~1 beta~1", ""},
    {"ms.QGemm", 13, "u:2,2 f#1 u#0 b%2,2 f#1 b#0 w%2 f#1 u#0", "transA:0 transB:1 alpha~1", ""},
    {"QuantizeLinear", 21, "f:2,3 f=1,2,3 b=0,0,0", "axis:1", "block_size: output_dtype: saturate:"},
    {"QuantizeLinear", 13, "f:2,3 f#1", "", "axis: output_dtype:"},
    {"DequantizeLinear", 21, "b:2,3 f=1,2,3 b=0,0,0", "axis:1", "block_size: output_dtype:"},
    {"Clip", 10, "f:2,3", "min~0 max~6", ""},
    {"Clip", 10, "u:2,3", "min~0 max~6", ""},
    {"LeakyRelu", 13, "f:2,3", "alpha~0.1", ""},
    {"HardSigmoid", 13, "f:2,3", "alpha~0.2 beta~0.5", ""},
    {"Elu", 13, "f:2,3", "alpha~1", ""},
    {"Selu", 13, "f:2,3", "alpha~1 gamma~1", ""},
    {"Celu", 13, "f:2,3", "alpha~1", ""},
    {"ThresholdedRelu", 13, "f:2,3", "alpha~1", ""},
    {"Shrink", 13, "f:2,3", "lambd~1.5 bias~0.5", ""},
    {"Gelu", 20, "f:2,3", "approximate@tanh", ""},
    {"ms.QLinearLeakyRelu", 13, "u:2,3 f#1 u#0 f#1 u#0", "alpha~0.1", ""},
    {"Cast", 13, "f:2,3", "to:1", ""},
    {"Mod", 13, "f:2,3 f:2,3", "fmod:1", ""},
    {"Softmax", 11, "f:2,3,4", "axis:1", ""},
    {"Softmax", 13, "f:2,3,4", "axis:-1", ""},
    {"ms.QLinearSoftmax", 13, "u:2,3,4 f#0.1 u#0 f#0.1 u#0", "axis:1 opset:13", ""},
    {"LogSoftmax", 13, "f:2,3,4", "axis:-1", ""},
    {"Hardmax", 11, "f:2,3,4", "axis:1", ""},
    {"LpNormalization", 13, "f:2,3,4", "axis:1 p:2", ""},
    {"BatchNormalization", 15, "f:2,3,4 f=1,2,3 f=1,2,3 f=1,2,3 f=1,2,3", "epsilon~0.001 momentum~0.9 training_mode:0", ""},
    {"InstanceNormalization", 13, "f:2,3,4 f=1,2,3 f=1,2,3", "epsilon~0.001", ""},
    {"MeanVarianceNormalization", 13, "f:2,3,4", "axes=1,2", ""},
    {"LpPool", 22, "f:1,2,6,6", "kernel_shape=2,2 strides=2,2 pads=0,0,1,1 p:1", "auto_pad@ ceil_mode: dilations="},
    {"GlobalLpPool", 13, "f:1,2,3,3", "p:2", ""},
    {"SwiGLU", 28, "f:2,3 f:2,3", "alpha~0.5", ""},
    {"ScatterElements", 18, "f:1,4,2 l%1,2,2 f:1,2,2", "axis:1 reduction@none", ""},
    {"ScatterND", 18, "f:4,2 l%2,1 f:2,2", "reduction@mul", ""},
    {"Col2Im", 18, "f:1,8,6 l=3,4 l=2,2", "strides=1,1 dilations=1,1 pads=0,0,0,0", ""},
    {"Compress", 11, "f:4,3 o=1,0,1", "axis:0", ""},
    {"RotaryEmbedding", 23, "f:2,5,12 f:2,5,2 f:2,5,2", "num_heads:2 interleaved:1 rotary_embedding_dim:4", ""},
    {"ms.RotaryEmbedding", 13, "f:2,5,8 l#1 f%9,2 f%9,2", "num_heads:2 interleaved:0", "is_packed_batching: scale~ rotary_embedding_dim:"},
    {"Attention", 28, "f:1,2,3,4 f:1,2,3,4 f:1,2,3,4", "left_window_size:1 right_window_size:1 is_causal:0", "scale~ softcap~"},
    {"LayerNormalization", 17, "f:2,3,2 f=1,2 f=1,2", "axis:-1 epsilon~0.001 stash_type:1", ""},
    {"GroupNormalization", 21, "f:2,4,3 f=1,2,3,4 f=1,2,3,4", "num_groups:2 epsilon~0.001 stash_type:1", ""},
    {"GroupNormalization", 18, "f:2,4,3 f=1,2 f=1,2", "num_groups:2 epsilon~0.001", ""},
    {"RMSNormalization", 23, "f:2,3,2 f=1,2", "axis:-1 epsilon~0.001 stash_type:1", ""},
    {"LRN", 13, "f:2,3,4", "size:3 alpha~0.1 beta~0.7 bias~1", ""},
    {"Reshape", 14, "f:2,3,4 l=0,-1", "allowzero:0", "shape="},
    {"Flatten", 13, "f:2,3,4", "axis:1", ""},
    {"Squeeze", 11, "f:1,3,1,4", "axes=0,2", ""},
    {"Squeeze", 13, "f:1,3,1,4 l=0", "", "axes="},
    {"Unsqueeze", 11, "f:3,4", "axes=0,3", ""},
    {"Transpose", 13, "f:2,3,4", "perm=0,2,1", ""},
    {"DepthToSpace", 13, "f:1,8,2,3", "blocksize:2 mode@CRD", ""},
    {"SpaceToDepth", 13, "f:1,2,4,6", "blocksize:2", ""},
    {"Slice", 13, "f:5,6 l=1 l=4 l=0", "", "starts= ends= axes= steps="},
    {"Split", 11, "f:6,4", "axis:0 split=2,4", ""},
    {"Split", 18, "f:6,4", "axis:0 num_outputs:2", "split="},
    {"Pad", 10, "f:2,3", "pads=0,1,0,2 mode@constant value~1", ""},
    {"Pad", 13, "f:2,3 l=0,1,0,2", "mode@constant", "pads= value~"},
    {"Concat", 13, "f:2,3 f:2,3", "axis:1", ""},
    {"ms.QLinearConcat", 13, "f#1 u#0 u:1,2,3 f#1 u#0 u:1,5,3 f#1 u#0", "axis:1", ""},
    {"Gather", 13, "f:5,6 l=1,0", "axis:1", ""},
    {"GatherElements", 13, "f:2,3 l:2,3", "axis:1", ""},
    {"Resize", 19, "f:1,2,3,4 - - l=6,8", "axes=2,3 mode@linear keep_aspect_ratio_policy@stretch antialias:0 exclude_outside:0",
     "coordinate_transformation_mode@ nearest_mode@ extrapolation_value~ cubic_coeff_a~"},
    {"Resize", 13, "f:1,2,3,4 - f=1,1,2,2", "mode@nearest coordinate_transformation_mode@asymmetric nearest_mode@floor",
     "extrapolation_value~ axes="},
    {"GridSample", 20, "f:1,2,3,4 f:1,2,2,2", "mode@linear padding_mode@border align_corners:1", ""},
    {"NonMaxSuppression", 11, "f:1,5,4 f:1,2,5 l=3 f#0.5", "center_point_box:1", ""},
    {"ReduceMean", 13, "f:2,3,4", "axes=1,2 keepdims:1", "noop_with_empty_axes:"},
    {"ReduceMean", 18, "f:2,3,4", "keepdims:1 noop_with_empty_axes:0", "axes="},
    {"ReduceSum", 11, "f:2,3,4", "axes=0 keepdims:0", ""},
    {"ReduceMax", 13, "f:2,3,4,5", "axes=-1 keepdims:0", ""},
    {"ReduceMin", 13, "f:2,3,4", "axes=1 keepdims:0", ""},
    {"ReduceL2", 13, "f:2,3,4", "axes=1 keepdims:1", ""},
    {"ReduceLogSumExp", 13, "f:2,3,4", "axes=1 keepdims:1", ""},
    {"ms.QLinearReduceMean", 13, "u:2,3,4,5 f#1 u#0 f#1 u#0", "axes=2,3 keepdims:0", ""},
    {"ArgMax", 13, "f:2,3,4", "axis:1 keepdims:0 select_last_index:0", ""},
    {"TopK", 9, "f:2,3,4", "k:2 axis:1", "largest:"},
    {"TopK", 11, "f:2,3,4 l=3", "axis:1 largest:0", "k:"},
    {"Shape", 15, "f:4,5,6", "start:1 end:-1", ""},
};

/* What stands behind a name; "" leaves the attribute out. */
static const char *const hostile[] = {
    "",
    ":0",
    ":1",
    ":-1",
    ":3",
    ":-9",
    ":2147483647",
    ":-2147483648",
    ":4294967297",
    ":9223372036854775807",
    ":-9223372036854775808",
    "=",
    "=0",
    "=-1",
    "=1,1",
    "=0,-1",
    "=-1,-2,0",
    "=2,2,2,2",
    "=-1,-1,-1,-1",
    "=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    "=2147483647,2147483647",
    "=4294967297,1",
    "=9223372036854775807,9223372036854775807",
    "=-9223372036854775808,-9223372036854775808",
    "=9223372036854775807,9223372036854775807,9223372036854775807,9223372036854775807",
    "=-9223372036854775808,0,1",
    "~0",
    "~-1",
    "~1e-45",
    "~3e38",
    "~-3e38",
    "~inf",
    "~-inf",
    "~nan",
    "~~0.5,-1",
    "@",
    "@SAME_UPPER",
    "@SAME_LOWER",
    "@VALID",
    "@cubic",
    "@reflect",
    "@edge",
    "@wrap",
    "@tf_crop_and_resize",
    "@align_corners",
    "@not_smaller",
    "@\377nonsense",
};

static size_t converted, refused, executed;

static inline bool small(const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->value_count; i++)
        if (onnx_elements(&graph->values[i]->shape) > ELEMENTS_MOST) return false;
    return true;
}

static inline void make_blob(struct onnx_graph *graph, struct onnx_report *report, const char *what) {
    static const struct blob_extras extras = {0};
    struct morsel_model opened;
    size_t bytes;
    struct net *net = lower(graph, report);
    if (!net && !report->refusal_count) fail_msg("%s: neither a network nor a reason", what);
    converted += net != NULL;
    refused += !net;
    if (net && plan_arena(net)) {
        uint8_t *blob = blob_write(net, &extras, &bytes);
        enum morsel_error error = blob ? morsel_open(&opened, blob, bytes, 0) : MORSEL_OK;
        if (error) fail_msg("%s: the blob does not open: %s", what, morsel_error_text(error));
        free(blob);
    }
    if (net) net_free(net);
}

/* On zeros: what it computes is for other tests. */
static inline void execute(const struct onnx_graph *graph, const char *what) {
    static const float zeros[ELEMENTS_MOST];
    const float *inputs[16];
    struct failure failure = {0};
    struct executor *executor = executor_open(graph, &failure);
    if (!executor && !*failure.text) fail_msg("%s: not executed, for no reason", what);
    if (!executor) return;
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_non_null(run);
    for (size_t i = 0; i < 16; i++) inputs[i] = zeros;
    executed += executor_run(run, inputs, NULL, NULL, &failure);
    executor_run_close(run);
    executor_close(executor);
}

/* What the passes make of a sound graph is as sound, and lowers or is refused. */
static inline void optimize(const struct onnx_graph *graph, const char *what) {
    struct onnx_report report = {0};
    struct failure failure = {0};
    struct onnx_graph *copy = edit_copy(graph);
    graph_optimize(copy, NULL);
    if (!onnx_infer(copy, &report, &failure)) fail_msg("%s: the passes spoil it: %s", what, failure.text);
    if (report.refusal_count) fail_msg("%s: the passes spoil it: %s", what, report.refusals[0].why);
    make_blob(copy, &report, what);
    onnx_report_free(&report);
    onnx_free(copy);
}

/* What a file may be: refused, or a blob that opens. The bytes are used up. */
static inline void try_model(struct bytes *model, const char *what) {
    struct onnx_report report = {0};
    struct failure failure = {0};
    struct onnx_graph *graph = load_bytes(model, &failure);
    if (!graph) fail_msg("%s: %s", what, failure.text);
    assert_true(onnx_bind(graph, NULL, 0, 1, &report, &failure) && onnx_infer(graph, &report, &failure));
    if (small(graph)) {
        if (!report.refusal_count) optimize(graph, what);
        execute(graph, what); /* refused ones, too: nothing may run them */
        make_blob(graph, &report, what);
    }
    onnx_report_free(&report);
    onnx_free(graph);
}

/* The words of `list` without that named as `name` is; then `name` with the value behind it. */
static inline void replaced(char *to, size_t room, const char *list, const char *name, size_t length, const char *value) {
    char copy[300], *next = copy, *word;
    size_t used = 0;
    snprintf(copy, sizeof copy, "%s", list);
    *to = 0;
    while ((word = strsep(&next, " ")))
        if (*word && (strncmp(word, name, length) || !strchr(":=~@", word[length])))
            used += (size_t)snprintf(to + used, room - used, "%s ", word);
    if (*value) snprintf(to + used, room - used, "%.*s%s", (int)length, name, value);
}

#endif
