/* SPDX-License-Identifier: MIT */
/* Networks and data out of the ordinary, through all of the quantizer: what comes out is near to what the float network gives. */
#include "tests/unit/support/quant_trial.h"

enum { SAMPLES = 24, ELEMENTS_MOST = 256 };

struct trial {
    struct bytes graph; /* filled by the test, input x and output y */
    struct setup setup;
    float *wanted, *got; /* y, sample by sample */
};

static struct trial begin(const char *shape) {
    struct trial t = {0};
    state_of_noise = 5;
    add_value(&t.graph, 11, "x", 1, shape);
    add_value(&t.graph, 12, "y", 1, NULL);
    return t;
}

/* Noise between -most and most. */
static void add_noise(struct trial *t, const char *name, int rank, const int64_t *dims, double most) {
    static struct number numbers[ELEMENTS_MOST];
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
    assert_true(count <= ELEMENTS_MOST);
    for (size_t i = 0; i < count; i++) numbers[i] = (struct number){(double)noise() * most, 0};
    add_constant(&t->graph, name, 1, rank, dims, numbers, count);
}

/* SQNR of the output of what the quantizer makes, over all samples but the first `but`. Samples are noise between -1 and 1, but for
 * `outlier` as the very first number of all (0: noise, too). */
static double quantized(struct trial *t, const struct quantize_options *options, float outlier, size_t but) {
    struct bytes model = model_message(&t->graph, 13);
    struct onnx_graph *network = inferred_bytes(&model);
    size_t elements = (size_t)onnx_elements(&network->inputs[0]->shape), width = (size_t)onnx_elements(&network->outputs[0]->shape);
    float *numbers = calloc(SAMPLES * elements, sizeof *numbers);
    for (size_t i = 0; i < SAMPLES * elements; i++) numbers[i] = noise();
    numbers[0] = outlier != 0 ? outlier : numbers[0];
    setup_open(&t->setup, network, SAMPLES, numbers, options);
    free(numbers);
    t->wanted = calloc(SAMPLES * width, sizeof *t->wanted);
    t->got = calloc(SAMPLES * width, sizeof *t->got);
    setup_run(&t->setup, network, t->wanted);
    setup_quantize(&t->setup);
    setup_run_quantized(&t->setup, t->got);
    return sqnr_of(t->wanted + but * width, t->got + but * width, (SAMPLES - but) * width);
}

static void end(struct trial *t) {
    free(t->wanted);
    free(t->got);
    setup_close(&t->setup);
}

/* A function out of the middle of a chain is excluded: a value that would have been inside the chain's table gets a range, and from the
 * data. */
static void a_function_amid_a_chain_may_be_excluded(void **state) {
    (void)state;
    const char *const names[] = {"Exp"};
    struct trial t = begin("1,4,6,6");
    add_noise(&t, "w", 4, (const int64_t[]){4, 4, 1, 1}, 2);
    add_node(&t.graph, "first", "Conv", "x w", "a", "");
    add_node(&t.graph, "plus", "Abs", "a", "b", "");
    add_node(&t.graph, "exp", "Exp", "b", "c", "");
    add_node(&t.graph, "root", "Sqrt", "c", "d", "");
    add_node(&t.graph, "last", "Conv", "d w", "y", "");
    double db = quantized(&t, &(struct quantize_options){.scheme = {.excluded = names, .excluded_count = 1}, .keep_channels = true}, 0, 0);
    if (!(db > 25)) fail_msg("%.1f dB", db);
    end(&t);
}

static void check_better_than(struct trial *t, double least) {
    double db = quantized(t, &(struct quantize_options){0}, 0, 0);
    if (!(db > least)) fail_msg("%.1f dB", db);
    end(t);
}

/* What comes out of a Softmax over many is far from 1. */
static void softmax_over_many_keeps_its_range(void **state) {
    (void)state;
    struct trial t = begin("1,4,128");
    add_noise(&t, "w", 2, (const int64_t[]){128, 2}, 1);
    add_node(&t.graph, "softmax", "Softmax", "x", "s", "axis:2");
    add_node(&t.graph, "product", "MatMul", "s w", "y", "");
    check_better_than(&t, 35);
}

/* Attention with a mask: the scores must not share a scale with what stands for minus infinity. */
static void attention(double masked) {
    struct number mask[36];
    struct trial t = begin("1,6,8");
    for (int i = 0; i < 36; i++) mask[i] = (struct number){i % 6 > i / 6 ? masked : 0, 0};
    add_constant(&t.graph, "mask", 1, 2, (const int64_t[]){6, 6}, mask, 36);
    add_noise(&t, "wq", 2, (const int64_t[]){8, 8}, 1);
    add_noise(&t, "wk", 2, (const int64_t[]){8, 8}, 1);
    add_noise(&t, "wv", 2, (const int64_t[]){8, 8}, 1);
    add_node(&t.graph, "queries", "MatMul", "x wq", "q", "");
    add_node(&t.graph, "keys", "MatMul", "x wk", "k", "");
    add_node(&t.graph, "values", "MatMul", "x wv", "v", "");
    add_node(&t.graph, "turn", "Transpose", "k", "kt", "perm=0,2,1");
    add_node(&t.graph, "scores", "MatMul", "q kt", "s", "");
    add_node(&t.graph, "cover", "Add", "s mask", "m", "");
    add_node(&t.graph, "softmax", "Softmax", "m", "p", "axis:2");
    add_node(&t.graph, "sum", "MatMul", "p v", "y", "");
    check_better_than(&t, 25);
}

static void masks_of_attention_are_no_range(void **state) {
    (void)state;
    attention(-1e4);
    attention(-3.4e38);
    attention(-INFINITY);
}

/* One number of a million among thousands, which the range leaves out: the bias must not make up for it in all the others. */
static void an_outlier_moves_no_bias(void **state) {
    (void)state;
    struct trial t = begin("1,4,64,64");
    add_noise(&t, "w", 4, (const int64_t[]){4, 4, 3, 3}, 1);
    add_node(&t.graph, "conv", "Conv", "x w", "y", "");
    double db = quantized(&t, &(struct quantize_options){0}, 1e6F, 1);
    if (!(db > 30)) fail_msg("%.1f dB", db);
    end(&t);
}

/* What output_padding adds belongs to what auto_pad cuts off. */
static void a_padded_transpose_stands_where_it_was(void **state) {
    (void)state;
    static const char *const pads[] = {"auto_pad@SAME_UPPER", "auto_pad@SAME_LOWER", ""};
    for (size_t i = 0; i < sizeof pads / sizeof *pads; i++) {
        char attributes[80];
        struct trial t = begin("1,4,8,9");
        snprintf(attributes, sizeof attributes, "%s strides=2,2 output_padding=1,1", pads[i]);
        add_noise(&t, "w", 4, (const int64_t[]){4, 3, 4, 3}, 0.3);
        add_node(&t.graph, "pull", "ConvTranspose", "x w", "y", attributes);
        check_better_than(&t, 25);
    }
}

/* Six products with one matrix of 2^20 numbers, of which the file holds one: told before a single one is made. */
static void layers_have_room_for_their_weights(void **state) {
    (void)state;
    const int64_t two = 2;
    const struct number shape[2] = {{1024, 1024}, {1024, 1024}};
    struct trial t = begin("1,1024");
    add_constant(&t.graph, "shape", ONNX_INT64, 1, &two, shape, 2);
    add_node(&t.graph, "c", "ConstantOfShape", "shape", "w", "");
    for (int i = 0; i < 6; i++) {
        char inputs[16], output[8];
        snprintf(inputs, sizeof inputs, i ? "v%d w" : "x w", i);
        snprintf(output, sizeof output, i < 5 ? "v%d" : "y", i + 1);
        add_node(&t.graph, output, "MatMul", inputs, output, "");
    }
    struct bytes model = model_message(&t.graph, 13);
    struct onnx_report report = {0};
    struct quantizer q = {.graph = inferred_bytes(&model), .options = {.scheme = {.dynamic = true}, .threads = 1}, .report = &report};
    struct failure failure = {0};
    assert_false(quantize_prepare(&q, &failure));
    assert_null(q.executor);
    assert_int_equal(report.refusal_count, 0);
    assert_non_null(strstr(failure.text, "6 layers have more than 5243008 numbers of weights: too many for what the file holds"));
    onnx_report_free(&report);
    onnx_free(q.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_amid_a_chain_may_be_excluded),
                                       cmocka_unit_test(softmax_over_many_keeps_its_range),
                                       cmocka_unit_test(masks_of_attention_are_no_range),
                                       cmocka_unit_test(an_outlier_moves_no_bias),
                                       cmocka_unit_test(a_padded_transpose_stands_where_it_was),
                                       cmocka_unit_test(layers_have_room_for_their_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
