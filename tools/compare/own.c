/* SPDX-License-Identifier: MIT */
/* The float graph cut at its points, with the model's weights: what each layer adds to the error by itself. */
#include "tools/compare/compare.h"
#include "tools/graph/pass.h"

#include <string.h>

/* The model's weights as they would be had no channel been rescaled. */
static struct onnx_value *weights_in(const struct comparison *c, struct onnx_graph *g, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_node *node = l->node;
    struct onnx_tensor *tensor;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s/weights", node->name), ONNX_FLOAT, &l->weights->shape, &tensor);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        ((float *)tensor->data)[e] =
            w->values[e] * compare_factor(c, node->inputs[0], (size_t)in) / compare_factor(c, node->outputs[0], (size_t)out);
    }
    return value;
}

static struct onnx_value *bias_in(const struct comparison *c, struct onnx_graph *g, const struct compare_weights *w) {
    struct onnx_tensor *tensor;
    const struct onnx_shape shape = {.rank = 1, .dims = {w->linear.out_channels}};
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s/bias", w->linear.node->name), ONNX_FLOAT, &shape, &tensor);
    for (int64_t o = 0; o < w->linear.out_channels; o++)
        ((float *)tensor->data)[o] = w->bias[o] / compare_factor(c, w->linear.node->outputs[0], (size_t)o);
    return value;
}

/* `node` is the copy's. The Add behind a MatMul stays as it is. */
static void replace_weights(const struct comparison *c, struct onnx_graph *g, struct onnx_node *node, const struct compare_weights *w) {
    edit_set_input(g, node, 1, weights_in(c, g, w));
    if (graph_is(node, "MatMul"))
        return;
    edit_set_input(g, node, 2, bias_in(c, g, w));
    if (graph_is(node, "Gemm")) {
        edit_attribute_float(g, node, "alpha", 1);
        edit_attribute_float(g, node, "beta", 1);
    }
}

/* What reads the point reads a new input instead, and the point itself is an output. */
static void cut(struct onnx_graph *g, struct onnx_value *value, const struct compare_point *point) {
    struct onnx_value *input = edit_value(g, onnx_text(g, "%s/float", value->name), value->type, &value->shape);
    edit_replace_uses(g, value, input, false);
    input->is_input = true;
    g->inputs[g->input_count++] = input;
    if (!value->is_output) {
        value->is_output = true;
        value->uses++;
        g->outputs[g->output_count++] = value;
    }
    value->lowered = (void *)(uintptr_t)point;
}

static void *longer(struct onnx_graph *g, struct onnx_value *const *list, size_t count, size_t more) {
    struct onnx_value **longer = onnx_alloc(g, (count + more) * sizeof *longer);
    if (count)
        memcpy(longer, list, count * sizeof *longer);
    return longer;
}

struct onnx_graph *compare_own_graph(const struct comparison *c) {
    struct onnx_graph *g = edit_copy(c->graph);
    size_t nodes = g->node_count, values = g->value_count;
    struct onnx_node **copies = onnx_alloc(g, nodes * sizeof *copies);
    struct onnx_value **origins = onnx_alloc(g, values * sizeof *origins);
    memcpy(copies, g->nodes, nodes * sizeof *copies);
    memcpy(origins, g->values, values * sizeof *origins);
    g->inputs = longer(g, g->inputs, g->input_count, c->point_count);
    g->outputs = longer(g, g->outputs, g->output_count, c->point_count);
    for (size_t i = 0; i < c->point_count; i++)
        for (size_t n = 0; n < nodes && c->points[i].weights; n++)
            if (c->graph->nodes[n] == c->points[i].node)
                replace_weights(c, g, copies[n], c->points[i].weights);
    for (size_t i = 0; i < c->point_count; i++)
        for (size_t v = 0; v < values && c->points[i].node; v++)
            if (c->graph->values[v] == c->points[i].value)
                cut(g, origins[v], &c->points[i]);
    return g;
}
