/* SPDX-License-Identifier: MIT */
/*
 * What chooses lines of a table. A product with ones at the places of integers (OneHot, or Equal to 0, 1, 2 ..) is a Gather of lines; other
 * places that a line has no 1 for lead to lines of zeros in front of and behind them. A OneHot elsewhere is said with Equal. What is
 * computed of each line of a constant table is computed of the table, where nothing else reads that and all numbers are finite.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <float.h>
#include <math.h>

enum { MOST_LINES = 1 << 20, MOST_NUMBERS = 1 << 24 };

/* Along a last dimension of `count`, a 1 in the place of each integer. One that `wraps` may be below 0, and counts from the end then. */
struct hot {
    struct onnx_value *at; /* of dimensions in front of the last, or with a 1 for it */
    int64_t count;
    bool wraps;
};

static bool is_place(const struct onnx_value *x) {
    return x && !x->constant && (x->type == ONNX_INT64 || x->type == ONNX_INT32) && x->shape.rank >= 0;
}

/* 0, 1, 2 .. along the last dimension alone. Many may ask for the same constant. */
static bool counts_up(const struct onnx_value *x, int64_t count) {
    const struct onnx_tensor *t = x ? x->constant : NULL;
    if (!t || !onnx_is_integer(t->type) || t->shape.rank < 1 || (int64_t)t->count != count || t->shape.dims[t->shape.rank - 1] != count)
        return false;
    signed char *rises = (signed char *)&t->rises;
    for (size_t i = 0; !*rises && i < t->count; i++)
        if (onnx_integer(t, i) != (int64_t)i) *rises = -1;
    if (!*rises) *rises = 1;
    return *rises > 0;
}

/* What an Expand made as wide as the last dimension; the value itself where it has a 1 there. */
static struct onnx_value *narrow(struct onnx_value *x, const struct onnx_shape *wide) {
    const struct onnx_node *node = x->producer;
    if (graph_is(node, "Expand") && node->inputs[0]) x = node->inputs[0];
    if (x->shape.rank != wide->rank || x->shape.dims[wide->rank - 1] != 1) return NULL;
    for (int i = 0; i + 1 < wide->rank; i++)
        if (x->shape.dims[i] != wide->dims[i]) return NULL;
    return x;
}

static bool find_equal(const struct onnx_node *node, struct hot *hot) {
    const struct onnx_shape *wide = &node->outputs[0]->shape;
    hot->count = wide->dims[wide->rank - 1];
    hot->wraps = false;
    if (hot->count > MOST_LINES) return false;
    for (int i = 0; i < 2; i++) {
        if (!node->inputs[i] || !counts_up(onnx_input(node, 1 - i), hot->count)) continue;
        hot->at = narrow(node->inputs[i], wide);
        return hot->at && is_place(hot->at);
    }
    return false;
}

/* The numbers of the other places and of the ones. */
static bool two_numbers(const struct onnx_node *node, double numbers[2]) {
    const struct onnx_tensor *t = onnx_input_constant(node, 2);
    for (size_t i = 0; t && t->count == 2 && i < 2; i++) numbers[i] = onnx_number(t, i);
    return t && t->count == 2 && fabs(numbers[0]) <= FLT_MAX && fabs(numbers[1]) <= FLT_MAX;
}

static bool is_last(const struct onnx_node *node) {
    const int64_t axis = onnx_attribute_int(node, "axis", -1);
    return axis == -1 || axis == node->outputs[0]->shape.rank - 1;
}

static bool find_one_hot(const struct onnx_node *node, struct hot *hot) {
    const struct onnx_shape *wide = &node->outputs[0]->shape;
    double numbers[2];
    if (!is_place(onnx_input(node, 0)) || !is_last(node) || !two_numbers(node, numbers) || numbers[0] != 0 || numbers[1] != 1) return false;
    *hot = (struct hot){node->inputs[0], wide->dims[wide->rank - 1], true};
    return true;
}

static bool find_hot(const struct onnx_value *x, struct hot *hot) {
    const struct onnx_node *node = x->producer;
    if (graph_is(node, "Cast") && node->inputs[0]) node = node->inputs[0]->producer;
    if (!node || !onnx_is_checked(node) || node->outputs[0]->shape.rank < 1) return false;
    const bool found = graph_is(node, "Equal") ? find_equal(node, hot) : graph_is(node, "OneHot") && find_one_hot(node, hot);
    return found && hot->count > 1 && hot->count <= MOST_LINES;
}

/* Its numbers are whole, and never bytes. */
static struct onnx_value *exact(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, double b) {
    const struct onnx_shape scalar = {0};
    struct onnx_value *y = say(g, node, op, a, graph_floats(g, node, "place", &scalar, &b), &a->shape);
    edit_attribute_int(g, y->producer, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
    return y;
}

/* Lines of zeros, those of the table, once more where places wrap, and zeros. */
static struct onnx_value *between_zeros(struct onnx_graph *g, struct onnx_node *node, const struct onnx_tensor *t, int64_t lines) {
    const int64_t count = t->shape.dims[0], width = t->shape.dims[1];
    const struct onnx_shape shape = {2, {lines, width}};
    double *numbers = graph_doubles(g, lines * width);
    for (int64_t i = 0; i < (lines - 2) * width; i++) numbers[width + i] = onnx_number(t, (size_t)(i % (count * width)));
    return graph_floats(g, node, "lines", &shape, numbers);
}

/* A product of ones and a constant matrix. */
static bool change_product(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_tensor *t = onnx_input_constant(node, 1);
    struct hot hot;
    if (!graph_is(node, "MatMul") || !t || t->type != ONNX_FLOAT || t->shape.rank != 2 || !node->inputs[0] ||
        !find_hot(node->inputs[0], &hot) || hot.count != t->shape.dims[0])
        return false;
    const int64_t lines = hot.count * (hot.wraps ? 2 : 1) + 2;
    if (!graph_takes_room(g, (size_t)(lines * t->shape.dims[1]))) return false;
    struct onnx_shape places = node->outputs[0]->shape;
    places.rank--;
    if (places.rank != hot.at->shape.rank) hot.at = say_reshape(g, node, hot.at, &places);
    struct onnx_value *at = exact(g, node, "Add", say_cast(g, node, hot.at, ONNX_FLOAT), (double)(hot.wraps ? hot.count + 1 : 1));
    at = say_cast(g, node, exact(g, node, "Min", exact(g, node, "Max", at, 0), (double)(lines - 1)), ONNX_INT64);
    edit_attribute_int(g, at->producer, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
    struct onnx_value *inputs[2] = {between_zeros(g, node, t, lines), at};
    edit_become(g, node, "Gather", "", inputs, 2);
    node->opset = SAY_OPSET;
    return true;
}

/* Ones where places equal from, from + 1, .. */
static struct onnx_value *equal(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *at, int64_t from) {
    const int64_t count = at->shape.dims[at->shape.rank - 1];
    const struct onnx_shape shape = {1, {count}};
    struct onnx_tensor *numbers;
    struct onnx_value *up = edit_constant(g, onnx_text(g, "%s.count", node->name), at->type, &shape, &numbers);
    for (int64_t i = 0; i < count; i++) onnx_store_integer(numbers, (size_t)i, from + i);
    struct onnx_value *y = say(g, node, "Equal", at, up, &at->shape);
    y->type = ONNX_BOOL;
    return say_cast(g, node, y, ONNX_FLOAT);
}

static struct onnx_value *expand(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *at, int64_t count) {
    struct onnx_shape shape = at->shape;
    shape.dims[shape.rank++] = 1;
    at = say_reshape(g, node, at, &shape);
    shape.dims[shape.rank - 1] = count;
    struct onnx_value *y = say(g, node, "Expand", at, graph_int64s(g, node, "wide", shape.dims, shape.rank), &shape);
    y->type = at->type;
    return y;
}

static struct onnx_value *last_to(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int axis) {
    int64_t perm[ONNX_MAX_RANK];
    const int last = x->shape.rank - 1;
    if (axis == last) return x;
    for (int i = 0; i <= last; i++) perm[i] = i < axis ? i : i == axis ? last : i - 1;
    return say_transpose(g, node, x, perm);
}

/* One of two numbers, exactly: a sum of products, of which one is 0. */
static struct onnx_value *between(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *ones, const double numbers[2]) {
    const struct onnx_shape scalar = {0};
    const double one = 1;
    struct onnx_value *y = say_scaled(g, node, ones, numbers[1]);
    if (numbers[0] == 0) return y;
    struct onnx_value *others = say(g, node, "Sub", graph_floats(g, node, "one", &scalar, &one), ones, &ones->shape);
    return say(g, node, "Add", y, say_scaled(g, node, others, numbers[0]), &ones->shape);
}

static bool change_one_hot(struct onnx_graph *g, struct onnx_node *node) {
    double numbers[2];
    int axis;
    if (!graph_is(node, "OneHot") || !is_place(onnx_input(node, 0)) || !two_numbers(node, numbers)) return false;
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    if (!onnx_axis_of(onnx_attribute_int(node, "axis", -1), shape->rank, &axis) || !graph_takes_room(g, 2 * (size_t)shape->dims[axis]))
        return false;
    const int64_t count = shape->dims[axis];
    const enum onnx_type type = node->outputs[0]->type;
    struct onnx_value *at = expand(g, node, node->inputs[0], count), *from_start = equal(g, node, at, 0);
    struct onnx_value *y = say(g, node, "Add", from_start, equal(g, node, at, -count), &at->shape);
    y = between(g, node, y, numbers);
    y = last_to(g, node, y, axis);
    if (type != ONNX_FLOAT) y = say_cast(g, node, y, type);
    say_as(g, node, y);
    return true;
}

/* A constant that each line gets a part of, or the same number: without the dimensions in front of a line's. */
static struct onnx_value *of_a_line(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *x,
                                    const struct onnx_shape *table) {
    const struct onnx_tensor *t = x->constant;
    struct onnx_shape shape = x->shape;
    int front = 0;
    while (front < shape.rank && (shape.dims[front] == 1 && shape.rank - front >= table->rank)) front++;
    shape.rank -= front;
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[front + i];
    for (int i = 0; i < shape.rank; i++)
        if (shape.rank >= table->rank || (shape.dims[i] != 1 && shape.dims[i] != table->dims[table->rank - shape.rank + i])) return NULL;
    if (!graph_takes_room(g, t->count)) return NULL;
    double *numbers = graph_doubles(g, (int64_t)t->count);
    for (size_t i = 0; i < t->count; i++) numbers[i] = onnx_number(t, i);
    return graph_floats(g, node, "line", &shape, numbers);
}

/* A Gather of a constant's first axis, where nothing else reads either. */
static struct onnx_node *own_table(const struct onnx_value *x) {
    struct onnx_node *gather = graph_alone(x) ? x->producer : NULL;
    const struct onnx_tensor *t = graph_is(gather, "Gather") ? onnx_input_constant(gather, 0) : NULL;
    if (!t || t->type != ONNX_FLOAT || t->shape.rank < 1 || gather->inputs[0]->uses != 1 || gather->inputs[0]->is_output) return NULL;
    return t->count <= MOST_NUMBERS && !onnx_attribute_int(gather, "axis", 0) && onnx_input(gather, 1) ? gather : NULL;
}

static bool is_finite(const struct onnx_tensor *t) {
    for (size_t i = 0; i < t->count; i++)
        if (!(fabs(onnx_number(t, i)) <= FLT_MAX)) return false;
    return true;
}

/* Whether the node, of constants now, gives numbers that a table may have. */
static bool gives_table(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_fold(g, node)) return false;
    if (is_finite(node->outputs[0]->constant)) return true;
    node->folded = false;
    return false;
}

/* The node computes the table anew, and the Gather goes behind it. What it does not compute stays as it is, and is not asked again. */
static bool move_behind(struct onnx_graph *g, struct onnx_node *node, struct onnx_node *gather, int constant, struct onnx_value *line) {
    struct onnx_value *table = gather->inputs[0], *before[2] = {node->inputs[0], onnx_input(node, 1)}, *y = node->outputs[0];
    struct onnx_value *inputs[2] = {edit_value(g, y->name, ONNX_FLOAT, &table->shape), gather->inputs[1]};
    edit_set_input(g, node, constant ? 0 : 1, table);
    if (line) edit_set_input(g, node, constant, line);
    node->outputs[0] = inputs[0];
    inputs[0]->producer = node;
    y->producer = NULL;
    if (gives_table(g, node)) {
        edit_node(g, NULL, "Gather", "", gather->name, inputs, 2, &y, 1)->opset = gather->opset;
        return true;
    }
    inputs[0]->producer = NULL;
    inputs[0]->constant = NULL;
    node->outputs[0] = y;
    y->producer = node;
    for (int i = 0; i < node->input_count; i++) edit_set_input(g, node, i, before[i]);
    return false;
}

static bool change_behind(struct onnx_graph *g, struct onnx_node *node) {
    const enum onnx_class class = onnx_class_of(node);
    struct onnx_value *line = NULL, *other = node->inputs[0];
    int constant = 1;
    if (node->kept || (class != ONNX_FUNCTION && class != ONNX_PAIR) || !onnx_operator_of(node)->fold || node->output_count != 1 ||
        node->outputs[0]->type != ONNX_FLOAT || node->input_count > 2)
        return false;
    if (node->input_count > 1 && !graph_constant_and_other(node, &constant, &other)) return false;
    struct onnx_node *gather = other ? own_table(other) : NULL;
    if (!gather || !graph_same_shape(other, node->outputs[0])) return false;
    node->kept = true;
    if (!graph_takes_room(g, gather->inputs[0]->constant->count)) return false;
    if (node->input_count > 1 && !(line = of_a_line(g, node, node->inputs[constant], &gather->inputs[0]->shape))) return false;
    return move_behind(g, node, gather, constant, line);
}

static int each(struct onnx_graph *g, bool (*change)(struct onnx_graph *, struct onnx_node *)) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (!node->folded && onnx_is_checked(node) && node->output_count && node->outputs[0] && node->outputs[0]->shape.rank >= 0)
            changes += change(g, node);
    }
    return changes;
}

/* Products first: what they read is still known to be a OneHot. */
int pass_one_hots(struct onnx_graph *g) {
    const int products = each(g, change_product);
    return products + each(g, change_one_hot);
}

int pass_tables(struct onnx_graph *g) {
    const int hots = pass_one_hots(g);
    return hots + each(g, change_behind);
}
