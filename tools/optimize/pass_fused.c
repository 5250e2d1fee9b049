/* SPDX-License-Identifier: MIT */
/*
 * What ONNX Runtime's optimizers make of several nodes, com.microsoft's FusedMatMul, BiasGelu, FastGelu, SkipLayerNormalization,
 * EmbedLayerNormalization and Attention, said in ai.onnx's operators again. Attention adds a large negative number where its mask is 0.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"

#include <math.h>
#include <string.h>

enum { OPSET = 17 };

static bool is_fused(const struct onnx_node *node, const char *op) {
    return onnx_is_checked(node) && !strcmp(node->domain, "com.microsoft") && !strcmp(node->op, op);
}

static struct onnx_value *put(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                              const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b}, *y = graph_put(g, node, op, inputs, b ? 2 : 1, shape);
    y->producer->opset = OPSET;
    return y;
}

static struct onnx_value *put_reshape(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_shape *shape) {
    return put(g, node, "Reshape", x, graph_int64s(g, node, "shape", shape->dims, shape->rank), shape);
}

static struct onnx_value *put_transpose(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const int64_t *perm) {
    struct onnx_shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[perm[i]];
    struct onnx_value *y = put(g, node, "Transpose", x, NULL, &shape);
    edit_attribute_ints(g, y->producer, "perm", perm, (size_t)shape.rank);
    return y;
}

static struct onnx_value *scaled(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, double factor) {
    const struct onnx_shape scalar = {0};
    return factor == 1 ? x : put(g, node, "Mul", x, graph_floats(g, node, "factor", &scalar, &factor), &x->shape);
}

/* Readers of output i read x from now on. */
static void hand_out(struct onnx_graph *g, const struct onnx_node *node, int i, struct onnx_value *x) {
    if (i < node->output_count && node->outputs[i]) edit_replace_uses(g, node->outputs[i], x, true);
}

/* The others have no readers. */
static void keep_first_output(struct onnx_node *node) {
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->producer = NULL;
    node->output_count = 1;
}

/* The node gives what x is, under its own name. */
static void become(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    keep_first_output(node);
    edit_become(g, node, "Identity", "", &x, 1);
    node->opset = OPSET;
}

static struct onnx_value *last_two_turned(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    int64_t perm[ONNX_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) perm[i] = i;
    perm[x->shape.rank - 2] = x->shape.rank - 1;
    perm[x->shape.rank - 1] = x->shape.rank - 2;
    return put_transpose(g, node, x, perm);
}

static bool change_matmul(struct onnx_graph *g, struct onnx_node *node) {
    if (!is_fused(node, "FusedMatMul")) return false;
    struct onnx_value *a = node->inputs[0], *b = node->inputs[1];
    const double alpha = (double)onnx_attribute_float(node, "alpha", 1);
    if (a->shape.rank < 2 || b->shape.rank < 2) return false;
    if (onnx_attribute_int(node, "transBatchA", 0) || onnx_attribute_int(node, "transBatchB", 0)) return false;
    if (onnx_attribute_int(node, "transA", 0)) a = last_two_turned(g, node, a);
    if (onnx_attribute_int(node, "transB", 0)) b = last_two_turned(g, node, b);
    become(g, node, scaled(g, node, put(g, node, "MatMul", a, b, &node->outputs[0]->shape), alpha));
    return true;
}

static bool change_gelu(struct onnx_graph *g, struct onnx_node *node) {
    const bool fast = is_fused(node, "FastGelu");
    struct onnx_value *x = node->inputs[0], *bias = onnx_input(node, 1);
    if (!fast && !is_fused(node, "BiasGelu")) return false;
    if (bias) x = put(g, node, "Add", x, bias, &x->shape);
    edit_become(g, node, "Gelu", "", &x, 1);
    node->opset = 20;
    if (fast) edit_attribute_string(g, node, "approximate", "tanh");
    return true;
}

/* Along the last axis. */
static void normalize(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *gamma, struct onnx_value *beta,
                      float epsilon) {
    struct onnx_value *inputs[3] = {x, gamma, beta};
    keep_first_output(node);
    edit_become(g, node, "LayerNormalization", "", inputs, beta ? 3 : 2);
    node->opset = OPSET;
    edit_attribute_float(g, node, "epsilon", epsilon);
}

static bool read(const struct onnx_node *node, int output) {
    return output < node->output_count && node->outputs[output] && (node->outputs[output]->uses || node->outputs[output]->is_output);
}

static bool change_skip_norm(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0], *bias = onnx_input(node, 4);
    if (!is_fused(node, "SkipLayerNormalization") || read(node, 1) || read(node, 2)) return false;
    const float epsilon = onnx_attribute_float(node, "epsilon", 1e-12F);
    if (bias) x = put(g, node, "Add", x, bias, &x->shape);
    x = put(g, node, "Add", x, node->inputs[1], &x->shape);
    hand_out(g, node, 3, x);
    normalize(g, node, x, node->inputs[2], onnx_input(node, 3), epsilon);
    return true;
}

static struct onnx_value *lines(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *table, struct onnx_value *ids) {
    const struct onnx_shape shape = {3, {ids->shape.dims[0], ids->shape.dims[1], table->shape.dims[1]}};
    return put(g, node, "Gather", table, ids, &shape);
}

/* As many lines of a constant table as there are tokens. */
static struct onnx_value *first_lines(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *table) {
    const struct onnx_shape shape = {2, {node->outputs[0]->shape.dims[1], table->shape.dims[1]}};
    double *numbers = graph_doubles(g, onnx_elements(&shape));
    for (int64_t i = 0; i < onnx_elements(&shape); i++) numbers[i] = onnx_number(table->constant, (size_t)i);
    return graph_floats(g, node, "positions", &shape, numbers);
}

static bool attention_reads(struct onnx_graph *g, struct onnx_value *counts) {
    size_t at = 0;
    for (const struct onnx_node *reader; (reader = edit_next_reader(g, counts, &at));)
        if (!is_fused(reader, "Attention")) return false;
    return !counts->is_output;
}

/* Inputs ids, segments, tables of words, positions and segments, gamma, beta, mask, positions. The second output is how many tokens there
 * are; Attention gets the mask itself. */
static bool change_embed(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    struct onnx_value *segments = onnx_input(node, 1), *table = onnx_input(node, 4), *mask = onnx_input(node, 7),
                      *positions = onnx_input(node, 8);
    if (!is_fused(node, "EmbedLayerNormalization") || shape->rank != 3 ||
        (read(node, 1) && (!mask || !attention_reads(g, node->outputs[1]))))
        return false;
    if (!positions && !node->inputs[3]->constant) return false;
    if (mask) hand_out(g, node, 1, mask);
    const float epsilon = onnx_attribute_float(node, "epsilon", 1e-12F);
    struct onnx_value *x = lines(g, node, node->inputs[2], node->inputs[0]);
    x = put(g, node, "Add", x, positions ? lines(g, node, node->inputs[3], positions) : first_lines(g, node, node->inputs[3]), shape);
    if (segments && table) x = put(g, node, "Add", x, lines(g, node, table, segments), shape);
    hand_out(g, node, 2, x);
    normalize(g, node, x, node->inputs[5], onnx_input(node, 6), epsilon);
    return true;
}

/* A third of the columns of weights and biases, for heads [batch, heads, sequence, size]. */
static struct onnx_value *heads(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *all, int part,
                                const struct onnx_shape *shape) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const struct onnx_shape third = {3, {shape->dims[0], shape->dims[1], shape->dims[2] * shape->dims[3]}};
    const int64_t from = part * third.dims[2], to = from + third.dims[2], axis = 2;
    struct onnx_value *inputs[4] = {all, graph_int64s(g, node, "from", &from, 1), graph_int64s(g, node, "to", &to, 1),
                                    graph_int64s(g, node, "axis", &axis, 1)};
    struct onnx_value *x = graph_put(g, node, "Slice", inputs, 4, &third);
    x->producer->opset = OPSET;
    return put_transpose(g, node, put_reshape(g, node, x, shape), perm);
}

/* (mask - 1) * -low for a mask [batch, keys], of integers. */
static struct onnx_value *mask_term(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *mask, double low) {
    const struct onnx_shape scalar = {0}, wide = {4, {mask->shape.dims[0], 1, 1, mask->shape.dims[1]}};
    const double one = 1, high = -low;
    struct onnx_value *x = put(g, node, "Cast", mask, NULL, &mask->shape);
    edit_attribute_int(g, x->producer, "to", ONNX_FLOAT);
    x = put(g, node, "Sub", x, graph_floats(g, node, "one", &scalar, &one), &x->shape);
    x = put(g, node, "Mul", x, graph_floats(g, node, "low", &scalar, &high), &x->shape);
    return put_reshape(g, node, x, &wide);
}

static bool plain_attention(const struct onnx_node *node, const struct onnx_value *mask) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    for (int i = 4; i < node->input_count; i++)
        if (node->inputs[i]) return false; /* a past, another term */
    if (onnx_attribute_int(node, "unidirectional", 0) || onnx_attribute_int(node, "do_rotary", 0) || read(node, 1)) return false;
    if (onnx_attribute(node, "qkv_hidden_sizes")) return false;
    if (!mask) return true;
    return mask->shape.rank == 2 && mask->shape.dims[0] == x->dims[0] && mask->shape.dims[1] == x->dims[1] &&
           (mask->type == ONNX_INT32 || mask->type == ONNX_INT64);
}

/* Inputs x, weights and biases of queries, keys and values side by side, mask. */
static bool change_attention(struct onnx_graph *g, struct onnx_node *node) {
    static const int64_t perm[] = {0, 2, 1, 3}, turn[] = {0, 1, 3, 2};
    struct onnx_value *bias = onnx_input(node, 2), *mask = onnx_input(node, 3);
    if (!is_fused(node, "Attention") || node->outputs[0]->shape.rank != 3 || !plain_attention(node, mask)) return false;
    const struct onnx_shape y = node->outputs[0]->shape;
    const int64_t count = onnx_attribute_int(node, "num_heads", 1), size = y.dims[2] / count;
    const double low = (double)onnx_attribute_float(node, "mask_filter_value", -10000.0F);
    const struct onnx_shape each = {4, {y.dims[0], y.dims[1], count, size}}, wide = {3, {y.dims[0], y.dims[1], 3 * y.dims[2]}};
    const struct onnx_shape scores = {4, {y.dims[0], count, y.dims[1], y.dims[1]}}, found = {4, {y.dims[0], count, y.dims[1], size}};
    const float stated = onnx_attribute_float(node, "scale", 0);
    struct onnx_value *all = put(g, node, "MatMul", node->inputs[0], node->inputs[1], &wide);
    if (bias) all = put(g, node, "Add", all, bias, &wide);
    struct onnx_value *q = heads(g, node, all, 0, &each), *k = heads(g, node, all, 1, &each), *v = heads(g, node, all, 2, &each);
    struct onnx_value *s = put(g, node, "MatMul", q, put_transpose(g, node, k, turn), &scores);
    s = scaled(g, node, s, stated != 0 ? (double)stated : 1 / sqrt((double)size));
    if (mask) s = put(g, node, "Add", s, mask_term(g, node, mask, low), &scores);
    s = put(g, node, "Softmax", s, NULL, &scores);
    edit_attribute_int(g, s->producer, "axis", -1);
    struct onnx_value *o = put_transpose(g, node, put(g, node, "MatMul", s, v, &found), perm);
    become(g, node, put_reshape(g, node, o, &y));
    return true;
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    if (node->folded || !onnx_is_checked(node) || strcmp(node->domain, "com.microsoft") || !node->output_count || !node->outputs[0])
        return false;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->shape.rank < 0) return false;
    return change_matmul(g, node) || change_gelu(g, node) || change_skip_norm(g, node) || change_embed(g, node) ||
           change_attention(g, node);
}

int pass_fused(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
