/* SPDX-License-Identifier: MIT */
/* Forms that exports hardly have, but may: what is computed has the type that the graph says, the blob opens, or a refusal says why. */
#include "tests/unit/support/onnx_file.h"

#include "tests/unit/support/stream_runs.h"
#include "tools/lower/lower.h"

static void add_scalars(struct bytes *file) {
    static const struct number scale = {0.01, 0}, zero = {0, 100};
    add_constant(file, "s", ONNX_FLOAT, 0, NULL, &scale, 1);
    add_constant(file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
}

/* NULL: refused, in words that hold `why`. */
static struct net *lower_file(struct bytes *file, int opset, const char *why) {
    struct onnx_report report = {0};
    struct bytes model = model_message(file, opset);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct net *net = lower(graph, &report);
    if (!net && !why) fail_msg("%s", report.refusals[0].why);
    if (net && why) fail_msg("taken, where %s", why);
    if (!net && !strstr(report.refusals[0].why, why)) fail_msg("%s", report.refusals[0].why);
    if (net) {
        size_t bytes;
        free(blob_of(net, &bytes)); /* which has to open */
    }
    onnx_report_free(&report);
    onnx_free(graph);
    return net;
}

/* Seven bits behind an average: the Clip of integers is a part of it in bytes, and a step of its own behind one in float. */
static void an_average_leaves_the_clip_of_its_bytes(void **state) {
    (void)state;
    for (int floats = 0; floats < 2; floats++) {
        struct bytes file = {0};
        const struct number low = {0, 90}, high = {0, 120};
        add_scalars(&file);
        add_value(&file, 11, "x", ONNX_FLOAT, "1,2,4,4");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "low", ONNX_UINT8, 0, NULL, &low, 1);
        add_constant(&file, "high", ONNX_UINT8, 0, NULL, &high, 1);
        if (!floats) add_node(&file, "q0", "QuantizeLinear", "x s z", "b", "");
        if (!floats) add_node(&file, "d0", "DequantizeLinear", "b s z", "t", "");
        if (floats) add_node(&file, "tanh", "Tanh", "x", "t", "");
        add_node(&file, "pool", "AveragePool", "t", "p", "kernel_shape=2,2");
        add_node(&file, "q", "QuantizeLinear", "p s z", "r", "");
        add_node(&file, "clip", "Clip", "r low high", "y", "");
        struct net *net = lower_file(&file, 13, NULL);
        const struct net_step *last = net->steps[net->step_count - 1];
        assert_int_equal(net->outputs[0].buffer->type, MORSEL_UINT8);
        assert_int_equal(last->kind, floats ? MORSEL_STEP_LUT : MORSEL_STEP_AVERAGE_POOL);
        if (!floats) assert_int_equal(last->parameters.pool.out_min, 90);
        if (!floats) assert_int_equal(last->parameters.pool.out_max, 120);
        net_free(net);
    }
}

static void a_fill_value_is_of_its_type(void **state) {
    (void)state;
    struct bytes file = {0};
    add_value(&file, 11, "x", ONNX_UINT8, "1,2");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_node(&file, "pad", "Pad", "x", "y", "pads=0,1,0,1 value~nan");
    assert_null(lower_file(&file, 10, "nan is outside the type"));
}

static void positions_are_no_remainders(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct bytes file = {0};
        const struct number at = {0, wide ? (int64_t)1 << 32 : 1};
        const int64_t one = 1;
        add_value(&file, 11, "x", ONNX_UINT8, "1,2");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "i", ONNX_INT64, 1, &one, &at, 1);
        add_node(&file, "gather", "Gather", "x i", "y", "axis:1");
        struct net *net = lower_file(&file, 13, wide ? "4294967296 leaves axis 1" : NULL);
        if (net) net_free(net);
    }
}

/* Scales by channel: too small to divide by, and without a zero point of the type that an attribute says. */
static void scales_by_channel_are_read(void **state) {
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct bytes file = {0};
        const struct number scales[2] = {{small ? 1e-40 : 0.5, 0}, {0.25, 0}};
        const int64_t two = 2;
        add_value(&file, 11, "x", ONNX_FLOAT, "1,2,3,3");
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_constant(&file, "s", ONNX_FLOAT, 1, &two, scales, 2);
        add_node(&file, "q", "QuantizeLinear", "x s", "b", "output_dtype:3");
        add_node(&file, "d", "DequantizeLinear", "b s", "y", "");
        struct net *net = lower_file(&file, 21, small ? "of channel 0 is too small" : NULL);
        if (!net) continue;
        assert_int_equal(net->steps[0]->output->type, MORSEL_INT8);
        net_free(net);
    }
}

/* With one scale for all the axis is of no meaning, and may be any number. */
static void an_axis_of_one_scale_is_not_read(void **state) {
    (void)state;
    struct bytes file = {0};
    const struct number weight = {0, 3}, scale = {0.5, 0};
    const int64_t dims[4] = {1, 1, 1, 1};
    add_value(&file, 11, "x", ONNX_FLOAT, "1,1,2,2");
    add_value(&file, 12, "y", ONNX_FLOAT, NULL);
    add_constant(&file, "w", ONNX_INT8, 4, dims, &weight, 1);
    add_constant(&file, "s", ONNX_FLOAT, 1, dims, &scale, 1);
    add_node(&file, "d", "DequantizeLinear", "w s", "v", "axis:2147483647");
    add_node(&file, "conv", "Conv", "x v", "y", "");
    net_free(lower_file(&file, 13, NULL));
}

/* A Pad in front by the zero point is a part of a convolution's window, as far as a window's pads go. */
static void padding_is_a_part_of_the_window(void **state) {
    (void)state;
    for (int far = 0; far < 2; far++) {
        struct bytes file = {0};
        const struct number pads[8] = {{0, 0}, {0, 0}, {0, 0}, {0, far ? 65537 : 65536}};
        const struct number fill = {0, 100}, weight = {0, 3}, none = {0, 0};
        const int64_t eight = 8, one[4] = {1, 1, 1, 1};
        add_scalars(&file);
        add_value(&file, 11, "x", ONNX_UINT8, "1,1,1,2");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "pads", ONNX_INT64, 1, &eight, pads, 8);
        add_constant(&file, "fill", ONNX_UINT8, 0, NULL, &fill, 1);
        add_constant(&file, "w", ONNX_INT8, 4, one, &weight, 1);
        add_constant(&file, "wz", ONNX_INT8, 0, NULL, &none, 1);
        add_node(&file, "pad", "Pad", "x pads fill", "p", "");
        add_node(&file, "conv", "QLinearConv", "p s z w s wz s z", "y", "");
        struct net *net = lower_file(&file, 13, NULL);
        assert_int_equal(net->step_count, far ? 2 : 1);
        net_free(net);
    }
}

/* Bytes of one type and a zero point of the other: a step from one to the other did not open. */
static void a_zero_point_has_the_type_of_its_bytes(void **state) {
    (void)state;
    static const struct {
        const char *op, *inputs, *attributes;
    } rows[] = {
        {"ms.QLinearAveragePool", "b s z s z", "kernel_shape=2,2"},
        {"ms.QLinearGlobalAveragePool", "b s z s z", "channels_last:0"},
        {"ms.QLinearLeakyRelu", "b s z s z", "alpha~0.1"},
        {"ms.QLinearAdd", "b s z b s z s z", ""},
        {"ms.QLinearConcat", "s z b s z", "axis:1"},
        {"DequantizeLinear", "b s z", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes file = {0};
        add_scalars(&file);
        add_value(&file, 11, "b", ONNX_INT8, "1,2,4,4");
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_node(&file, "n", rows[i].op, rows[i].inputs, strcmp(rows[i].op, "DequantizeLinear") != 0 ? "q" : "y", rows[i].attributes);
        if (strcmp(rows[i].op, "DequantizeLinear") != 0) add_node(&file, "d", "DequantizeLinear", "q s z", "y", "");
        net_free(lower_file(&file, 13, "its zero point is of another type than its bytes"));
    }
}

/* Of its output nothing is known but what the file states, which need not be what Mul gives. */
static void another_domains_operator_is_no_factor(void **state) {
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct bytes file = {0};
        const struct number weights[4] = {{0, 1}, {0, 2}, {0, 3}, {0, 4}}, scale = {0.5, 0};
        const int64_t dims[2] = {2, 2};
        add_value(&file, 11, "x", ONNX_FLOAT, "1,2");
        add_value(&file, 12, "y", ONNX_FLOAT, own ? "1,2" : "1,7");
        add_constant(&file, "w", ONNX_INT8, 2, dims, weights, 4);
        add_constant(&file, "ws", ONNX_FLOAT, 0, NULL, &scale, 1);
        add_node(&file, "dynamic", "DynamicQuantizeLinear", "x", "b s z", "");
        add_node(&file, "product", "MatMulInteger", "b w z", "i", "");
        add_node(&file, "cast", "Cast", "i", "f", "to:1");
        add_node(&file, "scales", "Mul", "s ws", "t", "");
        add_node(&file, "last", own ? "Mul" : "my.Mul", "f t", "y", "");
        struct net *net = lower_file(&file, 13, own ? NULL : "it reads what a DynamicQuantizeLinear finds");
        if (net) net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_average_leaves_the_clip_of_its_bytes),
        cmocka_unit_test(a_fill_value_is_of_its_type),
        cmocka_unit_test(positions_are_no_remainders),
        cmocka_unit_test(scales_by_channel_are_read),
        cmocka_unit_test(an_axis_of_one_scale_is_not_read),
        cmocka_unit_test(padding_is_a_part_of_the_window),
        cmocka_unit_test(a_zero_point_has_the_type_of_its_bytes),
        cmocka_unit_test(another_domains_operator_is_no_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
