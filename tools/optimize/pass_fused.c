/* SPDX-License-Identifier: MIT */
/*
 * What ONNX Runtime's optimizers make of several nodes, com.microsoft's FusedMatMul, FusedGemm, FusedConv, BiasGelu, FastGelu,
 * SkipLayerNormalization, EmbedLayerNormalization, QEmbedLayerNormalization, and attention, said in ai.onnx's operators again. attention.c
 * has the last, recurrent.c layers with a state, spectrum.c those of sound, grid.c AffineGrid, rotary.c RotaryEmbedding,
 * scatter.c ScatterND and ScatterElements, volumes.c windows over three dimensions, rare.c what is rare.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <float.h>
#include <string.h>

static bool is_fused(const struct onnx_node *node, const char *op) {
    return onnx_is_checked(node) && !strcmp(node->domain, "com.microsoft") && !strcmp(node->op, op);
}

static bool change_matmul(struct onnx_graph *g, struct onnx_node *node) {
    if (!is_fused(node, "FusedMatMul")) return false;
    struct onnx_value *a = node->inputs[0], *b = node->inputs[1];
    const double alpha = (double)onnx_attribute_float(node, "alpha", 1);
    if (a->shape.rank < 2 || b->shape.rank < 2) return false;
    if (onnx_attribute_int(node, "transBatchA", 0) || onnx_attribute_int(node, "transBatchB", 0)) return false;
    if (onnx_attribute_int(node, "transA", 0)) a = say_turned(g, node, a);
    if (onnx_attribute_int(node, "transB", 0)) b = say_turned(g, node, b);
    say_as(g, node, say_scaled(g, node, say(g, node, "MatMul", a, b, &node->outputs[0]->shape), alpha));
    return true;
}

static bool change_gelu(struct onnx_graph *g, struct onnx_node *node) {
    const bool fast = is_fused(node, "FastGelu");
    struct onnx_value *x = node->inputs[0], *bias = onnx_input(node, 1);
    if (!(fast && bias) && !is_fused(node, "BiasGelu")) return false;
    x = say(g, node, "Add", x, bias, &x->shape);
    edit_become(g, node, fast ? "FastGelu" : "Gelu", "com.microsoft", &x, 1);
    return true;
}

/* Along the last axis. */
static void normalize(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *gamma, struct onnx_value *beta,
                      float epsilon) {
    struct onnx_value *inputs[3] = {x, gamma, beta};
    say_first_output_alone(node);
    edit_become(g, node, "LayerNormalization", "", inputs, beta ? 3 : 2);
    node->opset = SAY_OPSET;
    edit_attribute_float(g, node, "epsilon", epsilon);
}

static void normalize_by_squares(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *gamma,
                                 float epsilon, int64_t axis) {
    struct onnx_value *inputs[2] = {x, gamma};
    say_first_output_alone(node);
    edit_become(g, node, "RMSNormalization", "", inputs, 2);
    node->opset = 23;
    edit_attribute_float(g, node, "epsilon", epsilon);
    edit_attribute_int(g, node, "axis", axis);
}

/* Inputs x, what is added, gamma, beta where means are taken off, and a bias. */
static bool change_skip_norm(struct onnx_graph *g, struct onnx_node *node) {
    const bool simple = is_fused(node, "SkipSimplifiedLayerNormalization");
    struct onnx_value *x = node->inputs[0], *bias = onnx_input(node, simple ? 3 : 4);
    if ((!simple && !is_fused(node, "SkipLayerNormalization")) || say_is_read(node, 1) || say_is_read(node, 2)) return false;
    const float epsilon = onnx_attribute_float(node, "epsilon", 1e-12F);
    if (bias) x = say(g, node, "Add", x, bias, &x->shape);
    x = say(g, node, "Add", x, node->inputs[1], &x->shape);
    say_output(g, node, 3, x);
    if (simple) normalize_by_squares(g, node, x, node->inputs[2], epsilon, -1);
    else normalize(g, node, x, node->inputs[2], onnx_input(node, 3), epsilon);
    return true;
}

/* ONNX Runtime has it in the domain of ai.onnx, which does not. */
static bool change_simplified_norm(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_is(node, "SimplifiedLayerNormalization") || say_is_read(node, 1)) return false;
    normalize_by_squares(g, node, node->inputs[0], node->inputs[1], onnx_attribute_float(node, "epsilon", 1e-5F),
                         onnx_attribute_int(node, "axis", -1));
    return true;
}

/* A Conv or Gemm, and what ends it. */
static struct onnx_value *layer_of(struct onnx_graph *g, struct onnx_node *node, const char *op) {
    static const char *const own[] = {"activation", "activation_params", "activation_alpha", "activation_beta", "activation_gamma"};
    struct onnx_value *y = graph_put(g, node, op, node->inputs, node->input_count < 3 ? node->input_count : 3, &node->outputs[0]->shape);
    struct onnx_node *layer = y->producer;
    say_attributes(g, layer, node);
    layer->opset = SAY_OPSET;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) edit_attribute_drop(layer, own[i]);
    return y;
}

static float parameter(const struct onnx_node *node, int i, float otherwise) {
    static const char *const names[] = {"activation_alpha", "activation_beta"};
    const struct onnx_attribute *all = onnx_attribute(node, "activation_params");
    if (all && (size_t)i < all->count) return all->floats[i];
    return onnx_attribute_float(node, names[i], otherwise);
}

static bool change_layer(struct onnx_graph *g, struct onnx_node *node) {
    static const char *const plain[] = {"Relu", "Sigmoid", "Tanh"};
    const bool conv = is_fused(node, "FusedConv");
    const char *end = onnx_attribute_string(node, "activation", "");
    const bool slope = !strcmp(end, "LeakyRelu"), line = !strcmp(end, "HardSigmoid"), clip = conv && !strcmp(end, "Clip");
    const float alpha = parameter(node, 0, clip ? -FLT_MAX : line ? 0.2F : 0.01F), beta = parameter(node, 1, clip ? FLT_MAX : 0.5F);
    bool known = slope || line || clip;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) known = known || !strcmp(end, plain[i]);
    if ((!conv && !is_fused(node, "FusedGemm")) || !known) return false;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->type != ONNX_FLOAT) return false;
    struct onnx_value *x = layer_of(g, node, conv ? "Conv" : "Gemm");
    if (conv && onnx_input(node, 3)) x = say(g, node, "Add", x, node->inputs[3], &x->shape);
    struct onnx_value *inputs[3] = {x, clip ? say_number(g, node, "least", (double)alpha) : NULL,
                                    clip ? say_number(g, node, "most", (double)beta) : NULL};
    edit_become(g, node, end, "", inputs, clip ? 3 : 1);
    node->opset = SAY_OPSET;
    if (slope || line) edit_attribute_float(g, node, "alpha", alpha);
    if (line) edit_attribute_float(g, node, "beta", beta);
    return true;
}

/* The tables, gamma and beta of a QEmbedLayerNormalization are bytes: their scales and zero points stand so many inputs behind them. */
enum { TO_SCALE = 6, TO_ZERO_POINT = 11 };

static bool in_bytes(const struct onnx_node *node) {
    return is_fused(node, "QEmbedLayerNormalization");
}

static struct onnx_value *lines(struct onnx_graph *g, struct onnx_node *node, int table, struct onnx_value *ids) {
    struct onnx_value *from = node->inputs[table];
    const struct onnx_shape shape = {3, {ids->shape.dims[0], ids->shape.dims[1], from->shape.dims[1]}};
    struct onnx_value *y = say(g, node, "Gather", from, ids, &shape);
    if (!in_bytes(node)) return y;
    y->type = from->type;
    struct onnx_value *inputs[3] = {y, node->inputs[table + TO_SCALE], node->inputs[table + TO_ZERO_POINT]};
    y = graph_put(g, node, "DequantizeLinear", inputs, 3, &shape);
    y->producer->opset = SAY_OPSET;
    return y;
}

/* The first numbers of a constant, as floats. */
static struct onnx_value *first_numbers(struct onnx_graph *g, struct onnx_node *node, int i, const char *part,
                                        const struct onnx_shape *shape) {
    const struct onnx_tensor *from = node->inputs[i]->constant;
    const bool bytes = in_bytes(node);
    const double scale = bytes ? onnx_number(node->inputs[i + TO_SCALE]->constant, 0) : 1;
    const double zero_point = bytes ? onnx_number(node->inputs[i + TO_ZERO_POINT]->constant, 0) : 0;
    double *numbers = graph_doubles(g, onnx_elements(shape));
    for (int64_t k = 0; k < onnx_elements(shape); k++) numbers[k] = (onnx_number(from, (size_t)k) - zero_point) * scale;
    return graph_floats(g, node, part, shape, numbers);
}

/* As many lines of a constant table of positions as there are tokens. */
static struct onnx_value *first_lines(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_shape shape = {2, {node->outputs[0]->shape.dims[1], node->inputs[3]->shape.dims[1]}};
    return first_numbers(g, node, 3, "positions", &shape);
}

static struct onnx_value *of_norm(struct onnx_graph *g, struct onnx_node *node, int i) {
    return in_bytes(node) ? first_numbers(g, node, i, i == 5 ? "gamma" : "beta", &node->inputs[i]->shape) : onnx_input(node, i);
}

/* Of bytes: what is not read line by line. */
static bool are_constant(const struct onnx_node *node) {
    static const int read[] = {3, 5, 6, 9, 11, 12, 14, 16, 17};
    for (size_t i = 0; in_bytes(node) && i < sizeof read / sizeof *read; i++)
        if (!node->inputs[read[i]]->constant) return false;
    return true;
}

static bool attention_reads(struct onnx_graph *g, struct onnx_value *counts) {
    size_t at = 0;
    for (const struct onnx_node *reader; (reader = edit_next_reader(g, counts, &at));)
        if (!is_fused(reader, "Attention") && !is_fused(reader, "QAttention")) return false;
    return !counts->is_output;
}

/* Inputs ids, segments, tables of words, positions and segments, gamma, beta, mask, positions or scales. The second
 * output is how many tokens there are; Attention gets the mask itself. */
static bool change_embed(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    const bool bytes = in_bytes(node);
    struct onnx_value *segments = onnx_input(node, 1), *table = onnx_input(node, 4), *mask = onnx_input(node, 7),
                      *positions = bytes ? NULL : onnx_input(node, 8);
    if ((!bytes && !is_fused(node, "EmbedLayerNormalization")) || shape->rank != 3 || !are_constant(node) ||
        (say_is_read(node, 1) && (!mask || !attention_reads(g, node->outputs[1]))))
        return false;
    if (!positions && !node->inputs[3]->constant) return false;
    if (mask) say_output(g, node, 1, mask);
    const float epsilon = onnx_attribute_float(node, "epsilon", 1e-12F);
    struct onnx_value *x = lines(g, node, 2, node->inputs[0]);
    x = say(g, node, "Add", x, positions ? lines(g, node, 3, positions) : first_lines(g, node), shape);
    if (segments && table) x = say(g, node, "Add", x, lines(g, node, 4, segments), shape);
    say_output(g, node, 2, x);
    normalize(g, node, x, of_norm(g, node, 5), of_norm(g, node, 6), epsilon);
    return true;
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    const bool own =
        !strcmp(node->domain, "com.microsoft") || graph_is(node, "Attention") || graph_is(node, "SimplifiedLayerNormalization");
    if (node->folded || !onnx_is_checked(node) || !node->output_count) return false;
    if (!onnx_input(node, 0)) return false; /* of an operator that is not in the table nothing is checked */
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && node->inputs[i]->shape.rank < 0) return false;
    if (change_recurrent(g, node)) return true;
    if (!node->outputs[0]) return false;
    if (change_spectrum(g, node) || change_affine_grid(g, node) || change_rotary(g, node) || change_scatter(g, node) ||
        change_rare(g, node) || change_volume(g, node))
        return true;
    if (!own) return false;
    return change_matmul(g, node) || change_gelu(g, node) || change_skip_norm(g, node) || change_simplified_norm(g, node) ||
           change_embed(g, node) || change_layer(g, node) || change_fused_attention(g, node);
}

int pass_fused(struct onnx_graph *g) {
    int changes = 0;
    spectra_keep_float(g);
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
