/* SPDX-License-Identifier: MIT */
/* What executor_fold() makes of nodes that depend on constants alone, and what it leaves. */
#include "tests/unit/support/graph_words.h"

static const float numbers[8] = {1, -2, 3, 0, 5, 4, -1, 2};

static struct onnx_graph *folded(const char *x, const char *nodes) {
    struct failure failure;
    struct onnx_report report = {0};
    struct onnx_graph *g = network(18, x, nodes);
    if (executor_fold(g)) {
        edit_clean(g);
        if (!onnx_infer(g, &report, &failure) || report.refusal_count) fail_msg("%s: %s", nodes, failure.text);
    }
    onnx_report_free(&report);
    return g;
}

static void check_left(const char *x, const char *nodes, const char *wanted) {
    char left[300] = "";
    struct onnx_graph *g = folded(x, nodes);
    for (size_t i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->folded) strcat(strcat(left, *left ? " " : ""), g->nodes[i]->op);
    if (strcmp(left, wanted)) fail_msg("%s: became %s, not %s", nodes, left, wanted);
    onnx_free(g);
}

/* The numbers are those that the executor gives where nothing is folded. */
static void check_same(const char *x, const char *nodes) {
    size_t count, same;
    struct onnx_graph *plain = network(18, x, nodes), *g = folded(x, nodes);
    float *expected = run_graph(plain, numbers, &count), *y = run_graph(g, numbers, &same);
    assert_int_equal(count, same);
    assert_memory_equal(y, expected, count * sizeof *y);
    free(expected);
    free(y);
    onnx_free(plain);
    onnx_free(g);
}

static void whatever_the_executor_has_is_computed(void **state) {
    (void)state;
    static const char *const made[] = {
        "Conv %1x3x2x2 %2x3x1x1 > k",
        "ConvTranspose %1x3x1x1 %3x2x2x2 > k",
        "MatMul %1x2x2x3 %1x2x3x2 > k",
        "Softmax %1x2x2x2 > k axis:1",
        "Resize %1x2x1x1 - - $1,2,2,2 > k mode@linear",
        "AveragePool %1x2x3x3 > k kernel_shape=2,2",
        "MaxPool %1x2x3x3 > k i kernel_shape=2,2",
        "LayerNormalization %1x2x2x2 %2 %2 > k m d",
        "Elu %1x2x2x2 > e; Gather e $1,0 > k axis:1",
        "Neg %1x2x2x2 > a; Neg a > b; Softmax b > c; Neg c > d; Elu d > k",
        "ArgMax %1x2x2x2 > i axis:1; Cast i > k to:1",
        "Einsum %2x1 %1x4 > e equation@ij,jk->ik; Reshape e $1,2,2,2 > k",
        "Pad %1x2x1x1 $0,0,1,1,0,0,0,0 > k mode@edge",
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char nodes[300];
        snprintf(nodes, sizeof nodes, "%s; Add x k > y", made[i]);
        check_left("1,2,2,2", nodes, "Add");
        check_same("1,2,2,2", nodes);
    }
}

/* What a quantizer put between constants: sums and functions of bytes behind their scale are floats. What is moved alone stays bytes, as
 * weights are, with all that an activation reads. */
static void sums_of_bytes_are_computed(void **state) {
    (void)state;
#define PAIR(from, to) "QuantizeLinear " from " #0.1 > q" to "; DequantizeLinear q" to " #0.1 > " to
    static const struct {
        const char *nodes, *left;
    } rows[] = {
        {PAIR("%1x4", "h") "; " PAIR("%4x4", "w") "; MatMul h w > m; " PAIR("m", "p") "; Tanh p > k; Add x k > y", "Add"},
        {PAIR("%1x4", "h") "; Sub #1 h > k; Mul x k > y", "Mul"},
        {PAIR("%4x4", "w") "; Transpose w > t; MatMul x t > y", "DequantizeLinear Transpose MatMul"},
        {PAIR("%4x4", "w") "; Transpose w > t; Reshape t $4,-1 > u; MatMul x u > y", "DequantizeLinear Transpose Reshape MatMul"},
        {PAIR("%1x2", "h") "; Concat h h > c axis:1; Relu c > k; Add x k > y", "Add"},
        {PAIR("x", "a") "; " PAIR("%4x4", "w") "; MatMul a w > y", "QuantizeLinear DequantizeLinear DequantizeLinear MatMul"},
        {PAIR("%1x4", "h") "; Tanh h > y; Add x h > z", "DequantizeLinear Tanh"}, /* an output */
    };
#undef PAIR
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_left("1,4", rows[i].nodes, rows[i].left);
        check_same("1,4", rows[i].nodes);
    }
}

/* Within the rounding of bytes: 2 / 255 of 5 and 7 for each of two factors. */
static void products_of_bytes_are_those_of_numbers(void **state) {
    (void)state;
    static const char bytes[] =
        "DynamicQuantizeLinear %2x4 > q s z; QuantizeLinear %4x3 #0.01 > w; MatMulInteger q w z > m; Cast m > f to:1; "
        "Mul f s > g; Mul g #0.01 > k; Add x k > y",
                      floats[] = "MatMul %2x4 %4x3 > k; Add x k > y";
    size_t count, same;
    struct onnx_graph *g = folded("2,3", bytes), *plain = network(18, "2,3", floats);
    check_left("2,3", bytes, "Add");
    float *expected = run_graph(plain, numbers, &count), *y = run_graph(g, numbers, &same);
    assert_int_equal(count, same);
    for (size_t i = 0; i < count; i++)
        if (fabsf(y[i] - expected[i]) > 0.05F) fail_msg("%zu is %g, not %g", i, (double)y[i], (double)expected[i]);
    free(expected);
    free(y);
    onnx_free(plain);
    onnx_free(g);
}

/* A shape that only a run of the executor says; then all that follows is known. */
static void shapes_follow_from_it(void **state) {
    (void)state;
    check_left("2,4", "ArgMax %2x8 > i axis:1 keepdims:0; Neg $-1 > m; Concat m $8 > s axis:0; Reshape x s > y", "Reshape");
    check_left("2,4", "ArgMax %1x5 > i axis:1 keepdims:0; Concat i $-1 > s axis:0; Reshape x s > r; Softmax r > y", "Reshape Softmax");
}

/* Bytes and their scales are the quantizer's, an output is what the network gives, and too much work is left to whoever runs it. */
static void bytes_outputs_and_too_much_work_stay(void **state) {
    (void)state;
    check_left("1,4", "QuantizeLinear x #0.1 > q; DequantizeLinear q #0.1 > y", "QuantizeLinear DequantizeLinear");
    check_left("2,2", "Softmax x > s; Add s %2x2 > y", "Softmax Add");
    check_left("1,4", "Elu %1x4 > y", "Elu");
    check_left("1,4", "Gather %4 $9 > g; Elu g > e; Add x e > y", "Gather Elu Add");
    check_left("1,4", "Expand ~1x1 $1024,1024 > a; MatMul a a > c; ReduceMean c > m; Add x m > y", "MatMul ReduceMean Add");
}

/* Work that a result's size does not tell: of many neighbours, of what pads cut off, of many operands, of padding between taps. */
static void hidden_work_stays(void **state) {
    (void)state;
    check_left("1,4", "Expand ~1x1x1 $1,2000,100 > a; LRN a > l size:2001; ReduceMean l > m keepdims:0; Add x m > y", "LRN ReduceMean Add");
    check_left(
        "1,4",
        "Expand ~1x1x1x1 $1,1,512,512 > a; ConvTranspose a %1x1x9x9 > c pads=259,259,259,259; ReduceMean c > m keepdims:0; Add x m > y",
        "ConvTranspose ReduceMean Add");
    check_left("1,4", "Expand ~1x1 $512,512 > a; Mean a a a a a a a a a a > s; ReduceMean s > m keepdims:0; Add x m > y",
               "Mean ReduceMean Add");
    check_left(
        "1,4",
        "Expand ~1x1x1x1 $1,100,1,1 > a; MaxPool a > p kernel_shape=2,2 dilations=700,700 pads=700,700,0,0; ReduceMean p > m keepdims:0; "
        "Add x m > y",
        "MaxPool ReduceMean Add");
    check_left("1,4", "LRN %1x8x2 > l size:2147483647; ReduceMean l > m keepdims:0; Add x m > y", "Add");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_the_executor_has_is_computed),  cmocka_unit_test(sums_of_bytes_are_computed),
        cmocka_unit_test(products_of_bytes_are_those_of_numbers), cmocka_unit_test(shapes_follow_from_it),
        cmocka_unit_test(bytes_outputs_and_too_much_work_stay),   cmocka_unit_test(hidden_work_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
