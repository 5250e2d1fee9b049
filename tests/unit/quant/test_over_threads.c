/* SPDX-License-Identifier: MIT */
/* A float network over samples: each once, the same statistics whatever the threads, the first failure of several. Also run under
 * ThreadSanitizer. */
#include "tests/unit/support/quant_trial.h"

enum { SAMPLES = 23, ELEMENTS = 3 * 6 * 6, THREADS = 4 };

/* Samples in a file; up to two of them are not finite. */
static struct quant_data *open_samples(const struct onnx_graph *graph, size_t broken, size_t broken_too) {
    static float numbers[SAMPLES * ELEMENTS];
    for (size_t i = 0; i < SAMPLES * ELEMENTS; i++) numbers[i] = (float)(i * i * 31 % 1009) / 300 - 1.5f;
    if (broken < SAMPLES) numbers[broken * ELEMENTS + 5] = NAN;
    if (broken_too < SAMPLES) numbers[broken_too * ELEMENTS + 7] = INFINITY;
    return data_of(graph, SAMPLES, numbers);
}

/* A convolution, a ReLU, and where wanted its logarithm, which is infinite at 0. */
static struct onnx_graph *make_graph(bool logarithm) {
    struct bytes graph = {0};
    struct number weights[4 * 3];
    for (int i = 0; i < 12; i++) weights[i] = (struct number){i % 5 - 1.7, 0};
    add_value(&graph, 11, "x", 1, "1,3,6,6");
    add_constant(&graph, "w", 1, 4, (const int64_t[]){4, 3, 1, 1}, weights, 12);
    add_node(&graph, "first", "Conv", "x w", "c", "");
    add_node(&graph, "second", "Relu", "c", "r", "");
    add_node(&graph, "third", logarithm ? "Log" : "Sigmoid", "r", "l", "");
    add_node(&graph, "last", "GlobalAveragePool", "r", "y", "");
    add_value(&graph, 12, "y", 1, NULL);
    add_value(&graph, 12, "l", 1, NULL);
    struct bytes model = model_message(&graph, 13);
    return inferred_bytes(&model);
}

struct seen {
    int values[SAMPLES], ends[SAMPLES]; /* of each sample, by one worker at a time */
    float outputs[SAMPLES][4];
    unsigned worker[SAMPLES];
};

static void see(void *context, unsigned worker, size_t sample, const struct onnx_value *value, const float *data, size_t count) {
    struct seen *seen = context;
    assert_true(count == (size_t)onnx_elements(&value->shape) && isfinite(data[0]));
    assert_true(seen->values[sample] == 0 || seen->worker[sample] == worker);
    seen->worker[sample] = worker;
    seen->values[sample]++;
}

static bool end(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure) {
    struct seen *seen = context;
    assert_int_equal(seen->worker[sample], worker);
    seen->ends[sample]++;
    return network_get(run, 0, seen->outputs[sample], failure);
}

static void every_sample_comes_once(void **unused) {
    (void)unused;
    struct onnx_graph *graph = make_graph(false);
    struct executor *executor = must_execute(graph);
    const struct network network = network_of_executor(executor);
    struct quant_data *data = open_samples(graph, SAMPLES, SAMPLES);
    struct seen first = {0};
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        struct seen seen = {0};
        struct failure failure = {0};
        assert_true(over_data(&network, data, threads, "samples", see, end, &seen, &failure));
        for (int i = 0; i < SAMPLES; i++) {
            assert_int_equal(seen.values[i], 5);
            assert_int_equal(seen.ends[i], 1);
            assert_true(seen.worker[i] < threads);
        }
        if (threads == 1) first = seen;
        assert_memory_equal(seen.outputs, first.outputs, sizeof first.outputs);
    }
    quant_data_close(data);
    executor_close(executor);
    onnx_free(graph);
}

static void check_same(const struct observed *a, const struct observed *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->samples, SAMPLES);
    assert_memory_equal(&a->low, &b->low, sizeof a->low);
    assert_memory_equal(&a->high, &b->high, sizeof a->high);
    assert_memory_equal(&a->mean_low, &b->mean_low, sizeof a->mean_low);
    assert_memory_equal(a->channel_mean, b->channel_mean, a->channels * sizeof *a->channel_mean);
    assert_memory_equal(a->channel_square, b->channel_square, a->channels * sizeof *a->channel_square);
    assert_memory_equal(a->histogram->cells, b->histogram->cells,
                        histogram_cells(a->histogram->octaves, a->histogram->detail) * sizeof *a->histogram->cells);
}

static void any_number_of_threads_observes_the_same(void **unused) {
    (void)unused;
    struct onnx_graph *graph = make_graph(false);
    struct executor *executor = must_execute(graph);
    struct quant_data *data = open_samples(graph, SAMPLES, SAMPLES);
    struct failure failure = {0};
    struct observer *first = over_observe(graph, executor, data, 1, NULL, &failure);
    assert_non_null(first);
    for (unsigned threads = 2; threads <= THREADS; threads++) {
        struct observer *other = over_observe(graph, executor, data, threads, NULL, &failure);
        int values = 0;
        assert_non_null(other);
        for (size_t i = 0; i < graph->value_count; i++) {
            if (!observer_of(first, graph->values[i])) continue;
            check_same(observer_of(other, graph->values[i]), observer_of(first, graph->values[i]));
            values++;
        }
        assert_int_equal(values, 5);
        observer_close(other);
    }
    observer_close(first);
    quant_data_close(data);
    executor_close(executor);
    onnx_free(graph);
}

static void the_first_failure_of_several_is_told(void **unused) {
    (void)unused;
    struct onnx_graph *graph = make_graph(false);
    struct executor *executor = must_execute(graph);
    const struct network network = network_of_executor(executor);
    struct quant_data *data = open_samples(graph, 9, 8);
    for (unsigned threads = 1; threads <= THREADS; threads++) {
        struct failure failure = {0};
        assert_false(over_data(&network, data, threads, "samples", NULL, NULL, NULL, &failure));
        assert_int_equal(failure.status, STATUS_INPUT);
        assert_non_null(strstr(failure.text, "element [8, 0, 1, 1] is infinite"));
        assert_null(over_observe(graph, executor, data, threads, NULL, &failure));
    }
    quant_data_close(data);
    executor_close(executor);
    onnx_free(graph);
}

/* Data are finite, and a value in the network is not. */
static void a_value_that_is_not_finite_is_named(void **unused) {
    (void)unused;
    struct onnx_graph *graph = make_graph(true);
    struct executor *executor = must_execute(graph);
    struct quant_data *data = open_samples(graph, SAMPLES, SAMPLES);
    struct failure failure = {0};
    assert_null(over_observe(graph, executor, data, 2, NULL, &failure));
    assert_non_null(strstr(failure.text, "node 'third' (Log)"));
    quant_data_close(data);
    executor_close(executor);
    onnx_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_sample_comes_once), cmocka_unit_test(any_number_of_threads_observes_the_same),
                                       cmocka_unit_test(the_first_failure_of_several_is_told),
                                       cmocka_unit_test(a_value_that_is_not_finite_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
