/* SPDX-License-Identifier: MIT */
/* A network out of an ONNX file: opened, run and watched in the float executor. */
#include "tools/network/host/float.h"
#include "tools/base/arena.h"
#include "tools/float/operator.h"
#include "tools/network/host/extras.h"
#include "tools/onnx/operator.h"
#include "tools/optimize/optimize.h"
#include "tools/samples/data/data_parts.h"
#include "tools/network/host/float_answer.h"
#include "tools/samples/rules/picture_rule.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct float_network {
    struct onnx_graph *graph;
    struct executor *executor;     /* the network's */
    struct data_pictures pictures; /* the rule for input 0 */
    struct morsel_blob_picture rule;
    struct float_answer answer;
    char **labels;
    size_t label_count;
};

struct float_run {
    struct executor_run *executor;
    const float **inputs; /* what was put: the caller's memory, or `picture` */
    float *picture;
};

/* --- The file --- */

static struct network_tensor tensor_of(const struct onnx_value *value) {
    const struct onnx_shape *shape = &value->shape;
    struct network_tensor tensor = {.name = value->name, .type = NPY_FLOAT32, .takes_any = true, .rank = NETWORK_RANK_UNKNOWN};
    bool known = shape->rank >= 0;
    for (int i = 0; i < shape->rank; i++) known = known && shape->dims[i] >= 0;
    if (!known) return tensor;
    tensor.rank = (uint32_t)shape->rank;
    for (int i = 0; i < shape->rank; i++) tensor.dims[i] = (uint64_t)shape->dims[i];
    tensor.count = (size_t)onnx_elements(shape);
    return tensor;
}

static void set_tensors(struct network *network) {
    const struct float_network *own = network->own;
    if (network->output_count != own->graph->output_count) { /* levels were joined */
        free(network->outputs);
        network->output_count = (uint32_t)own->graph->output_count;
        network->outputs = must_calloc(network->output_count, sizeof *network->outputs);
    }
    for (uint32_t i = 0; i < network->input_count; i++) network->inputs[i] = tensor_of(own->graph->inputs[i]);
    for (uint32_t i = 0; i < network->output_count; i++) network->outputs[i] = tensor_of(own->graph->outputs[i]);
}

static bool read_extras(const struct network_call *call, struct float_network *own, struct failure *failure) {
    if (call->rule) own->rule = *call->rule;
    return (!call->picture || picture_rule_read(call->picture, &own->rule, failure)) &&
           (!call->answer || answer_rule_read(call->answer, &own->answer.rule, failure)) &&
           (!call->labels || labels_read(call->labels, &own->labels, &own->label_count, failure));
}

static bool float_read(struct network *network, struct failure *failure) {
    const struct network_call *call = &network->call;
    struct float_network *own = network->own = must_calloc(1, sizeof *own);
    if (!(own->graph = extras_load(call->path, failure)) || !read_extras(call, own, failure)) return false;
    size_t inputs = own->graph->input_count, outputs = own->graph->output_count;
    network->input_count = (uint32_t)inputs;
    network->output_count = (uint32_t)outputs;
    network->inputs = must_calloc(inputs, sizeof *network->inputs);
    network->outputs = must_calloc(outputs, sizeof *network->outputs);
    network->has_rule = call->picture || call->rule;
    network->picture = network->has_rule ? &own->rule : NULL;
    set_tensors(network);
    return true;
}

/* Dimensions that the network leaves free, but for the batch, are the arrays'. */
static size_t shapes_of_arrays(const struct float_network *own, const struct npy *arrays, struct onnx_binding *bindings) {
    size_t count = 0;
    for (size_t i = 0; arrays && i < own->graph->input_count; i++) {
        const struct onnx_value *input = own->graph->inputs[i];
        const struct onnx_shape *shape = &input->shape;
        const struct npy *array = &arrays[i];
        struct onnx_binding binding = {.name = input->name, .shape = *shape};
        bool free_one = shape->rank < 0;
        if (array->rank > ONNX_MAX_RANK || (shape->rank >= 0 && array->rank != (uint32_t)shape->rank)) continue; /* said by tensor_fits() */
        binding.shape.rank = (int)array->rank;
        for (int d = 0; d < binding.shape.rank; d++) {
            bool is_free = shape->rank < 0 || shape->dims[d] < 0;
            free_one = free_one || (d && is_free);
            if (is_free) binding.shape.dims[d] = d || shape->rank < 0 ? (int64_t)array->dims[d] : 1;
        }
        if (free_one) bindings[count++] = binding;
    }
    return count;
}

static bool infer(struct network *network, const struct npy *arrays, struct failure *failure) {
    const struct float_network *own = network->own;
    struct onnx_binding *bindings = must_calloc(own->graph->input_count, sizeof *bindings);
    struct onnx_report report = {0};
    size_t count = shapes_of_arrays(own, arrays, bindings);
    bool good = (onnx_bind(own->graph, bindings, count, 1, &report, failure) && onnx_infer(own->graph, &report, failure) &&
                 extras_shape_answer(own->graph, &own->answer.rule, &report, failure)) ||
                failure_prefix(failure, network->call.path);
    good = good && (!own->labels || answer_rule_has_labels(&own->answer.rule) ||
                    extras_check_labels(network->call.labels, own->labels, own->label_count, own->graph, &report, failure));
    onnx_report_free(&report);
    free(bindings);
    return good;
}

/* Whether it has no float form, but a pass says it in others that have. */
static bool is_made_of_others(const struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    if (graph_is_volume(node)) return true;
    if (!op || float_operator_of(node) || onnx_has(node, ONNX_QUANTIZED) || onnx_has(node, ONNX_DYNAMIC)) return false;
    return op->taken || *op->domain;
}

/* Any other network stays as the file has it, to the last bit of its results. */
static void unfuse(struct onnx_graph *graph) {
    bool any = false;
    for (size_t i = 0; i < graph->node_count && !any; i++) any = is_made_of_others(graph->nodes[i]);
    if (any) graph_unfuse(graph);
}

/* Operators of QOperator form, and of dynamic quantization, have no float form. */
static const char *form_of_bytes(const struct onnx_node *node) {
    if (float_operator_of(node)) return NULL;
    return onnx_has(node, ONNX_DYNAMIC) ? "dynamically" : onnx_has(node, ONNX_QUANTIZED) ? "in QOperator form" : NULL;
}

static bool no_executor(const struct network *network, struct failure *failure) {
    const struct onnx_graph *graph = ((const struct float_network *)network->own)->graph;
    const char *form = NULL;
    for (size_t i = 0; i < graph->node_count && !form; i++) form = form_of_bytes(graph->nodes[i]);
    if (form) {
        char text[120];
        snprintf(text, sizeof text, "the network is quantized, %s: run the blob that morsel convert makes of it", form);
        failure_prefix(failure, text);
    }
    return failure_prefix(failure, network->call.path);
}

static bool float_start(struct network *network, const struct npy *arrays, struct failure *failure) {
    struct float_network *own = network->own;
    if (!infer(network, arrays, failure)) return false;
    unfuse(own->graph);
    const struct onnx_value *first = network->output_count ? own->graph->outputs[0] : NULL;
    set_tensors(network);
    network->probabilities = first && first->producer && !strcmp(first->producer->op, "Softmax");
    if (network->call.answer && !float_answer_fit(&own->answer, network, network->has_rule ? &own->rule : NULL, own->label_count, failure))
        return false;
    if (network->answer && network->answer->kind == MORSEL_ANSWER_CLASSES)
        network->probabilities = !(network->answer->flags & MORSEL_ANSWER_SOFTMAX);
    bool pictures = network->has_rule && network->input_count == 1;
    if (pictures && !data_pictures_fit(&own->pictures, own->graph->inputs[0], &own->rule, failure)) return false;
    network->executor = own->executor = executor_open(own->graph, failure);
    return own->executor || no_executor(network, failure);
}

static void float_close(struct network *network) {
    struct float_network *own = network->own;
    if (!own) return;
    executor_close(own->executor);
    onnx_free(own->graph);
    labels_free(own->labels, own->label_count);
    float_answer_free(&own->answer);
    free(own);
}

static bool float_reads(const struct network *network, const char *path) {
    const struct float_network *own = network->own;
    for (size_t i = 0; own->graph && i < own->graph->file_count; i++)
        if (file_same(path, own->graph->files[i])) return true;
    return file_same(path, own->answer.rule.anchors_path);
}

static const char *float_label(const struct network *network, uint32_t index) {
    const struct float_network *own = network->own;
    return index < own->label_count ? own->labels[index] : NULL;
}

struct network network_of_executor(const struct executor *executor) {
    return (struct network){.kind = &network_of_onnx, .executor = executor};
}

/* --- A run --- */

static bool float_run_open(struct network_run *run, struct failure *failure) {
    struct float_run *own = run->own = must_calloc(1, sizeof *own);
    own->inputs = must_calloc(executor_inputs(run->network->executor), sizeof *own->inputs);
    own->executor = executor_run_open(run->network->executor, failure);
    return own->executor != NULL;
}

struct executor_run *network_executor_run(const struct network_run *run) {
    return ((const struct float_run *)run->own)->executor;
}

static void float_run_close(struct network_run *run) {
    struct float_run *own = run->own;
    if (!own) return;
    executor_run_close(own->executor);
    free(own->inputs);
    free(own->picture);
    free(own);
}

static bool float_put(struct network_run *run, uint32_t input, const void *values, struct failure *failure) {
    struct float_run *own = run->own;
    (void)failure;
    own->inputs[input] = values;
    return true;
}

static bool float_picture(struct network_run *run, const struct image *image, uint32_t index, struct failure *failure) {
    const struct float_network *network = run->network->own;
    struct float_run *own = run->own;
    (void)index; /* there is one: data_pictures_fit() */
    if (!own->picture) own->picture = must_calloc(run->network->inputs[0].count, sizeof(float));
    own->inputs[0] = own->picture;
    return data_pictures_put(&network->pictures, image, own->picture, failure);
}

struct watching {
    network_watch *watch;
    void *context;
};

static void watch_value(void *context, const struct onnx_value *value, const float *data, size_t count) {
    const struct watching *w = context;
    w->watch(w->context, &(struct network_value){.value = value, .data = data, .count = count});
}

static bool float_compute(struct network_run *run, network_watch *watch, void *context, struct failure *failure) {
    const struct float_run *own = run->own;
    struct watching watching = {watch, context};
    return executor_run(own->executor, own->inputs, watch ? watch_value : NULL, &watching, failure);
}

static bool float_get(const struct network_run *run, uint32_t output, void *values, struct failure *failure) {
    const struct float_run *own = run->own;
    size_t count;
    const float *from = executor_output(own->executor, output, &count);
    (void)failure;
    if (count) memcpy(values, from, count * sizeof *from);
    return true;
}

static bool float_scores(const struct network_run *run, float *scores, struct failure *failure) {
    return float_get(run, 0, scores, failure);
}

static void float_view(const struct network_run *run, uint32_t output, struct morsel_view *view) {
    const struct float_run *own = run->own;
    size_t count;
    const float *values = executor_output(own->executor, output, &count);
    *view = float_answer_view(&run->network->outputs[output], values, count);
}

const struct network_kind network_of_onnx = {
    .read = float_read,
    .start = float_start,
    .close = float_close,
    .reads = float_reads,
    .label = float_label,
    .run_open = float_run_open,
    .run_close = float_run_close,
    .put = float_put,
    .picture = float_picture,
    .compute = float_compute,
    .get = float_get,
    .scores = float_scores,
    .view = float_view,
};
