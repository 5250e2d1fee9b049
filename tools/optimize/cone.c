/* SPDX-License-Identifier: MIT */
/* Cones grow from their tip: the last of the values that are still to be explained is replaced by what it is made from. */
#include "tools/optimize/cone.h"
#include <math.h>
#include <string.h>

enum { FAR_BACK = 256 }; /* nodes: a decomposed function stands together */

enum op {
    NO_OP,
    ADD,
    SUB,
    MUL,
    DIV,
    MAX,
    MIN,
    POW,
    PRELU,
    RELU,
    CLIP,
    SIGMOID,
    HARD_SIGMOID,
    HARD_SWISH,
    LEAKY_RELU,
    TANH,
    ERF,
    EXP,
    LOG,
    SQRT,
    ABS,
    NEG,
    RECIPROCAL,
    ELU,
    SOFTPLUS
};

static enum op op_of(const struct onnx_node *node) {
    static const struct {
        const char *name;
        enum op op;
        int inputs;
    } known[] = {{"Add", ADD, 2},   {"Sub", SUB, 2},           {"Mul", MUL, 2},
                 {"Div", DIV, 2},   {"Max", MAX, 2},           {"Min", MIN, 2},
                 {"Pow", POW, 2},   {"PRelu", PRELU, 2},       {"Relu", RELU, 1},
                 {"Clip", CLIP, 0}, {"Sigmoid", SIGMOID, 1},   {"HardSigmoid", HARD_SIGMOID, 1},
                 {"Tanh", TANH, 1}, {"Erf", ERF, 1},           {"HardSwish", HARD_SWISH, 1},
                 {"Exp", EXP, 1},   {"Log", LOG, 1},           {"LeakyRelu", LEAKY_RELU, 1},
                 {"Sqrt", SQRT, 1}, {"Abs", ABS, 1},           {"Neg", NEG, 1},
                 {"Elu", ELU, 1},   {"Softplus", SOFTPLUS, 1}, {"Reciprocal", RECIPROCAL, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (graph_is(node, known[i].name) && (!known[i].inputs || node->input_count == known[i].inputs)) return known[i].op;
    return NO_OP;
}

/* NaN where there is no such constant. */
static double constant_at(const struct onnx_value *value, int64_t channel) {
    const struct onnx_tensor *t = value ? value->constant : NULL;
    return t && t->count ? onnx_number(t, t->count == 1 ? 0 : (size_t)channel % t->count) : NAN;
}

static double clip_at(const struct onnx_node *node, double x) {
    double low = constant_at(onnx_input(node, 1), 0), high = constant_at(onnx_input(node, 2), 0);
    if (node->opset < 11) {
        low = onnx_attribute_float(node, "min", -INFINITY);
        high = onnx_attribute_float(node, "max", INFINITY);
    }
    x = low > x ? low : x; /* absent: NaN, which is not larger */
    return high < x ? high : x;
}

static double hard_sigmoid(double alpha, double beta, double x) {
    return fmax(0, fmin(1, alpha * x + beta));
}

static double compute(const struct onnx_node *node, enum op op, double a, double b) {
    switch (op) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MUL: return a * b;
    case DIV: return a / b;
    case MAX: return a > b ? a : b;
    case MIN: return a < b ? a : b;
    case POW: return pow(a, b);
    case PRELU: return a < 0 ? a * b : a;
    case RELU: return a > 0 ? a : 0;
    case CLIP: return clip_at(node, a);
    case SIGMOID: return 1 / (1 + exp(-a));
    case HARD_SIGMOID: return hard_sigmoid(onnx_attribute_float(node, "alpha", 0.2F), onnx_attribute_float(node, "beta", 0.5F), a);
    case HARD_SWISH: return a * hard_sigmoid(1.0 / 6, 0.5, a);
    case LEAKY_RELU: return a < 0 ? a * onnx_attribute_float(node, "alpha", 0.01F) : a;
    case TANH: return tanh(a);
    case ERF: return erf(a);
    case EXP: return exp(a);
    case LOG: return log(a);
    case SQRT: return sqrt(a);
    case ABS: return fabs(a);
    case NEG: return -a;
    case RECIPROCAL: return 1 / a;
    case ELU: return a < 0 ? onnx_attribute_float(node, "alpha", 1) * expm1(a) : a;
    case SOFTPLUS: return a > 0 ? a + log1p(exp(-a)) : log1p(exp(a));
    default: return NAN;
    }
}

double cone_at(const struct cone *cone, int64_t channel, double x) {
    double made[CONE_NODES];
    for (int i = cone->count - 1; i >= 0; i--) {
        const struct onnx_node *node = cone->nodes[i];
        double in[2] = {NAN, NAN};
        for (int k = 0; k < node->input_count && k < 2; k++) {
            in[k] = node->inputs[k] == cone->x ? x : constant_at(node->inputs[k], channel);
            for (int j = i + 1; j < cone->count; j++)
                if (node->inputs[k] == cone->nodes[j]->outputs[0]) in[k] = made[j];
        }
        made[i] = compute(node, (enum op)cone->ops[i], in[0], in[1]);
    }
    return made[0];
}

/* The values that a cone's nodes read and that are neither constants nor made inside. */
struct frontier {
    struct onnx_value *values[2 * CONE_NODES];
    int reads[2 * CONE_NODES];
    int count;
};

static void add_read(struct frontier *f, struct onnx_value *value) {
    int i = 0;
    while (i < f->count && f->values[i] != value) i++;
    if (i == f->count) {
        f->values[f->count] = value;
        f->reads[f->count++] = 0;
    }
    f->reads[i]++;
}

/* A constant of one number, or of as many as x has along one axis, always the same. */
static bool take_constant(struct cone *cone, const struct onnx_value *value) {
    const struct onnx_tensor *t = value->constant;
    int axis = -1;
    double number;
    if (t->type != ONNX_FLOAT || !t->count) return false;
    if (t->count == 1 || graph_scalar(value, &number)) return true;
    for (int d = 0; d < t->shape.rank; d++) {
        if (t->shape.dims[d] == 1) continue;
        if (axis >= 0) return false;
        axis = cone->y->shape.rank - t->shape.rank + d;
    }
    if (cone->axis >= 0 && cone->axis != axis) return false;
    cone->axis = axis;
    cone->channels = (int64_t)t->count;
    return true;
}

/* False: the node does not belong into a cone. */
static bool take_node(struct cone *cone, struct frontier *f, struct onnx_node *node) {
    enum op op = op_of(node);
    if (cone->count == CONE_NODES || op == NO_OP || node->folded || !graph_same_shape(node->outputs[0], cone->y) ||
        node->outputs[0]->type != ONNX_FLOAT)
        return false;
    for (int i = 0; i < node->input_count; i++) {
        struct onnx_value *value = node->inputs[i];
        double bound;
        if (op == CLIP && i > 0) {
            if (value && !graph_scalar(value, &bound)) return false;
        } else if (!value || (value->constant && !take_constant(cone, value))) {
            return false;
        } else if (!value->constant) {
            if (!graph_same_shape(value, cone->y)) return false;
            add_read(f, value);
        }
    }
    cone->ops[cone->count] = op;
    cone->nodes[cone->count++] = node;
    return true;
}

/* Takes the node that makes value i of the frontier in its place. */
static bool explain(struct cone *cone, struct frontier *f, int i) {
    struct onnx_value *value = f->values[i];
    if (value->uses != f->reads[i] || value->is_output) return false;
    f->count--;
    f->values[i] = f->values[f->count];
    f->reads[i] = f->reads[f->count];
    return take_node(cone, f, value->producer);
}

void cone_grow(const struct onnx_graph *g, size_t root, void (*see)(void *context, const struct cone *cone), void *context) {
    struct cone cone = {.y = g->nodes[root]->output_count ? g->nodes[root]->outputs[0] : NULL, .axis = -1, .channels = 1};
    struct frontier f = {0};
    if (!cone.y || cone.y->shape.rank < 0 || !take_node(&cone, &f, g->nodes[root])) return;
    for (size_t at = root + 1; at-- > 0 && root - at < FAR_BACK;) {
        int i = 0;
        while (i < f.count && f.values[i]->producer != g->nodes[at]) i++;
        bool explained = i < f.count;
        if (explained && !explain(&cone, &f, i)) return;
        if (f.count == 1 && (explained || at == root)) {
            cone.x = f.values[0];
            see(context, &cone);
        }
        if (!f.count || (f.count == 1 && !f.values[0]->producer)) return;
    }
}
