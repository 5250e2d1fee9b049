/* SPDX-License-Identifier: MIT */
/* Pooling over tokens and normalization, as nodes behind the last one. */
#include "tools/optimize/sentence.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"
#include <string.h>

enum { FLOAT_TYPE = 1 }; /* TensorProto.FLOAT */

static struct onnx_value *two(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                              const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b};
    return graph_put(g, node, op, inputs, 2, shape);
}

static struct onnx_value *find_mask(const struct onnx_graph *g, const struct onnx_shape *x) {
    for (size_t i = 0; i < g->input_count; i++) {
        struct onnx_value *input = g->inputs[i];
        if (strcmp(input->name, "attention_mask") || input->shape.rank != 2) continue;
        if (input->shape.dims[0] == x->dims[0] && input->shape.dims[1] == x->dims[1]) return input;
    }
    return NULL;
}

/* The mean of what the mask lets pass, over the mean of the mask; of an empty mask 0. */
static struct onnx_value *mean(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *mask) {
    const int64_t tokens = 1, column[3] = {x->shape.dims[0], x->shape.dims[1], 1};
    struct onnx_shape shape = {3, {column[0], column[1], 1}}, one = {3, {column[0], 1, 1}}, line = {3, {column[0], 1, x->shape.dims[2]}};
    struct onnx_value *there = graph_put(g, node, "Cast", &mask, 1, &mask->shape);
    edit_attribute_int(g, there->producer, "to", FLOAT_TYPE);
    there = two(g, node, "Reshape", there, graph_int64s(g, node, "column", column, 3), &shape);
    struct onnx_value *share = graph_reduce(g, node, "ReduceMean", there, &tokens, 1, &one);
    struct onnx_value *sum = graph_reduce(g, node, "ReduceMean", two(g, node, "Mul", x, there, &x->shape), &tokens, 1, &line);
    return two(g, node, "Div", sum, two(g, node, "Max", share, say_number(g, node, "least", 1e-9), &one), &line);
}

static struct onnx_value *normalized(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    const int64_t width = 2;
    struct onnx_shape one = {3, {x->shape.dims[0], 1, 1}};
    struct onnx_value *length = graph_reduce(g, node, "ReduceL2", x, &width, 1, &one);
    return two(g, node, "Div", x, two(g, node, "Max", length, say_number(g, node, "shortest", 1e-12), &one), &x->shape);
}

bool sentence_pool(struct onnx_graph *g, enum sentence_pooling pooling, bool normalize, struct failure *failure) {
    struct onnx_value *x = g->output_count ? g->outputs[0] : NULL;
    if (x && !strcmp(x->name, SENTENCE_OUTPUT)) return true;
    if (!x || !x->producer || x->type != ONNX_FLOAT || x->shape.rank != 3 || onnx_elements(&x->shape) < 1)
        return failure_set(failure, STATUS_INPUT,
                           "pooling wants vectors of tokens as the network's first output: float, [batch, tokens, width]");
    struct onnx_value *mask = find_mask(g, &x->shape), *y = x;
    struct onnx_node *node = x->producer;
    if (pooling == SENTENCE_MEAN && !mask)
        return failure_set(failure, STATUS_INPUT,
                           "pooling \"mean\" wants an input attention_mask [batch, tokens]; there is none that fits");
    y = pooling == SENTENCE_MEAN ? mean(g, node, y, mask) : say_slice(g, node, y, 1, 0, 1);
    if (normalize) y = normalized(g, node, y);
    struct onnx_value *output = edit_value(g, SENTENCE_OUTPUT, ONNX_FLOAT, &y->shape);
    edit_node(g, NULL, "Identity", "", NULL, &y, 1, &output, 1);
    edit_replace_output(g, x, output);
    edit_clean(g);
    return true;
}
