/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operators on constants. Reals are computed in double and rounded to their type once, which for + - * / and the square
 * root gives exactly what single precision gives; integers wrap as two's complement does.
 */
#include "tools/onnx/operator.h"
#include <math.h>
#include <string.h>

struct unary {
    const char *op;
    double (*number)(double);
    int64_t (*integer)(int64_t); /* NULL: not for integers */
};

struct binary {
    const char *op;
    double (*number)(double, double);
    int64_t (*integer)(int64_t, int64_t);
};

static double relu_number(double x) {
    return x < 0 ? 0 : x;
}
static double sigmoid_number(double x) {
    return 1 / (1 + exp(-x));
}
static double neg_number(double x) {
    return -x;
}
static double sign_number(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double reciprocal_number(double x) {
    return 1 / x;
}
static double not_real(double x) {
    return x == 0;
}
static int64_t relu_integer(int64_t x) {
    return x < 0 ? 0 : x;
}
static int64_t neg_integer(int64_t x) {
    return (int64_t)(0 - (uint64_t)x);
}
static int64_t abs_integer(int64_t x) {
    return x < 0 ? neg_integer(x) : x;
}
static int64_t sign_integer(int64_t x) {
    return (x > 0) - (x < 0);
}
static int64_t not_integer(int64_t x) {
    return !x;
}

static const struct unary unaries[] = {
    {"Relu", relu_number, relu_integer},
    {"Sigmoid", sigmoid_number, NULL},
    {"Tanh", tanh, NULL},
    {"Erf", erf, NULL},
    {"Exp", exp, NULL},
    {"Log", log, NULL},
    {"Sqrt", sqrt, NULL},
    {"Abs", fabs, abs_integer},
    {"Neg", neg_number, neg_integer},
    {"Sign", sign_number, sign_integer},
    {"Reciprocal", reciprocal_number, NULL},
    {"Floor", floor, NULL},
    {"Ceil", ceil, NULL},
    {"Round", nearbyint, NULL},
    {"Not", not_real, not_integer},
};

static double add_float(double a, double b) {
    return a + b;
}
static double sub_number(double a, double b) {
    return a - b;
}
static double mul_number(double a, double b) {
    return a * b;
}
static double div_number(double a, double b) {
    return a / b;
}
static double max_number(double a, double b) {
    return a != a || a > b ? a : b;
}
static double min_number(double a, double b) {
    return a != a || a < b ? a : b;
}
static double equal_number(double a, double b) {
    return a == b;
}
static double greater_number(double a, double b) {
    return a > b;
}
static double less_number(double a, double b) {
    return a < b;
}
static double greater_equal_number(double a, double b) {
    return a >= b;
}
static double less_equal_number(double a, double b) {
    return a <= b;
}
static int64_t add_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t sub_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t mul_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static int64_t div_integer(int64_t a, int64_t b) {
    return b == -1 ? neg_integer(a) : a / b;
}
static int64_t max_integer(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t min_integer(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t and_integer(int64_t a, int64_t b) {
    return a && b;
}
static int64_t or_integer(int64_t a, int64_t b) {
    return a || b;
}
static int64_t xor_integer(int64_t a, int64_t b) {
    return !a != !b;
}
static int64_t equal_integer(int64_t a, int64_t b) {
    return a == b;
}
static int64_t greater_integer(int64_t a, int64_t b) {
    return a > b;
}
static int64_t less_integer(int64_t a, int64_t b) {
    return a < b;
}
static int64_t greater_equal_integer(int64_t a, int64_t b) {
    return a >= b;
}
static int64_t less_equal_integer(int64_t a, int64_t b) {
    return a <= b;
}

/* The sign of the divisor, as Python has it; Mod with fmod=1 is handled apart. */
static int64_t mod_integer(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t fmod_integer(int64_t a, int64_t b) {
    return b == -1 ? 0 : a % b;
}

static int64_t pow_integer(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, factor = (uint64_t)base;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return (int64_t)result;
}

static const struct binary binaries[] = {
    {"Add", add_float, add_integer},
    {"Sum", add_float, add_integer},
    {"Sub", sub_number, sub_integer},
    {"Mul", mul_number, mul_integer},
    {"Div", div_number, div_integer},
    {"Max", max_number, max_integer},
    {"Min", min_number, min_integer},
    {"Pow", pow, pow_integer},
    {"Mod", NULL, mod_integer}, /* of reals only with fmod=1 */
    {"And", NULL, and_integer},
    {"Or", NULL, or_integer},
    {"Xor", NULL, xor_integer},
    {"Equal", equal_number, equal_integer},
    {"Greater", greater_number, greater_integer},
    {"Less", less_number, less_integer},
    {"GreaterOrEqual", greater_equal_number, greater_equal_integer},
    {"LessOrEqual", less_equal_number, less_equal_integer},
};

static bool computable(const struct onnx_tensor *tensor) {
    return onnx_is_float(tensor->type) || (onnx_is_integer(tensor->type) && tensor->type != ONNX_UINT64);
}

void onnx_fold_unary(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    const struct unary *f = NULL;
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        if (!strcmp(unaries[i].op, c->node->op)) f = &unaries[i];
    if (!f || !computable(x) || (onnx_is_integer(x->type) && !f->integer)) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        if (onnx_is_float(x->type)) onnx_store_number(y, i, f->number(onnx_number(x, i)));
        else onnx_store_integer(y, i, f->integer(onnx_integer(x, i)));
    }
}

static bool has_zero(const struct onnx_tensor *tensor) {
    for (size_t i = 0; i < tensor->count; i++)
        if (!onnx_integer(tensor, i)) return true;
    return false;
}

static void combine(const struct binary *f, const struct onnx_tensor *a, const struct onnx_tensor *b, struct onnx_tensor *y) {
    int64_t index[ONNX_MAX_RANK] = {0}, strides[2][ONNX_MAX_RANK] = {{0}}, at[2] = {0};
    onnx_broadcast_strides(&a->shape, &y->shape, strides[0]);
    onnx_broadcast_strides(&b->shape, &y->shape, strides[1]);
    for (size_t i = 0; i < y->count; i++) {
        size_t left = (size_t)at[0], right = (size_t)at[1];
        if (onnx_is_float(a->type) || onnx_is_float(b->type)) {
            double value = f->number(onnx_number(a, left), onnx_number(b, right));
            if (onnx_is_float(y->type)) onnx_store_number(y, i, value);
            else onnx_store_integer(y, i, (int64_t)(value != 0));
        } else {
            onnx_store_integer(y, i, f->integer(onnx_integer(a, left), onnx_integer(b, right)));
        }
        onnx_advance(&y->shape, index, 2, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
}

static const struct binary *find_binary(const struct onnx_node *node) {
    static const struct binary truncating = {"Mod", fmod, fmod_integer};
    if (!strcmp(node->op, "Mod") && onnx_attribute_int(node, "fmod", 0)) return &truncating;
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (!strcmp(binaries[i].op, node->op)) return &binaries[i];
    return NULL;
}

/* Two inputs; Max, Min and Sum of more are left to run time. */
void onnx_fold_binary(struct onnx_context *c) {
    const struct binary *f = find_binary(c->node);
    if (!f || c->node->input_count != 2) return;
    const struct onnx_tensor *a = onnx_input_constant(c->node, 0), *b = onnx_input_constant(c->node, 1);
    bool number = onnx_is_float(a->type) || onnx_is_float(b->type), divides = !strcmp(f->op, "Div") || !strcmp(f->op, "Mod");
    if (!computable(a) || !computable(b) || (number && !f->number) || (!number && divides && has_zero(b))) return;
    if (number && onnx_is_integer(c->node->outputs[0]->type) && c->node->outputs[0]->type != ONNX_BOOL)
        return; /* an integer to a real power */
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    if (y) combine(f, a, b, y);
}

void onnx_fold_where(struct onnx_context *c) {
    const struct onnx_tensor *condition = onnx_input_constant(c->node, 0), *a = onnx_input_constant(c->node, 1),
                             *b = onnx_input_constant(c->node, 2);
    struct onnx_tensor *y = a->type == b->type ? onnx_out_constant(c, 0) : NULL;
    if (!y) return;
    size_t width = onnx_type_bytes(y->type);
    int64_t index[ONNX_MAX_RANK] = {0}, strides[3][ONNX_MAX_RANK] = {{0}}, at[3] = {0};
    onnx_broadcast_strides(&condition->shape, &y->shape, strides[0]);
    onnx_broadcast_strides(&a->shape, &y->shape, strides[1]);
    onnx_broadcast_strides(&b->shape, &y->shape, strides[2]);
    for (size_t i = 0; i < y->count; i++) {
        bool first = onnx_integer(condition, (size_t)at[0]) != 0;
        const unsigned char *from = (const unsigned char *)(first ? a : b)->data + (size_t)at[first ? 1 : 2] * width;
        memcpy((unsigned char *)y->data + i * width, from, width);
        onnx_advance(&y->shape, index, 3, (const int64_t(*)[ONNX_MAX_RANK])strides, at);
    }
}

/* Bounds are attributes before opset 11, inputs after. False: a bound that is no number. */
static bool clip_bound(const struct onnx_node *node, const char *attribute, int input, bool *there, double *bound) {
    const struct onnx_tensor *given = onnx_input_constant(node, input);
    const struct onnx_attribute *a = onnx_attribute(node, attribute);
    *there = node->opset < 11 ? a != NULL : onnx_input(node, input) != NULL;
    if (!*there) return true;
    if (node->opset >= 11 && (!given || given->count != 1)) return false;
    *bound = node->opset < 11 ? a->f : onnx_number(given, 0);
    return true;
}

void onnx_fold_clip(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    bool has_low, has_high;
    double low = 0, high = 0;
    if (!computable(x) || !clip_bound(c->node, "min", 1, &has_low, &low) || !clip_bound(c->node, "max", 2, &has_high, &high)) return;
    if (onnx_type_bytes(x->type) == 8 && x->type != ONNX_DOUBLE) return; /* a double does not hold every int64 */
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        double value = onnx_number(x, i);
        value = has_low && value < low ? low : value;
        value = has_high && value > high ? high : value;
        if (onnx_is_float(y->type)) onnx_store_number(y, i, value);
        else if (value >= -4294967296.0 && value <= 4294967296.0) onnx_store_integer(y, i, (int64_t)value);
    }
}

void onnx_fold_copy(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    if (c->node->outputs[0]->type != x->type || onnx_elements(&c->node->outputs[0]->shape) != (int64_t)x->count) return;
    /* The data is shared: constants are never written. */
    struct onnx_tensor *y = onnx_alloc(c->graph, sizeof *y);
    *y = (struct onnx_tensor){x->type, c->node->outputs[0]->shape, x->count, x->data};
    c->node->outputs[0]->constant = y;
}

void onnx_fold_cast(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    enum onnx_type to = c->node->outputs[0]->type;
    if ((!onnx_is_float(to) && !onnx_is_integer(to)) || x->type == ONNX_UINT64) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (size_t i = 0; y && i < y->count; i++) {
        if (onnx_is_float(to)) onnx_store_number(y, i, onnx_number(x, i));
        else if (to == ONNX_BOOL) onnx_store_integer(y, i, onnx_number(x, i) != 0);
        else onnx_store_integer(y, i, onnx_integer(x, i));
    }
}
