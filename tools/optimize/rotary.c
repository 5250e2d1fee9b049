/* SPDX-License-Identifier: MIT */
/*
 * RotaryEmbedding of ai.onnx and of com.microsoft (RoFormer, Su et al. 2021): each head's first elements turn in pairs, by angles of which
 * two tables have the cosines and the sines. x * cosines + partners * sines, where the partner of an element is the other of its pair, and
 * the sines of each pair's first have the other sign.
 */
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <string.h>

struct rotary {
    struct onnx_graph *g;
    struct onnx_node *node;
    struct onnx_value *ids; /* lines of the tables; NULL: these have a line for each token */
    int64_t half;           /* pairs of a head */
    bool adjacent;          /* pairs stand side by side; else in two halves */
};

static struct onnx_value *joined(const struct rotary *r, struct onnx_value *a, struct onnx_value *b) {
    return say_joined(r->g, r->node, a, b, a->shape.rank - 1);
}

/* Elements from to end of the last dimension. */
static struct onnx_value *part(const struct rotary *r, struct onnx_value *x, int64_t from, int64_t end) {
    return say_slice(r->g, r->node, x, x->shape.rank - 1, from, end);
}

/* Twice `half` elements, the last of them first. */
static struct onnx_value *exchanged(const struct rotary *r, struct onnx_value *x, int64_t half) {
    struct onnx_value *last = part(r, x, half, 2 * half);
    return joined(r, last, part(r, x, 0, half));
}

/* Of each pair of x the second and then the first. */
static struct onnx_value *partners(const struct rotary *r, struct onnx_value *x) {
    if (!r->adjacent) return exchanged(r, x, r->half);
    struct onnx_shape pairs = x->shape;
    pairs.dims[pairs.rank++ - 1] = r->half;
    pairs.dims[pairs.rank - 1] = 2;
    struct onnx_value *y = say_reshape(r->g, r->node, x, &pairs);
    return say_reshape(r->g, r->node, exchanged(r, y, 1), &x->shape);
}

/* Lines of a constant table, by constant ids where there are such, as long as what turns. NULL: an id is none, or there is no room. */
static struct onnx_value *constant_lines(const struct rotary *r, const struct onnx_value *table, bool sines) {
    const struct onnx_tensor *from = table->constant, *ids = r->ids ? r->ids->constant : NULL;
    struct onnx_shape shape = ids ? ids->shape : table->shape;
    const int64_t rows = (int64_t)from->count / r->half, count = ids ? (int64_t)ids->count : rows;
    shape.rank += ids != NULL;
    shape.dims[shape.rank - 1] = 2 * r->half;
    if (!graph_takes_room(r->g, (size_t)(2 * count * r->half))) return NULL;
    double *numbers = graph_doubles(r->g, 2 * count * r->half);
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = ids ? onnx_integer(ids, (size_t)i) : i;
        if (row < 0 || row >= rows) return NULL;
        for (int64_t k = 0; k < 2 * r->half; k++) {
            const int64_t pair = r->adjacent ? k / 2 : k % r->half;
            const bool first = r->adjacent ? k % 2 == 0 : k < r->half;
            const double number = onnx_number(from, (size_t)(row * r->half + pair));
            numbers[2 * i * r->half + k] = sines && first ? -number : number;
        }
    }
    return graph_floats(r->g, r->node, sines ? "sines" : "cosines", &shape, numbers);
}

/* The same of what is computed at run time. */
static struct onnx_value *computed_lines(const struct rotary *r, struct onnx_value *table, bool sines) {
    struct onnx_value *first = sines ? say(r->g, r->node, "Neg", table, NULL, &table->shape) : table;
    struct onnx_shape one = table->shape, all = one;
    all.dims[all.rank - 1] = 2 * r->half;
    if (!r->adjacent) return joined(r, first, table);
    one.dims[one.rank++] = 1;
    first = say_reshape(r->g, r->node, first, &one);
    return say_reshape(r->g, r->node, joined(r, first, say_reshape(r->g, r->node, table, &one)), &all);
}

/* A table as it multiplies x [batch, tokens, heads, size] or, heads first, [batch, heads, tokens, size]. NULL: not possible. */
static struct onnx_value *turned_lines(const struct rotary *r, struct onnx_value *table, bool sines, bool heads_first) {
    const bool known = table->constant && (!r->ids || r->ids->constant);
    struct onnx_value *y = table->constant
                               ? constant_lines(&(struct rotary){r->g, r->node, known ? r->ids : NULL, r->half, r->adjacent}, table, sines)
                               : computed_lines(r, table, sines);
    if (!y) return NULL;
    if (r->ids && !known) {
        struct onnx_shape lines = r->ids->shape;
        lines.dims[lines.rank++] = 2 * r->half;
        y = say(r->g, r->node, "Gather", y, r->ids, &lines);
    }
    const int64_t *d = y->shape.dims, tokens = d[y->shape.rank - 2], batch = y->shape.rank > 2 ? d[0] : 1;
    const struct onnx_shape four = {4, {batch, heads_first ? 1 : tokens, heads_first ? tokens : 1, 2 * r->half}};
    return say_reshape(r->g, r->node, y, &four);
}

/* One number is where the text begins. NULL: it is not known. */
static struct onnx_value *ids_from(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *first, int64_t tokens) {
    if (!first->constant || !graph_takes_room(g, (size_t)tokens)) return NULL;
    int64_t *ids = onnx_alloc(g, (size_t)tokens * sizeof *ids);
    const int64_t at = onnx_integer(first->constant, 0);
    if (at < 0 || at > INT32_MAX) return NULL;
    for (int64_t i = 0; i < tokens; i++) ids[i] = at + i;
    return graph_int64s(g, node, "places", ids, (int)tokens);
}

bool change_rotary(struct onnx_graph *g, struct onnx_node *node) {
    const bool microsoft = !strcmp(node->domain, "com.microsoft");
    if (!onnx_is_checked(node) || strcmp(node->op, "RotaryEmbedding") || (!microsoft && *node->domain)) return false;
    if (onnx_attribute_int(node, "is_packed_batching", 0) || node->outputs[0]->type != ONNX_FLOAT) return false;
    struct onnx_value *x = node->inputs[0], *cosines = node->inputs[1 + microsoft], *sines = node->inputs[2 + microsoft];
    const struct onnx_shape shape = x->shape;
    const bool heads_first = shape.rank == 4;
    const int64_t tokens = shape.dims[heads_first ? 2 : 1], half = cosines->shape.dims[cosines->shape.rank - 1];
    struct rotary r = {g, node, microsoft ? node->inputs[1] : onnx_input(node, 3), half, onnx_attribute_int(node, "interleaved", 0) != 0};
    if (r.ids && r.ids->shape.rank == 1 && !(r.ids = ids_from(g, node, r.ids, tokens))) return false;
    struct onnx_value *by[2] = {turned_lines(&r, cosines, false, heads_first), turned_lines(&r, sines, true, heads_first)};
    if (!by[0] || !by[1]) return false;
    const int64_t size = heads_first ? shape.dims[3] : onnx_rotary_size(node);
    const struct onnx_shape heads = {4, {shape.dims[0], tokens, heads_first ? 1 : shape.dims[2] / size, size}};
    if (!heads_first) x = say_reshape(g, node, x, &heads);
    struct onnx_value *turns = size > 2 * half ? part(&r, x, 0, 2 * half) : x, *rest = size > 2 * half ? part(&r, x, 2 * half, size) : NULL;
    struct onnx_value *y = say(g, node, "Mul", turns, by[0], &turns->shape);
    y = say(g, node, "Add", y, say(g, node, "Mul", partners(&r, turns), by[1], &turns->shape), &turns->shape);
    if (rest) y = joined(&r, y, rest);
    say_as(g, node, heads_first ? y : say_reshape(g, node, y, &shape));
    return true;
}
