/* SPDX-License-Identifier: MIT */
/*
 * Angles and their like in float, of steps that there are. Polynomials are minimax fits of ours. Errors are at most 2e-7, or 2e-6 of the
 * result where that is more: those of Sin and Cos up to |x| = 16,384, of Tan up to 1,000 (tests/parity/activations.py).
 */
#include "tools/lower/lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct writing {
    struct lowering *l;
    struct onnx_node *node;
    struct net_buffer *x; /* what all are like */
    const char *part;     /* the name of what goes on between them */
};
typedef struct net_buffer *number;

static struct net_step *add(const struct writing *w, enum morsel_step_kind kind, number a, number b) {
    return net_add_step(w->l->net, kind, w->node->name, a, b, net_add_like(w->l->net, w->x, MORSEL_FLOAT32, w->part));
}

static number unary(const struct writing *w, enum morsel_unary_op op, number x, float alpha, float beta) {
    struct net_step *step = add(w, MORSEL_STEP_UNARY, x, NULL);
    step->parameters.unary = (struct morsel_blob_unary){.op = op, .count = net_elements(x), .alpha = alpha, .beta = beta, .channels = 1};
    return step->output;
}

static number of(const struct writing *w, enum morsel_unary_op op, number x) {
    return unary(w, op, x, 0, 0);
}

static number pair(const struct writing *w, enum morsel_binary_op op, number a, number b) {
    struct net_step *step = add(w, MORSEL_STEP_BINARY, a, b);
    struct morsel_blob_binary p = {.op = op, .a_ratio = 1, .b_ratio = 1, .float_min = -INFINITY, .float_max = INFINITY, .rank = 1};
    for (uint32_t i = 0; i < MORSEL_FORMAT_MAX_RANK; i++) p.dims[i] = i ? 1 : net_elements(a), p.a_stride[i] = !i;
    p.b_stride[0] = b->constant == NULL;
    step->parameters.binary = p;
    return step->output;
}

/* x and a number, for each element the same. */
static number with(const struct writing *w, enum morsel_binary_op op, number x, float value) {
    const uint32_t one = 1;
    float *constant = net_alloc(w->l->net, sizeof *constant);
    *constant = value;
    return pair(w, op, x, net_add_floats(w->l->net, constant, 1, &one));
}

static number scaled(const struct writing *w, number x, float factor) {
    return with(w, MORSEL_BINARY_MUL, x, factor);
}

static number moved(const struct writing *w, number x, float offset) {
    return with(w, MORSEL_BINARY_ADD, x, offset);
}

static number sum(const struct writing *w, number a, number b) {
    return pair(w, MORSEL_BINARY_ADD, a, b);
}

static number product(const struct writing *w, number a, number b) {
    return pair(w, MORSEL_BINARY_MUL, a, b);
}

/* x + x^3 P(x^2): factors from the highest power down. */
static number odd(const struct writing *w, number x, const float *factors, int count) {
    number square = product(w, x, x), p = moved(w, scaled(w, square, factors[0]), factors[1]);
    for (int i = 2; i < count; i++) p = moved(w, product(w, p, square), factors[i]);
    return sum(w, product(w, product(w, p, square), x), x);
}

static number signed_as(const struct writing *w, number y, number x) {
    return product(w, y, of(w, MORSEL_UNARY_SIGN, x));
}

/* ---- of the circle ---- */

/* x - turns * pi, in three parts of which two have few bits, so that up to 2^14 turns their products are exact. What is left is limited:
 * where turns have no such products, it may be anything. */
static number without(const struct writing *w, number x, number turns) {
    static const float parts[] = {-3.140625F, -0x1.fbp-11F, -6.2783295e-7F};
    for (int i = 0; i < 3; i++) x = sum(w, x, scaled(w, turns, parts[i]));
    return unary(w, MORSEL_UNARY_CLIP, x, -1.6F, 1.6F);
}

/* 1, or -1 where `turns` is odd. */
static number turned(const struct writing *w, number turns) {
    number pairs = of(w, MORSEL_UNARY_FLOOR, scaled(w, turns, 0.5F)), is_odd = sum(w, scaled(w, pairs, -2), turns);
    return moved(w, scaled(w, is_odd, -2), 1);
}

/* sin x, or cos x = sin (x + pi / 2), whose half turns end in 1/2. */
static number wave(const struct writing *w, number x, bool is_cosine) {
    static const float factors[] = {2.608932e-6F, -1.9811113e-4F, 0.0083330879F, -0.16666661F};
    number turns = scaled(w, x, 0.31830989F);
    turns = of(w, MORSEL_UNARY_ROUND, is_cosine ? moved(w, turns, 0.5F) : turns);
    number rest = without(w, x, is_cosine ? moved(w, turns, -0.5F) : turns);
    return product(w, odd(w, rest, factors, 4), turned(w, turns));
}

static number sine(const struct writing *w, number x) {
    return wave(w, x, false);
}

static number cosine(const struct writing *w, number x) {
    return wave(w, x, true);
}

static number tangent(const struct writing *w, number x) {
    return pair(w, MORSEL_BINARY_DIV, wave(w, x, false), wave(w, x, true));
}

/* Of |x|, and pi / 2 - that of 1 / |x| beyond 1. */
static number arc_tangent(const struct writing *w, number x) {
    static const float factors[] = {0.0029745856F, -0.016581167F, 0.043553513F, -0.075805761F,
                                    0.1067894F,    -0.14214209F,  0.19994137F,  -0.33333167F};
    number size = of(w, MORSEL_UNARY_ABS, x);
    number near = odd(w, pair(w, MORSEL_BINARY_MIN, size, of(w, MORSEL_UNARY_RECIPROCAL, size)), factors, 8);
    number beyond = of(w, MORSEL_UNARY_SIGN, unary(w, MORSEL_UNARY_CLIP, moved(w, size, -1), 0, FLT_MAX));
    number more = product(w, beyond, moved(w, scaled(w, near, -2), 1.57079633F));
    return signed_as(w, sum(w, near, more), x);
}

/* 1 - x */
static number to_one(const struct writing *w, number x) {
    return moved(w, of(w, MORSEL_UNARY_NEG, x), 1);
}

static number arc_sine(const struct writing *w, number x) {
    number cosine_squared = product(w, to_one(w, x), moved(w, x, 1));
    return arc_tangent(w, pair(w, MORSEL_BINARY_DIV, x, of(w, MORSEL_UNARY_SQRT, cosine_squared)));
}

static number arc_cosine(const struct writing *w, number x) {
    return moved(w, of(w, MORSEL_UNARY_NEG, arc_sine(w, x)), 1.57079633F);
}

/* ---- of the hyperbola ---- */

/* e^|x| / 2, which is finite where what is made of it is. */
static number half_exponential(const struct writing *w, number size) {
    number root = of(w, MORSEL_UNARY_EXP, scaled(w, size, 0.5F));
    return product(w, scaled(w, root, 0.5F), root);
}

/* (1 - e^-a) (e^a / 2 + 1 / 2) of a = |x| */
static number hyperbolic_sine(const struct writing *w, number x) {
    number size = of(w, MORSEL_UNARY_ABS, x), below = unary(w, MORSEL_UNARY_ELU, of(w, MORSEL_UNARY_NEG, size), -1, 1);
    return signed_as(w, product(w, below, moved(w, half_exponential(w, size), 0.5F)), x);
}

static number hyperbolic_cosine(const struct writing *w, number x) {
    number half = half_exponential(w, of(w, MORSEL_UNARY_ABS, x));
    return sum(w, half, scaled(w, of(w, MORSEL_UNARY_RECIPROCAL, half), 0.25F));
}

/* ln (1 + x) of x >= 0: a Softplus is ln (1 + e^x). */
static number log_of_more(const struct writing *w, number x) {
    return of(w, MORSEL_UNARY_SOFTPLUS, of(w, MORSEL_UNARY_LOG, x));
}

/* ln (1 + a + a^2 / (1 + root (a^2 + 1))) of a = |x|, whose square is finite to 1e18. ln 2a is never more, and the same from there on. */
static number area_sine(const struct writing *w, number x) {
    number size = of(w, MORSEL_UNARY_ABS, x), a = unary(w, MORSEL_UNARY_CLIP, size, 0, 1e18F), square = product(w, a, a);
    number root = of(w, MORSEL_UNARY_SQRT, moved(w, square, 1));
    number near = log_of_more(w, sum(w, a, pair(w, MORSEL_BINARY_DIV, square, moved(w, root, 1))));
    return signed_as(w, pair(w, MORSEL_BINARY_MAX, near, moved(w, of(w, MORSEL_UNARY_LOG, size), 0.69314718F)), x);
}

/* ln (1 + d + root d root (d + 2)) of d = x - 1 */
static number area_cosine(const struct writing *w, number x) {
    number d = moved(w, x, -1), roots = product(w, of(w, MORSEL_UNARY_SQRT, d), of(w, MORSEL_UNARY_SQRT, moved(w, x, 1)));
    return log_of_more(w, sum(w, d, roots));
}

/* ln (1 + 2a / (1 - a)) / 2 of a = |x| */
static number area_tangent(const struct writing *w, number x) {
    number a = of(w, MORSEL_UNARY_ABS, x), more = pair(w, MORSEL_BINARY_DIV, sum(w, a, a), to_one(w, a));
    return signed_as(w, scaled(w, log_of_more(w, more), 0.5F), x);
}

bool lower_angle(struct lowering *l, struct onnx_node *node, struct meaning *m) {
    static const struct {
        const char *op;
        number (*write)(const struct writing *w, number x);
    } angles[] = {{"Sin", sine},        {"Cos", cosine},        {"Tan", tangent},          {"Asin", arc_sine},
                  {"Acos", arc_cosine}, {"Atan", arc_tangent},  {"Sinh", hyperbolic_sine}, {"Cosh", hyperbolic_cosine},
                  {"Asinh", area_sine}, {"Acosh", area_cosine}, {"Atanh", area_tangent}};
    size_t i = 0, count = sizeof angles / sizeof *angles;
    while (i < count && strcmp(angles[i].op, node->op)) i++;
    if (i == count) return refuse(l, node, "of floats it has no step: quantize its input and output");
    struct view view;
    const struct writing w = {l, node, meaning_any_buffer(l, node, m, &view), net_text(l->net, "%s/part", node->name)};
    if (!w.x) return false;
    number y = angles[i].write(&w, w.x);
    y->name = node->outputs[0]->name;
    meaning_set(l, node->outputs[0], (struct meaning){.buffer = y, .view = view, .scale = 1});
    return true;
}
