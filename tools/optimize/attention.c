/* SPDX-License-Identifier: MIT */
/*
 * Attention in one node, said in products and a Softmax: com.microsoft's Attention, QAttention and MultiHeadAttention, and ai.onnx's
 * Attention. A large negative number is added where a mask is 0, and where a causal one looks ahead.
 */
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <math.h>
#include <string.h>

#define AHEAD (-1e30) /* behind it a share is 0, whatever else is added */

/* Queries, keys and values [batch, heads, sequence, size], and what goes into the scores [batch, heads, queries, keys]. */
struct attention {
    struct onnx_value *q, *k, *v, *terms[2];
    int term_count;
    float scale;         /* 0: by the root of the size */
    int64_t left, right; /* how many keys before and behind the query's own place count; -1: all */
};

static bool is_microsoft(const struct onnx_node *node, const char *op) {
    return !strcmp(node->domain, "com.microsoft") && !strcmp(node->op, op);
}

/* x [batch, sequence, heads * size] becomes [batch, heads, sequence, size]. */
static struct onnx_value *as_heads(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t count) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const int64_t *d = x->shape.dims;
    const struct onnx_shape shape = {4, {d[0], d[1], count, d[2] / count}};
    return say_transpose(g, node, say_reshape(g, node, x, &shape), perm);
}

/* Columns [from, to) of the last dimension. A constant is a line. */
static struct onnx_value *columns(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *all, int64_t from, int64_t to) {
    struct onnx_shape shape = all->shape;
    const int64_t axis = shape.rank - 1;
    shape.dims[axis] = to - from;
    if (all->constant) {
        double *numbers = graph_doubles(g, to - from);
        for (int64_t i = from; i < to; i++) numbers[i - from] = onnx_number(all->constant, (size_t)i);
        return graph_floats(g, node, "bias", &shape, numbers);
    }
    return say_slice(g, node, all, axis, from, to);
}

/* 0 within the window around the query's own place, and AHEAD outside of it. NULL: there is no room. */
static struct onnx_value *windowed(struct onnx_graph *g, struct onnx_node *node, const struct attention *a, int64_t queries, int64_t keys) {
    const struct onnx_shape shape = {2, {queries, keys}};
    if (onnx_elements(&shape) < 1 || !graph_takes_room(g, (size_t)onnx_elements(&shape))) return NULL;
    double *numbers = graph_doubles(g, onnx_elements(&shape));
    for (int64_t i = 0; i < queries; i++)
        for (int64_t k = 0; k < keys; k++)
            numbers[i * keys + k] = (a->right >= 0 && k - i > a->right) || (a->left >= 0 && i - k > a->left) ? AHEAD : 0;
    return graph_floats(g, node, "window", &shape, numbers);
}

static bool attend(struct onnx_graph *g, struct onnx_node *node, struct attention *a) {
    static const int64_t perm[] = {0, 2, 1, 3};
    const int64_t *q = a->q->shape.dims, keys = a->k->shape.dims[2];
    const struct onnx_shape scores = {4, {q[0], q[1], q[2], keys}}, found = {4, {q[0], q[1], q[2], a->v->shape.dims[3]}};
    const bool all = a->left < 0 && a->right < 0;
    struct onnx_value *window = all ? NULL : windowed(g, node, a, q[2], keys);
    if (!all && !window) return false;
    struct onnx_value *s = say(g, node, "MatMul", a->q, say_turned(g, node, a->k), &scores);
    s = say_scaled(g, node, s, a->scale != 0 ? (double)a->scale : 1 / sqrt((double)q[3]));
    for (int i = 0; i < a->term_count; i++) s = say(g, node, "Add", s, a->terms[i], &scores);
    if (window) s = say(g, node, "Add", s, window, &scores);
    s = say(g, node, "Softmax", s, NULL, &scores);
    edit_attribute_int(g, s->producer, "axis", -1);
    struct onnx_value *o = say(g, node, "MatMul", s, a->v, &found);
    if (node->outputs[0]->shape.rank == 3) o = say_reshape(g, node, say_transpose(g, node, o, perm), &node->outputs[0]->shape);
    say_as(g, node, o);
    return true;
}

/* (mask - 1) * -low for a mask of integers, [batch, keys] or [batch, queries, keys]. */
static struct onnx_value *mask_term(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *mask, double low) {
    const struct onnx_shape scalar = {0};
    const int64_t *d = mask->shape.dims, keys = d[mask->shape.rank - 1];
    const struct onnx_shape wide = {4, {d[0], 1, mask->shape.rank == 3 ? d[1] : 1, keys}};
    const double one = 1, high = -low;
    if (mask->constant) {
        double *numbers = graph_doubles(g, (int64_t)mask->constant->count);
        for (size_t i = 0; i < mask->constant->count; i++) numbers[i] = onnx_integer(mask->constant, i) > 0 ? 0 : low;
        return graph_floats(g, node, "mask", &wide, numbers);
    }
    struct onnx_value *x = say_cast(g, node, mask, ONNX_FLOAT);
    x = say(g, node, "Sub", x, graph_floats(g, node, "one", &scalar, &one), &x->shape);
    x = say(g, node, "Mul", x, graph_floats(g, node, "low", &scalar, &high), &x->shape);
    return say_reshape(g, node, x, &wide);
}

static bool add_mask(struct onnx_graph *g, struct onnx_node *node, struct attention *a, struct onnx_value *mask) {
    if (mask) a->terms[a->term_count++] = mask_term(g, node, mask, (double)onnx_attribute_float(node, "mask_filter_value", -10000.0F));
    return true;
}

/* None of its outputs but the first is read, and inputs from `from` on, but `other`, are left out. */
static bool is_plain(const struct onnx_node *node, int from, int other) {
    for (int i = from; i < node->input_count; i++)
        if (node->inputs[i] && i != other) return false;
    for (int i = 1; i < node->output_count; i++)
        if (say_is_read(node, i)) return false;
    return true;
}

/* Whether there is room for a copy of what is constant: many nodes may read the same. */
static bool has_room(struct onnx_graph *g, const struct onnx_value *x) {
    return !x || !x->constant || graph_takes_room(g, x->constant->count);
}

/* A mask of integers, or none. */
static bool knows_mask(const struct onnx_value *mask, int64_t batch, int64_t queries, int64_t keys) {
    if (!mask) return true;
    const int rank = mask->shape.rank;
    const int64_t *d = mask->shape.dims;
    if (mask->type != ONNX_INT32 && mask->type != ONNX_INT64) return false;
    return (rank == 2 && d[0] == batch && d[1] == keys) || (rank == 3 && d[0] == batch && d[1] == queries && d[2] == keys);
}

/* What is added to the scores, as large or broadcast. */
static bool knows_term(const struct onnx_value *term, int64_t batch, int64_t heads, int64_t queries, int64_t keys) {
    const int64_t wide[] = {batch, heads, queries, keys};
    if (term->type != ONNX_FLOAT || term->shape.rank > 4) return false;
    for (int i = 1; i <= term->shape.rank; i++) {
        const int64_t d = term->shape.dims[term->shape.rank - i];
        if (d != 1 && d != wide[4 - i]) return false;
    }
    return true;
}

/* Widths of queries, keys and values, which stand side by side. */
static bool widths_of(const struct onnx_node *node, int64_t *widths) {
    const int64_t all = node->inputs[1]->shape.dims[1];
    int count = onnx_attribute_ints(node, "qkv_hidden_sizes", widths, 3);
    if (count < 0) widths[0] = widths[1] = widths[2] = all / 3;
    return count < 0 || count == 3;
}

/* Inputs x, weights and biases of queries, keys and values side by side, mask. QAttention has scales and zero points among them. */
static bool change_packed(struct onnx_graph *g, struct onnx_node *node) {
    const bool bytes = is_microsoft(node, "QAttention");
    struct onnx_value *x = node->inputs[0], *bias = onnx_input(node, 2), *mask = onnx_input(node, bytes ? 5 : 3), *all;
    struct onnx_value *term = bytes ? NULL : onnx_input(node, 5);
    const int64_t *d = x->shape.dims, heads = onnx_attribute_int(node, "num_heads", 1);
    int64_t w[3];
    if ((!bytes && !is_microsoft(node, "Attention")) || node->outputs[0]->shape.rank != 3 || !is_plain(node, bytes ? 8 : 4, bytes ? -1 : 5))
        return false;
    if (onnx_attribute_int(node, "do_rotary", 0) || !widths_of(node, w) || !knows_mask(mask, d[0], d[1], d[1]) || !has_room(g, mask))
        return false;
    if (term && !knows_term(term, d[0], heads, d[1], d[1])) return false;
    struct attention a = {.scale = onnx_attribute_float(node, "scale", 0),
                          .left = -1,
                          .right = onnx_attribute_int(node, "unidirectional", 0) ? 0 : -1};
    const struct onnx_shape wide = {3, {d[0], d[1], w[0] + w[1] + w[2]}};
    if (bytes) {
        struct onnx_value *inputs[7] = {x,   node->inputs[1], node->inputs[3], node->inputs[4], onnx_input(node, 6), onnx_input(node, 7),
                                        bias};
        all = edit_value(g, node->outputs[0]->name, ONNX_FLOAT, &wide);
        edit_node(g, node, "MatMulIntegerToFloat", "com.microsoft", node->name, inputs, 7, &all, 1);
    } else {
        all = say(g, node, "MatMul", x, node->inputs[1], &wide);
        if (bias) all = say(g, node, "Add", all, bias, &wide);
    }
    a.q = as_heads(g, node, columns(g, node, all, 0, w[0]), heads);
    a.k = as_heads(g, node, columns(g, node, all, w[0], w[0] + w[1]), heads);
    a.v = as_heads(g, node, columns(g, node, all, w[0] + w[1], w[0] + w[1] + w[2]), heads);
    if (term) a.terms[a.term_count++] = term;
    return add_mask(g, node, &a, mask) && attend(g, node, &a);
}

/* Queries, keys and values apart, [batch, sequence, heads * size]; a bias for all three, side by side; mask, term. */
static bool change_apart(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x[3] = {node->inputs[0], onnx_input(node, 1), onnx_input(node, 2)}, *bias = onnx_input(node, 3);
    struct onnx_value *mask = onnx_input(node, 4), *term = onnx_input(node, 5);
    const int64_t heads = onnx_attribute_int(node, "num_heads", 1);
    if (!is_microsoft(node, "MultiHeadAttention") || node->outputs[0]->shape.rank != 3 || !is_plain(node, 6, -1)) return false;
    for (int i = 0; i < 3; i++)
        if (!x[i] || x[i]->shape.rank != 3) return false;
    const int64_t batch = x[0]->shape.dims[0], queries = x[0]->shape.dims[1], keys = x[1]->shape.dims[1];
    const bool causal = onnx_attribute_int(node, "unidirectional", 0) != 0;
    if (causal && queries != keys) return false; /* which key a query stands at is said nowhere */
    if (!has_room(g, mask) || !has_room(g, bias) || !knows_mask(mask, batch, queries, keys) ||
        (term && !knows_term(term, batch, heads, queries, keys)))
        return false;
    struct attention a = {.scale = onnx_attribute_float(node, "scale", 0), .left = -1, .right = causal ? 0 : -1};
    int64_t at = 0;
    for (int i = 0; i < 3; i++) {
        const int64_t width = x[i]->shape.dims[2];
        if (bias) x[i] = say(g, node, "Add", x[i], columns(g, node, bias, at, at + width), &x[i]->shape);
        x[i] = as_heads(g, node, x[i], heads);
        at += width;
    }
    a.q = x[0], a.k = x[1], a.v = x[2];
    if (term) a.terms[a.term_count++] = term;
    return add_mask(g, node, &a, mask) && attend(g, node, &a);
}

/* ---- ai.onnx ---- */

/* Each of few heads, for several of the queries' that stand side by side. */
static struct onnx_value *repeated(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t heads) {
    const int64_t *d = x->shape.dims, each = heads / d[1];
    const struct onnx_shape one = {5, {d[0], d[1], 1, d[2], d[3]}}, many = {5, {d[0], d[1], each, d[2], d[3]}},
                            all = {4, {d[0], heads, d[2], d[3]}};
    if (each == 1) return x;
    x = say_reshape(g, node, x, &one);
    x = say(g, node, "Expand", x, graph_int64s(g, node, "many", many.dims, 5), &many);
    return say_reshape(g, node, x, &all);
}

/* 0 where a mask of conditions is true, -infinity elsewhere. */
static struct onnx_value *condition_term(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *mask) {
    const struct onnx_shape scalar = {0};
    const double zero = 0, low = -INFINITY;
    if (mask->constant) {
        double *numbers = graph_doubles(g, (int64_t)mask->constant->count);
        for (size_t i = 0; i < mask->constant->count; i++) numbers[i] = onnx_integer(mask->constant, i) ? 0 : AHEAD;
        return graph_floats(g, node, "mask", &mask->shape, numbers);
    }
    struct onnx_value *inputs[3] = {mask, graph_floats(g, node, "zero", &scalar, &zero), graph_floats(g, node, "low", &scalar, &low)};
    struct onnx_value *y = graph_put(g, node, "Where", inputs, 3, &mask->shape);
    y->producer->opset = SAY_OPSET;
    return y;
}

static bool knows_condition(const struct onnx_value *mask, const struct onnx_value *q, int64_t heads, int64_t keys, int64_t queries) {
    struct onnx_value floats = *mask;
    floats.type = mask->type == ONNX_BOOL ? ONNX_FLOAT : mask->type;
    return knows_term(&floats, q->shape.dims[0], heads, queries, keys);
}

/* Inputs queries, keys, values, mask; of 4 dimensions, or of 3 with the numbers of heads as attributes. */
static bool change_standard(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_is(node, "Attention")) return false;
    struct onnx_value *x[3] = {node->inputs[0], node->inputs[1], node->inputs[2]}, *mask = onnx_input(node, 3);
    const int rank = x[0]->shape.rank;
    if (!is_plain(node, 4, -1) || onnx_attribute_float(node, "softcap", 0) != 0) return false;
    if (node->outputs[0]->shape.rank != rank || node->outputs[0]->type != ONNX_FLOAT) return false;
    const int64_t heads = rank == 4 ? x[0]->shape.dims[1] : onnx_attribute_int(node, "q_num_heads", 1);
    const int64_t fewer = rank == 4 ? x[1]->shape.dims[1] : onnx_attribute_int(node, "kv_num_heads", 1);
    const int64_t queries = x[0]->shape.dims[rank - 2], keys = x[1]->shape.dims[rank - 2];
    const int64_t left = onnx_attribute_int(node, "left_window_size", -1);
    const int64_t right = onnx_attribute_int(node, "right_window_size", -1);
    /* A query may have no keys then: its row is 0. */
    if ((left >= 0 && queries - left > keys) || (mask && (left >= 0 || right >= 0))) return false;
    if (mask && (!has_room(g, mask) || !knows_condition(mask, x[0], heads, keys, queries))) return false;
    struct attention a = {.scale = onnx_attribute_float(node, "scale", 0),
                          .left = left,
                          .right = onnx_attribute_int(node, "is_causal", 0) ? 0 : right};
    for (int i = 0; i < 3; i++) {
        if (rank == 3) x[i] = as_heads(g, node, x[i], i ? fewer : heads);
        if (i) x[i] = repeated(g, node, x[i], heads);
    }
    a.q = x[0], a.k = x[1], a.v = x[2];
    if (mask) a.terms[a.term_count++] = mask->type == ONNX_BOOL ? condition_term(g, node, mask) : mask;
    return attend(g, node, &a);
}

bool change_fused_attention(struct onnx_graph *g, struct onnx_node *node) {
    return change_packed(g, node) || change_apart(g, node) || change_standard(g, node);
}
