/* SPDX-License-Identifier: MIT */
/* Running sums and cubic resizes as products, and what constants choose: the numbers that ONNX Runtime gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/graph_words.h"
#include "tools/optimize/pass.h"

static const float numbers[8] = {1, -2, 3, 0, 5, 4, -1, 2};

struct trial {
    int opset;
    const char *x, *nodes;
    size_t count;
    float y[24];
};

static void check_trial(const struct trial *t) {
    struct onnx_graph *g = network(t->opset, t->x, t->nodes);
    size_t count;
    graph_optimize(g, NULL);
    float *y = run_graph(g, numbers, &count);
    assert_int_equal(count, t->count);
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(y[i] - t->y[i]) <= 1e-5F)) fail_msg("%s: element %zu is %.9g, not %.9g", t->nodes, i, (double)y[i], (double)t->y[i]);
    free(y);
    onnx_free(g);
}

static void check_trials(const struct trial *list, size_t count) {
    for (size_t i = 0; i < count; i++) check_trial(&list[i]);
}

static void running_sums_are_products(void **state) {
    (void)state;
    static const struct trial list[] = {
        {13, "2,4", "Reshape $1 $-1 > o; Squeeze o $0 > k; CumSum x k > y", 8, {1, -1, 2, 2, 5, 9, 8, 10}},
        {13, "2,4", "Squeeze $0 $0 > k; CumSum x k > y", 8, {1, -2, 3, 0, 6, 2, 2, 2}},
        {13, "2,4", "Squeeze $-1 $0 > k; CumSum x k > y exclusive:1", 8, {0, 1, -1, 2, 0, 5, 9, 8}},
        {13, "2,4", "Squeeze $1 $0 > k; CumSum x k > y reverse:1", 8, {2, 1, 3, 0, 10, 5, 1, 2}},
        {13, "2,2,2", "Squeeze $1 $0 > k; CumSum x k > y exclusive:1 reverse:1", 8, {3, 0, 0, 0, -1, 2, 0, 0}},
        {13, "8", "Squeeze $0 $0 > k; CumSum x k > y", 8, {1, -1, 2, 2, 7, 11, 10, 12}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

static void spectra_are_products(void **state) {
    (void)state;
    static const struct trial list[] = {
        {17, "1,8", "STFT x $2 - $4 > y", 18, {2, 0, -2, 2, 6, 0, 12, 0, -2, 4, 4, 0, 10, 0, 6, -2, -2, 0}},
        {17, "1,8,1", "HannWindow $4 > w; STFT x $3 w > y", 12, {2, 0, -3, 1, 4, 0, 6, 0, -4, -3, 2, 0}},
        {17, "1,4,2", "STFT x $1 - $2 > y onesided:0", 12, {4, -2, -2, -2, 8, 4, -2, -4, 4, 6, 6, 2}},
        {17, "1,4,2", "STFT x $1 - $2 > y", 12, {4, -2, -2, -2, 8, 4, -2, -4, 4, 6, 6, 2}},
        {17, "2,4,1", "DFT x > y", 16, {2, 0, -2, 2, 6, 0, -2, -2, 10, 0, 6, -2, -2, 0, 6, 2}},
        {17, "4,2,1", "DFT x > y axis:0", 16, {8, 0, 4, 0, -4, -4, -6, 2, 4, 0, 0, 0, -4, 4, -6, -2}},
        {17,
         "2,4,1",
         "DFT x $6 > y onesided:1",
         16,
         {2, 0, -1.5F, -0.8660254F, 0.5F, 4.330127F, 6, 0, 10, 0, 5.5F, -2.598076F, 5.5F, -4.330127F, -2, 0}},
        {17, "2,4,1", "DFT x $3 > y", 12, {2, 0, 0.5F, 4.330127F, 0.5F, -4.330127F, 8, 0, 3.5F, -4.330127F, 3.5F, 4.330127F}},
        {20, "4,2", "DFT x - $-2 > y inverse:1", 8, {2, 1, -0.5F, -0.5F, 1, 0, -1.5F, -2.5F}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

static void windows_are_constants(void **state) {
    (void)state;
    static const struct trial list[] = {
        {17, "8", "HannWindow $1 > w periodic:0; Mul x w > y", 8, {0}},
        {17, "8", "HammingWindow $8 > w; Mul x w > y", 8, {0.08695652F, -0.4413373F, 1.630435F, 0, 5, 3.465152F, -0.5434783F, 0.4413373F}},
        {17,
         "8",
         "BlackmanWindow $8 > w periodic:0; Mul x w > y",
         8,
         {0, -0.1809068F, 1.377549F, 0, 4.601818F, 1.836732F, -0.09045342F, 0}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

/* Whether what makes the value of that letter stays float. */
static bool stays_float(const struct onnx_graph *g, char letter) {
    for (size_t i = 0; i < g->node_count; i++)
        if (g->nodes[i]->outputs[0]->name[0] == letter && !g->nodes[i]->outputs[0]->name[1])
            return onnx_attribute_int(g->nodes[i], ONNX_EXACT_MARK, 0) != 0;
    fail_msg("nothing makes %c", letter);
    return false;
}

/* What leads from a spectrum to its logarithm or a root, by one bank of filters at most, and what is moved before it. */
static void spectra_stay_float_up_to_their_log(void **state) {
    (void)state;
    static const char *const list[][3] = {
        {"Neg x > g; Flatten g > f; STFT f $2 - $4 > s; Mul s s > p; MatMul p %2x3 > m; Log m > l; Neg l > n; Abs s > a; GlobalMaxPool n > "
         "b; "
         "GlobalMaxPool a > c; Add b c > y",
         "fspml", "gnabcy"},
        {"STFT x $2 - $4 > s; Mul s s > p; MatMul %5x3 p > m; Log m > y", "spmy", ""},
        {"STFT x $2 - $4 > s; Conv s %5x3x1x1 > m; Log m > y", "smy", ""},
        {"STFT x $2 - $4 > s; Conv s %5x3x1x2 > m; Log m > y", "s", "my"},
        {"STFT x $2 - $4 > s; Mul s s > p; Sqrt p > r; MatMul r %2x3 > m; Log m > l; Neg l > y", "sprml", "y"},
        {"STFT x $2 - $4 > s; MatMul s %2x3 > m; MatMul m %3x3 > n; Log n > y", "s", "mny"},
        {"STFT x $2 - $4 > s; Cast s > i to:6; Cast i > f to:1; Log f > y", "s", "y"},
        {"STFT x $2 - $4 > s; Softmax s > p; Log p > l; Neg l > y", "s", "y"},
        {"STFT x $2 - $4 > s; Mul s s > p; Neg p > y", "s", "py"},
        {"Abs x > a; STFT a $2 - $4 > s; Pow s #2 > q; Pow q #0.3 > r; Neg r > y", "sqr", "ay"},
    };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        struct onnx_graph *g = network(17, "1,8", list[k][0]);
        graph_decompose(g, NULL);
        for (const char *letter = list[k][1]; *letter; letter++)
            if (!stays_float(g, *letter)) fail_msg("%s: %c may be quantized", list[k][0], *letter);
        for (const char *letter = list[k][2]; *letter; letter++)
            if (stays_float(g, *letter)) fail_msg("%s: %c stays float", list[k][0], *letter);
        onnx_free(g);
    }
}

static void cubic_resizes_are_products(void **state) {
    (void)state;
    static const struct trial list[] = {
        {17,
         "1,1,2,4",
         "Resize x - - $1,1,3,6 > y mode@cubic",
         18,
         {0.9282656F, -1.484159F, -1.893021F, 2.755579F, 2.136937F, -0.4792385F, 3.173613F, 2, 0.8263893F, 0.9652779F, 1, 1, 5.418962F,
          5.484161F, 3.5458F, -0.8250226F, -0.1369358F, 2.47924F}},
        {17,
         "1,1,2,4",
         "Resize x - - $1,1,2,7 > y mode@cubic coordinate_transformation_mode@align_corners cubic_coeff_a~-0.5 exclude_outside:1",
         14,
         {1, -0.7058824F, -2, 0.5F, 3, 1.705882F, 0, 5, 4.82353F, 4, 1.25F, -1, 0.2941177F, 2}},
        {17,
         "1,1,2,4",
         "Resize x - - $1,1,1,3 > y mode@cubic coordinate_transformation_mode@pytorch_half_pixel",
         3,
         {0.4826388F, 0.5F, 0.5173612F}},
        {17, "1,1,2,4", "Resize x - - $1,1,2,4 > y mode@cubic", 8, {1, -2, 3, 0, 5, 4, -1, 2}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

static void constant_indices_pick_lines(void **state) {
    (void)state;
    static const struct trial list[] = {
        {13, "2,4", "Reshape $3,0,0,-4,1,-1 $2,3 > k; GatherElements x k > y axis:1", 6, {0, 1, 1, 5, 4, 2}},
        {13, "2,4", "Reshape $1,-2,1,0 $1,4 > k; GatherElements x k > y", 4, {5, -2, -1, 0}},
        {13, "2,4", "ReverseSequence x $2,1,0,2 > y", 8, {5, -2, 3, 2, 1, 4, -1, 0}},
        {13, "2,4", "ReverseSequence x $3,4 > y batch_axis:0 time_axis:1", 8, {3, -2, 1, 0, 2, -1, 4, 5}},
        {13, "2,2,2", "Reshape $1,0,-1 $3,1 > k; GatherND x k > y", 12, {5, 4, -1, 2, 1, -2, 3, 0, 5, 4, -1, 2}},
        {13, "2,2,2", "Reshape $1,0,0,-1 $2,2 > k; GatherND x k > y", 4, {5, 4, 3, 0}},
        {13, "2,4", "Cast $1,0,0,1 > b to:9; Where b x #9 > y", 8, {1, 9, 9, 0, 5, 9, 9, 2}},
        {13, "2,4", "Cast $1,1,2,1 > b to:9; Neg x > n; Where b x n > y", 8, {1, -2, 3, 0, 5, 4, -1, 2}},
        {13, "2,4", "Cast $0,0,0,0 > b to:9; Neg x > n; Where b x n > y", 8, {-1, 2, -3, 0, -5, -4, 1, -2}},
        {13, "1,4", "Cast $0,0,0,0,0,0,0,0 > c to:9; Reshape c $2,4 > b; Neg x > n; Where b n x > y", 8, {1, -2, 3, 0, 1, -2, 3, 0}},
        {13, "2,4", "Cast $1,0,0,1 > b to:9; Where b #9 x > y", 8, {9, -2, 3, 9, 9, 4, -1, 9}},
        {13, "2,4", "Cast $1,0,0,1 > b to:9; Neg x > n; Where b x n > y", 8, {1, 2, -3, 0, 5, -4, 1, 2}},
        {13, "2,4", "Cast $1,0,0,1 > b to:9; Reshape $7,9 $2,1 > r; Cast r > k to:1; Where b x k > y", 8, {1, 7, 7, 0, 5, 9, 9, 2}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

/* What a Gemm adds may be computed, and so may what it multiplies by. */
static void products_and_computed_sums_part(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "2,4", "Gemm x %4x4 x > y", "Gemm Add"},
        {13, "2,4", "Gemm x %4x4 x > y alpha~2 beta~3", "Gemm Mul Add"},
        {13, "2,4", "Gemm x x > y transB:1", "Transpose MatMul"},
        {13, "2,4", "Gemm x %4x4 %2x1 > y", "Gemm Add"},
        {13, "2,4", "Gemm x %4x4 %2x4 > y beta~3", "Gemm Add"},
        {13, "2,4", "Gemm x %4x4 %1x4 > y", "Gemm"},
        {13, "2,4", "Gemm x %4x4 %1 > y", "Gemm"},
    };
    static const struct trial list[] = {
        {13, "2,4", "Gemm x ~4x4 x > y beta~3", 8, {3.5F, -5.5F, 9.5F, 0.5F, 17.5F, 14.5F, -0.5F, 8.5F}},
        {13, "2,4", "Gemm ~2x3 ~3x4 x > y", 8, {1.1875F, -1.8125F, 3.1875F, 0.1875F, 5.1875F, 4.1875F, -0.8125F, 2.1875F}},
        {13, "2,4", "Gemm x x > y transB:1 alpha~2", 4, {28, -12, -12, 92}},
    };
    CHECK(rows);
    check_trials(list, sizeof list / sizeof *list);
}

/* As exports of MPNet count the tokens that are no padding, which has the place 1. */
#define PLACES "Equal x #0 > e; Not e > n; Cast n > m to:6; CumSum m $1 > c; Mul c m > p; Cast p > q to:7; Add q $1 > a; "

static void lines_by_running_sums_are_products(void **state) {
    (void)state;
    static const struct trial list[] = {
        {13, "2,4", PLACES "Gather %9x1 a > y", 8, {0.3274F, 0.3411F, 0.3548F, 0.3137F, 0.3274F, 0.3411F, 0.3548F, 0.3685F}},
        {13,
         "2,4",
         PLACES "QuantizeLinear %9x1 #0.01 > t; Gather t a > l; DequantizeLinear l #0.01 > y",
         8,
         {0.33F, 0.34F, 0.35F, 0.31F, 0.33F, 0.34F, 0.35F, 0.37F}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

/* What comes out of the products is no whole number, unless whole numbers went in. */
static void products_are_cut_to_integers(void **state) {
    (void)state;
    static const struct trial list[] = {
        {13, "2,4", "Mul x #0.35 > h; CumSum h $1 > s; Cast s > i to:7; Cast i > y to:1", 8, {0, 0, 0, 0, 1, 3, 2, 3}},
        {13, "2,4", "Mul x #0.35 > h; CumSum h $1 > s; Cast s > y to:7", 8, {0, 0, 0, 0, 1, 3, 2, 3}},
        {13, "2,4", PLACES "Gather %9x1 a > l; Cast l > i to:7; Cast i > y to:1", 8, {0}},
    };
    check_trials(list, sizeof list / sizeof *list);
}

/* Infinite ones, which 0 times are not 0, and too many, where nobody sees that few are chosen: behind more numbers than are looked at. */
static void other_lines_stay(void **state) {
    (void)state;
    static const char *const texts[] = {
        "Mul %9x1 #1e39 > t; Gather t a > y",
        "Expand $1 $600,1,4 > k; Mul a k > b; Mul b k > d; Gather %5000x1 d > y",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[300];
        snprintf(text, sizeof text, PLACES "%s", texts[i]);
        struct onnx_graph *g = network(13, "2,4", text);
        graph_optimize(g, NULL);
        if (!graph_is(g->nodes[g->node_count - 1], "Gather")) fail_msg("%s", texts[i]);
        onnx_free(g);
    }
}

/* Relative positions of quantize_dynamic's MPNet; weights that an exporter turned stay bytes, and so does what is added as it is. */
static void moved_bytes_that_are_added_are_floats(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "2,4", "Transpose d > r perm=1,0; Unsqueeze r $0 > u; Add x u > y", "Add"},
        {13, "2,4", "Transpose d > r perm=1,0; Transpose r > s perm=1,0; MatMul x s > y", "DequantizeLinear Transpose Transpose MatMul"},
        {13, "4,2", "Add x d > y", "DequantizeLinear Add"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[300], left[200] = "";
        snprintf(text, sizeof text, "QuantizeLinear %%4x2 #0.01 > t; DequantizeLinear t #0.01 > d; %s", rows[i].nodes);
        struct onnx_graph *g = network(rows[i].opset, rows[i].x, text);
        graph_decompose(g, NULL);
        for (size_t k = 0; k < g->node_count; k++)
            if (!g->nodes[k]->folded) strcat(strcat(left, *left ? " " : ""), g->nodes[k]->op);
        assert_string_equal(left, rows[i].left);
        onnx_free(g);
    }
}

/* Positions that an exporter resized, or counted: the product of a constant is one. */
static void products_of_constants_are_constants(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,1,3,6", "Resize %1x1x2x4 - - $1,1,3,6 > k mode@cubic; Mul x k > p; Relu p > y", "Mul Relu"},
    };
    CHECK(rows);
}

static void so_they_are_where_nothing_is_optimized(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,1,3,6", "Resize %1x1x2x4 - - $1,1,3,6 > k mode@cubic; Mul x k > y", "Mul"},
        {13, "1,1,2,4", "Resize x - - $1,1,3,6 > k mode@cubic; Relu k > y", "MatMul Transpose MatMul Transpose Identity Relu"},
        {13, "1,1,2,4", "Resize x - - $1,1,3,4 > k mode@cubic; Resize k - - $1,1,3,6 > j mode@cubic; Relu j > y",
         "Transpose MatMul Transpose Identity MatMul Identity Relu"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char left[200] = "";
        struct onnx_graph *g = network(rows[i].opset, rows[i].x, rows[i].nodes);
        graph_decompose(g, NULL);
        for (size_t k = 0; k < g->node_count; k++) strcat(strcat(left, *left ? " " : ""), g->nodes[k]->op);
        assert_string_equal(left, rows[i].left);
        onnx_free(g);
    }
}

/* A line of 4,096 numbers wants a matrix of 16 million, which a file of hardly any does not pay for. */
static void what_is_too_large_or_another_stays(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,4096", "Squeeze $1 $0 > k; CumSum x k > y", "CumSum"},
        {13, "1,2048", "Squeeze $1 $0 > k; CumSum x k > y", "MatMul"},
        {18, "1,1,2,4", "Resize x - - $1,1,3,6 > y mode@cubic antialias:1", "Resize"},
        {17, "1,4096,1", "DFT x > y", "DFT"},
        {17, "1,3000", "STFT x $512 - $2048 > y", "Gather MatMul Reshape"},
        {13, "2,4", "Reshape $4,0 $2,1 > k; GatherElements x k > y axis:1", "GatherElements"},
        {13, "2,4", "ReverseSequence x $3,5 > y batch_axis:0 time_axis:1", "ReverseSequence"},
    };
    CHECK(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spectra_are_products),
        cmocka_unit_test(windows_are_constants),
        cmocka_unit_test(spectra_stay_float_up_to_their_log),
        cmocka_unit_test(running_sums_are_products),
        cmocka_unit_test(cubic_resizes_are_products),
        cmocka_unit_test(constant_indices_pick_lines),
        cmocka_unit_test(products_and_computed_sums_part),
        cmocka_unit_test(lines_by_running_sums_are_products),
        cmocka_unit_test(other_lines_stay),
        cmocka_unit_test(products_are_cut_to_integers),
        cmocka_unit_test(moved_bytes_that_are_added_are_floats),
        cmocka_unit_test(products_of_constants_are_constants),
        cmocka_unit_test(so_they_are_where_nothing_is_optimized),
        cmocka_unit_test(what_is_too_large_or_another_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
