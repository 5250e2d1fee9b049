/* SPDX-License-Identifier: MIT */
/* Normalizations decomposed, floats of other widths made float, choices made arithmetic. tests/parity/optimize.py checks that the results
 * stay the same. */
#include "tests/unit/support/graph_words.h"

#define WORDS "1,6,8"
#define ROOT "ReduceMean Sub Mul ReduceMean Add Sqrt Div"
#define POOLED "GlobalAveragePool Sub Mul GlobalAveragePool Add Sqrt Div"

static void layer_norms_are_decomposed(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, WORDS, "LayerNormalization x %8 %8 > y", ROOT " Mul Add"},
        {17, WORDS, "LayerNormalization x %8 > y", ROOT " Mul"},
        {17, WORDS, "LayerNormalization x %6x8 %6x8 > y axis:1", ROOT " Mul Add"},
        {18, WORDS, "LayerNormalization x %8 %8 > n axis:-1; MatMul n %8x3 > y", ROOT " Mul Add MatMul"},
        {17, WORDS, "LayerNormalization x %8 %8 > n m; Relu n > y", ROOT " Mul Add Relu"}, /* nothing reads m */
        {17, WORDS, "LayerNormalization x %8 %8 > n m; Add n m > y", ROOT " Mul Add Add"},
        {17, WORDS, "LayerNormalization x %8 %8 > n - s; Mul n s > y", "ReduceMean Sub Mul ReduceMean Add Sqrt Div Div Mul Add Mul"},
        {23, WORDS, "RMSNormalization x %8 > y", "Mul ReduceMean Add Sqrt Div Mul"},
    };
    CHECK(rows);
}

static void instance_and_group_norms_are_decomposed(void **state) {
    (void)state;
    static const struct row rows[] = {
        {11, WORDS, "InstanceNormalization x %6 %6 > y", ROOT " BatchNormalization"},
        {13, PICTURE, "InstanceNormalization x %4 %4 > y", POOLED " BatchNormalization"},
        {13, PICTURE, "InstanceNormalization x ~4 ~4 > n; Reshape n $1,4,64 > y", POOLED " BatchNormalization Reshape"},
        {13, PICTURE, "Relu x > a; GlobalAveragePool a > p; Reshape p $4 > s; InstanceNormalization x s %4 > y",
         "Relu GlobalAveragePool Reshape InstanceNormalization"}, /* a factor that is measured */
        {18, PICTURE, "GroupNormalization x %2 %2 > y num_groups:2", "Reshape " ROOT " BatchNormalization Reshape"},
        {21, PICTURE, "GroupNormalization x %4 %4 > y num_groups:2", "Reshape " ROOT " Reshape BatchNormalization"},
        {21, PICTURE, "GroupNormalization x %4 %4 > y num_groups:3", "GroupNormalization"}, /* three groups of four */
    };
    CHECK(rows);
}

static void lp_norms_are_decomposed(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, WORDS, "LpNormalization x > y axis:-1", "Mul ReduceMean Mul Sqrt Clip Div"},
        {13, WORDS, "LpNormalization x > y axis:1 p:1", "LeakyRelu ReduceMean Mul Clip Div"},
        {13, WORDS, "LpNormalization x > y axis:1 p:3", "LpNormalization"},
    };
    CHECK(rows);
}

static void choices_become_arithmetic(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "ReduceMean x > m axes=1,2,3 keepdims:0; Clip x m > y", "ReduceMean Max"},
        {13, PICTURE, "ReduceMean x > m axes=1,2,3 keepdims:0; Clip x - m > y", "ReduceMean Min"},
        {13, PICTURE, "ReduceMean x > m axes=1,2,3 keepdims:0; Clip x #-1 m > y", "ReduceMean Clip Min"},
        {13, PICTURE, "Cast x > i to:6; ReduceMax i > m axes=0,1,2,3 keepdims:0; Clip x m > y", "Cast ReduceMax Clip"}, /* no float */
        {13, PICTURE, "ReduceMean x > m axes=1,2,3; Equal m #0 > e; Div x m > d; Where e #0 d > y",
         "ReduceMean LeakyRelu HardSigmoid Add Div LeakyRelu HardSigmoid Mul"},
        {13, PICTURE, "ReduceMean x > m axes=1,2,3; Equal m #1 > e; Div x m > d; Where e #0 d > y",
         "ReduceMean Clip Sub Sign LeakyRelu Sub Div Expand Sub ms.Mask"},
    };
    CHECK(rows);
}

/* Casts between floats of any width are gone, what they lie between is float; others stay. */
static void casts_between_floats_are_gone(void **state) {
    (void)state;
    static const struct row rows[] = {
        {13, PICTURE, "Cast x > a to:10; Relu a > b; Cast b > y to:1", "Relu"},
        {13, PICTURE, "Cast x > a to:11; Relu a > b; Cast b > c to:10; Sigmoid c > d; Cast d > y to:1", "Relu Sigmoid"},
        {13, PICTURE, "Cast x > a to:10; Cast a > b to:6; Cast b > y to:1", "LeakyRelu Floor Sign Mul"},
        {17, WORDS, "Cast %8 > s to:10; Cast x > a to:10; LayerNormalization a s > n; Cast n > y to:1", ROOT " Mul"},
    };
    CHECK(rows);
    struct onnx_graph *g = network(13, PICTURE, "Cast %4x1x1 > k to:10; Cast x > a to:10; Mul a k > m; Cast m > y to:1");
    graph_optimize(g, NULL);
    assert_int_equal(g->node_count, 1);
    const struct onnx_tensor *k = onnx_input_constant(g->nodes[0], 1);
    assert_true(k->type == ONNX_FLOAT && onnx_number(k, 0) == (double)some_number(0));
    onnx_free(g);
}

/* Factors of a group stand where its rows are; epsilon is the node's. */
static void factors_stand_where_their_rows_are(void **state) {
    (void)state;
    struct onnx_graph *g = network(18, PICTURE, "GroupNormalization x %2 %2 > y num_groups:2 epsilon~0.5");
    bool epsilon = false;
    graph_optimize(g, NULL);
    for (size_t n = 0; n < g->node_count; n++) {
        const struct onnx_node *node = g->nodes[n];
        const struct onnx_tensor *k = onnx_input_constant(node, 1);
        if (!strcmp(node->op, "BatchNormalization")) {
            assert_true(node->inputs[0]->shape.rank == 3 && node->inputs[0]->shape.dims[1] == 2 && k->count == 2);
            assert_true(onnx_number(k, 1) == (double)some_number(1));
        }
        epsilon = epsilon || (!strcmp(node->op, "Add") && k && onnx_number(k, 0) == 0.5);
    }
    assert_true(epsilon);
    onnx_free(g);
}

/* As ONNX Runtime's quantizer leaves them: factors and terms in integers, behind a DequantizeLinear. */
static void factors_in_integers_are_taken(void **state) {
    (void)state;
    static const char *const pairs[] = {"DequantizeLinear k #0.5 > f", "DequantizeLinear k %4 z > f axis:0"};
    for (int i = 0; i < 2; i++) {
        char words[300];
        snprintf(words, sizeof words, "Cast $3,5,7,9 > k to:3; Cast $1,1,1,2 > z to:3; %s; InstanceNormalization x f %%4 > y", pairs[i]);
        struct onnx_graph *g = network(13, PICTURE, words);
        const struct onnx_tensor *factor = NULL;
        graph_decompose(g, NULL);
        for (size_t n = 0; n < g->node_count; n++) {
            assert_string_not_equal(g->nodes[n]->op, "InstanceNormalization");
            if (!strcmp(g->nodes[n]->op, "Mul") && onnx_input_constant(g->nodes[n], 1)) factor = onnx_input_constant(g->nodes[n], 1);
        }
        assert_true(factor && factor->count == 4);
        double want = i ? (double)((9 - 2) * some_number(3)) : 4.5;
        assert_true(onnx_number(factor, 3) == want);
        onnx_free(g);
    }
}

/* What does not fit stays as the file has it, so that a refusal names the file's node. */
static void what_does_not_fit_stays(void **state) {
    (void)state;
    static const struct row rows[] = {
        {17, WORDS, "LayerNormalization x %5 > y", "LayerNormalization"},
        {17, WORDS, "LayerNormalization x %8 %6 > y", "LayerNormalization"},
        {17, WORDS, "LayerNormalization x %8 %1x1x6x8 > y", "LayerNormalization"},
        {23, WORDS, "RMSNormalization x %5 > y", "RMSNormalization"},
        {13, WORDS, "InstanceNormalization x %5 %6 > y", "InstanceNormalization"},
        {13, WORDS, "InstanceNormalization x %6 %5 > y", "InstanceNormalization"},
        {18, PICTURE, "GroupNormalization x %4 %4 > y num_groups:2", "GroupNormalization"}, /* by channel: from opset 21 on */
        {21, PICTURE, "GroupNormalization x %2 %2 > y num_groups:2", "GroupNormalization"},
        {13, WORDS, "ReduceMean x > m axes=2; Clip x m > y", "ReduceMean Clip"},
        {13, WORDS, "ReduceMean x > m axes=0,1,2 keepdims:0; Clip x m %3 > y", "ReduceMean Clip"},
        {13, "8", "ReduceMean x > m axes=0; Reshape m $1,1 > r; Clip x r > y", "ReduceMean Reshape Clip"}, /* y would have two dimensions */
    };
    CHECK(rows);
}

#define MEANS "ReduceMean x > m axes=1,2,3 keepdims:0; "

/* What a normalization gives is what it gave, for inputs as small as epsilon, too. */
static void normalizations_give_what_they_gave(void **state) {
    (void)state;
    check_numbers(17, WORDS, "LayerNormalization x %8 %8 > y", 1, 0.1F);
    check_numbers(17, WORDS, "LayerNormalization x %8 > y", 0.003F, 0.1F);
    check_numbers(17, WORDS, "LayerNormalization x %6x8 > y axis:1 epsilon~0.01", 0.1F, 0.1F);
    check_numbers(17, WORDS, "LayerNormalization x %8 %8 > n m s; Mul n s > o; Add o m > y", 1, 0.1F);
    check_numbers(23, WORDS, "RMSNormalization x %8 > y", 0.003F, 0.1F);
    check_numbers(13, PICTURE, "InstanceNormalization x %4 %4 > y", 0.003F, 0.1F);
    check_numbers(11, WORDS, "InstanceNormalization x %6 %6 > y", 1, 0.1F);
    check_numbers(18, PICTURE, "GroupNormalization x %2 %2 > y num_groups:2", 0.003F, 0.1F);
    check_numbers(21, PICTURE, "GroupNormalization x %4 %4 > y num_groups:2", 0.003F, 0.1F);
    check_numbers(13, WORDS, "LpNormalization x > y", 1, 0.1F);
    check_numbers(13, WORDS, "LpNormalization x > y axis:1", 1e-4F, 0.1F);
    check_numbers(13, WORDS, "LpNormalization x > y axis:1 p:1", 1e-4F, 0.1F);
    check_numbers(13, WORDS, "LpNormalization x > y", 0, 0);
    check_numbers(13, WORDS, "LpNormalization x > y p:1", 0, 0);
    /* some x are 0, all others from 2e-5 on once divided by 1000 */
    check_numbers(13, PICTURE, "Mul x #0.001 > d; Equal d #0 > e; Div x d > q; Where e #0 q > y", 1, 999);
    check_numbers(13, PICTURE, MEANS "Clip x m #0.5 > y", 1, 0.4F);
    check_numbers(13, PICTURE, MEANS "Clip x m #-3 > y", 1, 3); /* where bounds contradict each other, the upper one counts */
    check_numbers(13, PICTURE, MEANS "Clip x #3 m > y", 1, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norms_are_decomposed),
        cmocka_unit_test(instance_and_group_norms_are_decomposed),
        cmocka_unit_test(lp_norms_are_decomposed),
        cmocka_unit_test(casts_between_floats_are_gone),
        cmocka_unit_test(choices_become_arithmetic),
        cmocka_unit_test(factors_stand_where_their_rows_are),
        cmocka_unit_test(what_does_not_fit_stays),
        cmocka_unit_test(factors_in_integers_are_taken),
        cmocka_unit_test(normalizations_give_what_they_gave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
