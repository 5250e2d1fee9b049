/* SPDX-License-Identifier: MIT */
/* The float graph cut at its points, with the model's weights: what each layer adds to the error by itself. */
#include "tools/compare/compare.h"
#include "tools/optimize/pass.h"

#include <string.h>

/* Weight e of the model as it would be had no channel been rescaled. */
static float weight_of(const struct comparison *c, const struct compare_weights *w, size_t e, int64_t *in, int64_t *out) {
    const struct onnx_node *node = w->linear.node;
    linear_place(&w->linear, (int64_t)e, in, out);
    return w->values[e] * compare_factor(c, node->inputs[0], (size_t)*in) / compare_factor(c, node->outputs[0], (size_t)*out);
}

static struct onnx_value *weights_in(const struct comparison *c, struct onnx_graph *g, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_node *node = l->node;
    struct onnx_tensor *tensor;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s/weights", node->name), ONNX_FLOAT, &l->weights->shape, &tensor);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        ((float *)tensor->data)[e] = weight_of(c, w, e, &in, &out);
    }
    return value;
}

/* The model's bias with what its weights make of the numbers added to the input, without the number added to the output. */
static struct onnx_value *bias_in(const struct comparison *c, struct onnx_graph *g, const struct compare_weights *w) {
    struct onnx_tensor *tensor;
    const struct onnx_shape shape = {.rank = 1, .dims = {w->linear.out_channels}};
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s/bias", w->linear.node->name), ONNX_FLOAT, &shape, &tensor);
    const struct onnx_node *node = w->linear.node;
    double *bias = graph_doubles(g, w->linear.out_channels);
    for (size_t o = 0; o < (size_t)w->linear.out_channels; o++)
        bias[o] = (double)(w->bias[o] / compare_factor(c, node->outputs[0], o) - compare_shift(node->outputs[0], o));
    for (size_t e = 0; e < w->linear.weights->count; e++) {
        int64_t in, out;
        float weight = weight_of(c, w, e, &in, &out);
        bias[out] += (double)weight * (double)compare_shift(node->inputs[0], (size_t)in);
    }
    for (int64_t o = 0; o < w->linear.out_channels; o++) ((float *)tensor->data)[o] = (float)bias[o];
    return value;
}

static bool is_moved(const struct onnx_value *value) {
    return ((const struct compare_value *)value->lowered)->shifts != NULL;
}

/* `node` is the copy's. The Add behind a MatMul stays as it is; one that got a bias because channels were moved has none. */
static void replace_weights(const struct comparison *c, struct onnx_graph *g, struct onnx_node *node, const struct compare_weights *w) {
    const struct onnx_node *origin = w->linear.node;
    if (w->dynamic) edit_set_input(g, node, 0, compare_dynamic_input(g, node, w->dynamic_axis));
    edit_set_input(g, node, 1, weights_in(c, g, w));
    if (graph_is(node, "MatMul") && (is_moved(origin->inputs[0]) || is_moved(origin->outputs[0])))
        edit_become(g, node, "Gemm", "", (struct onnx_value *[]){node->inputs[0], node->inputs[1]}, 2);
    if (graph_is(node, "MatMul")) return;
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
    if (count) memcpy(longer, list, count * sizeof *longer);
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
        if (c->points[i].weights) replace_weights(c, g, copies[c->points[i].node->number], c->points[i].weights);
    for (size_t i = 0; i < c->point_count; i++)
        if (c->points[i].node) cut(g, origins[(struct compare_value *)c->points[i].value->lowered - c->values], &c->points[i]);
    edit_clean(g);
    return g;
}
