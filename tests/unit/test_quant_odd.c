/* SPDX-License-Identifier: MIT */
/* Networks and data out of the ordinary, through all of the quantizer: what comes out is near to what the float network gives. */
#include "test_onnx_file.h"
#include "tools/npy.h"
#include "tools/quant/insert.h"
#include "tools/quant/over.h"
#include "tools/quant/quantize.h"

enum { SAMPLES = 24, ELEMENTS_MOST = 256 };

static uint32_t state_of_noise;

static float noise(void) {
    state_of_noise = state_of_noise * 1664525u + 1013904223u;
    return (float)(state_of_noise >> 8) / 8388608.0f - 1;
}

struct trial {
    struct bytes graph; /* filled by the test, input x and output y */
    const char *shape;  /* of x */
    struct onnx_graph *network;
    struct quantizer q;
    struct onnx_report report;
    struct quant_data *data;
    size_t elements, width;
    float *wanted, *got; /* y, sample by sample */
};

static struct trial begin(const char *shape) {
    struct trial t = {.shape = shape};
    state_of_noise = 5;
    add_value(&t.graph, 11, "x", 1, shape);
    add_value(&t.graph, 12, "y", 1, NULL);
    return t;
}

/* Noise between -most and most. */
static void add_noise(struct trial *t, const char *name, int rank, const int64_t *dims, double most) {
    static struct number numbers[ELEMENTS_MOST];
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    assert_true(count <= ELEMENTS_MOST);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (struct number){(double)noise() * most, 0};
    add_constant(&t->graph, name, 1, rank, dims, numbers, count);
}

static void keep(void *context, unsigned worker, size_t sample, const struct executor_run *run) {
    struct trial *t = context;
    size_t count;
    const float *y = executor_output(run, 0, &count);
    (void)worker;
    memcpy(t->got + sample * t->width, y, count * sizeof *y);
}

/* Outputs of a graph over the data, to t->got. */
static void run_all(struct trial *t, const struct onnx_graph *graph) {
    struct failure failure = {0};
    struct executor *executor = executor_open(graph, &failure);
    if (!executor || !over_data(executor, t->data, 1, "samples", NULL, keep, t, &failure))
        fail_msg("%s", failure.text);
    executor_close(executor);
}

/* Samples are noise between -1 and 1, but for `outlier` as the very first number of all (0: noise, too). */
static void open_data(struct trial *t, float outlier) {
    struct failure failure = {0};
    const char *path = scratch_path("odd.npy");
    const struct quant_data_wish wish = {.paths = &path, .path_count = 1};
    float *numbers = calloc(SAMPLES * t->elements, sizeof *numbers);
    for (size_t i = 0; i < SAMPLES * t->elements; i++)
        numbers[i] = noise();
    numbers[0] = outlier != 0 ? outlier : numbers[0];
    uint64_t dims[5] = {SAMPLES};
    int rank = 1;
    for (int i = 1; i < t->network->inputs[0]->shape.rank; i++)
        dims[rank++] = (uint64_t)t->network->inputs[0]->shape.dims[i];
    assert_true(npy_write(path, NPY_FLOAT32, dims, rank, numbers, &failure));
    free(numbers);
    if (!(t->data = quant_data_open(&wish, t->network, &failure)))
        fail_msg("%s", failure.text);
}

/* SQNR of the output of what the quantizer makes, over all samples but the first `but`. */
static double quantized(struct trial *t, const struct quantize_options *options, float outlier, size_t but) {
    struct failure failure = {0};
    struct bytes model = model_message(&t->graph, 13);
    t->network = inferred_bytes(&model);
    t->elements = (size_t)onnx_elements(&t->network->inputs[0]->shape);
    t->width = (size_t)onnx_elements(&t->network->outputs[0]->shape);
    open_data(t, outlier);
    t->wanted = t->got = calloc(SAMPLES * t->width, sizeof *t->got);
    run_all(t, t->network);
    t->got = calloc(SAMPLES * t->width, sizeof *t->got);
    t->q = (struct quantizer){.graph = t->network, .data = t->data, .options = *options, .report = &t->report};
    t->q.options.method = RANGE_MSE;
    t->q.options.threads = 1;
    if (!quantize_prepare(&t->q, &failure) || !quantize_equalize(&t->q, &failure) || !quantize_observe(&t->q, &failure))
        fail_msg("%s", failure.text);
    quantize_choose(&t->q);
    if (!quantize_refine(&t->q, &failure))
        fail_msg("%s", failure.text);
    struct onnx_graph *made = insert(t->q.scheme);
    run_all(t, made);
    onnx_free(made);
    double signal = 0, error = 0;
    for (size_t i = but * t->width; i < SAMPLES * t->width; i++) {
        double apart = (double)t->got[i] - (double)t->wanted[i];
        signal += (double)t->wanted[i] * (double)t->wanted[i];
        error += apart * apart;
    }
    return 10 * log10(signal / error);
}

static void end(struct trial *t) {
    free(t->wanted);
    free(t->got);
    quantize_close(&t->q);
    quant_data_close(t->data);
    onnx_report_free(&t->report);
    onnx_free(t->network);
}

/* A function out of the middle of a chain is excluded: a value that would have been inside the chain's table gets a range, and from the
 * data. */
static void excluded_function(void **state) {
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
    if (!(db > 25))
        fail_msg("%.1f dB", db);
    end(&t);
}

static void check_better_than(struct trial *t, double least) {
    double db = quantized(t, &(struct quantize_options){0}, 0, 0);
    if (!(db > least))
        fail_msg("%.1f dB", db);
    end(t);
}

/* What comes out of a Softmax over many is far from 1. */
static void softmax_over_many(void **state) {
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
    for (int i = 0; i < 36; i++)
        mask[i] = (struct number){i % 6 > i / 6 ? masked : 0, 0};
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

static void masks(void **state) {
    (void)state;
    attention(-1e4);
    attention(-3.4e38);
    attention(-INFINITY);
}

/* One number of a million among thousands, which the range leaves out: the bias must not make up for it in all the others. */
static void outlier(void **state) {
    (void)state;
    struct trial t = begin("1,4,64,64");
    add_noise(&t, "w", 4, (const int64_t[]){4, 4, 3, 3}, 1);
    add_node(&t.graph, "conv", "Conv", "x w", "y", "");
    double db = quantized(&t, &(struct quantize_options){0}, 1e6F, 1);
    if (!(db > 30))
        fail_msg("%.1f dB", db);
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(excluded_function), cmocka_unit_test(softmax_over_many), cmocka_unit_test(masks),
                                       cmocka_unit_test(outlier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
