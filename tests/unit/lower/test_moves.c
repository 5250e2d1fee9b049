/* SPDX-License-Identifier: MIT */
/* Data that moves on the way through a network: how many steps it takes, how large their tables are, and that every byte arrives. */
#include "tests/unit/support/onnx_file.h"

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tools/lower/lower.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan.h"

static void add_numbers(struct bytes *file, const char *name, const int64_t *list, int64_t count) {
    struct number numbers[8];
    for (int64_t i = 0; i < count; i++) numbers[i] = (struct number){0, list[i]};
    add_constant(file, name, ONNX_INT64, 1, &count, numbers, (size_t)count);
}

static uint32_t first_kind; /* of the steps that were run last */

/* Runs the network, whose only input counts up, and gives its steps. */
static uint32_t run(struct bytes *file, uint8_t *y, size_t *blob_bytes, bool *concat) {
    static const struct blob_extras none = {0};
    struct onnx_report report = {0};
    struct bytes message = model_message(file, 13);
    struct onnx_graph *graph = inferred_bytes(&message);
    struct net *net = lower(graph, &report);
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    const struct morsel_options options = {.size = sizeof options};
    if (!net) fail_msg("%s", report.refusals[0].why);
    uint32_t steps = net->step_count;
    first_kind = net->steps[0]->kind;
    *concat = false;
    for (uint32_t i = 0; i < steps; i++) *concat = *concat || net->steps[i]->kind == MORSEL_STEP_CONCAT;
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &none, blob_bytes);
    assert_non_null(blob);
    assert_int_equal(morsel_open(&model, blob, *blob_bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
    memcpy(y, v.data, v.bytes);
    free(arena);
    free(blob);
    net_free(net);
    onnx_report_free(&report);
    onnx_free(graph);
    return steps;
}

/* x[:, 3:] before x[:, :3], padded by one before and behind where `pad`: as windows of attention are shifted. */
static void rolled(bool pad, bool twice) {
    enum { ROWS = 5, WIDTH = 96 };
    uint8_t y[4 * (ROWS + 2) * WIDTH];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    int rows = ROWS + (pad ? 2 : 0);
    add_value(&file, 11, "x", ONNX_UINT8, "1,5,96");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_numbers(&file, "zero", (const int64_t[]){0}, 1);
    add_numbers(&file, "three", (const int64_t[]){3}, 1);
    add_numbers(&file, "end", (const int64_t[]){99}, 1);
    add_numbers(&file, "one", (const int64_t[]){1}, 1);
    if (pad) {
        const struct number nine = {0, 9};
        add_numbers(&file, "pads", (const int64_t[]){0, 1, 0, 0, 1, 0}, 6);
        add_constant(&file, "nine", ONNX_UINT8, 0, NULL, &nine, 1);
        add_node(&file, "pad", "Pad", "x pads nine", "p", "");
    }
    add_node(&file, "a", "Slice", pad ? "p three end one" : "x three end one", "a", "");
    add_node(&file, "b", "Slice", pad ? "p zero three one" : "x zero three one", "b", "");
    add_node(&file, "c", "Concat", "a b", twice ? "r" : "y", "axis:1");
    if (twice) add_node(&file, "d", "Concat", "r r", "y", "axis:1");
    uint32_t steps = run(&file, y, &bytes, &concat);
    assert_int_equal(steps, twice ? 4 : 1);
    assert_int_equal(concat, twice); /* r has two readers: it is put together once */
    for (int i = 0; i < rows * (twice ? 2 : 1) * WIDTH; i++) {
        int row = (i / WIDTH + 3) % rows - (pad ? 1 : 0), from = row * WIDTH + i % WIDTH;
        assert_int_equal(y[i], row < 0 || row >= ROWS ? 9 : (uint8_t)(from * 7 + from / 256));
    }
}

static void parts_of_one_value_are_joined_in_one_step(void **state) {
    (void)state;
    rolled(false, false);
    rolled(true, false);
    rolled(false, true);
}

/* A table with an entry for each of these rows would be larger than all else in the blob. */
static void long_axes_take_short_tables(void **state) {
    (void)state;
    enum { ROWS = 6000, COLUMNS = 3 };
    static uint8_t y[ROWS * COLUMNS];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,6000,3");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_node(&file, "t", "Transpose", "x", "y", "perm=0,2,1");
    assert_int_equal(run(&file, y, &bytes, &concat), 1);
    assert_true(bytes < 6000);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        int from = i % ROWS * COLUMNS + i / ROWS;
        assert_int_equal(y[i], (uint8_t)(from * 7 + from / 256));
    }
}

/* Backwards, from the last to the first. */
static void long_axes_may_run_backwards(void **state) {
    (void)state;
    enum { COUNT = 6000 };
    static uint8_t y[COUNT];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,6000");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_numbers(&file, "last", (const int64_t[]){-1}, 1);
    add_numbers(&file, "end", (const int64_t[]){-99999}, 1);
    add_numbers(&file, "one", (const int64_t[]){1}, 1);
    add_node(&file, "s", "Slice", "x last end one last", "y", "");
    assert_int_equal(run(&file, y, &bytes, &concat), 1);
    assert_true(bytes < 5000);
    for (int i = 0; i < COUNT; i++) assert_int_equal(y[i], (uint8_t)((COUNT - 1 - i) * 7 + (COUNT - 1 - i) / 256));
}

/* A picture flattened as ONNX counts it, channels first: neither straight nor short, but an axis in an axis. */
static void flattened_pictures_take_short_tables(void **state) {
    (void)state;
    enum { CHANNELS = 3, PIXELS = 2000 };
    static uint8_t y[CHANNELS * PIXELS];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,3,40,50");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_node(&file, "f", "Flatten", "x", "y", "");
    assert_int_equal(run(&file, y, &bytes, &concat), 1);
    assert_true(bytes < 5000);
    for (int i = 0; i < CHANNELS * PIXELS; i++) {
        int from = i % PIXELS * CHANNELS + i / PIXELS;
        assert_int_equal(y[i], (uint8_t)(from * 7 + from / 256));
    }
}

/* As many lines as have no common factor: put together, as a table of them would be large. */
static void long_parts_are_joined_as_bytes(void **state) {
    (void)state;
    enum { LINES = 20011, WIDTH = 16 };
    static uint8_t y[LINES * WIDTH];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,20011,16");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_numbers(&file, "zero", (const int64_t[]){0}, 1);
    add_numbers(&file, "some", (const int64_t[]){500}, 1);
    add_numbers(&file, "end", (const int64_t[]){99999}, 1);
    add_numbers(&file, "one", (const int64_t[]){1}, 1);
    add_node(&file, "a", "Slice", "x some end one", "a", "");
    add_node(&file, "b", "Slice", "x zero some one", "b", "");
    add_node(&file, "c", "Concat", "a b", "y", "axis:1");
    run(&file, y, &bytes, &concat);
    assert_true(concat);
    assert_true(bytes < 12000);
    for (int i = 0; i < LINES * WIDTH; i++) {
        int from = (i + 500 * WIDTH) % (LINES * WIDTH);
        assert_int_equal(y[i], (uint8_t)(from * 7 + from / 256));
    }
}

/* Rows that are rolled cannot be cut where they lie. What is gathered then keeps its channels side by side, as the next step has them. */
static void cut_axes_keep_channels_last(void **state) {
    (void)state;
    enum { CHANNELS = 4, SIDE = 6 };
    uint8_t y[CHANNELS * SIDE * SIDE];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,4,6,6");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_numbers(&file, "zero", (const int64_t[]){0}, 1);
    add_numbers(&file, "one", (const int64_t[]){1}, 1);
    add_numbers(&file, "end", (const int64_t[]){99}, 1);
    add_numbers(&file, "two", (const int64_t[]){2}, 1);
    add_numbers(&file, "cut", (const int64_t[]){1, 4, 2, 3, 6}, 5);
    add_node(&file, "a", "Slice", "x one end two", "a", "");
    add_node(&file, "b", "Slice", "x zero one two", "b", "");
    add_node(&file, "c", "Concat", "a b", "c", "axis:2");
    add_node(&file, "r", "Reshape", "c cut", "r", "");
    add_numbers(&file, "whole", (const int64_t[]){1, 4, 6, 6}, 4);
    add_node(&file, "w", "Reshape", "r whole", "w", "");
    add_node(&file, "m", "MaxPool", "w", "y", "kernel_shape=1,1 strides=2,1");
    assert_int_equal(run(&file, y, &bytes, &concat), 2);
    for (int i = 0; i < CHANNELS * SIDE * SIDE / 2; i++) {
        int row = (i / CHANNELS / SIDE * 2 + 1) % SIDE, from = row * CHANNELS * SIDE + i % (CHANNELS * SIDE);
        assert_int_equal(y[i], (uint8_t)(from * 7 + from / 256));
    }
}

/* A transposed operand is gathered, once for both readers, and kernels add lines. */
static void operands_are_gathered_once_for_all(void **state) {
    (void)state;
    enum { SIDE = 8, ALL = SIDE * SIDE * SIDE };
    uint8_t y[ALL];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    static const struct number one = {1, 0}, zero = {0, 0};
    add_value(&file, 11, "x", ONNX_UINT8, "1,8,8,8");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_node(&file, "t", "Transpose", "x", "t", "perm=0,2,1,3");
    add_node(&file, "a", "ms.QLinearAdd", "x s z t s z s z", "a", "");
    add_node(&file, "b", "ms.QLinearAdd", "a s z t s z s z", "y", "");
    assert_int_equal(run(&file, y, &bytes, &concat), 3);
    for (int i = 0; i < ALL; i++) { /* rows, columns, channels */
        int row = i / SIDE / SIDE, column = i / SIDE % SIDE, channel = i % SIDE, from = (channel * SIDE + column) * SIDE + row;
        int sum = (uint8_t)(i * 7 + i / 256) + (uint8_t)(from * 7 + from / 256);
        sum = (sum > 255 ? 255 : sum) + (uint8_t)(from * 7 + from / 256);
        assert_int_equal(y[i], sum > 255 ? 255 : sum);
    }
}

/* Rows and columns in one step, bytes cut off behind the point. Any other axis is a product in float. */
static void pictures_are_resized_in_one_step(void **state) {
    (void)state;
    static const struct number one = {1, 0}, two = {2, 0};
    static const int64_t four = 4;
    static const uint8_t resized[24] = {0, 3, 7, 10, 14, 14, 10, 14, 17, 21, 24, 24, 21, 24, 28, 31, 35, 35, 21, 24, 28, 31, 35, 35};
    for (int channels = 0; channels < 2; channels++) {
        const struct number factors[4] = {one, channels ? two : one, channels ? one : two, channels ? one : two};
        uint8_t y[24];
        struct bytes file = {0};
        size_t bytes;
        bool concat;
        add_value(&file, 11, "x", ONNX_UINT8, "1,1,2,3");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "s", ONNX_FLOAT, 1, &four, factors, 4);
        add_node(&file, "r", "Resize", "x - s", "y", "mode@linear coordinate_transformation_mode@asymmetric");
        uint32_t steps = run(&file, y, &bytes, &concat);
        assert_true(channels ? steps > 1 : steps == 1);
        for (int i = 0; i < (channels ? 12 : 24); i++) assert_int_equal(y[i], channels ? i / 2 * 7 : resized[i]);
    }
}

/* The last step gives another number of dimensions than the network: its result is the output all the same, unless another reads it. */
static void outputs_are_not_copied_for_their_shape(void **state) {
    (void)state;
    static const struct number one = {1, 0}, zero = {0, 0};
    for (int kind = 0; kind < 3; kind++) { /* 2: fewer dimensions than the step's */
        uint8_t y[35];
        struct bytes file = {0};
        size_t bytes;
        bool concat;
        add_value(&file, 11, "x", ONNX_UINT8, kind == 2 ? "5,7,1" : "5,7");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        if (kind == 1) add_value(&file, 12, "a", ONNX_UINT8, NULL);
        add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
        add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
        if (kind == 2) add_numbers(&file, "shape", (const int64_t[]){35}, 1);
        else add_numbers(&file, "shape", (const int64_t[]){1, 5, 7}, 3);
        add_node(&file, "l", "ms.QLinearLeakyRelu", "x s z s z", "a", "alpha~0.5");
        add_node(&file, "r", "Reshape", "a shape", "y", "");
        assert_int_equal(run(&file, y, &bytes, &concat), kind == 1 ? 2 : 1);
        for (int i = 0; i < 35; i++) assert_int_equal(y[i], (uint8_t)(i * 7));
    }
}

/* Windows that do not overlap: one pixel of the input makes one window of the output, so nothing is pulled apart. */
static void windows_side_by_side_take_no_zeros(void **state) {
    (void)state;
    enum { IN = 3, OUT = 2, SIDE = 4, TAPS = 6 };
    static const int64_t dims[] = {IN, OUT, 2, 3};
    static const struct number one = {1, 0}, quarter = {0.25, 0}, zero = {0, 0}, wide = {64, 0};
    uint8_t y[OUT * SIDE * SIDE * TAPS];
    struct number weights[IN * OUT * TAPS];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    for (int i = 0; i < IN * OUT * TAPS; i++) weights[i] = (struct number){0, i * 5 % 23 - 11};
    add_value(&file, 11, "x", ONNX_UINT8, "1,3,4,4");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
    add_constant(&file, "sw", ONNX_FLOAT, 0, NULL, &quarter, 1);
    add_constant(&file, "sy", ONNX_FLOAT, 0, NULL, &wide, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_constant(&file, "w", ONNX_INT8, 4, dims, weights, IN * OUT * TAPS);
    add_node(&file, "dx", "DequantizeLinear", "x s z", "a", "");
    add_node(&file, "dw", "DequantizeLinear", "w sw", "v", "");
    add_node(&file, "t", "ConvTranspose", "a v", "c", "strides=2,3");
    add_node(&file, "q", "QuantizeLinear", "c sy z", "y", "");
    assert_int_equal(run(&file, y, &bytes, &concat), 2); /* the convolution, and the output in its layout */
    for (int i = 0; i < OUT * SIDE * SIDE * TAPS; i++) { /* rows, columns, channels */
        int o = i % OUT, column = i / OUT % (3 * SIDE), row = i / OUT / (3 * SIDE), sum = 0;
        for (int k = 0; k < IN; k++) {
            int from = (row / 2 * SIDE + column / 3) * IN + k;
            sum += (uint8_t)(from * 7 + from / 256) * (int)weights[(k * OUT + o) * TAPS + row % 2 * 3 + column % 3].integer;
        }
        double want = nearbyint(sum / 256.0);
        assert_int_equal(y[i], want < 0 ? 0 : want > 255 ? 255 : (int)want);
    }
}

/* Outputs a stride apart have the same taps: the convolution gives all phases, and the gather of its output cuts off what pads leave. */
static void windows_that_overlap_take_no_zeros(void **state) {
    (void)state;
    enum { IN = 3, OUT = 2, SIDE = 5, MOST = 4 };
    static const struct {
        int kernel, stride, pad, extra;
    } cases[] = {{4, 2, 1, 0}, {3, 2, 1, 1}, {4, 3, 2, 1}, {5, 2, 2, 0}, {3, 3, 1, 0}};
    static const struct number one = {1, 0}, quarter = {0.25, 0}, zero = {0, 0}, wide = {64, 0}, three = {0, 3};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int k = cases[c].kernel, stride = cases[c].stride, pad = cases[c].pad;
        const int side = stride * (SIDE - 1) + k - 2 * pad + cases[c].extra;
        const int64_t dims[] = {IN, OUT, k, k};
        uint8_t y[OUT * MOST * SIDE * MOST * SIDE];
        struct number weights[IN * OUT * 25];
        char attributes[80];
        struct bytes file = {0};
        size_t bytes;
        bool concat;
        for (int i = 0; i < IN * OUT * k * k; i++) weights[i] = (struct number){0, i * 5 % 23 - 11};
        snprintf(attributes, sizeof attributes, "strides=%d,%d pads=%d,%d,%d,%d output_padding=%d,%d", stride, stride, pad, pad, pad, pad,
                 cases[c].extra, cases[c].extra);
        add_value(&file, 11, "x", ONNX_UINT8, "1,3,5,5");
        add_value(&file, 12, "y", ONNX_UINT8, NULL);
        add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
        add_constant(&file, "sw", ONNX_FLOAT, 0, NULL, &quarter, 1);
        add_constant(&file, "sy", ONNX_FLOAT, 0, NULL, &wide, 1);
        add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
        add_constant(&file, "zw", ONNX_INT8, 0, NULL, &three, 1);
        add_constant(&file, "w", ONNX_INT8, 4, dims, weights, (size_t)(IN * OUT * k * k));
        add_node(&file, "dx", "DequantizeLinear", "x s z", "a", "");
        add_node(&file, "dw", "DequantizeLinear", "w sw zw", "v", "");
        add_node(&file, "t", "ConvTranspose", "a v", "c", attributes);
        add_node(&file, "q", "QuantizeLinear", "c sy z", "y", "");
        assert_int_equal(run(&file, y, &bytes, &concat), 2); /* the convolution, and the output in its layout */
        assert_int_equal(first_kind, MORSEL_STEP_CONV);
        for (int at = 0; at < OUT * side * side; at++) { /* rows, columns, channels */
            int o = at % OUT, sum = 0;
            for (int tap = 0; tap < k * k; tap++) {
                int row = at / OUT / side + pad - tap / k, column = at / OUT % side + pad - tap % k;
                if (row < 0 || column < 0 || row % stride || column % stride || row / stride >= SIDE || column / stride >= SIDE) continue;
                for (int i = 0; i < IN; i++) {
                    int from = (row / stride * SIDE + column / stride) * IN + i;
                    sum += (uint8_t)(from * 7 + from / 256) * ((int)weights[(i * OUT + o) * k * k + tap].integer - 3);
                }
            }
            double want = nearbyint(sum / 256.0);
            assert_int_equal(y[at], want < 0 ? 0 : want > 255 ? 255 : (int)want);
        }
    }
}

/* Channels in two groups beside a number for each: the result lies as the picture does, and no group is gathered. */
static void divided_channels_stay_where_they_lie(void **state) {
    (void)state;
    enum { CHANNELS = 4, PIXELS = 15 };
    static const struct number one = {1, 0}, zero = {0, 0};
    uint8_t y[CHANNELS * PIXELS];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "1,4,3,5");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_numbers(&file, "five", (const int64_t[]){1, 2, 2, 3, 5}, 5);
    add_numbers(&file, "ones", (const int64_t[]){1, 2, 2, 1, 1}, 5);
    add_numbers(&file, "four", (const int64_t[]){1, 4, 3, 5}, 4);
    add_node(&file, "dx", "DequantizeLinear", "x s z", "a", "");
    add_node(&file, "p", "GlobalAveragePool", "a", "m", "");
    add_node(&file, "r", "Reshape", "a five", "b", "");
    add_node(&file, "t", "Reshape", "m ones", "n", "");
    add_node(&file, "o", "Max", "b n", "c", "");
    add_node(&file, "q", "QuantizeLinear", "c s z", "d", "");
    add_node(&file, "u", "Reshape", "d four", "y", "");
    assert_int_equal(run(&file, y, &bytes, &concat), 2); /* the means, and the maxima */
    for (int c = 0; c < CHANNELS; c++) {
        int sum = 0;
        for (int i = 0; i < PIXELS; i++) sum += (uint8_t)((i * CHANNELS + c) * 7);
        for (int i = 0; i < PIXELS; i++)
            assert_int_equal(y[i * CHANNELS + c], (int)nearbyint(fmax((uint8_t)((i * CHANNELS + c) * 7), (double)sum / PIXELS)));
    }
}

/* What was gathered for one operand counts, where the other one then cannot stay in its place either. */
static void gathered_operands_keep_their_strides(void **state) {
    (void)state;
    enum { SIDE = 3 };
    static const struct number one = {1, 0}, zero = {0, 0};
    uint8_t y[SIDE * SIDE];
    struct bytes file = {0};
    size_t bytes;
    bool concat;
    add_value(&file, 11, "x", ONNX_UINT8, "3,3");
    add_value(&file, 12, "y", ONNX_UINT8, NULL);
    add_constant(&file, "s", ONNX_FLOAT, 0, NULL, &one, 1);
    add_constant(&file, "z", ONNX_UINT8, 0, NULL, &zero, 1);
    add_numbers(&file, "order", (const int64_t[]){0, 2, 1}, 3);
    add_node(&file, "dx", "DequantizeLinear", "x s z", "a", "");
    add_node(&file, "t", "Transpose", "a", "b", "perm=1,0");
    add_node(&file, "c", "Gather", "a order", "c", "axis:1");
    add_node(&file, "o", "Max", "b c", "d", "");
    add_node(&file, "q", "QuantizeLinear", "d s z", "y", "");
    run(&file, y, &bytes, &concat);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            const int turned = (k * SIDE + i) * 7, picked = (i * SIDE + (3 - k) % 3) * 7;
            assert_int_equal(y[i * SIDE + k], turned > picked ? turned : picked);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_of_one_value_are_joined_in_one_step),
                                       cmocka_unit_test(long_axes_take_short_tables),
                                       cmocka_unit_test(long_axes_may_run_backwards),
                                       cmocka_unit_test(flattened_pictures_take_short_tables),
                                       cmocka_unit_test(long_parts_are_joined_as_bytes),
                                       cmocka_unit_test(cut_axes_keep_channels_last),
                                       cmocka_unit_test(operands_are_gathered_once_for_all),
                                       cmocka_unit_test(pictures_are_resized_in_one_step),
                                       cmocka_unit_test(outputs_are_not_copied_for_their_shape),
                                       cmocka_unit_test(windows_side_by_side_take_no_zeros),
                                       cmocka_unit_test(windows_that_overlap_take_no_zeros),
                                       cmocka_unit_test(divided_channels_stay_where_they_lie),
                                       cmocka_unit_test(gathered_operands_keep_their_strides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
