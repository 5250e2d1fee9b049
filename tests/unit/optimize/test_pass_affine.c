/* SPDX-License-Identifier: MIT */
/* Affine maps in the weights before and behind them. tests/parity/optimize.py checks that results stay the same. */
#include "tests/unit/support/graph_words.h"

static void affine_steps_fold_into_convolutions(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, CONV "BatchNormalization c" NORM6 "> b; Relu b > y", "Conv Relu"},
        {13, PICTURE, "Conv x %6x2x3x3 > c group:2; BatchNormalization c" NORM6 "> b; Relu b > y", "Conv Relu"},
        {13, PICTURE, CONV "BatchNormalization c" NORM6 "> y", "Conv"},
        {13, PICTURE, CONV "Add c %6x1x1 > a; Mul a %1x6x1x1 > m; Div m #3 > d; Sub #1 d > s; BatchNormalization s" NORM6 "> y", "Conv"},
        {13, PICTURE, "Conv x %6x4x1x1 > c; Add c %8 > y", "Conv Add"}, /* along the width */
        {13, PICTURE, "ConvTranspose x %4x3x2x2 > c group:2 strides=2,2; BatchNormalization c" NORM6 "> y", "ConvTranspose"},
        {13, PICTURE, CONV "BatchNormalization c" NORM6 "> b; Add b c > y", "Conv BatchNormalization Add"}, /* read elsewhere */
        {13, PICTURE, "Mul x %4x1x1 > m; Add m %4x1x1 > a; Relu a > y", "BatchNormalization Relu"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Mul b #2 > y", "BatchNormalization"},
        {13, PICTURE, "Mul x #2 > m; Add m #1 > y", "Mul Add"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Conv b %6x4x3x3 > y", "Conv"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Conv b %6x2x3x3 > y group:2", "Conv"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Conv b %6x4x3x3 > y pads=1,1,1,1", "BatchNormalization Conv"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Conv b %6x4x3x3 > y auto_pad@SAME_LOWER", "BatchNormalization Conv"},
        {13, PICTURE, "Mul x %4x1x1 > b; Conv b %6x4x3x3 > y pads=1,1,1,1", "Conv"}, /* 0 stays 0 */
        {13, PICTURE, "Mul x %4x1x1 > b; ConvTranspose b %4x6x3x3 > y", "ConvTranspose"},
        {13, PICTURE, "Add x %4x1x1 > b; ConvTranspose b %4x6x3x3 > y", "Add ConvTranspose"}, /* fewer summands at the border */
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Flatten b > f; Gemm f %256x3 > y", "Flatten Gemm"},
        {13, PICTURE, "BatchNormalization x" NORM4 "> b; Conv b %6x4x3x3 > c; Relu b > r; Conv r %6x4x3x3 > d; Add c d > y",
         "BatchNormalization Conv Relu Conv Add"},
        {13, "1,5", "MatMul x %5x3 > m; Add m %3 > y", "Gemm"},
        {13, "1,5", "MatMul x %5x3 > m; Mul m %3 > y", "MatMul"},
        {13, "2,4,5", "MatMul x %5x3 > m; Reshape m $8,3 > f; BatchNormalization f %3 %3 %3 %3 > b; Reshape b $2,4,3 > r; Relu r > y",
         "MatMul Add Relu"},
        {13, "2,4,5", "MatMul x %5x3 > m; Add m %3 > a; Reshape a $8,3 > f; BatchNormalization f %3 %3 %3 %3 > b; Relu b > y",
         "MatMul Add Reshape Relu"},
        {13, "2,4,5", "MatMul x %5x3 > m; Reshape m $8,3 > f; BatchNormalization f %3 %3 %3 %3 > b; Add f b > y",
         "MatMul Reshape BatchNormalization Add"}, /* read elsewhere */
        {13, "1,5", "Gemm x %3x5 %3 > m transB:1; BatchNormalization m %3 %3 %3 %3 > y", "Gemm"},
        {13, "1,5", "Gemm x %3x5 %3 > m transB:1; Unsqueeze m $2 > u; BatchNormalization u %3 %3 %3 %3 > b; Squeeze b $2 > s; Relu s > y",
         "Gemm Relu"},
        {13, "1,4,1,1", "Conv x %6x4x1x1 > c; Flatten c > f; BatchNormalization f" NORM6 "> y", "Conv Flatten"},
        {13, "1,4,2,1", "Conv x %3x4x1x1 > c; Flatten c > f; BatchNormalization f" NORM6 "> y", "Conv Flatten BatchNormalization"},
        {13, "1,5", "Gemm x %5x3 %1x3 > m alpha~0.5 beta~2; Relu m > y", "Gemm Relu"},
        {13, "2,5", "Gemm x %5x3 %2x1 > m; Mul m #2 > y", "Gemm Add Mul"}, /* a number for each row is no bias */
        {13, "1,7,5", "MatMul x %5x3 > m; Add m %3 > y", "MatMul Add"},
        {13, "1,7,5", "MatMul x %5x3 > m; Sub #1 m > y", "MatMul Add"},
        {13, "1,7,5", "MatMul x %5x3 > m; Add m %3 > a; Mul a #0.5 > y", "MatMul Add"},
        {13, "1,7,5", "MatMul x %5x3 > m; Add m #2 > a; Mul a %3 > b; Sub b %3 > y", "MatMul Add"},
        {13, "1,7,5", "Add x %5 > a; Mul a #0.5 > y", "Add Mul"},
        {13, "1,7,5", "Mul x %5 > a; MatMul a %5x3 > y", "MatMul"},
        {13, "1,7,5", "Mul x %7x1 > a; MatMul a %5x3 > y", "Mul MatMul"},
        {13, "1,7,5", "Add x %5 > a; MatMul a %5x3 > y", "Add MatMul"},
        {15, PICTURE, CONV "BatchNormalization c" NORM6 "> b training_mode:1; Relu b > y", "Conv BatchNormalization Relu"},
        {13, PICTURE, "Conv x %6x4x1x1 > c; Mul c #1e39 > y", "Conv Mul"}, /* leaves float's range */
    };
    CHECK(rows);
}

/* One number for all goes in front of whatever only moves elements, as of queries and keys in heads. */
static void numbers_go_before_moves(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, "1,4,6", "MatMul x %6x6 > m; Add m %6 > a; Reshape a $1,4,2,3 > h; Transpose h > t perm=0,2,1,3; Mul t #0.5 > s; Relu s > y",
         "MatMul Add Reshape Transpose Relu"},
        {13, "1,4,6", "MatMul x %6x6 > m; Transpose m > t perm=0,2,1; Div t #3 > s; Relu s > y", "MatMul Transpose Relu"},
        {13, "1,4,6", "MatMul x %6x6 > m; Transpose m > t perm=0,2,1; Add t #3 > s; Relu s > y", "MatMul Transpose Add Relu"},
        {13, "1,4,6", "MatMul x %6x6 > m; Add m %6 > a; Transpose a > t perm=0,2,1; Add t #3 > s; Relu s > y", "MatMul Add Transpose Relu"},
        {13, "1,4,6", "MatMul x %6x6 > m; Transpose m > t perm=0,2,1; Mul t %4 > s; Relu s > y",
         "MatMul Transpose Mul Relu"}, /* of tokens */
        {13, "1,4,6", "MatMul x %6x6 > m; Transpose m > t perm=0,2,1; Mul t #0.5 > s; MatMul s m > y",
         "MatMul Transpose Mul MatMul"}, /* read elsewhere */
        {13, "1,4,6", "Relu x > m; Transpose m > t perm=0,2,1; Mul t #0.5 > s; Relu s > y", "Relu Transpose Mul Relu"},
    };
    CHECK(rows);
}

/* Weights and biases against the formula, written down again: grouped convolution, batch norm behind it. */
static void batch_norm_gives_its_formula(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, PICTURE, "Conv x %6x2x3x3 %6 > c group:2; BatchNormalization c" NORM6 "> y epsilon~0.01");
    graph_optimize(g, NULL);
    assert_int_equal(g->node_count, 1);
    for (int o = 0; o < 6; o++) {
        double n = some_number(o), factor = n / sqrt(n + (double)0.01F);
        assert_true(fabs(number_at(g->nodes[0], 2, (size_t)o) - (n + (n - n) * factor)) < 1e-6);
        for (int i = 0; i < 18; i++)
            assert_true(fabs(number_at(g->nodes[0], 1, (size_t)(o * 18 + i)) - some_number(o * 18 + i) * factor) < 1e-6);
    }
    onnx_free(g);
}

/* Batch norm before a grouped convolution: a group's outputs see its own inputs only. */
static void batch_norm_before_a_grouped_convolution_folds(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, PICTURE, "Mul x %4x1x1 > m; Add m %1x4x1x1 > a; Conv a %6x2x1x1 > y group:2");
    graph_optimize(g, NULL);
    assert_int_equal(g->node_count, 1);
    for (int o = 0; o < 6; o++) {
        double bias = 0;
        for (int i = 0; i < 2; i++) {
            double w = some_number(o * 2 + i), n = some_number(o / 3 * 2 + i);
            bias += w * n;
            assert_true(fabs(number_at(g->nodes[0], 1, (size_t)(o * 2 + i)) - w * n) < 1e-6);
        }
        assert_true(fabs(number_at(g->nodes[0], 2, (size_t)o) - bias) < 1e-6);
    }
    onnx_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affine_steps_fold_into_convolutions),
        cmocka_unit_test(numbers_go_before_moves),
        cmocka_unit_test(batch_norm_gives_its_formula),
        cmocka_unit_test(batch_norm_before_a_grouped_convolution_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
