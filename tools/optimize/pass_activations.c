/* SPDX-License-Identifier: MIT */
/*
 * Decomposed activations, of several nodes, become the operator that has a name: Relu, Clip, LeakyRelu, PRelu, Sigmoid, Tanh,
 * HardSigmoid, HardSwish, Gelu. Silu becomes x * Sigmoid(x), and so does HardSwish where there is no operator for it. They are recognised
 * by their values at some hundred points, which no two of these functions share. How an exporter writes them does not matter.
 */
#include "tools/optimize/cone.h"
#include <math.h>
#include <string.h>

#define FARTHEST 3.0e38 /* bounds beyond it are none */

enum { DENSE = 321, RARE = 15, SAMPLES = DENSE + 2 * RARE };

enum kind { NOTHING, SAME, RELU, CLIP, LEAKY_RELU, PRELU, SIGMOID, TANH, HARD_SIGMOID, HARD_SWISH, SILU, GELU, GELU_TANH, AFFINE, KINDS };

struct target {
    enum kind kind;
    double a, b;
};

static double target_at(const struct target *t, double x) {
    switch (t->kind) {
    case SAME: return x;
    case RELU: return fmax(x, 0);
    case CLIP: return fmin(fmax(x, t->a), t->b);
    case LEAKY_RELU:
    case PRELU: return x < 0 ? t->a * x : x;
    case SIGMOID: return 1 / (1 + exp(-x));
    case TANH: return tanh(x);
    case HARD_SIGMOID: return fmin(fmax(t->a * x + t->b, 0), 1);
    case HARD_SWISH: return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case SILU: return x / (1 + exp(-x));
    case GELU: return 0.5 * x * (1 + erf(x * 0.70710678118654752));
    case GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case AFFINE: return t->a * x + t->b;
    default: return NAN;
    }
}

/* Dense where functions bend, some close to 0, where a small number added would show, and some far out, where bounds do. */
static double sample(int i) {
    static const double rare[RARE] = {1e-3, 1e-6, 1e-9, 1e-13, 1e-30, 13.1, 17.3, 27.7, 50.3, 88.9, 101, 1003, 1e4, 1e6, FARTHEST};
    if (i < DENSE) return (i - DENSE / 2) * 0.0637;
    i -= DENSE;
    return i < RARE ? rare[i] : -rare[i - RARE];
}

/* Constants are written with seven digits. Functions made of straight lines are met exactly but for that: 0 is 0. */
static double tolerance(const struct target *t, double x, double wanted) {
    switch (t->kind) {
    case AFFINE: return 5e-7 * fabs(wanted) + 1e-12 * (fabs(t->a * x) + fabs(t->b));
    case HARD_SIGMOID: return wanted == 0 ? 3e-8 : 5e-7;
    case HARD_SWISH: return wanted == 0 ? 3e-8 * fabs(x) : 5e-7 * (fabs(x) + 1e-30);
    case SILU:
    case GELU:
    case GELU_TANH: return 5e-7 * (fabs(wanted) + 1);
    default: return 5e-7 * fabs(wanted);
    }
}

/* What a channel of a cone gives at the samples, as far as it was asked. */
struct curve {
    const struct cone *cone;
    int64_t channel;
    int count;
    double y[SAMPLES];
};

static double curve_at(struct curve *curve, int i) {
    for (; curve->count <= i; curve->count++) curve->y[curve->count] = cone_at(curve->cone, curve->channel, sample(curve->count));
    return curve->y[i];
}

static bool computes(struct curve *curve, const struct target *t) {
    for (int i = 0; i < SAMPLES; i++) {
        double x = sample(i), wanted = target_at(t, x);
        if (!(fabs(curve_at(curve, i) - wanted) <= tolerance(t, x, wanted))) return false;
    }
    return true;
}

/* Slope and height of the part that is neither 0 nor 1. Far out there is nothing else, which rules most functions out. */
static bool fit_hard_sigmoid(struct curve *curve, struct target *t) {
    double low_x = NAN, low = 0, high_x = NAN, high = 0;
    if (!(fabs(cone_at(curve->cone, 0, -FARTHEST)) <= 3e-8 && fabs(cone_at(curve->cone, 0, FARTHEST) - 1) <= 5e-7)) return false;
    for (int i = 0; i < DENSE; i++) {
        double x = sample(i), y = curve_at(curve, i);
        if (!(y > 1e-3 && y < 1 - 1e-3)) continue;
        if (isnan(low_x)) low_x = x, low = y;
        high_x = x, high = y;
    }
    if (!(high_x > low_x)) return false;
    t->a = (high - low) / (high_x - low_x);
    t->b = low - t->a * low_x;
    return t->a > 0;
}

/* The parameters that the function would have to have if it were of this kind. */
static bool fit(struct curve *curve, struct target *t) {
    const struct cone *cone = curve->cone;
    switch (t->kind) {
    case CLIP:
        t->a = cone_at(cone, 0, -FARTHEST);
        t->b = cone_at(cone, 0, FARTHEST);
        return t->a < t->b && (t->a > -FARTHEST || t->b < FARTHEST);
    case LEAKY_RELU:
    case PRELU: t->a = -cone_at(cone, 0, -1); return isfinite(t->a);
    case HARD_SIGMOID: return fit_hard_sigmoid(curve, t);
    case AFFINE:
        t->b = cone_at(cone, 0, 0);
        t->a = cone_at(cone, 0, 1) - t->b;
        return isfinite(t->a) && isfinite(t->b) && t->a != 0;
    default: return true;
    }
}

/* How many nodes it takes; none: it cannot be said in this opset. */
static int nodes_of(const struct target *t, int opset) {
    switch (t->kind) {
    case SAME: return 0;
    case HARD_SWISH: return opset >= 14 ? 1 : 2;
    case SILU: return 2;
    case AFFINE: return (t->a != 1) + (t->b != 0);
    default: return 1;
    }
}

static const char *name_of(const struct target *t) {
    static const char *const names[KINDS] = {"",     "Identity",    "Relu",      "Clip", "LeakyRelu", "PRelu", "Sigmoid",
                                             "Tanh", "HardSigmoid", "HardSwish", "",     "Gelu",      "Gelu",  ""};
    return names[t->kind];
}

/* Fewer nodes than it is written in, or another operator than the only one. */
static bool shorter(const struct cone *cone, const struct target *t) {
    int nodes = nodes_of(t, cone->nodes[0]->opset);
    if (cone->count != 1 || nodes == 0) return cone->count > nodes;
    return nodes == 1 && t->kind != AFFINE && strcmp(cone->nodes[0]->op, name_of(t));
}

struct found {
    struct onnx_graph *g;
    struct cone cone;
    struct target target;
};

/* Of networks seen, none took a fifth of the least. */
enum { LEAST_TRIED = 1 << 21, TRIED_OF_A_NODE = 512, TRIED_OF_A_NUMBER = 64 };

/* False: what the nodes and numbers of the file pay for is used up, and functions keep the form that they have. */
static bool may_try(const struct onnx_graph *g) {
    return g->numbers_tried <= onnx_room(g, LEAST_TRIED, TRIED_OF_A_NUMBER, SIZE_MAX / 2) + g->node_count * TRIED_OF_A_NODE;
}

static void count_tried(struct onnx_graph *g, const struct curve *curve) {
    g->numbers_tried += (size_t)curve->count * (size_t)curve->cone->count;
}

static bool is_prelu(struct onnx_graph *g, const struct cone *cone) {
    if (cone->count == 1) return false;
    for (int64_t c = 0; c < cone->channels; c++) {
        struct target t = {PRELU, -cone_at(cone, c, -1), 0};
        struct curve curve = {.cone = cone, .channel = c};
        bool is = isfinite(t.a) && may_try(g) && computes(&curve, &t);
        count_tried(g, &curve);
        if (!is) return false;
    }
    return true;
}

/* The largest cone that has a name is kept. */
static void see(void *context, const struct cone *cone) {
    struct found *found = context;
    struct target t = {SAME, 0, 0};
    if (!may_try(found->g)) return;
    if (cone->channels > 1) {
        if (is_prelu(found->g, cone)) *found = (struct found){found->g, *cone, {PRELU, 0, 0}};
        return;
    }
    struct curve curve = {.cone = cone};
    while (t.kind < KINDS && (t.kind == PRELU || !fit(&curve, &t) || !computes(&curve, &t))) t.kind++;
    count_tried(found->g, &curve);
    if (t.kind < KINDS && shorter(cone, &t)) *found = (struct found){found->g, *cone, t};
}

static struct onnx_value *number(struct onnx_graph *g, const struct onnx_node *node, const char *part, double x) {
    return graph_floats(g, node, part, &(struct onnx_shape){0}, &x);
}

static void write_clip(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct target *t) {
    bool low = t->a > -FARTHEST, high = t->b < FARTHEST;
    edit_become(g, node, "Clip", "", &x, 1);
    if (node->opset >= 11) {
        if (low) edit_set_input(g, node, 1, number(g, node, "min", t->a));
        if (high) edit_set_input(g, node, 2, number(g, node, "max", t->b));
        return;
    }
    if (low) edit_attribute_float(g, node, "min", (float)t->a);
    if (high) edit_attribute_float(g, node, "max", (float)t->b);
}

/* x * gate(x) */
static struct onnx_node *write_gated(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const char *gate) {
    struct onnx_value *inputs[2] = {x, edit_value(g, node->outputs[0]->name, ONNX_FLOAT, &x->shape)};
    struct onnx_node *made = edit_node(g, node, gate, "", node->name, &x, 1, &inputs[1], 1);
    edit_become(g, node, "Mul", "", inputs, 2);
    return made;
}

static void write_affine(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct target *t) {
    struct onnx_value *inputs[2] = {x, number(g, node, "scale", t->a)};
    if (t->a != 1 && t->b != 0) {
        struct onnx_value *product = edit_value(g, node->outputs[0]->name, ONNX_FLOAT, &x->shape);
        edit_node(g, node, "Mul", "", node->name, inputs, 2, &product, 1);
        inputs[0] = product;
    }
    if (t->b != 0) inputs[1] = number(g, node, "shift", t->b);
    edit_become(g, node, t->b != 0 ? "Add" : "Mul", "", inputs, 2);
}

static void write_prelu(struct onnx_graph *g, struct onnx_node *node, const struct cone *cone) {
    struct onnx_shape shape = {.rank = cone->x->shape.rank - cone->axis, .dims = {cone->channels}};
    double *slopes = graph_doubles(g, cone->channels);
    for (int d = 1; d < shape.rank; d++) shape.dims[d] = 1;
    for (int64_t c = 0; c < cone->channels; c++) slopes[c] = -cone_at(cone, c, -1);
    struct onnx_value *inputs[2] = {cone->x, graph_floats(g, node, "slope", &shape, slopes)};
    edit_become(g, node, "PRelu", "", inputs, 2);
}

static void write_gates_numbers(struct onnx_graph *g, struct onnx_node *node, double alpha, double beta) {
    edit_attribute_float(g, node, "alpha", (float)alpha);
    edit_attribute_float(g, node, "beta", (float)beta);
}

/* The last node of the cone becomes the function. */
static void write_target(struct onnx_graph *g, struct onnx_node *node, const struct cone *cone, const struct target *t) {
    struct onnx_value *x = cone->x;
    switch (t->kind) {
    case CLIP: write_clip(g, node, x, t); return;
    case PRELU: write_prelu(g, node, cone); return;
    case AFFINE: write_affine(g, node, x, t); return;
    case SILU: write_gated(g, node, x, "Sigmoid"); return;
    case HARD_SWISH:
        if (node->opset < 14) {
            write_gates_numbers(g, write_gated(g, node, x, "HardSigmoid"), 1.0 / 6, 0.5);
            return;
        }
        break;
    default: break;
    }
    const bool early = node->opset < 20; /* ONNX Runtime had them before ONNX */
    const bool fast = early && t->kind == GELU_TANH;
    edit_become(g, node, fast ? "FastGelu" : name_of(t), fast || (early && t->kind == GELU) ? "com.microsoft" : "", &x, 1);
    if (t->kind == LEAKY_RELU) edit_attribute_float(g, node, "alpha", (float)t->a);
    if (t->kind == HARD_SIGMOID) write_gates_numbers(g, node, t->a, t->b);
    if (t->kind == GELU_TANH && !early) edit_attribute_string(g, node, "approximate", "tanh");
}

int pass_activations(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct found found = {.g = g, .target.kind = NOTHING};
        cone_grow(g, i, see, &found);
        if (found.target.kind == NOTHING || (found.target.kind == PRELU && !graph_takes_room(g, (size_t)found.cone.channels))) continue;
        write_target(g, graph_node_at(g, i), &found.cone, &found.target);
        for (int n = 1; n < found.cone.count; n++) /* each was read by those before it alone */
            edit_remove_node(g, found.cone.nodes[n]);
        changes++;
    }
    return changes;
}
