/* SPDX-License-Identifier: MIT */
/* What tests of quantizing whole graphs share: noise, samples by way of a file, and all that goes together. */
#ifndef QUANT_TRIAL_H
#define QUANT_TRIAL_H

#include "tests/unit/support/onnx_file.h"
#include "tools/base/npy.h"
#include "tools/quant/insert/insert.h"
#include "tools/network/host/over.h"
#include "tools/quant/calibrate/over.h"
#include "tools/quant/quantize.h"

static uint32_t state_of_noise = 5;

/* -1 .. 1, the same everywhere. */
static inline float noise(void) {
    state_of_noise = state_of_noise * 1664525u + 1013904223u;
    return (float)(state_of_noise >> 8) / 8388608.0f - 1;
}

static inline struct executor *must_execute(const struct onnx_graph *graph) {
    struct failure failure = {0};
    struct executor *executor = executor_open(graph, &failure);
    if (!executor) fail_msg("%s", failure.text);
    return executor;
}

struct setup {
    struct onnx_graph *graph;
    struct quant_data *data;
    struct onnx_report report;
    struct quantizer q;
};

/* Samples for the graph's one input, one behind the other: so many times its shape. */
static inline struct quant_data *data_of(const struct onnx_graph *graph, size_t samples, const float *numbers) {
    struct failure failure = {0};
    const struct onnx_shape *shape = &graph->inputs[0]->shape;
    const char *path = scratch_path("x.npy");
    const struct quant_data_wish wish = {.paths = &path, .path_count = 1};
    uint64_t dims[ONNX_MAX_RANK] = {samples * (uint64_t)shape->dims[0]};
    for (int d = 1; d < shape->rank; d++) dims[d] = (uint64_t)shape->dims[d];
    assert_true(npy_write(path, NPY_FLOAT32, dims, (uint32_t)shape->rank, numbers, &failure));
    struct quant_data *data = quant_data_open(&wish, graph, &failure);
    if (!data) fail_msg("%s", failure.text);
    assert_int_equal(quant_data_count(data), samples);
    return data;
}

/* The graph is the setup's from then on. A thread, where none are asked for. */
static inline void setup_open(struct setup *s, struct onnx_graph *graph, size_t samples, const float *numbers,
                              const struct quantize_options *options) {
    *s = (struct setup){.graph = graph, .data = data_of(graph, samples, numbers)};
    s->q = (struct quantizer){.graph = graph, .data = s->data, .options = *options, .report = &s->report};
    if (!s->q.options.threads) s->q.options.threads = 1;
}

/* All that the quantizer does, by least squares. The graph is equalized then. */
static inline void setup_quantize(struct setup *s) {
    struct failure failure = {0};
    s->q.options.method = RANGE_MSE;
    if (!quantize_prepare(&s->q, &failure) || !quantize_equalize(&s->q, &failure) || !quantize_observe(&s->q, &failure))
        fail_msg("%s", failure.text);
    quantize_choose(&s->q);
    if (!quantize_refine(&s->q, &failure)) fail_msg("%s", failure.text);
}

struct kept {
    float *outputs;
    size_t width;
};

static inline bool keep_output(void *context, unsigned worker, size_t sample, struct network_run *run, struct failure *failure) {
    const struct kept *kept = context;
    (void)worker;
    return network_get(run, 0, kept->outputs + sample * kept->width, failure);
}

/* Output 0 of a graph over the setup's data, one sample behind the other. */
static inline void setup_run(const struct setup *s, const struct onnx_graph *graph, float *outputs) {
    struct failure failure = {0};
    struct executor *executor = must_execute(graph);
    const struct network network = network_of_executor(executor);
    struct kept kept = {outputs, (size_t)onnx_elements(&graph->outputs[0]->shape)};
    if (!over_data(&network, s->data, 1, "samples", NULL, keep_output, &kept, &failure)) fail_msg("%s", failure.text);
    executor_close(executor);
}

/* The same of what has been quantized. */
static inline void setup_run_quantized(const struct setup *s, float *outputs) {
    struct onnx_graph *made = insert(s->q.scheme);
    setup_run(s, made, outputs);
    onnx_free(made);
}

/* In dB. */
static inline double sqnr_of(const float *wanted, const float *got, size_t count) {
    double signal = 0, error = 0;
    for (size_t i = 0; i < count; i++) {
        double apart = (double)got[i] - (double)wanted[i];
        signal += (double)wanted[i] * (double)wanted[i];
        error += apart * apart;
    }
    return 10 * log10(signal / error);
}

static inline void setup_close(struct setup *s) {
    quantize_close(&s->q);
    quant_data_close(s->data);
    onnx_report_free(&s->report);
    onnx_free(s->graph);
}

#endif
