/* SPDX-License-Identifier: MIT */
/*
 * Normalizations: x, or x - mean(x), by a norm, and a factor and a term behind it. A norm is a sum or mean of squares or magnitudes and
 * what is made of it: a root, an epsilon, a least value, a product of two. Squares take twice the bits of their roots, and small norms
 * would be zero in eight bits, by which there is a division: from the squares to the quotient all of it runs in float, however an export
 * or a pass spells it. A norm by which nothing is divided is as any other value.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/quant/insert/kind.h"
#include "tools/quant/insert/place.h"

#include <string.h>

/* What is known of a value. */
enum {
    SQUARES = 1, /* made of squares or magnitudes, element by element */
    NORM = 2,    /* of sums of such */
    INVERSE = 4, /* a number, by a norm */
    QUOTIENT = 8 /* of two activations, the second a norm */
};

struct mark {
    unsigned is;
    size_t of; /* the value that is squared; what a quotient or an inverse is by */
};

struct search {
    struct scheme *scheme;
    struct mark *marks; /* of values */
    bool *squared;      /* values whose squares are in a norm by which there is a division */
    bool *taken;        /* nodes that are on the stack, or were */
    struct onnx_node **stack;
    size_t depth;
};

enum { WAY_MOST = 8 }; /* nodes between what is squared and what is divided */

static bool is_one_of(const struct onnx_node *node, const char *const *ops, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (graph_is(node, ops[i])) return true;
    return false;
}
#define IS_ONE_OF(node, list) is_one_of(node, list, sizeof(list) / sizeof *(list))

static struct onnx_value *activation(const struct onnx_node *node, int i) {
    struct onnx_value *value = node ? onnx_input(node, i) : NULL;
    return value && !value->constant ? value : NULL;
}

static const struct onnx_node *producer(const struct onnx_node *node, int i) {
    const struct onnx_value *value = activation(node, i);
    return value ? value->producer : NULL;
}

static struct mark mark_of(const struct search *s, const struct onnx_value *value) {
    return value && !value->constant ? s->marks[scheme_index(s->scheme, value)] : (struct mark){0};
}

static void stays_float(const struct search *s, const struct onnx_node *node) {
    s->scheme->nodes[scheme_node_index(s->scheme, node)].role = SCHEME_FLOAT;
}

/* The only node that reads a value. */
static struct onnx_node *reader_of(const struct scheme *scheme, const struct onnx_value *value) {
    struct onnx_node *const *readers = scheme_readers(scheme, value);
    return readers[0] && !readers[1] ? readers[0] : NULL;
}

static bool is_mean(const struct onnx_node *node) {
    return graph_is(node, "ReduceMean") || graph_is(node, "GlobalAveragePool");
}

/* Means, sums, maxima, and sums by constant weights, as of generalized divisive normalization. */
static bool sums(const struct onnx_node *node) {
    static const char *const others[] = {"ReduceSum", "ReduceMax", "MaxPool", "GlobalMaxPool"};
    if (onnx_class_of(node) == ONNX_LAYER) return onnx_input_constant(node, 1) != NULL;
    return onnx_class_of(node) == ONNX_POOL || IS_ONE_OF(node, others);
}

static bool moves(const struct onnx_node *node) {
    return onnx_class_of(node) == ONNX_MOVE && !sums(node);
}

/* Element by element: what may stand between squares and the division, or behind an inverse. */
static bool passes(const struct onnx_node *node) {
    static const char *const ops[] = {"Add",
                                      "Sub",
                                      "Mul",
                                      "Div",
                                      "Max",
                                      "Min",
                                      "Sum",
                                      "Sqrt",
                                      "Pow",
                                      "Clip",
                                      "Relu",
                                      "LeakyRelu",
                                      "Abs",
                                      "Neg",
                                      "Reciprocal",
                                      "HardSigmoid",
                                      "BatchNormalization"};
    return moves(node) || graph_is(node, "Concat") || IS_ONE_OF(node, ops);
}

/* A constant factor or term, or the sign: of one activation, which goes to *x. */
static bool scales(const struct onnx_node *node, struct onnx_value **x) {
    static const char *const ops[] = {"Add", "Sub", "Mul", "Neg"};
    int i = activation(node, 0) ? 0 : 1;
    *x = activation(node, i);
    if (!*x) return false;
    if (graph_is(node, "Div")) return i == 0 && onnx_input_constant(node, 1);
    return (IS_ONE_OF(node, ops) && !activation(node, 1 - i)) || (i == 0 && moves(node));
}

/* A difference from a mean, however the mean gets there. */
static bool centres(const struct onnx_node *node) {
    if ((!graph_is(node, "Sub") && !graph_is(node, "Add")) || !activation(node, 0) || !activation(node, 1)) return false;
    for (int i = 0; i < 2; i++) {
        const struct onnx_node *from = producer(node, i);
        struct onnx_value *x;
        for (int k = 0; k < WAY_MOST && from && !is_mean(from); k++) from = scales(from, &x) ? x->producer : NULL;
        if (is_mean(from)) return true;
    }
    return false;
}

/* The same value, or made twice from the same. */
static bool same(const struct onnx_value *a, const struct onnx_value *b) {
    if (a == b) return true;
    const struct onnx_node *p = a->producer, *q = b->producer;
    if (!p || !q || p->attribute_count || q->attribute_count || p->input_count != q->input_count || strcmp(p->op, q->op)) return false;
    for (int i = 0; i < p->input_count; i++)
        if (p->inputs[i] != q->inputs[i]) return false;
    return p->outputs[0] == a && q->outputs[0] == b;
}

/* The power that a node takes its input to; 1: none. */
static double exponent(const struct onnx_node *node) {
    const struct onnx_tensor *t = graph_is(node, "Pow") ? onnx_input_constant(node, 1) : NULL;
    if (graph_is(node, "Reciprocal")) return -1;
    return t && t->count == 1 ? onnx_number(t, 0) : 1;
}

/* As pass_activations.c has it. */
static bool is_magnitude(const struct onnx_node *node) {
    return graph_is(node, "Abs") || (graph_is(node, "LeakyRelu") && onnx_attribute_float(node, "alpha", 0.01F) == -1);
}

/* What a node squares, or takes the magnitude of. */
static struct onnx_value *square_of(const struct onnx_node *node) {
    static const char *const norms[] = {"ReduceL1", "ReduceL2", "ReduceSumSquare"};
    struct onnx_value *a = activation(node, 0), *b = activation(node, 1);
    const double power = exponent(node);
    if (!a) return NULL;
    if (graph_is(node, "Mul")) return b && same(a, b) ? a : NULL;
    return is_magnitude(node) || IS_ONE_OF(node, norms) || (power >= 2 && power <= 16 && (int)power % 2 == 0) ? a : NULL;
}

/* A product of a line with itself, which is one number: what it is of. */
static struct onnx_value *dot_of(const struct onnx_node *node) {
    const struct onnx_shape *y = &node->outputs[0]->shape;
    struct onnx_value *x[2] = {activation(node, 0), activation(node, 1)};
    if (!graph_is(node, "MatMul") || !x[0] || !x[1] || y->rank < 2 || y->dims[y->rank - 1] != 1 || y->dims[y->rank - 2] != 1) return NULL;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < WAY_MOST && x[i] && x[i]->producer && moves(x[i]->producer); k++) x[i] = activation(x[i]->producer, 0);
    return x[0] == x[1] ? x[0] : NULL;
}

static void push(struct search *s, struct onnx_node *node) {
    const size_t n = node ? scheme_node_index(s->scheme, node) : SIZE_MAX;
    if (n == SIZE_MAX || s->taken[n]) return;
    s->taken[n] = true;
    s->stack[s->depth++] = node;
}

static void take_squared(struct search *s, const struct onnx_value *x) {
    s->squared[scheme_index(s->scheme, x)] = true;
    if (centres(x->producer)) stays_float(s, x->producer);
}

/* From a norm back to the squares: all of it is float. */
static void take_norm(struct search *s, const struct onnx_value *norm) {
    push(s, norm->producer);
    while (s->depth) {
        const struct onnx_node *node = s->stack[--s->depth];
        struct onnx_value *dot = dot_of(node);
        stays_float(s, node);
        if (dot) take_squared(s, dot);
        for (int i = 0; i < node->input_count; i++) {
            struct onnx_value *x = activation(node, i);
            if (!x) continue;
            if ((mark_of(s, x).is & (SQUARES | NORM)) || (dot && x != dot)) push(s, x->producer);
            else take_squared(s, x);
        }
    }
}

/* A sum of products of values that are squared, too, as in the cosine of two vectors. */
static const struct onnx_node *product_in(const struct search *s, const struct onnx_node *sum) {
    const struct onnx_node *node = is_mean(sum) || graph_is(sum, "ReduceSum") ? producer(sum, 0) : NULL;
    if (!graph_is(node, "Mul") || !activation(node, 0) || !activation(node, 1)) return NULL;
    return s->squared[scheme_index(s->scheme, node->inputs[0])] && s->squared[scheme_index(s->scheme, node->inputs[1])] ? node : NULL;
}

/* What is divided: x - mean(x), or what was squared, behind factors and moves that are float then as well. */
static void take_numerator(struct search *s, struct onnx_value *value) {
    const struct onnx_node *way[WAY_MOST];
    int count = 0;
    while (!s->squared[scheme_index(s->scheme, value)]) {
        const struct onnx_node *node = value->producer;
        if (!node || count == WAY_MOST) return;
        way[count++] = node;
        const struct onnx_node *product = product_in(s, node);
        if (product) stays_float(s, product);
        if (product || centres(node)) break;
        if (!scales(node, &value)) return;
    }
    while (count) stays_float(s, way[--count]);
}

/* A factor, a term, or both, that are constant. */
static bool is_map(const struct onnx_node *node) {
    return ((graph_is(node, "Mul") || graph_is(node, "Add") || graph_is(node, "Sub")) && (!activation(node, 0) || !activation(node, 1))) ||
           graph_is(node, "BatchNormalization");
}

/* The factor or the term behind it, also where rows of groups become channels again in between. */
static struct onnx_node *next_map(const struct scheme *scheme, const struct onnx_node *last, struct onnx_node **move) {
    struct onnx_node *next = NULL;
    *move = NULL;
    for (int steps = 0; steps < 2; steps++, last = *move = next) {
        next = last->outputs[0]->is_output ? NULL : reader_of(scheme, last->outputs[0]);
        if (!next || is_map(next)) return next;
        if (!graph_is(next, "Reshape")) return NULL;
    }
    return NULL;
}

static void take_maps(struct search *s, const struct onnx_node *last, struct mark mark) {
    for (struct onnx_node *move; (last = next_map(s->scheme, last, &move));) {
        if (move) stays_float(s, move);
        stays_float(s, last);
        s->marks[scheme_index(s->scheme, last->outputs[0])] = mark;
    }
}

/* The quotient by the norm `by`, or by an inverse of it. */
static struct mark take_quotient(struct search *s, struct onnx_node *node, struct onnx_value *divided, size_t by) {
    const struct mark mark = {QUOTIENT, by};
    stays_float(s, node);
    if (divided) take_numerator(s, divided);
    take_maps(s, node, mark);
    return mark;
}

/* The node divides by a norm. */
static struct mark divide(struct search *s, struct onnx_node *node, const struct onnx_value *norm) {
    struct onnx_value *divided = graph_is(node, "Div") ? activation(node, 0) : NULL;
    const size_t by = scheme_index(s->scheme, norm);
    take_norm(s, norm);
    if (divided && !(mark_of(s, divided).is & INVERSE)) return take_quotient(s, node, divided, by);
    stays_float(s, node);
    return (struct mark){INVERSE, by};
}

/* The value by which a node divides. */
static struct onnx_value *divisor(const struct onnx_node *node) {
    return graph_is(node, "Div") ? activation(node, 1) : exponent(node) < 0 ? activation(node, 0) : NULL;
}

/* The node reads two activations of which the first or the second is an inverse, or both are quotients. */
static struct mark combine(struct search *s, struct onnx_node *node, const struct mark *marks) {
    const bool product = graph_is(node, "Mul"), sum = graph_is(node, "Add") || graph_is(node, "Sub");
    const unsigned all = marks[0].is & marks[1].is, any = marks[0].is | marks[1].is;
    const int i = marks[0].is & (INVERSE | QUOTIENT) ? 0 : 1;
    if (sum && (all & QUOTIENT) && marks[0].of == marks[1].of) return take_quotient(s, node, NULL, marks[0].of);
    if (product && (all & INVERSE)) {
        stays_float(s, node);
        return marks[0];
    }
    if (product && (any & INVERSE)) return take_quotient(s, node, activation(node, marks[0].is & INVERSE ? 1 : 0), marks[i].of);
    if (product && (any & QUOTIENT) && (any & NORM)) { /* of 1 and 0, where a norm may be zero */
        take_norm(s, activation(node, 1 - i));
        return take_quotient(s, node, NULL, marks[i].of);
    }
    return (struct mark){0};
}

/* Squares of two values in one sum are a norm already. */
static struct mark join(struct mark a, struct mark b, bool mixes) {
    if (!(a.is & (SQUARES | NORM)) || !(b.is & (SQUARES | NORM))) return (struct mark){0};
    a.is |= b.is | (mixes && a.of != b.of ? NORM : 0);
    return a;
}

/* What a node makes of activations none of which is divided by here. */
static struct mark pass_on(struct search *s, struct onnx_node *node) {
    struct mark all = {0};
    int count = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (!activation(node, i)) continue;
        const struct mark next = mark_of(s, node->inputs[i]);
        all = count++ ? join(all, next, !graph_is(node, "Concat")) : next;
    }
    if (sums(node)) return all.is & SQUARES ? (struct mark){SQUARES | NORM, all.of} : (struct mark){0};
    if (count != 1 || !(all.is & (INVERSE | QUOTIENT))) return passes(node) ? all : (struct mark){0};
    if ((all.is & QUOTIENT) || !passes(node)) return (struct mark){0};
    stays_float(s, node);
    return all;
}

static struct mark mark_for(struct search *s, struct onnx_node *node) {
    struct onnx_value *by = divisor(node), *square = square_of(node), *dot = dot_of(node);
    const struct mark two[2] = {mark_of(s, onnx_input(node, 0)), mark_of(s, onnx_input(node, 1))};
    if (by && (mark_of(s, by).is & NORM)) return divide(s, node, by);
    if (node->input_count == 2 && activation(node, 0) && activation(node, 1) && ((two[0].is | two[1].is) & (INVERSE | QUOTIENT)))
        return combine(s, node, two);
    if (dot) return (struct mark){SQUARES | NORM, scheme_index(s->scheme, dot)};
    if (!square || (mark_of(s, square).is & INVERSE)) return pass_on(s, node);
    const bool summed = !strncmp(node->op, "Reduce", strlen("Reduce"));
    const struct mark of = mark_of(s, square), start = {SQUARES, scheme_index(s->scheme, square)};
    struct mark mark = of.is & (SQUARES | NORM) ? of : start;
    mark.is |= summed ? NORM : 0;
    return mark;
}

/* Who else reads a norm or an inverse does so in float as well, where that can be: bytes would be for all of its readers. */
static void take_readers(const struct search *s, const struct onnx_value *value) {
    for (struct onnx_node *const *reader = scheme_readers(s->scheme, value); *reader; reader++)
        if (is_mean(*reader) || kind_runs_in_float(*reader, kind_of(*reader, NULL))) stays_float(s, *reader);
}

void place_norms(struct scheme *scheme) {
    struct onnx_graph *g = scheme->graph;
    struct search s = {.scheme = scheme};
    s.marks = onnx_alloc(g, scheme->value_count * sizeof *s.marks);
    s.squared = onnx_alloc(g, scheme->value_count * sizeof *s.squared);
    s.taken = onnx_alloc(g, g->node_count * sizeof *s.taken);
    s.stack = onnx_alloc(g, g->node_count * sizeof(void *));
    for (size_t n = 0; n < g->node_count; n++) {
        struct onnx_node *node = g->nodes[n];
        if (node->folded || scheme->nodes[n].role == SCHEME_NOTHING || !node->output_count || !node->outputs[0]) continue;
        const struct mark mark = mark_for(&s, node);
        for (int i = 0; mark.is && i < node->output_count; i++)
            if (node->outputs[i]) s.marks[scheme_index(scheme, node->outputs[i])] = mark;
    }
    for (size_t n = 0; n < g->node_count; n++)
        for (int i = 0; i < g->nodes[n]->output_count; i++)
            if (g->nodes[n]->outputs[i] && (s.taken[n] || (mark_of(&s, g->nodes[n]->outputs[i]).is & INVERSE)))
                take_readers(&s, g->nodes[n]->outputs[i]);
}
