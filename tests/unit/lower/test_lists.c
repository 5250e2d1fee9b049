/* SPDX-License-Identifier: MIT */
/* Two ways to say the same give the same blob: negative axes, lists as attributes and as inputs, lists that are left out or empty. */
#include "tests/unit/support/onnx_file.h"

#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

struct form {
    int opset;
    const char *inputs, *attributes;
};

static const struct {
    const char *op;
    struct form one, other;
} pairs[] = {
    {"Transpose", {13, "f:2,3,4", "perm=0,2,1"}, {13, "f:2,3,4", "perm=0,-1,-2"}},
    {"Transpose", {13, "f:2,3,4", "perm=2,1,0"}, {13, "f:2,3,4", ""}},
    {"Slice", {13, "f:2,3,4 l=0,1 l=1,3", ""}, {13, "f:2,3,4 l=0,1 l=1,3 l=-3,-2", ""}},
    {"Slice", {13, "f:2,3,4 l=0,1 l=1,3", ""}, {13, "f:2,3,4 l=0,1 l=1,3", "axes=5,6 steps=7,8"}}, /* attributes of older opsets */
    {"Pad", {10, "f:2,3", "pads=0,1,0,2"}, {13, "f:2,3 l=0,1,0,2", ""}},
    {"Pad", {13, "f:2,3 l=0,1,0,2", ""}, {13, "f:2,3 l=0,1,0,2", "pads=9,9,9,9"}},
    {"Pad", {18, "f:2,3 l=0,1,0,2", ""}, {18, "f:2,3 l=1,2 - l=-1", ""}},
    {"ReduceMean", {13, "f:2,3,4", "axes=1,2"}, {18, "f:2,3,4 l=-1,-2", ""}},
    {"ReduceMean", {13, "f:2,3,4", ""}, {18, "f:2,3,4", "axes=0"}},
};

static uint8_t *blob_of(const char *op, const struct form *form, size_t *bytes) {
    static const struct blob_extras extras = {0};
    struct onnx_report report = {0};
    struct bytes model = one_node(op, form->opset, form->inputs, form->attributes, 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s %s %s: %s", op, form->inputs, form->attributes, report.refusals[0].why);
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &extras, bytes);
    assert_non_null(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return blob;
}

static void forms_of_a_list_give_the_same_blob(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t bytes[2];
        uint8_t *one = blob_of(pairs[i].op, &pairs[i].one, &bytes[0]), *other = blob_of(pairs[i].op, &pairs[i].other, &bytes[1]);
        if (bytes[0] != bytes[1] || memcmp(one, other, bytes[0]))
            fail_msg("%s: '%s %s' is another blob than '%s %s'", pairs[i].op, pairs[i].one.inputs, pairs[i].one.attributes,
                     pairs[i].other.inputs, pairs[i].other.attributes);
        free(one);
        free(other);
    }
}

/* A convolution in QDQ form, whose weights and bias pass through what changes nothing. */
static uint8_t *conv_blob(const char *between, size_t *bytes) {
    static const int64_t dims[] = {2, 2, 1, 1}, two[] = {2};
    static const struct number scale = {0.5, 0}, quarter = {0.25, 0}, zero = {0, 0}, numbers[4] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
    static const struct blob_extras extras = {0};
    struct bytes file = {0};
    struct onnx_report report = {0};
    add_value(&file, 11, "x", ONNX_FLOAT, "1,2,4,4");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&file, "sb", ONNX_FLOAT, 0, NULL, &quarter, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&file, "zw", ONNX_INT8, 0, NULL, &zero, 1);
    add_constant(&file, "w", ONNX_INT8, 4, dims, numbers, 4);
    add_constant(&file, "b", ONNX_INT32, 1, two, numbers, 2);
    add_node(&file, "q", "QuantizeLinear", "x s z", "a", "");
    add_node(&file, "d", "DequantizeLinear", "a s z", "a2", "");
    add_node(&file, "dw", "DequantizeLinear", "w s zw", *between ? "w1" : "w2", "");
    add_node(&file, "db", "DequantizeLinear", "b sb", *between ? "b1" : "b2", "");
    if (*between) add_node(&file, "iw", between, "w1", "w2", "");
    if (*between) add_node(&file, "ib", between, "b1", "b2", "");
    add_node(&file, "conv", "Conv", "a2 w2 b2", "c", "");
    add_node(&file, "q2", "QuantizeLinear", "c s z", "e", "");
    add_node(&file, "d2", "DequantizeLinear", "e s z", "y", "");
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net) fail_msg("%s: %s", between, report.refusals[0].why);
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &extras, bytes);
    assert_non_null(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return blob;
}

/* PyTorch's exporter puts an Identity behind constants that are equal, and quantizers a DequantizeLinear in front of it. */
static void constants_pass_through_identities(void **state) {
    (void)state;
    static const char *const between[] = {"Identity", "Dropout"};
    size_t plain_bytes, bytes;
    uint8_t *plain = conv_blob("", &plain_bytes);
    for (size_t i = 0; i < 2; i++) {
        uint8_t *blob = conv_blob(between[i], &bytes);
        assert_int_equal(bytes, plain_bytes);
        assert_memory_equal(blob, plain, bytes);
        free(blob);
    }
    free(plain);
}

/* A Relu of two inputs behind a quantized convolution: refused by inference, and no part of the convolution's step. */
static void nothing_takes_in_a_refused_node(void **state) {
    (void)state;
    static const int64_t dims[] = {2, 2, 1, 1};
    static const struct number scale = {0.5, 0}, zero = {0, 0}, weights[4] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
    struct bytes nodes = {0};
    struct failure failure = {0};
    struct onnx_report report = {0};
    add_value(&nodes, 11, "x", ONNX_FLOAT, "1,2,4,4");
    add_value(&nodes, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&nodes, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(&nodes, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&nodes, "zw", ONNX_INT8, 0, NULL, &zero, 1);
    add_constant(&nodes, "w", ONNX_INT8, 4, dims, weights, 4);
    add_node(&nodes, "q", "QuantizeLinear", "x s z", "a", "");
    add_node(&nodes, "d", "DequantizeLinear", "a s z", "b", "");
    add_node(&nodes, "dw", "DequantizeLinear", "w s zw", "wf", "");
    add_node(&nodes, "conv", "Conv", "b wf", "c", "");
    add_node(&nodes, "relu", "Relu", "c b", "r", "");
    add_node(&nodes, "q2", "QuantizeLinear", "r s z", "e", "");
    add_node(&nodes, "d2", "DequantizeLinear", "e s z", "y", "");
    struct bytes model = model_message(&nodes, 13);
    struct onnx_graph *graph = load_bytes(&model, &failure);
    if (!graph || !onnx_bind(graph, NULL, 0, 1, &report, &failure) || !onnx_infer(graph, &report, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(report.refusal_count, 1);
    assert_null(lower(graph, &report));
    assert_true(report.refusal_count >= 1);
    assert_string_equal(report.refusals[0].node, "relu");
    onnx_report_free(&report);
    onnx_free(graph);
}

/* S, T and U stand for scales. */
static const struct {
    const char *op, *inputs;
} scaled[] = {
    {"QuantizeLinear", "f:2,3 f#S b#0"},
    {"DequantizeLinear", "b:2,3 f#S b#0"},
    {"QLinearMatMul", "b:2,3 f#S b#0 b:3,2 f#T b#0 f#U b#0"},
    {"QLinearConv", "b:1,1,4,4 f#S b#0 b=1 f#T b#0 f#U b#0"},
    {"ms.QLinearAdd", "b:2,3 f#S b#0 b:2,3 f#T b#0 f#U b#0"},
    {"ms.QLinearMul", "b:2,3 f#S b#0 b:2,3 f#T b#0 f#U b#0"},
    {"ms.QLinearSigmoid", "b:2,3 f#S b#0 f#U b#0"},
    {"ms.QLinearGlobalAveragePool", "b:1,2,4,4 f#S b#0 f#U b#0"},
};

static void convert_scaled(size_t i, const char *const scales[3], size_t made[2]) {
    static const struct blob_extras extras = {0};
    struct onnx_report report = {0};
    struct morsel_model opened;
    char inputs[200], *to = inputs;
    size_t bytes;
    for (const char *c = scaled[i].inputs; *c; c++) {
        if (*c >= 'S' && *c <= 'U') to += sprintf(to, "%s", scales[*c - 'S']);
        else *to++ = *c;
    }
    *to = 0;
    struct bytes model = one_node(scaled[i].op, 13, inputs, "", 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    made[net != NULL]++;
    if (net) {
        assert_true(plan_arena(net));
        uint8_t *blob = blob_write(net, &extras, &bytes);
        assert_non_null(blob);
        enum morsel_error error = morsel_open(&opened, blob, bytes, 0);
        if (error) fail_msg("%s %s: %s", scaled[i].op, inputs, morsel_error_text(error));
        net_free(net);
        free(blob);
    }
    onnx_report_free(&report);
    onnx_free(graph);
}

/* The smallest and the largest there are: refused, or of a blob that opens. */
static void odd_scales_make_blobs_that_open(void **state) {
    (void)state;
    static const char *const sizes[] = {"1e-45", "1e-39", "1", "3e38"};
    size_t made[2] = {0};
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++)
        for (unsigned k = 0; k < 64; k++) convert_scaled(i, (const char *const[]){sizes[k % 4], sizes[k / 4 % 4], sizes[k / 16]}, made);
    assert_true(made[0] > 20 && made[1] > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms_of_a_list_give_the_same_blob),
                                       cmocka_unit_test(constants_pass_through_identities),
                                       cmocka_unit_test(nothing_takes_in_a_refused_node),
                                       cmocka_unit_test(odd_scales_make_blobs_that_open)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
