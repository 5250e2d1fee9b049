/* SPDX-License-Identifier: MIT */
/* The float executor as its callers see it: values watched, outputs, memory shared and not, what it refuses and in which words. */
#include "tests/unit/support/onnx_file.h"

#include "tools/float/executor.h"
#include "tools/float/internal.h"

/* Runs one node on inputs that count up from 1 / 4 in steps of 1 / 4, each input from where the one before it ended. */
static void expect_node(const char *op, int opset, const char *inputs, const char *attributes, const float *want, size_t want_count) {
    struct bytes model = one_node(op, opset, inputs, attributes, 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    float numbers[256];
    const float *in[8] = {NULL};
    size_t at = 0, count;
    for (size_t i = 0; i < 256; i++) numbers[i] = (float)(i + 1) / 4;
    for (size_t i = 0; i < graph->input_count; i++) {
        in[i] = numbers + at;
        at += (size_t)onnx_elements(&graph->inputs[i]->shape);
        assert_true(at <= 256);
    }
    struct executor *executor = executor_open(graph, &failure);
    if (!executor) fail_msg("%s: %s", op, failure.text);
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_non_null(run);
    assert_true(executor_run(run, in, NULL, NULL, &failure));
    const float *out = executor_output(run, 0, &count);
    assert_int_equal(count, want_count);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(out[i] - want[i]) <= 1e-6F * (1 + fabsf(want[i]))))
            fail_msg("%s %s: element %zu is %g, not %g", op, attributes, i, (double)out[i], (double)want[i]);
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
}

#define EXPECT(op, opset, inputs, attributes, ...) \
    expect_node(op, opset, inputs, attributes, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

static void operators_give_their_numbers(void **state) {
    (void)state;
    EXPECT("Relu", 13, "f:4", "", .25F, .5F, .75F, 1);
    EXPECT("Shrink", 13, "f:4", "", 0, 0, .75F, 1);
    EXPECT("Shrink", 13, "f:4", "lambd~0.25 bias~0.25", 0, .25F, .5F, .75F);
    EXPECT("Sin", 13, "f:4", "", .247403959F, .479425539F, .681638760F, .841470985F);
    EXPECT("Tan", 13, "f:4", "", .255341921F, .546302490F, .931596460F, 1.55740772F);
    EXPECT("Asinh", 13, "f:4", "", .247466462F, .481211825F, .693147181F, .881373587F);
    EXPECT("Clip", 13, "f:4 f#0.4 f#0.8", "", .4F, .5F, .75F, .8F);
    EXPECT("Clip", 10, "f:4", "max~0.5", .25F, .5F, .5F, .5F);
    EXPECT("Clip", 13, "f:4 f#0.8 f#0.4", "", .4F, .4F, .4F, .4F); /* the upper bound counts */
    EXPECT("Clip", 13, "f:4 f: f#0.6", "", .6F, .6F, .6F, .6F);    /* the lower one, 1.25, is computed */
    EXPECT("Clip", 13, "f:4 f#2 f:", "", 1.25F, 1.25F, 1.25F, 1.25F);
    EXPECT("Clip", 13, "f:4 f#0.6 f:", "", .6F, .6F, .75F, 1);
    EXPECT("Pad", 19, "f:4 l=-1,2", "mode@wrap", .5F, .75F, 1, .5F, .75F); /* what is cut off does not come back */
    EXPECT("Pad", 19, "f:4 l=2,-1", "mode@wrap", .5F, .75F, .25F, .5F, .75F);
    EXPECT("Add", 13, "f:2,2 f:2", "", 1.5F, 2, 2, 2.5F);
    EXPECT("Sub", 13, "f:2,2 f:2,1", "", -1, -.75F, -.75F, -.5F);
    EXPECT("MatMul", 13, "f:1,2 f:2,2", "", .25F * .75F + .5F * 1.25F, .25F * 1 + .5F * 1.5F);
    EXPECT("Einsum", 12, "f:1,2 f:2,2", "equation@ik,kj", .25F * .75F + .5F * 1.25F, .25F * 1 + .5F * 1.5F);
    EXPECT("Einsum", 12, "f:2 f:2", "equation@a,b->ba", .25F * .75F, .5F * .75F, .25F * 1, .5F * 1);
    EXPECT("Einsum", 12, "f:2,2", "equation@ab->b", 1, 1.5F);
    EXPECT("MaxPool", 12, "f:1,1,2,2", "kernel_shape=2,2", 1);
    /* Of taps at 0, 2 and 4 the last lies between strides as the first does. */
    EXPECT("MaxPool", 12, "f:1,1,1,9", "kernel_shape=1,3 strides=1,4 dilations=1,2", 1.25F, 2.25F);
    EXPECT("AveragePool", 12, "f:1,1,2,2", "kernel_shape=2,2 pads=1,1,0,0", .25F, .375F, .5F, .625F);
    EXPECT("AveragePool", 12, "f:1,1,2,2", "kernel_shape=2,2 pads=1,1,0,0 count_include_pad:1", .0625F, .1875F, .25F, .625F);
    EXPECT("GlobalAveragePool", 12, "f:1,2,2,1", "", .375F, .875F);
    EXPECT("ReduceMax", 13, "f:2,2", "axes=1 keepdims:0", .5F, 1);
    EXPECT("Transpose", 13, "f:2,2", "", .25F, .75F, .5F, 1);
    EXPECT("Transpose", 13, "f:2,2", "perm=-1,-2", .25F, .75F, .5F, 1);
    EXPECT("Reshape", 13, "f:2,2 l=4", "", .25F, .5F, .75F, 1);
    EXPECT("Slice", 13, "f:4 l=-1 l=-9 l=0 l=-2", "", 1, .5F);
    EXPECT("Concat", 13, "f:1,2 f:1,1", "axis:1", .25F, .5F, .75F);
    EXPECT("Gather", 13, "f:2,2 l=1,-2", "axis:1", .5F, .25F, 1, .75F);
    EXPECT("GatherElements", 13, "f:4 l=2,-1,2", "", .75F, 1, .75F);
    EXPECT("GatherND", 13, "f:2,3 l=-1", "", 1, 1.25F, 1.5F);
    EXPECT("GatherND", 13, "f:2,3 l=1,-2", "", 1.25F);
    EXPECT("ReverseSequence", 13, "f:2,2 l=2,1", "", .75F, .5F, .25F, 1);
    EXPECT("ReverseSequence", 13, "f:2,2 l=2,0", "batch_axis:0 time_axis:1", .5F, .25F, .75F, 1);
    EXPECT("IsNaN", 13, "f:2", "", 0, 0);
    EXPECT("Pad", 13, "f:2 l=1,2 f#7", "", 7, .25F, .5F, 7, 7);
    EXPECT("Pad", 13, "f:3 l=1,2", "mode@reflect", .5F, .25F, .5F, .75F, .5F, .25F);
    EXPECT("Softmax", 13, "f:1,2", "", .43782350F, .56217650F);
    EXPECT("QuantizeLinear", 13, "f:4 f#0.1 u#3", "", 5, 8, 11, 13); /* 2.5 steps and 7.5 steps go to the even neighbour */
    EXPECT("QuantizeLinear", 13, "f:4 f#0.003 b#0", "", 83, 127, 127, 127);
    EXPECT("DequantizeLinear", 13, "b:4 f#2 b#1", "", -1.5F, -1, -.5F, 0);
    EXPECT("Cast", 13, "f:4", "to:7", 0, 0, 0, 1);
    EXPECT("GridSample", 16, "f:1,1,2,2 f%1,1,1,2", "", .25F); /* at the corner, which is a quarter of the last pixel */
    EXPECT("GridSample", 16, "f:1,1,2,2 f%1,1,1,2", "padding_mode@border", 1);
    EXPECT("GridSample", 16, "f:1,1,2,2 f:1,1,1,2", "mode@nearest align_corners:1", 1); /* at 1.125, 1.25 */
    EXPECT("NonMaxSuppression", 11, "f:1,2,4 f:1,1,2 l=2", "", 0, 0, 1, 0, 0, 0);
    EXPECT("NonMaxSuppression", 11, "f:1,2,4 f:1,1,2 l=2 f#0.5 f#2.3", "", 0, 0, 1, -1, -1, -1);
    EXPECT("Resize", 13, "f:1,1,2,2 - f=1,1,1.5,1.5", "mode@cubic", .184896F, .3315974F, .478299F, .4782988F, .625F, .7717017F, .7717021F,
           .9184032F, 1.065105F);
    EXPECT("Resize", 13, "f:1,1,2,2 - f=1,1,1,2", "mode@cubic exclude_outside:1 cubic_coeff_a~-0.5", .2279412F, .3017857F, .4482143F,
           .5220588F, .7279411F, .8017857F, .9482143F, 1.022059F);
    EXPECT("Where", 13, "o=1,0 f:2 f:2", "", .25F, 1);
    EXPECT("Mod", 13, "f:3 f#0.3", "fmod:1", .25F, .2F, .15F);
    EXPECT("TopK", 11, "f:2,2 l=1", "", .5F, 1);
    EXPECT("TopK", 11, "f:2,2 l=2", "axis:0 largest:0", .25F, .5F, .75F, 1);
    EXPECT("TopK", 9, "f:3,2", "axis:-2 k:2", 1.25F, 1.5F, .75F, 1);
    EXPECT("Hardmax", 13, "f:2,2", "axis:0", 0, 0, 1, 1);
    EXPECT("Hardmax", 11, "f:1,2,2", "", 0, 0, 0, 1); /* all from axis 1 on is one list */
    EXPECT("CumSum", 14, "f:2,2 l#1", "", .25F, .75F, .75F, 1.75F);
    EXPECT("CumSum", 14, "f:2,2 l#-2", "exclusive:1 reverse:1", .75F, 1, 0, 0);
}

/* A picture of 2 x 2 to twice its size: the middle values are of four corners each, added in ONNX Runtime's order. */
static void resize_adds_corners_in_their_order(void **state) {
    (void)state;
    struct bytes model = one_node("Resize", 13, "f:1,1,2,2 - f=1,1,2,2", "mode@linear", 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    int other = 0;
    for (int i = 1; i <= 20; i++) {
        const float step = 0.0328219F, x[4] = {(float)i * step, (float)(i + 7) * -step, (float)(i * 5) * step, (float)(90 - i) * step};
        const float *in[1] = {x};
        size_t count;
        assert_true(executor_run(run, in, NULL, NULL, &failure));
        const float *y = executor_output(run, 0, &count);
        assert_int_equal(count, 16);
        assert_true(y[0] == x[0] && y[3] == x[1] && y[12] == x[2] && y[15] == x[3]);
        assert_true(y[5] == x[0] * .5625F + x[1] * .1875F + x[2] * .1875F + x[3] * .0625F);
        assert_true(y[10] == x[0] * .0625F + x[1] * .1875F + x[2] * .1875F + x[3] * .5625F);
        float above = x[0] * .75F + x[1] * .25F, below = x[2] * .75F + x[3] * .25F;
        other += y[5] != above * .75F + below * .25F;
    }
    assert_true(other > 0); /* one axis after the other would not do */
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
}

/* conv -> relu -> conv2, and relu is an output as well. */
static struct bytes small_net(void) {
    struct bytes graph = {0};
    const int64_t shape[4] = {2, 1, 1, 1}, shape2[4] = {1, 2, 1, 1};
    const struct number w[2] = {{2, 2}, {-1, -1}}, w2[2] = {{1, 1}, {10, 10}};
    add_value(&graph, 11, "x", 1, "1,1,1,3");
    add_constant(&graph, "w", 1, 4, shape, w, 2);
    add_constant(&graph, "w2", 1, 4, shape2, w2, 2);
    add_node(&graph, "first", "Conv", "x w", "c", "");
    add_node(&graph, "middle", "Relu", "c", "r", "");
    add_node(&graph, "flat", "Flatten", "r", "f", "");
    add_node(&graph, "last", "Conv", "r w2", "y", "");
    add_value(&graph, 12, "y", 1, NULL);
    add_value(&graph, 12, "f", 1, NULL);
    return model_message(&graph, 13);
}

struct seen {
    char names[100];
    float sum[8];
    int count;
};

static void see(void *context, const struct onnx_value *value, const float *data, size_t count) {
    struct seen *seen = context;
    strcat(strcat(seen->names, value->name), " ");
    for (size_t i = 0; i < count; i++) seen->sum[seen->count] += data[i];
    seen->count++;
}

static void every_value_is_watched(void **state) {
    (void)state;
    struct bytes model = small_net();
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct seen seen = {0};
    const float x[3] = {1, -2, 3}, *in[1] = {x};
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    struct executor_run *one = executor_run_open(executor, &failure), *other = executor_run_open(executor, &failure);
    assert_true(executor_run(one, in, see, &seen, &failure));
    assert_string_equal(seen.names, "x c r f y ");
    /* c: 2 -4 6 -1 2 -3; r: 2 0 6 0 2 0; y: 2 20 6 */
    assert_true(seen.sum[0] == 2 && seen.sum[1] == 2 && seen.sum[2] == 10 && seen.sum[3] == 10 && seen.sum[4] == 28);
    assert_true(executor_run(other, in, NULL, NULL, &failure));
    size_t count;
    const float *y = executor_output(other, 0, &count);
    assert_true(count == 3 && y[0] == 2 && y[1] == 20 && y[2] == 6);
    const float *f = executor_output(other, 1, &count);
    assert_true(count == 6 && f[0] == 2 && f[4] == 2 && f[5] == 0);
    executor_run_close(one);
    executor_run_close(other);
    executor_close(executor);
    onnx_free(graph);
}

/* As often as one likes; what does not depend on the value stays. */
static void a_value_takes_on_other_numbers(void **state) {
    (void)state;
    struct bytes model = small_net();
    struct onnx_graph *graph = inferred_bytes(&model), kept = *graph;
    struct onnx_value *outputs[8];
    struct failure failure;
    const float x[3] = {1, -2, 3}, *in[1] = {x}, other[6] = {1, 1, 1, 1, 1, 1}, zeros[3] = {0};
    size_t count = 0;
    kept.output_count = 0;
    for (size_t i = 0; i < graph->output_count; i++) outputs[kept.output_count++] = graph->outputs[i];
    for (size_t n = 0; n < graph->node_count; n++) outputs[kept.output_count++] = graph->nodes[n]->outputs[0];
    kept.outputs = outputs;
    struct executor *executor = executor_open(&kept, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_true(executor_run(run, in, NULL, NULL, &failure));
    const struct onnx_value *c = graph->nodes[0]->outputs[0];
    for (int k = 0; k < 2; k++) {
        const float *before = executor_value(run, c, &count);
        assert_true(count == 6 && before[0] == 2 && before[1] == -4);
        assert_true(executor_run_with(run, c, other, &failure));
        assert_ptr_equal(executor_value(run, c, &count), other);
        assert_true(executor_output(run, 1, &count)[5] == 1 && executor_output(run, 0, &count)[1] != 20);
        executor_run_back(run);
        assert_true(executor_output(run, 0, &count)[1] == 20 && executor_output(run, 1, &count)[5] == 0);
        assert_true(executor_run_with(run, graph->inputs[0], zeros, &failure));
        assert_true(executor_value(run, c, &count)[1] == 0);
        executor_run_back(run);
        assert_ptr_equal(executor_value(run, c, &count), before);
    }
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
}

/* What depends on constants alone is computed once and not watched; an output may be such a constant. */
static void what_is_constant_is_computed_once(void **state) {
    (void)state;
    struct bytes graph_bytes = {0};
    const int64_t two = 2;
    const struct number weights[2] = {{-3, -3}, {5, 5}}, scale = {0.5, 0};
    add_value(&graph_bytes, 11, "x", 1, "2");
    add_constant(&graph_bytes, "q", 3, 1, &two, weights, 2);
    add_constant(&graph_bytes, "s", 1, 0, NULL, &scale, 1);
    add_node(&graph_bytes, "float", "DequantizeLinear", "q s", "w", "");
    add_node(&graph_bytes, "sum", "Add", "x w", "y", "");
    add_value(&graph_bytes, 12, "y", 1, NULL);
    add_value(&graph_bytes, 12, "w", 1, NULL);
    struct bytes model = model_message(&graph_bytes, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct seen seen = {0};
    const float x[2] = {1, 1}, *in[1] = {x};
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    assert_true(executor_run(run, in, see, &seen, &failure));
    assert_string_equal(seen.names, "x y ");
    size_t count;
    const float *y = executor_output(run, 0, &count), *w = executor_output(run, 1, &count);
    assert_true(y[0] == -.5F && y[1] == 3.5F && w[0] == -1.5F && w[1] == 2.5F);
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
}

/* Twenty elementwise steps in a row need the memory of one value. */
static void a_chain_takes_the_memory_of_one_value(void **state) {
    (void)state;
    struct bytes graph_bytes = {0};
    add_value(&graph_bytes, 11, "v0", 1, "1,1,10,100");
    for (int i = 0; i < 20; i++) {
        char from[20], to[20];
        snprintf(from, sizeof from, "v%d", i);
        snprintf(to, sizeof to, "v%d", i + 1);
        add_node(&graph_bytes, to, i % 2 ? "Relu" : "Neg", from, to, "");
    }
    add_value(&graph_bytes, 12, "v20", 1, NULL);
    struct bytes model = model_message(&graph_bytes, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    assert_in_range(executor_run_bytes(executor), 4000, 4400);
    executor_close(executor);
    onnx_free(graph);
}

/* Every node that is at fault is named, and nobody else. */
static void every_node_at_fault_is_named(void **state) {
    (void)state;
    struct bytes graph_bytes = {0};
    add_value(&graph_bytes, 11, "x", 1, "1,2,4,4");
    add_value(&graph_bytes, 11, "k", 1, "2,2,1,1");
    add_node(&graph_bytes, "odd", "my.Odd", "x", "a", "");
    add_node(&graph_bytes, "after", "Relu", "a", "b", "");
    add_node(&graph_bytes, "odder", "my.Odder", "a", "e", "");
    add_node(&graph_bytes, "moving", "Conv", "x k", "c", "");
    add_node(&graph_bytes, "fine", "Relu", "x", "d", "");
    add_value(&graph_bytes, 12, "e", 1, NULL);
    add_value(&graph_bytes, 12, "b", 1, NULL);
    add_value(&graph_bytes, 12, "c", 1, NULL);
    add_value(&graph_bytes, 12, "d", 1, NULL);
    struct bytes model = model_message(&graph_bytes, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    assert_null(executor_open(graph, &failure));
    assert_int_equal(failure.status, STATUS_INPUT);
    assert_string_equal(failure.text,
                        "the float executor cannot run 3 nodes: 'odd' (Odd): the float executor does not have this operator of my; "
                        "'odder' (Odder): the float executor does not have this operator of my; "
                        "'moving' (Conv): its weights are not constant");
    struct onnx_report report = {0};
    assert_false(executor_check(graph, &report));
    assert_int_equal(report.refusal_count, 3);
    assert_string_equal(report.refusals[2].node, "moving");
    onnx_report_free(&report);
    onnx_free(graph);
}

/* What to do is said of what exporters write otherwise; its readers, of which nothing is known, are not at fault. */
static void loops_are_to_be_unrolled(void **state) {
    (void)state;
    struct bytes graph_bytes = {0};
    add_value(&graph_bytes, 11, "x", 1, "1,2,4");
    add_node(&graph_bytes, "loop", "Scan", "x", "h", "");
    add_node(&graph_bytes, "shape", "Shape", "h", "s", "");
    add_node(&graph_bytes, "reshape", "Reshape", "h s", "r", "");
    add_value(&graph_bytes, 12, "r", 1, NULL);
    struct bytes model = model_message(&graph_bytes, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct onnx_report report = {0};
    assert_false(executor_check(graph, &report));
    assert_int_equal(report.refusal_count, 1);
    assert_string_equal(report.refusals[0].node, "loop");
    assert_non_null(strstr(report.refusals[0].why, "no control flow"));
    onnx_report_free(&report);
    onnx_free(graph);
}

/* Loops over the first dimension would take hours to do nothing. */
static void what_is_empty_is_not_walked(void **state) {
    (void)state;
    static const int64_t rows[] = {1 << 20, (1 << 20) + 1, (int64_t)1 << 40};
    for (int i = 0; i < 3; i++) {
        struct bytes file = {0};
        const int64_t dims[] = {rows[i], 0};
        add_value(&file, 11, "x", ONNX_FLOAT, "1,1");
        add_value(&file, 12, "y", ONNX_FLOAT, NULL);
        add_constant(&file, "e", ONNX_FLOAT, 2, dims, NULL, 0);
        add_node(&file, "m", "Mul", "x e", "p", "");
        add_node(&file, "r", "ReduceSumSquare", "p", "y", "");
        struct bytes model = model_message(&file, 13);
        struct onnx_graph *graph = inferred_bytes(&model);
        struct failure failure;
        struct executor *executor = executor_open(graph, &failure);
        assert_int_equal(executor != NULL, i == 0);
        if (!executor) assert_non_null(strstr(failure.text, "'e' is too large"));
        executor_close(executor);
        onnx_free(graph);
    }
}

static void expect_places(const char *op, const char *inputs, const char *why) {
    struct bytes model = one_node(op, 13, inputs, "", 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    const float good[2] = {2, -3}, bad[2] = {0, 3}, none[2] = {NAN, -4}, *in[1] = {good};
    size_t count;
    assert_true(executor_run(run, in, NULL, NULL, &failure));
    assert_true(executor_output(run, 0, &count)[0] == 3 && executor_output(run, 0, &count)[1] == 1);
    for (int i = 0; i < 2; i++) {
        in[0] = i ? none : bad;
        assert_false(executor_run(run, in, NULL, NULL, &failure));
        assert_string_equal(failure.text, why);
    }
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
}

static void positions_out_of_range_are_refused(void **state) {
    (void)state;
    expect_places("Gather", "f=1,2,3 l:2", "node 'the_node' (Gather): it asks for a position that is not there");
    expect_places("GatherElements", "f=1,2,3 l:2", "node 'the_node' (GatherElements): it asks for a position that is not there");
    expect_places("GatherND", "f=1,2,3 l:2,1", "node 'the_node' (GatherND): it asks for a position that is not there");
}

/* They may be data, and as they are known before a run. */
static void lengths_out_of_range_are_refused(void **state) {
    (void)state;
    static const float x[6] = {1, 2, 3, 4, 5, 6}, lengths[][2] = {{3, 0}, {4, 0}, {3, -1}, {NAN, 1}};
    struct bytes model = one_node("ReverseSequence", 13, "f:3,2 l:2", "", 1);
    struct onnx_graph *graph = inferred_bytes(&model);
    struct failure failure;
    struct executor *executor = executor_open(graph, &failure);
    assert_non_null(executor);
    struct executor_run *run = executor_run_open(executor, &failure);
    for (int i = 0; i < 4; i++) {
        const float *in[2] = {x, lengths[i]};
        assert_int_equal(executor_run(run, in, NULL, NULL, &failure), i == 0);
        if (i) assert_non_null(strstr(failure.text, "(ReverseSequence): a length is below 0"));
    }
    executor_run_close(run);
    executor_close(executor);
    onnx_free(graph);
    static const char *const refused[][2] = {{"f:3,2 l=4,1", "a length is below 0"},
                                             {"f:3,2 l=1,1,1", "one length for each"},
                                             {"f:2 l=1,1", "its axes are not 0 and 1"}};
    for (int i = 0; i < 3; i++) {
        model = one_node("ReverseSequence", 13, refused[i][0], "", 1);
        graph = inferred_bytes(&model);
        assert_null(executor_open(graph, &failure));
        assert_non_null(strstr(failure.text, refused[i][1]));
        onnx_free(graph);
    }
}

/* 20 products share a matrix of 64 x 64 in a file that holds two numbers: each packs it for itself. The first that has no room ends it. */
static void weights_of_all_nodes_have_room(void **state) {
    (void)state;
    const int64_t two = 2;
    const struct number shape[2] = {{64, 64}, {64, 64}};
    struct bytes file = {0};
    struct failure failure;
    add_value(&file, 11, "v0", ONNX_FLOAT, "1,64");
    add_value(&file, 12, "v20", ONNX_FLOAT, NULL);
    add_constant(&file, "shape", ONNX_INT64, 1, &two, shape, 2);
    add_node(&file, "c", "ConstantOfShape", "shape", "w", "");
    for (int i = 0; i < 20; i++) {
        char inputs[16], output[8];
        snprintf(inputs, sizeof inputs, "v%d w", i);
        snprintf(output, sizeof output, "v%d", i + 1);
        add_node(&file, output, "MatMul", inputs, output, "");
    }
    struct bytes model = model_message(&file, 13);
    struct onnx_graph *graph = inferred_bytes(&model);
    assert_null(executor_open_within(graph, 10 * 64 * 64 * sizeof(float), &failure));
    assert_non_null(strstr(failure.text, "(MatMul): weights take over 0 MB with those before it: too many for what the file holds"));
    struct executor *executor = executor_open_within(graph, 30 * 64 * 64 * sizeof(float), &failure);
    assert_non_null(executor);
    assert_in_range(executor->taken, 20 * 64 * 64 * sizeof(float), 30 * 64 * 64 * sizeof(float));
    executor_close(executor);
    executor = executor_open(graph, &failure);
    assert_non_null(executor);
    executor_close(executor);
    onnx_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_give_their_numbers),
        cmocka_unit_test(resize_adds_corners_in_their_order),
        cmocka_unit_test(every_value_is_watched),
        cmocka_unit_test(a_value_takes_on_other_numbers),
        cmocka_unit_test(what_is_constant_is_computed_once),
        cmocka_unit_test(a_chain_takes_the_memory_of_one_value),
        cmocka_unit_test(every_node_at_fault_is_named),
        cmocka_unit_test(loops_are_to_be_unrolled),
        cmocka_unit_test(what_is_empty_is_not_walked),
        cmocka_unit_test(positions_out_of_range_are_refused),
        cmocka_unit_test(lengths_out_of_range_are_refused),
        cmocka_unit_test(weights_of_all_nodes_have_room),
    };
    return cmocka_run_group_tests_name("float executor", tests, NULL, NULL);
}
