/* SPDX-License-Identifier: MIT */
/* One float executor shared by threads, each with a run of its own: the same bits as alone. Also run under ThreadSanitizer. */
#include "tests/unit/support/onnx_file.h"

#include "tools/float/executor.h"

#include <pthread.h>

enum { THREADS = 3, RUNS = 20, PIXELS = 12, CHANNELS = 6 };

static struct onnx_graph *make_graph(void) {
    struct bytes graph = {0};
    struct failure failure = {0};
    struct onnx_report report = {0};
    const int64_t first[4] = {CHANNELS, 3, 3, 3}, depthwise[4] = {CHANNELS, 1, 3, 3};
    struct number w[CHANNELS * 27];
    for (int i = 0; i < CHANNELS * 27; i++) w[i].floating = (i * 29 % 41 - 20) / 16.0;
    add_value(&graph, 11, "x", 1, "1,3,12,12");
    add_constant(&graph, "w1", 1, 4, first, w, CHANNELS * 27);
    add_constant(&graph, "w2", 1, 4, depthwise, w, CHANNELS * 9);
    add_node(&graph, "one", "Conv", "x w1", "a", "pads=1,1,1,1");
    add_node(&graph, "two", "Relu", "a", "b", "");
    add_node(&graph, "three", "Conv", "b w2", "c", "group:6 strides=2,2 pads=1,1,1,1");
    add_node(&graph, "four", "MaxPool", "c", "d", "kernel_shape=2,2");
    add_node(&graph, "five", "Softmax", "d", "y", "axis:1");
    add_value(&graph, 12, "y", 1, NULL);
    struct bytes model = model_message(&graph, 13);
    struct onnx_graph *made = load_bytes(&model, &failure);
    assert_non_null(made);
    assert_true(onnx_bind(made, NULL, 0, 1, &report, &failure) && onnx_infer(made, &report, &failure));
    onnx_report_free(&report);
    return made;
}

struct worker {
    const struct executor *executor;
    float y[RUNS][CHANNELS * 25];
    size_t count;
    bool good;
};

static void *work(void *context) {
    struct worker *w = context;
    struct failure failure;
    struct executor_run *run = executor_run_open(w->executor, &failure);
    w->good = run != NULL;
    for (int i = 0; i < RUNS && w->good; i++) {
        float x[3 * PIXELS * PIXELS];
        const float *in[1] = {x};
        for (int k = 0; k < 3 * PIXELS * PIXELS; k++) x[k] = (float)((k * 31 + i * 7) % 97 - 48) / 32;
        w->good = executor_run(run, in, NULL, NULL, &failure);
        const float *y = executor_output(run, 0, &w->count);
        w->good = w->good && w->count <= CHANNELS * 25;
        if (w->good) memcpy(w->y[i], y, w->count * sizeof *y);
    }
    executor_run_close(run);
    return NULL;
}

static void threads_share_an_executor(void **state) {
    (void)state;
    static struct worker alone, workers[THREADS];
    struct onnx_graph *graph = make_graph();
    struct failure failure;
    struct executor *executor = executor_open(graph, &failure);
    pthread_t threads[THREADS];
    assert_non_null(executor);
    alone.executor = executor;
    work(&alone);
    assert_true(alone.good && alone.count == CHANNELS * 25);
    for (int i = 0; i < THREADS; i++) {
        workers[i].executor = executor;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].good);
        assert_memory_equal(workers[i].y, alone.y, sizeof alone.y);
    }
    executor_close(executor);
    onnx_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_an_executor)};
    return cmocka_run_group_tests_name("float threads", tests, NULL, NULL);
}
