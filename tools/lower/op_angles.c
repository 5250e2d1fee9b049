/* SPDX-License-Identifier: MIT */
/*
 * Angles and their like in float, of steps that there are. Polynomials are minimax fits of ours. Errors are at most 2e-7, or 2e-6 of the
 * result where that is more (tests/parity/activations.py); those of Sin, Cos and Tan up to |x| = 16,384.
 */
#include "tools/lower/lower.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct writing {
    struct lowering *l;
    struct onnx_node *node;
    struct net_buffer *x; /* what all are like */
};
typedef struct net_buffer *number;

static struct net_step *add(const struct writing *w, enum morsel_step_kind kind, number a, number b) {
    number out = net_add_like(w->l->net, w->x, MORSEL_FLOAT32, w->node->outputs[0]->name);
    out->qualified = true;
    out->scale = 1;
    out->zero = 0;
    return net_add_step(w->l->net, kind, w->node->name, a, b, out);
}

static number unary(const struct writing *w, enum morsel_unary_op op, number x, float alpha, float beta) {
    struct net_step *step = add(w, MORSEL_STEP_UNARY, x, NULL);
    step->parameters.unary = (struct morsel_blob_unary){.op = op, .count = net_elements(x), .alpha = alpha, .beta = beta, .channels = 1};
    return step->output;
}

static number of(const struct writing *w, enum morsel_unary_op op, number x) {
    return unary(w, op, x, 0, 0);
}

/* scale * x + offset. Kernels take as many elements at a time as there are channels: the constants are repeated. */
static number line(const struct writing *w, number x, float scale, float offset) {
    enum { MOST = 64 };
    float scales[MOST], offsets[MOST];
    uint32_t count = net_elements(x), channels = count < MOST ? count : MOST;
    while (count % channels) channels--;
    for (uint32_t c = 0; c < channels; c++) scales[c] = scale, offsets[c] = offset;
    struct net_step *step = add(w, MORSEL_STEP_UNARY, x, NULL);
    step->parameters.unary = (struct morsel_blob_unary){.op = MORSEL_UNARY_AFFINE, .count = count, .channels = channels};
    line_constants(w->l, step, scales, offsets);
    return step->output;
}

static number pair(const struct writing *w, enum morsel_binary_op op, number a, number b) {
    struct net_step *step = add(w, MORSEL_STEP_BINARY, a, b);
    struct morsel_blob_binary p = {.op = op, .a_ratio = 1, .b_ratio = 1, .float_min = -INFINITY, .float_max = INFINITY, .rank = 1};
    for (uint32_t i = 0; i < MORSEL_FORMAT_MAX_RANK; i++) p.dims[i] = i ? 1 : net_elements(a), p.a_stride[i] = p.b_stride[i] = !i;
    step->parameters.binary = p;
    return step->output;
}

static number sum(const struct writing *w, number a, number b) {
    return pair(w, MORSEL_BINARY_ADD, a, b);
}

static number product(const struct writing *w, number a, number b) {
    return pair(w, MORSEL_BINARY_MUL, a, b);
}

/* x + x^3 P(x^2): factors from the highest power down. */
static number odd(const struct writing *w, number x, const float *factors, int count) {
    number square = product(w, x, x), p = line(w, square, factors[0], factors[1]);
    for (int i = 2; i < count; i++) p = line(w, product(w, p, square), 1, factors[i]);
    return sum(w, product(w, product(w, p, square), x), x);
}

/* ---- of the circle ---- */

/* x - turns * pi, in three parts of which two have few bits, so that their products are exact. Beyond |x| = 100,000 the angle itself gets
 * lost, as a float's step is 0.01 there: it is limited. */
static number without(const struct writing *w, number x, number turns) {
    static const float parts[] = {-3.140625F, -0x1.fbp-11F, -6.2783295e-7F};
    for (int i = 0; i < 3; i++) x = sum(w, x, line(w, turns, parts[i], 0));
    return unary(w, MORSEL_UNARY_CLIP, x, -1.6F, 1.6F);
}

/* 1, or -1 where `turns` is odd. */
static number turned(const struct writing *w, number turns) {
    number pairs = of(w, MORSEL_UNARY_FLOOR, line(w, turns, 0.5F, 0));
    return sum(w, line(w, pairs, 4, 1), line(w, turns, -2, 0));
}

/* sin x, or cos x = sin (x + pi / 2), whose half turns end in 1/2. */
static number wave(const struct writing *w, number x, bool cosine) {
    static const float factors[] = {2.608932e-6F, -1.9811113e-4F, 0.0083330879F, -0.16666661F};
    number turns = of(w, MORSEL_UNARY_ROUND, line(w, x, 0.31830989F, cosine ? 0.5F : 0));
    number rest = without(w, x, cosine ? line(w, turns, 1, -0.5F) : turns);
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

/* Of z = |x|, and pi / 2 - that of 1 / |x| beyond 1. */
static number arc_tangent(const struct writing *w, number x) {
    static const float factors[] = {0.0029745856F, -0.016581167F, 0.043553513F, -0.075805761F,
                                    0.1067894F,    -0.14214209F,  0.19994137F,  -0.33333167F};
    number size = of(w, MORSEL_UNARY_ABS, x);
    number near = odd(w, pair(w, MORSEL_BINARY_MIN, size, of(w, MORSEL_UNARY_RECIPROCAL, size)), factors, 8);
    number beyond = of(w, MORSEL_UNARY_SIGN, unary(w, MORSEL_UNARY_CLIP, line(w, size, 1, -1), 0, FLT_MAX));
    number more = product(w, beyond, line(w, near, -2, 1.57079633F));
    return product(w, sum(w, near, more), of(w, MORSEL_UNARY_SIGN, x));
}

/* (1 - x) (1 + x) */
static number between_ones(const struct writing *w, number x) {
    return product(w, line(w, x, -1, 1), line(w, x, 1, 1));
}

static number arc_sine(const struct writing *w, number x) {
    return arc_tangent(w, pair(w, MORSEL_BINARY_DIV, x, of(w, MORSEL_UNARY_SQRT, between_ones(w, x))));
}

static number arc_cosine(const struct writing *w, number x) {
    return line(w, arc_sine(w, x), -1, 1.57079633F);
}

/* ---- of the hyperbola ---- */

/* e^|x| / 2, which is finite where what is made of it is. */
static number half_exponential(const struct writing *w, number size) {
    number root = of(w, MORSEL_UNARY_EXP, line(w, size, 0.5F, 0));
    return product(w, line(w, root, 0.5F, 0), root);
}

/* (1 - e^-a) (e^a / 2 + 1 / 2) of a = |x| */
static number hyperbolic_sine(const struct writing *w, number x) {
    number size = of(w, MORSEL_UNARY_ABS, x), below = unary(w, MORSEL_UNARY_ELU, of(w, MORSEL_UNARY_NEG, size), 1, 1);
    number y = product(w, below, line(w, half_exponential(w, size), -1, -0.5F));
    return product(w, y, of(w, MORSEL_UNARY_SIGN, x));
}

static number hyperbolic_cosine(const struct writing *w, number x) {
    number half = half_exponential(w, of(w, MORSEL_UNARY_ABS, x));
    return sum(w, half, line(w, of(w, MORSEL_UNARY_RECIPROCAL, half), 0.25F, 0));
}

/* ln (x + root) */
static number area(const struct writing *w, number x, number square) {
    return of(w, MORSEL_UNARY_LOG, sum(w, x, of(w, MORSEL_UNARY_SQRT, square)));
}

/* Of |x| up to 1e18, whose square is finite. */
static number area_sine(const struct writing *w, number x) {
    number size = unary(w, MORSEL_UNARY_CLIP, of(w, MORSEL_UNARY_ABS, x), 0, 1e18F);
    return product(w, area(w, size, line(w, product(w, size, size), 1, 1)), of(w, MORSEL_UNARY_SIGN, x));
}

static number area_cosine(const struct writing *w, number x) {
    number limited = unary(w, MORSEL_UNARY_CLIP, x, -FLT_MAX, 1e18F);
    return area(w, limited, product(w, line(w, limited, 1, -1), line(w, limited, 1, 1)));
}

static number area_tangent(const struct writing *w, number x) {
    return line(w, of(w, MORSEL_UNARY_LOG, pair(w, MORSEL_BINARY_DIV, line(w, x, 1, 1), line(w, x, -1, 1))), 0.5F, 0);
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
    const struct writing w = {l, node, meaning_any_buffer(l, node, m, &view)};
    if (w.x) meaning_set(l, node->outputs[0], (struct meaning){.buffer = angles[i].write(&w, w.x), .view = view, .scale = 1});
    return w.x;
}
