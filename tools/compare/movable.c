/* SPDX-License-Identifier: MIT */
/* Values that a quantizer may have added numbers to, channel by channel: all that is made of them can make up for it. */
#include "tools/compare/compare.h"
#include "tools/quant/equalize/equalize_parts.h"

static struct compare_value *info_of(const struct onnx_value *value) {
    return value->lowered;
}

static size_t index_of(const struct comparison *c, const struct onnx_value *value) {
    return (size_t)(info_of(value) - c->values);
}

static bool reads_evenly(const struct linear *l) {
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    return equal_reads_evenly(l) && compare_axis(x) == l->in_axis && compare_channels(x) == (size_t)l->in_channels &&
           compare_axis(y) == l->out_axis && compare_channels(y) == (size_t)l->out_channels;
}

static bool hands_on(const struct onnx_node *node) {
    const struct onnx_value *x = node->inputs[0], *y = node->outputs[0];
    return equal_keeps_shifts(node) && compare_channels(x) == compare_channels(y) &&
           (!graph_reshapes(node) || onnx_elements(&x->shape) == (int64_t)compare_channels(x));
}

static bool sums_up(const struct onnx_node *node) {
    return graph_is(node, "Add") && node->input_count == 2 && !node->inputs[0]->constant && !node->inputs[1]->constant &&
           graph_same_shape(node->inputs[0], node->inputs[1]);
}

/* Whether what is added to an input can be made up for behind the node, or in it. */
static bool makes_up(const struct comparison *c, const bool *fixed, struct onnx_node *node) {
    struct linear l;
    if (!node->input_count || !node->inputs[0] || node->inputs[0]->constant || !node->output_count || !node->outputs[0]) return false;
    if (linear_read(node, &l)) return reads_evenly(&l);
    return (sums_up(node) || hands_on(node)) && !fixed[index_of(c, node->outputs[0])];
}

/* Whether a node can add numbers to what it makes, or hands them on. */
static bool may_add(struct onnx_node *node) {
    struct linear l;
    if (!node->input_count || !node->inputs[0] || node->inputs[0]->constant || !node->output_count || !node->outputs[0]) return false;
    if (linear_read(node, &l)) return linear_takes_bias(&l) && compare_axis(node->outputs[0]) == l.out_axis;
    if (sums_up(node)) return info_of(node->inputs[0])->movable || info_of(node->inputs[1])->movable;
    return hands_on(node) && info_of(node->inputs[0])->movable;
}

void compare_find_movable(struct comparison *c) {
    const struct onnx_graph *g = c->graph;
    bool *fixed = onnx_alloc(c->graph, c->value_count * sizeof *fixed); /* something that reads it takes it as it is */
    for (size_t i = 0; i < c->value_count; i++)
        fixed[i] = g->values[i]->is_input || g->values[i]->is_output || g->values[i]->type != ONNX_FLOAT;
    for (size_t n = g->node_count; n-- > 0;)
        for (int k = 0; k < g->nodes[n]->input_count; k++)
            if (g->nodes[n]->inputs[k] && !g->nodes[n]->inputs[k]->constant && !makes_up(c, fixed, g->nodes[n]))
                fixed[index_of(c, g->nodes[n]->inputs[k])] = true;
    for (size_t n = 0; n < g->node_count; n++)
        if (may_add(g->nodes[n])) info_of(g->nodes[n]->outputs[0])->movable = !fixed[index_of(c, g->nodes[n]->outputs[0])];
}
