/* SPDX-License-Identifier: MIT */
/*
 * Normalizations in what blobs have: d = x - mean(x); d / sqrt(mean(d * d) + epsilon), then a factor and a term. Of groups the mean is
 * taken where each is one row. LpNormalization is x by its norm, which pass_reduces.c writes out.
 */
#include "tools/optimize/pass.h"
#include <string.h>

/* What x is divided by is at least this: a vector of zeros stays one. */
#define LEAST_NORM 1e-12

/* Mean, or another reduction, over the dimensions from..to. */
static struct onnx_value *reduce(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *x, int from, int to) {
    struct onnx_shape shape = x->shape;
    int64_t axes[ONNX_MAX_RANK];
    int count = 0;
    for (int d = from; d < to; d++) {
        shape.dims[d] = 1;
        axes[count++] = d;
    }
    return graph_reduce(g, node, op, x, axes, count, &shape);
}

/* Operators with a second operand, one after the other; the last one is what the node becomes. */
struct chain {
    const char *ops[4];
    struct onnx_value *operands[4];
    int count;
};

static void then(struct chain *chain, const char *op, struct onnx_value *operand) {
    if (!operand) return;
    chain->ops[chain->count] = op;
    chain->operands[chain->count++] = operand;
}

static void finish(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct chain *chain) {
    for (int i = 0; i < chain->count; i++) {
        struct onnx_value *inputs[2] = {x, chain->operands[i]};
        if (i + 1 < chain->count)
            x = graph_put(g, node, chain->ops[i], inputs, 2, strcmp(chain->ops[i], "Reshape") ? &x->shape : &node->outputs[0]->shape);
        else edit_become(g, node, chain->ops[i], "", inputs, 2);
    }
}

/* Another output of the node, if anyone reads it. */
static void hand_out(struct onnx_graph *g, struct onnx_node *node, int output, struct onnx_value *value) {
    if (output < node->output_count && node->outputs[output]) edit_replace_uses(g, node->outputs[output], value, true);
}

/* x, or x less its mean over the dimensions from..to, and what to divide it by. LayerNormalization hands out the mean, too, and the factor
 * that the division is. */
static struct onnx_value *centre(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int from, int to, bool keeps_mean,
                                 struct chain *chain) {
    double epsilon = (double)onnx_attribute_float(node, "epsilon", 1e-5F), one = 1;
    struct onnx_shape scalar = {0};
    if (!keeps_mean) {
        struct onnx_value *inputs[2] = {x, reduce(g, node, "ReduceMean", x, from, to)};
        hand_out(g, node, 1, inputs[1]);
        x = graph_put(g, node, "Sub", inputs, 2, &x->shape);
    }
    struct onnx_value *twice[2] = {x, x};
    struct onnx_value *mean = reduce(g, node, "ReduceMean", graph_put(g, node, "Mul", twice, 2, &x->shape), from, to);
    struct onnx_value *inputs[2] = {mean, graph_floats(g, node, "epsilon", &scalar, &epsilon)};
    struct onnx_value *sum = graph_put(g, node, "Add", inputs, 2, &mean->shape);
    struct onnx_value *root = graph_put(g, node, "Sqrt", &sum, 1, &mean->shape);
    if (node->output_count > 2 && node->outputs[2] && node->outputs[2]->uses) {
        struct onnx_value *share[2] = {graph_floats(g, node, "one", &scalar, &one), root};
        hand_out(g, node, 2, graph_put(g, node, "Div", share, 2, &mean->shape));
    }
    then(chain, "Div", root);
    return x;
}

/* Number i of a list: a constant, or integers behind the DequantizeLinear `pair`, with one scale or one for each. */
static double listed(const struct onnx_tensor *list, const struct onnx_node *pair, size_t i) {
    if (!pair) return onnx_number(list, i);
    const struct onnx_tensor *scale = onnx_input_constant(pair, 1), *zero = onnx_input_constant(pair, 2);
    int64_t steps = onnx_integer(list, i) - (zero ? onnx_integer(zero, zero->count > 1 ? i : 0) : 0);
    return (double)((float)steps * (float)onnx_number(scale, scale->count > 1 ? i : 0));
}

static bool fits_list(const struct onnx_tensor *t, int64_t count) {
    return t && (t->count == 1 || (int64_t)t->count == count);
}

/* A list of `count` constants along the second dimension of `rank`. NULL: it is none. */
static struct onnx_value *by_channel(struct onnx_graph *g, struct onnx_node *node, int input, const char *part, int64_t count, int rank) {
    const struct onnx_value *value = onnx_input(node, input);
    const struct onnx_node *pair = value && !value->constant ? value->producer : NULL;
    if (pair && (strcmp(pair->op, "DequantizeLinear") || !onnx_is_checked(pair))) return NULL;
    const struct onnx_tensor *list = pair ? onnx_input_constant(pair, 0) : onnx_input_constant(node, input);
    struct onnx_shape shape = {.rank = rank - 1};
    if (!list || (int64_t)list->count != count || (pair && !fits_list(onnx_input_constant(pair, 1), count))) return NULL;
    if (pair && onnx_input(pair, 2) && !fits_list(onnx_input_constant(pair, 2), count)) return NULL;
    double *numbers = graph_doubles(g, count);
    for (int d = 0; d < rank - 1; d++) shape.dims[d] = d ? 1 : count;
    for (int64_t i = 0; i < count; i++) numbers[i] = listed(list, pair, (size_t)i);
    return graph_floats(g, node, part, &shape, numbers);
}

/* Factor and term, where both are such lists and have room. */
static bool both_by_channel(struct onnx_graph *g, struct onnx_node *node, int64_t count, int rank, struct onnx_value **factor,
                            struct onnx_value **term) {
    if (!graph_takes_room(g, 2 * (size_t)count)) return false;
    *factor = by_channel(g, node, 1, "factor", count, rank);
    *term = *factor ? by_channel(g, node, 2, "term", count, rank) : NULL;
    return *term != NULL;
}

/* A factor or term of the last dimensions, from the axis on or less. */
static bool fits(const struct onnx_value *operand, const struct onnx_shape *x) {
    if (!operand) return true;
    int skipped = x->rank - operand->shape.rank;
    if (operand->type != ONNX_FLOAT || operand->shape.rank < 0 || skipped < 0) return false;
    for (int i = 0; i < operand->shape.rank; i++)
        if (operand->shape.dims[i] != 1 && operand->shape.dims[i] != x->dims[skipped + i]) return false;
    return true;
}

static bool change_layer(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    int64_t axis = onnx_attribute_int(node, "axis", -1);
    struct chain chain = {.count = 0};
    axis += axis < 0 ? x->shape.rank : 0;
    if (axis < 0 || axis >= x->shape.rank || !fits(onnx_input(node, 1), &x->shape) || !fits(onnx_input(node, 2), &x->shape)) return false;
    x = centre(g, node, x, (int)axis, x->shape.rank, graph_is(node, "RMSNormalization"), &chain);
    then(&chain, "Mul", onnx_input(node, 1));
    then(&chain, "Add", onnx_input(node, 2));
    finish(g, node, x, &chain);
    return true;
}

static bool change_instance(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    int rank = x->shape.rank;
    struct chain chain = {.count = 0};
    struct onnx_value *factor, *term;
    if (rank < 3 || !both_by_channel(g, node, x->shape.dims[1], rank, &factor, &term)) return false;
    x = centre(g, node, x, 2, rank, false, &chain);
    then(&chain, "Mul", factor);
    then(&chain, "Add", term);
    finish(g, node, x, &chain);
    return true;
}

/* Each group becomes a row. Factors are by group before opset 21, by channel from there on. */
static bool change_group(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    int rank = x->shape.rank;
    int64_t groups = onnx_attribute_int(node, "num_groups", 0), each = node->opset >= 21 && rank > 1 ? x->shape.dims[1] : groups;
    bool rows = node->opset < 21;
    struct chain chain = {.count = 0};
    if (rank < 3 || groups < 1 || x->shape.dims[1] % groups) return false;
    struct onnx_value *factor, *term;
    if (!both_by_channel(g, node, each, rows ? 3 : rank, &factor, &term)) return false;
    struct onnx_shape flat = {3, {x->shape.dims[0], groups, onnx_elements(&x->shape) / x->shape.dims[0] / groups}};
    struct onnx_value *back = graph_int64s(g, node, "shape", x->shape.dims, rank);
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, "groups", flat.dims, 3)};
    x = centre(g, node, graph_put(g, node, "Reshape", inputs, 2, &flat), 2, 3, false, &chain);
    then(&chain, "Reshape", rows ? NULL : back);
    then(&chain, "Mul", factor);
    then(&chain, "Add", term);
    then(&chain, "Reshape", rows ? back : NULL);
    finish(g, node, x, &chain);
    return true;
}

static bool change_lp(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0], *norm;
    int64_t stated = onnx_attribute_int(node, "axis", -1), power = onnx_attribute_int(node, "p", 2);
    int axis = (int)stated + (stated < 0 ? x->shape.rank : 0);
    struct onnx_shape scalar = {0};
    double least = LEAST_NORM;
    if ((power != 1 && power != 2) || axis < 0 || axis >= x->shape.rank) return false;
    if (power == 1) norm = reduce(g, node, "ReduceSum", graph_put(g, node, "Abs", &x, 1, &x->shape), axis, axis + 1);
    else norm = reduce(g, node, "ReduceL2", x, axis, axis + 1);
    struct onnx_value *inputs[2] = {norm, graph_floats(g, node, "least", &scalar, &least)};
    struct onnx_value *divided[2] = {x, graph_put(g, node, "Max", inputs, 2, &norm->shape)};
    edit_become(g, node, "Div", "", divided, 2);
    return true;
}

static bool can_change(const struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0);
    return !node->folded && x && x->type == ONNX_FLOAT && x->shape.rank > 0 && onnx_elements(&x->shape) > 0 && node->outputs[0];
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    static const struct {
        const char *op;
        bool (*change)(struct onnx_graph *g, struct onnx_node *node);
    } norms[] = {
        {"LayerNormalization", change_layer}, {"RMSNormalization", change_layer}, {"InstanceNormalization", change_instance},
        {"GroupNormalization", change_group}, {"LpNormalization", change_lp},
    };
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (graph_is(node, norms[i].op) && can_change(node) && norms[i].change(g, node)) {
            node->output_count = 1;
            return true;
        }
    return false;
}

int pass_norms(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
