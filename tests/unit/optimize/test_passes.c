/* SPDX-License-Identifier: MIT */
/* What the passes make of small networks, and what they leave alone. tests/parity/optimize.py checks that the results stay the same. */
#include "tests/unit/support/graph_words.h"

#include "tools/optimize/linear.h"

static void what_does_nothing_is_gone(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "Identity x > a; Relu a > y", "Relu"},
        {13, PICTURE, "Relu x > a; Identity a > y", "Relu"},
        {13, PICTURE, "Identity x > y", "Identity"}, /* an input cannot be the output */
        {10, PICTURE, "Dropout x > a m; Relu a > y", "Relu"},
        {13, PICTURE, "Dropout x #0.5 > a; Relu a > y", "Relu"},
        {13, PICTURE, "Cast x > a to:1; Relu a > y", "Relu"},
        {13, PICTURE, "Cast x > a to:6; Cast a > b to:1; Relu b > y", "LeakyRelu Floor Sign Mul Relu"},
        {13, PICTURE, "Reshape x $1,4,8,8 > a; Relu a > y", "Relu"},
        {13, PICTURE, "Concat x > a axis:1; Relu a > y", "Relu"},
        {13, PICTURE, "Split x > a axis:1; Relu a > y", "Relu"},
        {13, PICTURE, "Transpose x > a perm=0,1,2,3; Relu a > y", "Relu"},
        {13, PICTURE, "Slice x $0 $99 $2 $1 > a; Relu a > y", "Relu"},
        {13, PICTURE, "Slice x $-1 $-99 $2 $-1 > a; Relu a > y", "Slice Relu"},
        {13, PICTURE, "Pad x $0,0,0,0,0,0,0,0 > a; Relu a > y", "Relu"},
        {10, PICTURE, "Pad x > a pads=0,0,0,0,0,0,0,0; Relu a > y", "Relu"},
        {13, PICTURE, "Add x #0 > a; Mul #1 a > b; Div b #1 > c; Sub c ~1 > d; Pow d #1 > e; Relu e > y", "Sub Relu"},
        {13, PICTURE, "MaxPool x > a kernel_shape=1,1; Relu a > y", "Relu"},
        {13, PICTURE, "MaxPool x > a kernel_shape=1,1 strides=2,2; Relu a > y", "MaxPool Relu"},
        {13, PICTURE, "Resize x - - $1,4,8,8 > a mode@linear; Relu a > y", "Relu"},
        {13, PICTURE, "Clip x #-3.5e38 > a; Relu a > y", "Relu"},
        {13, PICTURE, "Clip x > a; Relu a > y", "Relu"},
        {13, "1,4,1,1", "GlobalAveragePool x > a; Relu a > y", "Relu"},
        {13, "1,4,1,1", "ReduceMean x > a axes=2,3; Relu a > y", "Relu"},
    };
    CHECK(rows);
}

static void moves_in_a_row_become_one(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "Flatten x > a; Unsqueeze a $2 > b; Relu b > y", "Reshape Relu"},
        {13, PICTURE, "Flatten x > a; Reshape a $1,4,8,8 > b; Relu b > y", "Relu"},
        {13, PICTURE, "Transpose x > a perm=0,2,3,1; Transpose a > b perm=0,3,1,2; Relu b > y", "Relu"},
        {13, PICTURE, "Transpose x > a perm=0,2,3,1; Transpose a > b perm=0,2,1,3; Relu b > y", "Transpose Relu"},
        {13, PICTURE, "Transpose x > a perm=0,-2,-1,1; Transpose a > b perm=0,-1,-3,-2; Relu b > y", "Relu"},
        {13, PICTURE, "Transpose x > a perm=0,-2,-1,1; Transpose a > b perm=0,-2,1,-1; Relu b > y", "Transpose Relu"},
        {13, PICTURE, "Transpose x > a perm=0,2,3,1; Transpose a > b perm=0,2,1,3; Add a a > c; Concat b c > y axis:1",
         "Transpose Transpose Add Concat"},
        {13, "1,4,1,8", "Transpose x > a perm=0,2,1,3; Relu a > y", "Reshape Relu"},
        {13, "1,4,1,8", "Transpose x > a perm=-4,-2,1,-1; Relu a > y", "Reshape Relu"},
        {13, "1,4,3,8", "Transpose x > a perm=0,2,1,3; Relu a > y", "Transpose Relu"},
        /* a channel shuffle */
        {13, PICTURE, "Reshape x $1,2,2,8,8 > a; Transpose a > b perm=0,2,1,3,4; Reshape b $1,4,8,8 > c; Relu c > y",
         "Reshape Transpose Reshape Relu"},
    };
    CHECK(rows);
}

/* Of a type that nobody knows no shape is inferred behind it, whatever is known before. */
static void moves_of_unknown_numbers_stay(void **state) {
    (void)state;
    static const char *const texts[] = {"Nonsense x > a; Transpose a > b perm=0,2,1,3; Relu b > y",
                                        "Nonsense x > a; Flatten a > b; Unsqueeze b $2 > c; Relu c > y"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct onnx_graph *g = network(13, "1,4,1,8", texts[i]);
        size_t before = g->node_count;
        graph_optimize(g, NULL);
        assert_int_equal(g->node_count, before);
        onnx_free(g);
    }
}

static void bounds_become_functions(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "Max x #0 > y", "Relu"},
        {13, PICTURE, "Min #6 x > a; Max a #0 > y", "Clip"},
        {13, PICTURE, "Max x #-1 > a; Min a #1 > y", "Clip"}, /* HardTanh */
        {13, PICTURE, "Min #1 x > a; Max #-1 a > y", "Clip"},
        {10, PICTURE, "Relu x > a; Clip a > y max~6", "Clip"},
        {13, PICTURE, "Clip x #-1 #1 > a; Clip a #0 #6 > y", "Clip"},
        {13, PICTURE, "Clip x #0 > y", "Relu"},
        {13, PICTURE, "Relu x > a; Relu a > y", "Relu"},
        {13, PICTURE, "Clip x #1e-10 > y", "Clip"},                /* not quite Relu */
        {13, PICTURE, "Add x #1e-12 > a; Sqrt a > y", "Add Sqrt"}, /* not quite nothing */
        {13, PICTURE, "Mul x #0.1 > a; Max x a > y", "LeakyRelu"},
        {13, PICTURE, "PRelu x ~4x1x1 > y", "LeakyRelu"},
        {13, PICTURE, "PRelu x %4x1x1 > y", "PRelu"},
        {13, PICTURE, "Relu x > a; Neg x > b; Relu b > c; Mul c %4x1x1 > d; Sub a d > y", "PRelu"},
        {13, PICTURE, "Abs x > a; Sub x a > b; Mul b #0.5 > c; Mul c %4x1x1 > d; Relu x > e; Add d e > y", "PRelu"},
        {13, PICTURE, "Neg x > a; Exp a > b; Add b #1 > c; Reciprocal c > y", "Sigmoid"},
        {13, PICTURE, "Neg x > a; Exp a > b; Add #1 b > c; Div #1 c > y", "Sigmoid"},
        {13, PICTURE, "Neg x > a; Exp a > b; Add b #1 > c; Div x c > y", "Sigmoid Mul"},
        {13, PICTURE, "Sigmoid x > a; Mul x a > y", "Sigmoid Mul"},
        {13, PICTURE, "Add x #3 > a; Clip a #0 #6 > b; Div b #6 > y", "HardSigmoid"},
        {10, PICTURE, "Mul x #0.2 > a; Add a #0.5 > b; Clip b > y min~0 max~1", "HardSigmoid"},
        {13, PICTURE, "Mul x #0.2 > a; Add a #0.5 > b; Clip b #1e-7 #1 > y", "Mul Add Clip"}, /* never 0 */
        {14, PICTURE, "Add x #3 > a; Clip a #0 #6 > b; Mul x b > c; Div c #6 > y", "HardSwish"},
        {13, PICTURE, "Add x #3 > a; Clip a #0 #6 > b; Mul x b > c; Div c #6 > y", "HardSwish"}, /* in opset 14 */
        {13, PICTURE, "LRN x > h size:65; Add h #3 > a; Clip a #0 #6 > b; Mul h b > c; Div c #6 > y", "LRN HardSigmoid Mul"}, /* in 13 */
        {15, PICTURE, "Add x #3 > a; Relu a > b; Min b #6 > c; Mul c #0.16666667 > d; Mul d x > y", "HardSwish"},
        {14, PICTURE, "HardSigmoid x > a alpha~0.16666667; Mul a x > y", "HardSwish"},
        {13, PICTURE, "LRN x > h size:65; HardSigmoid h > a alpha~0.16666667; Mul a h > y", "LRN HardSigmoid Mul"},
        {14, PICTURE, "HardSigmoid x > a; Mul a x > y", "HardSigmoid Mul"}, /* of another slope */
        {13, PICTURE, "Div x #1.41421356 > a; Erf a > b; Add b #1 > c; Mul x c > d; Mul d #0.5 > y", "ms.Gelu"},
        {20, PICTURE, "Mul x #0.5 > a; Mul x #0.70710678 > b; Erf b > c; Add #1 c > d; Mul a d > y", "Gelu"},
        {20, PICTURE,
         "Pow x #3 > a; Mul a #0.044715 > b; Add x b > c; Mul c #0.7978846 > d; Tanh d > e; Add e #1 > f; Mul x f > g; Mul g #0.5 > y",
         "Gelu"},
        {17, PICTURE,
         "Pow x #3 > a; Mul a #0.044715 > b; Add x b > c; Mul c #0.7978846 > d; Tanh d > e; Add e #1 > f; Mul x f > g; Mul g #0.5 > y",
         "ms.FastGelu"},
        {13, PICTURE, "Mul x #2 > a; Add a #1 > b; Mul b #3 > y", "Mul Add"},
        {13, PICTURE, "Neg x > a; Neg a > b; Relu b > y", "Relu"},
        /* what is inside is read from outside */
        {14, PICTURE, "Add x #3 > a; Clip a #0 #6 > b; Mul x b > c; Div c #6 > d; Add d b > y", "Add Clip Mul Div Add"},
        /* the operand is another value */
        {14, PICTURE, "Relu x > r; Add x #3 > a; Clip a #0 #6 > b; Mul r b > c; Div c #6 > d; Add d r > y", "Relu Add Clip Mul Div Add"},
    };
    CHECK(rows);
}

static void pads_fold_into_windows(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 > p; Conv p %6x4x3x3 > y", "Conv"},
        {10, PICTURE, "Pad x > p pads=0,0,1,0,0,0,2,3; Conv p %6x4x3x3 > y pads=1,1,0,0", "Conv"},
        {18, PICTURE, "Pad x $1,1,1,1 - $2,-1 > p; Conv p %6x4x3x3 > y auto_pad@SAME_UPPER strides=2,2", "Conv"},
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 #2 > p; Conv p %6x4x3x3 > y", "Pad Conv"},
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 > p mode@edge; Conv p %6x4x3x3 > y", "Pad Conv"},
        {13, PICTURE, "Pad x $0,1,1,1,0,1,1,1 > p; Conv p %6x6x3x3 > y", "Pad Conv"}, /* channels too */
        {13, PICTURE, "Pad x $0,0,-1,0,0,0,0,0 > p; Conv p %6x4x3x3 > y", "Pad Conv"},
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 > p; AveragePool p > y kernel_shape=3,3", "AveragePool"},
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 > p; AveragePool p > y kernel_shape=3,3 pads=1,1,1,1", "Pad AveragePool"},
        {13, PICTURE, "Pad x $0,0,1,1,0,0,1,1 > p; MaxPool p > y kernel_shape=3,3", "Pad MaxPool"}, /* 0 may be the largest */
        {13, PICTURE, "Relu x > r; Pad r $0,0,1,1,0,0,1,1 > p; MaxPool p > y kernel_shape=3,3", "Relu MaxPool"},
        {13, PICTURE, "Relu x > r; Pad r $0,0,3,3,0,0,3,3 > p; MaxPool p > y kernel_shape=3,3", "Relu Pad MaxPool"},
    };
    CHECK(rows);
}

static void reduces_over_pictures_become_pools(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "ReduceMean x > y axes=2,3", "GlobalAveragePool"},
        {13, "1,4,2,3,5", "ReduceMean x > y axes=2,3,4", "GlobalAveragePool"},
        {13, "1,4,2,3,5,2", "ReduceMean x > y axes=2,3,4,5", "ReduceMean"},
        {18, PICTURE, "ReduceMean x $-1,-2 > y keepdims:0", "GlobalAveragePool Reshape"},
        {13, PICTURE, "ReduceMax x > y axes=-2,-1", "GlobalMaxPool"},
        {13, PICTURE, "AveragePool x > y kernel_shape=8,8", "GlobalAveragePool"},
        {13, PICTURE, "MaxPool x > y kernel_shape=8,8 strides=8,8", "GlobalMaxPool"},
        {13, PICTURE, "AveragePool x > y kernel_shape=8,7", "AveragePool"},
        {13, PICTURE, "ReduceMean x > y axes=1,3", "ReduceMean"},
        {13, PICTURE, "ReduceMean x > y axes=2", "ReduceMean"},
        {13, "1,7,5", "ReduceMean x > y axes=2", "ReduceMean"},
        {13, "1,4,64,64", "GlobalMaxPool x > y", "GlobalMaxPool"},
        {13, "1,4,101,8", "GlobalMaxPool x > y", "MaxPool GlobalMaxPool"}, /* two windows of 51 rows, 50 apart */
        {13, "1,4,7000,90", "GlobalMaxPool x > y", "MaxPool MaxPool GlobalMaxPool"},
        {13, "1,4,101,8", "GlobalAveragePool x > y", "GlobalAveragePool"},
    };
    CHECK(rows);
}

static void maxima_become_pools(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "ReduceMax x > y axes=1", "Transpose Reshape GlobalMaxPool Reshape"},
        {13, PICTURE, "ReduceMax x > y", "Reshape MaxPool GlobalMaxPool"},
        {18, PICTURE, "ReduceMax x $1,2 > y keepdims:0", "Transpose GlobalMaxPool Reshape"},
        {18, PICTURE, "ReduceMax x > y noop_with_empty_axes:1", "ReduceMax"},
        {13, "1,8,8,4", "ReduceMax x > y axes=1,2 keepdims:0", "Transpose GlobalMaxPool Reshape"},
        {13, PICTURE, "Transpose x > t perm=0,2,3,1; ReduceMax t > y axes=1,2 keepdims:0", "GlobalMaxPool Reshape"}, /* Keras */
        {13, PICTURE, "ReduceMin x > y axes=2,3", "Neg GlobalMaxPool Neg"},
        {13, PICTURE, "ReduceSum x $1 > y", "ReduceMean Mul"},
        {13, "1,2,3,4", "ReduceSum x $1 > y", "Slice Slice Sum"},
        {13, "1,2,3,4", "ReduceSum x $1 > y keepdims:0", "Slice Reshape Slice Reshape Sum"},
        {18, PICTURE, "ReduceSum x $-1,-2 > y", "GlobalAveragePool Mul"},
        {13, PICTURE, "ReduceL2 x > y axes=1", "Mul ReduceMean Mul Sqrt"},
        {13, "1,4,1,65", "ReduceProd x > y", "ReduceProd"},
    };
    CHECK(rows);
}
static void pads_in_a_row_add_up(void **state) {
    (void)state;
    static const int64_t wanted[4] = {2, 1, 2, 3};
    int64_t pads[4];
    struct onnx_graph *g = network(10, PICTURE, "Pad x > p pads=0,0,1,0,0,0,2,3; Conv p %6x4x3x3 > y pads=1,1,0,0");
    graph_optimize(g, NULL);
    assert_int_equal(onnx_attribute_ints(g->nodes[0], "pads", pads, 4), 4);
    assert_memory_equal(pads, wanted, sizeof pads);
    onnx_free(g);
}

static void padding_that_counts_is_kept(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, PICTURE, "AveragePool x > y kernel_shape=3,3 strides=2,2 ceil_mode:1 count_include_pad:1");
    graph_optimize(g, NULL);
    assert_int_equal(onnx_attribute_int(g->nodes[0], "count_include_pad", 0), 0);
    onnx_free(g);
    g = network(13, PICTURE, "AveragePool x > y kernel_shape=3,3 pads=1,1,1,1 count_include_pad:1");
    graph_optimize(g, NULL);
    assert_int_equal(onnx_attribute_int(g->nodes[0], "count_include_pad", 0), 1);
    onnx_free(g);
}

static void bounds_of_clips_meet(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, PICTURE, "Clip x #-1 #5 > a; Clip a #0.5 #6 > y");
    graph_optimize(g, NULL);
    assert_true(number_at(g->nodes[0], 1, 0) == 0.5 && number_at(g->nodes[0], 2, 0) == 5);
    onnx_free(g);
    g = network(10, PICTURE, "LRN x > h size:65; Min h #6 > y"); /* stays in opset 10 */
    graph_optimize(g, NULL);
    assert_string_equal(g->nodes[1]->op, "Clip");
    assert_null(onnx_attribute(g->nodes[1], "min"));
    assert_true(onnx_attribute_float(g->nodes[1], "max", 0) == 6);
    onnx_free(g);
}

static void older_opsets_are_raised(void **state) {
    (void)state;
    static const struct row rows[] = {
        {10, PICTURE, "Clip x > a min~-1 max~2; Pad a > p pads=0,0,1,0,0,0,0,0 value~3; MaxPool p > y kernel_shape=3,3",
         "Clip Pad MaxPool"},
        {11, "1,3,1,4", "Squeeze x > a axes=2; Softmax a > b axis:2; Unsqueeze b > c axes=0,-1; ReduceSum c > y axes=1 keepdims:0",
         "Squeeze Softmax Unsqueeze ReduceMean"},
        {11, "1,6,1,1", "Softmax x > y", "Softmax"},
        {11, PICTURE, "Softmax x > y", "Reshape Softmax Reshape"},
        {11, PICTURE, "Split x > a b axis:1 split=1,3; Concat b a > y axis:1", "Split Concat"},
        {10, "4,4,8,8", "Resize x ~4 > y", "Resize"}, /* to a quarter */
        {7, "1,4,8,8", "Upsample x > u scales~~1,1,2,2; Slice u > y starts=1,2 ends=9,6 axes=1,3", "Resize Slice"},
        {9, "4,4,8,8", "Upsample x ~4 > y", "Resize"},
        {13, PICTURE, "LRN x > y size:65", "LRN"},
    };
    CHECK(rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int wanted = strcmp(rows[i].left, "LRN") ? 14 : 13;
        struct onnx_graph *g = network(rows[i].opset, rows[i].x, rows[i].nodes);
        graph_optimize(g, NULL);
        assert_int_equal(g->opset, wanted);
        for (size_t n = 0; n < g->node_count; n++) assert_int_equal(g->nodes[n]->opset, wanted);
        onnx_free(g);
    }
}

static void sums_by_letters_are_products(void **state) {
    (void)state;
    static const struct row rows[] = {
        {12, "2,3,4", "Einsum x x > y equation@bik,bjk->bij", "Transpose MatMul"},
        {12, "2,3,4", "Einsum x %4x5 > y equation@bik,kj->bij", "Reshape MatMul Reshape"}, /* a letter of the left operand alone */
        {13, "2,3,2,4,5", "Einsum x x > y equation@BGHID,BGHJD->JBGHI", "Transpose MatMul Transpose"},
        {13, "4,5", "Einsum x x > y equation@ab,ab->ab", "Reshape Reshape MatMul Reshape"},
        {13, "4,4", "Einsum x x > y equation@ab,bc->c", "Einsum"}, /* summed over what the right operand lacks */
        {13, "4,4", "Einsum x > y equation@ab->ba", "Transpose"},
        {13, "4,4", "Einsum x > y equation@ab->b", "ReduceMean Mul"},
        {13, "2,3,4", "Einsum x > y equation@abc->ca", "ReduceMean Mul Transpose"},
        {13, "2,3,4", "Einsum x %2x4x5 > y equation@...ij,...jk->...ik", "MatMul"},
        {13, "2,3,4", "Einsum x %5x4 > y equation@bik,jk->bij", "Reshape MatMul Reshape"}, /* the constant is turned */
    };
    CHECK(rows);
    for (size_t i = 0; i < 4; i++) check_numbers(rows[i].opset, rows[i].x, rows[i].nodes, 1, 0.5F);
    check_numbers(13, "2,3,4,5", "Einsum x %4x5x6 > y equation@abcd,cde->eba", 1, 0.5F);
    check_numbers(13, "2,3,4", "Einsum x %5x4 > y equation@bik,jk->ibj", 1, 0.5F);
    check_numbers(13, "2,3,4", "Einsum x %3x4 > y equation@bik,ik->b", 1, 0.5F);
    check_numbers(13, "2,3,4", "Einsum x > y equation@abc->ca", 1, 0.5F);
    check_numbers(13, "2,3,4,5", "Einsum x %5x6 > y equation@...c,cd->...d", 1, 0.5F);
    check_numbers(13, "7", "Einsum x x > y equation@i,j->ji", 1, 0.5F);
}

/* Behind a shape that nobody knows an Einsum is not refused before it is read. */
static void sums_without_their_operands_stay(void **state) {
    (void)state;
    static const char *const texts[] = {"u > y equation@ab,bc->ac", "u - > y equation@ab,bc->ac", "u x > y equation@ab->ba"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[100] = "Nonesuch x > u; Einsum ";
        struct onnx_graph *g = network(13, "4,4", strcat(text, texts[i]));
        graph_optimize(g, NULL);
        assert_int_equal(g->node_count, 2);
        assert_string_equal(g->nodes[1]->op, "Einsum");
        onnx_free(g);
    }
}

static double dot(int left, int right, int along, int count) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += (double)some_number(left + k) * (double)some_number(right + k * along);
    return sum;
}

/* As the first state of an unrolled LSTM: a product of constants is a constant, its sums in double. */
static void products_of_constants_are_constants(void **state) {
    (void)state;
    struct onnx_graph *g = network(13, "1,2,4", "Gemm %2x3 %4x3 %4 > a transB:1 alpha~2 beta~0.5; Add x a > y");
    const struct onnx_tensor *a = g->nodes[0]->outputs[0]->constant;
    assert_non_null(a);
    for (int i = 0; i < 8; i++) {
        double product = (double)(float)(2 * dot(i / 4 * 3, i % 4 * 3, 1, 3));
        assert_true(onnx_number(a, (size_t)i) == (double)(float)(product + 0.5 * (double)some_number(i % 4)));
    }
    onnx_free(g);
    g = network(13, "3,2,8", "MatMul %3x2x5 %5x8 > a; Add x a > y");
    a = g->nodes[0]->outputs[0]->constant;
    assert_non_null(a);
    for (int i = 0; i < 48; i++) assert_true(onnx_number(a, (size_t)i) == (double)(float)dot(i / 8 * 5, i % 8, 8, 5));
    onnx_free(g);
    g = network(13, "8", "Sin %8 > s; Cos s > c; Add x c > y");
    a = g->nodes[0]->outputs[0]->constant;
    assert_true(a && fabs(onnx_number(a, 3) - cos(sin((double)some_number(3)))) < 1e-7);
    onnx_free(g);
}

/* A notice for each pass that did something, and none twice. */
static void every_pass_is_noticed_once(void **state) {
    (void)state;
    struct onnx_report report = {0};
    struct onnx_graph *g = network(14, PICTURE, CONV "BatchNormalization c" NORM6 "> b; Identity b > i; Relu i > y");
    graph_optimize(g, &report);
    assert_int_equal(report.notice_count, 2);
    assert_non_null(strstr(report.notices[0], "noops: nodes that change nothing are gone; 1 change"));
    assert_non_null(strstr(report.notices[1], "affine-before"));
    onnx_report_free(&report);
    graph_optimize(g, &report); /* nothing is left to do */
    assert_int_equal(report.notice_count, 0);
    onnx_report_free(&report);
    onnx_free(g);
}

/* Two layers read one constant: a scale behind each goes into a copy of its own, as long as there is room. */
static size_t scales_left(size_t copied, size_t *after) {
    struct onnx_graph *g =
        network(13, "1,4,8,8", "Identity %4x4x1x1 > w; Conv x w > a; Mul a #2 > b; Relu b > c; Conv c w > d; Mul d #3 > y");
    size_t left = 0;
    g->numbers_copied = copied;
    graph_optimize(g, NULL);
    for (size_t i = 0; i < g->node_count; i++) left += !g->nodes[i]->removed && !strcmp(g->nodes[i]->op, "Mul");
    *after = g->numbers_copied;
    onnx_free(g);
    return left;
}

static void copies_of_weights_have_room(void **state) {
    (void)state;
    struct linear l = {.weights = &(struct onnx_tensor){.count = 16}, .out_channels = 4}; /* and their biases */
    struct onnx_graph none = {.numbers_read = 18};                                        /* what the network above holds */
    size_t room = 0, after;
    for (size_t bit = (size_t)1 << 30; bit; bit >>= 1) {
        none.numbers_copied = room + bit;
        if (linear_has_room(&none, &l)) room += bit;
    }
    assert_int_equal(scales_left(0, &after), 0);
    assert_int_equal(after, 40);
    assert_int_equal(scales_left(room, &after), 1);
    assert_int_equal(after, room + 20);
    assert_int_equal(scales_left(room + 20, &after), 2);
    assert_int_equal(after, room + 20);
}

/* What writes constants anew for each of their readers gives up where the file does not pay for more, and takes them where it does. */
static void constants_that_are_written_have_room(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"ArgMax", "ArgMax x > i axis:1; Cast i > y to:1"},
        {"Hardmax", "Hardmax x > y"},
        {"CumSum", "Squeeze $1 $0 > k; CumSum x k > y"},
        {"GatherElements", "Reshape $3,0,0,-4,1,-1 $2,3 > k; GatherElements x k > y axis:1"},
        {"Where", "Cast $1,0,0,1 > b to:9; Where b x #9 > y"},
        {"Where", "Cast x > i to:7; Equal i $1,1,0,1 > b; Where b x #9 > y"},
        {"Einsum", "Identity %4x3 > w; Transpose w > v; Einsum x v > y equation@ab,cb->ac"},
    };
    for (size_t i = 0; i < 2 * (sizeof texts / sizeof *texts); i++) {
        struct onnx_graph *g = network(13, "2,4", texts[i / 2][1]);
        g->numbers_copied = i % 2 ? (size_t)52 * 512 * 512 : 0; /* the rest is what some constants pay for */
        g->numbers_read = 0;
        graph_optimize(g, NULL);
        bool left = false;
        for (size_t k = 0; k < g->node_count; k++) left = left || graph_is(g->nodes[k], texts[i / 2][0]);
        if (left != (i % 2)) fail_msg("%s: %s", texts[i / 2][1], left ? "it stays" : "it went");
        onnx_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_nothing_is_gone),
        cmocka_unit_test(moves_in_a_row_become_one),
        cmocka_unit_test(moves_of_unknown_numbers_stay),
        cmocka_unit_test(bounds_become_functions),
        cmocka_unit_test(pads_fold_into_windows),
        cmocka_unit_test(reduces_over_pictures_become_pools),
        cmocka_unit_test(bounds_of_clips_meet),
        cmocka_unit_test(every_pass_is_noticed_once),
        cmocka_unit_test(pads_in_a_row_add_up),
        cmocka_unit_test(older_opsets_are_raised),
        cmocka_unit_test(padding_that_counts_is_kept),
        cmocka_unit_test(maxima_become_pools),
        cmocka_unit_test(sums_by_letters_are_products),
        cmocka_unit_test(sums_without_their_operands_stay),
        cmocka_unit_test(products_of_constants_are_constants),
        cmocka_unit_test(copies_of_weights_have_room),
        cmocka_unit_test(constants_that_are_written_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
