/* SPDX-License-Identifier: MIT */
/*
 * What exports end with, said with sums, maxima and signs. ArgMax is the least index whose element is the maximum; a comparison of floats
 * is the sign of the difference, 1 or 0; TopK of few is one maximum after the other, TopK of many a NonMaxSuppression. What these give are
 * whole numbers, in floats: the nodes are marked, so that none becomes bytes.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LONGEST_PRODUCT = 64, MOST_OF_TOP = 16, MOST_COMPARED = 1 << 26, MOST_ORDERED = 1 << 17, ROOM_OF_ONE = 100 };
enum { FIRST_OPSET = 9 }; /* that has Sign */

static const struct onnx_shape scalar = {0};

static void mark(struct onnx_graph *g, struct onnx_node *node) {
    edit_attribute_int(g, node, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
}

/* The value of a new node, which is marked. */
static struct onnx_value *put(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                              const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b}, *y = graph_put(g, node, op, inputs, b ? 2 : 1, shape);
    y->producer->opset = node->opset;
    mark(g, y->producer);
    return y;
}

static struct onnx_value *number(struct onnx_graph *g, struct onnx_node *node, double v) {
    return graph_floats(g, node, "number", &scalar, &v);
}

/* Infinities as FLT_MAX: the difference of two that are equal is 0 then, not NaN. */
static struct onnx_value *bounded(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    const double ends[2] = {-(double)FLT_MAX, (double)FLT_MAX};
    if (x->constant) {
        double *numbers = graph_doubles(g, (int64_t)x->constant->count);
        for (size_t i = 0; i < x->constant->count; i++) numbers[i] = fmin(fmax(onnx_number(x->constant, i), ends[0]), ends[1]);
        return graph_floats(g, node, "finite", &x->shape, numbers);
    }
    struct onnx_value *y = put(g, node, "Clip", x, NULL, &x->shape);
    for (int k = 0; k < 2; k++) {
        if (node->opset < 11) edit_attribute_float(g, y->producer, k ? "max" : "min", (float)ends[k]);
        else edit_set_input(g, y->producer, 1 + k, number(g, node, ends[k]));
    }
    return y;
}

static void become(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b) {
    struct onnx_value *inputs[2] = {a, b};
    edit_become(g, node, op, "", inputs, b ? 2 : 1);
    node->outputs[0]->type = ONNX_FLOAT;
    mark(g, node);
}

/* A reduction of x along some axes, which stay as 1. */
static struct onnx_value *reduced(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *x, const bool *goes) {
    int64_t axes[ONNX_MAX_RANK];
    struct onnx_shape shape = x->shape;
    int count = 0;
    for (int d = 0; d < shape.rank; d++)
        if (goes[d]) axes[count++] = d, shape.dims[d] = 1;
    struct onnx_value *y = graph_reduce(g, node, op, x, axes, count, &shape);
    mark(g, y->producer);
    return y;
}

/* The result, which has 1 where axes were reduced, in the node's own shape. */
static void finish(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    const struct onnx_shape *y = &node->outputs[0]->shape;
    if (graph_same_shape(x, node->outputs[0])) become(g, node, "Identity", x, NULL);
    else become(g, node, "Reshape", x, graph_int64s(g, node, "shape", y->dims, y->rank));
}

static bool change_comparison(struct onnx_graph *g, struct onnx_node *node) {
    const bool equal = graph_is(node, "Equal"), greater = graph_is(node, "Greater"), less = graph_is(node, "Less"),
               not_less = graph_is(node, "GreaterOrEqual"), not_greater = graph_is(node, "LessOrEqual");
    struct onnx_value *a = onnx_input(node, 0), *b = onnx_input(node, 1);
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    if (!(equal || greater || less || not_less || not_greater) || !a || !b || a->type != ONNX_FLOAT || b->type != ONNX_FLOAT) return false;
    const bool swap = less || not_less, not = equal || not_less || not_greater;
    if (!graph_takes_room(g, (a->constant ? a->constant->count : 0) + (b->constant ? b->constant->count : 0))) return false;
    a = bounded(g, node, a), b = bounded(g, node, b);
    struct onnx_value *d = put(g, node, "Sub", swap ? b : a, swap ? a : b, shape), *s = put(g, node, "Sign", d, NULL, shape);
    s = put(g, node, equal ? "Abs" : "Relu", s, NULL, shape);
    become(g, node, not ? "Sub" : "Identity", not ? number(g, node, 1) : s, not ? s : NULL);
    return true;
}

/* One axis of x; false: it has none of that number, or of a length that floats do not count. */
static bool one_axis(const struct onnx_node *node, const struct onnx_value *x, int64_t axis, bool *goes, int *at) {
    memset(goes, 0, ONNX_MAX_RANK * sizeof *goes);
    if (!x || x->type != ONNX_FLOAT || !onnx_axis_of(axis, x->shape.rank, at) || node->outputs[0]->shape.rank < 0) return false;
    goes[*at] = true;
    return onnx_elements(&x->shape) > 0 && x->shape.dims[*at] < 1 << 22;
}

/* 0, 1, 2 ... along the axis, times a factor. */
static struct onnx_value *indices(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *x, int axis, double factor) {
    struct onnx_shape shape = {x->shape.rank, {0}};
    double *numbers = graph_doubles(g, x->shape.dims[axis]);
    for (int d = 0; d < shape.rank; d++) shape.dims[d] = d == axis ? x->shape.dims[d] : 1;
    for (int64_t i = 0; i < shape.dims[axis]; i++) numbers[i] = factor * (double)i;
    return graph_floats(g, node, "indices", &shape, numbers);
}

/* Where the maximum stands first, or last; 1 in the place of the axis. The largest of -index, or index, among those that are not less.
 * `less`: what goes off that besides, or NULL. */
static struct onnx_value *place_of_most(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const bool *goes, int axis,
                                        bool last, struct onnx_value *less) {
    x = bounded(g, node, x);
    struct onnx_value *most = reduced(g, node, "ReduceMax", x, goes);
    struct onnx_value *below = put(g, node, "Sign", put(g, node, "Sub", x, most, &x->shape), NULL, &x->shape);
    struct onnx_value *off = put(g, node, "Mul", below, number(g, node, (double)x->shape.dims[axis]), &x->shape);
    struct onnx_value *sum = put(g, node, "Add", off, indices(g, node, x, axis, last ? 1 : -1), &x->shape);
    if (less) sum = put(g, node, "Sub", sum, less, &x->shape);
    struct onnx_value *place = reduced(g, node, "ReduceMax", sum, goes);
    return last ? place : put(g, node, "Sub", number(g, node, 0), place, &place->shape); /* which has no -0, as Neg does */
}

/* 0 where the index is that of a place, 1 elsewhere: the size of the sign of their distance. */
static struct onnx_value *elsewhere(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *x, int axis,
                                    struct onnx_value *place) {
    struct onnx_value *off = put(g, node, "Sub", indices(g, node, x, axis, 1), place, &x->shape);
    return put(g, node, "Abs", put(g, node, "Sign", off, NULL, &x->shape), NULL, &x->shape);
}

/* Whoever reads the integer makes a float of it, or it goes out of the network. */
static bool may_be_float(struct onnx_graph *g, struct onnx_value *y) {
    const struct onnx_node *reader;
    for (size_t at = 0; (reader = edit_next_reader(g, y, &at));)
        if (!graph_is(reader, "Cast") || (reader->outputs[0]->type != ONNX_FLOAT && !reader->outputs[0]->is_output)) return false;
    return true;
}

/* A whole number in floats that goes out of the network as an integer. */
static bool change_cast(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *y = node->outputs[0];
    const bool whole = graph_is(node, "Cast") && x && x->type == ONNX_FLOAT && x->producer &&
                       onnx_attribute_int(x->producer, ONNX_EXACT_MARK, 0) == ONNX_IS_WHOLE;
    if (!whole || y->type == ONNX_FLOAT || !y->is_output || y->uses != 1) return false;
    become(g, node, "Identity", x, NULL);
    return true;
}

static bool change_arg(struct onnx_graph *g, struct onnx_node *node) {
    const bool most = graph_is(node, "ArgMax"), least = graph_is(node, "ArgMin");
    struct onnx_value *x = onnx_input(node, 0);
    bool goes[ONNX_MAX_RANK];
    int axis;
    if ((!most && !least) || !may_be_float(g, node->outputs[0]) || !one_axis(node, x, onnx_attribute_int(node, "axis", 0), goes, &axis))
        return false;
    if (!graph_takes_room(g, (size_t)x->shape.dims[axis])) return false;
    if (least) x = put(g, node, "Neg", x, NULL, &x->shape);
    finish(g, node, place_of_most(g, node, x, goes, axis, onnx_attribute_int(node, "select_last_index", 0) != 0, NULL));
    return true;
}

/* Parts one behind the other become an output of the node, by a node of its own. */
static void give_parts(struct onnx_graph *g, struct onnx_node *node, int output, struct onnx_value *const *parts, int count, int axis) {
    struct onnx_value *y = output < node->output_count ? node->outputs[output] : NULL;
    if (!y) return;
    y->producer = NULL;
    node->outputs[output] = NULL;
    struct onnx_node *join = edit_node(g, node, "Concat", "", node->name, parts, count, &y, 1);
    join->opset = node->opset;
    edit_attribute_int(g, join, "axis", axis);
    y->type = ONNX_FLOAT;
    mark(g, join);
}

/* A TopK of a constant number along one axis, of places that may be floats. */
static bool is_top(struct onnx_graph *g, const struct onnx_node *node, const struct onnx_value *x, bool *goes, int *axis) {
    if (!graph_is(node, "TopK") || !one_axis(node, x, onnx_attribute_int(node, "axis", -1), goes, axis)) return false;
    if (node->opset >= 10 && !onnx_input_constant(node, 1)) return false; /* the shape is what the file says of it */
    return node->output_count < 2 || !node->outputs[1] || may_be_float(g, node->outputs[1]);
}

/* How many are wanted, where they can be made of maxima: 0 where not. Values of a NaN have no order. */
static int wanted(struct onnx_graph *g, const struct onnx_node *node, const struct onnx_value *x, bool *goes, int *axis) {
    if (!is_top(g, node, x, goes, axis)) return 0;
    const int64_t count = node->outputs[0]->shape.dims[*axis];
    if (count > MOST_OF_TOP) return 0;
    size_t lines = 0; /* entries of a view of x, of which each of the nodes for one has some */
    for (int d = 0; d < x->shape.rank; d++) lines += (size_t)x->shape.dims[d];
    return lines < SIZE_MAX / (ROOM_OF_ONE * MOST_OF_TOP) && graph_takes_room(g, ROOM_OF_ONE * lines * (size_t)count) ? (int)count : 0;
}

/* x without what is taken, where `left` is 0: log(0) is less than any number, log(1) is 0. */
static struct onnx_value *without(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *left) {
    struct onnx_value *kept = put(g, node, "Mul", x, left, &x->shape);
    edit_become(g, kept->producer, "Mask", ONNX_OWN, (struct onnx_value *[]){x, left}, 2); /* what is taken may be infinite */
    return put(g, node, "Add", kept, put(g, node, "Log", left, NULL, &x->shape), &x->shape);
}

/* One after the other. Of equal ones the first is taken, and what was taken has a place behind all others. */
static bool change_top(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *values[MOST_OF_TOP], *places[MOST_OF_TOP], *less = NULL;
    bool goes[ONNX_MAX_RANK];
    int axis;
    const int count = wanted(g, node, x, goes, &axis);
    if (!count) return false;
    const bool least = onnx_attribute_int(node, "largest", 1) == 0;
    if (least) x = put(g, node, "Neg", x, NULL, &x->shape);
    for (int i = 0; i < count; i++) {
        struct onnx_value *most = reduced(g, node, "ReduceMax", x, goes);
        values[i] = least ? put(g, node, "Sub", number(g, node, 0), most, &most->shape) : most; /* without -0, which Neg has */
        places[i] = place_of_most(g, node, x, goes, axis, false, less);
        if (i + 1 == count) break;
        struct onnx_value *left = elsewhere(g, node, x, axis, places[i]);
        struct onnx_value *taken = put(g, node, "Sub", number(g, node, 1), left, &x->shape);
        taken = put(g, node, "Mul", taken, number(g, node, 2 * (double)x->shape.dims[axis]), &x->shape);
        less = less ? put(g, node, "Add", less, taken, &x->shape) : taken;
        x = without(g, node, x, left);
    }
    give_parts(g, node, 0, values, count, axis);
    give_parts(g, node, 1, places, count, axis);
    node->output_count = 0;
    return true;
}

/* Of each line of x [1, lines, n] the places of the k largest: what NonMaxSuppression selects of objects of no area, which overlap none. Of
 * equal ones the first is first there, too. */
static struct onnx_value *places_of_many(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t k) {
    const int64_t lines = x->shape.dims[1], n = x->shape.dims[2];
    const struct onnx_shape objects = {3, {1, n, 4}}, table = {2, {lines * k, 3}}, places = {2, {lines, k}};
    struct onnx_value *none = graph_floats(g, node, "objects", &objects, graph_doubles(g, 4 * n));
    struct onnx_value *inputs[3] = {none, bounded(g, node, x), graph_int64s(g, node, "most", &k, 1)};
    struct onnx_value *found = graph_put(g, node, "NonMaxSuppression", inputs, 3, &table);
    found->type = ONNX_INT64;
    found->producer->opset = SAY_OPSET;
    found = say_cast(g, node, found, ONNX_FLOAT);
    mark(g, found->producer);
    return say_reshape(g, node, say_slice(g, node, found, 1, 2, 3), &places);
}

/* Lines of numbers, along the last of the axes, in the node's own shape, which has them along another one. */
static struct onnx_value *in_place(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *lines, int axis) {
    struct onnx_shape shape = node->outputs[0]->shape;
    const int last = shape.rank - 1;
    const int64_t count = shape.dims[axis];
    shape.dims[axis] = shape.dims[last];
    shape.dims[last] = count;
    return say_exchanged(g, node, say_reshape(g, node, lines, &shape), axis, last);
}

/* Of many. */
static bool change_order(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    bool goes[ONNX_MAX_RANK];
    int axis;
    if (!is_top(g, node, x, goes, &axis)) return false;
    const int64_t n = x->shape.dims[axis], k = node->outputs[0]->shape.dims[axis], lines = onnx_elements(&x->shape) / n;
    if (k < 1 || n > MOST_ORDERED || k > MOST_COMPARED / n || lines > MOST_COMPARED / (n * k) || !graph_takes_room(g, 4 * (size_t)n))
        return false;
    const struct onnx_shape all = {3, {1, lines, n}}, rows = {3, {lines, n, 1}};
    x = say_exchanged(g, node, x, axis, x->shape.rank - 1);
    struct onnx_value *by = onnx_attribute_int(node, "largest", 1) ? x : put(g, node, "Neg", x, NULL, &x->shape);
    struct onnx_value *places = places_of_many(g, node, say_reshape(g, node, by, &all), k);
    struct onnx_value *values = in_place(g, node, say_rows(g, node, say_reshape(g, node, x, &rows), places), axis);
    places = in_place(g, node, places, axis);
    give_parts(g, node, 0, &values, 1, axis);
    give_parts(g, node, 1, &places, 1, axis);
    node->output_count = 0;
    return true;
}

/* Before opset 13 all from an axis on is one axis, which is the last of those that this takes. */
static bool sees_one_axis(const struct onnx_node *node, const struct onnx_value *x, bool *goes, int *axis) {
    return one_axis(node, x, onnx_attribute_int(node, "axis", node->opset < 13 ? 1 : -1), goes, axis) &&
           (node->opset >= 13 || *axis == x->shape.rank - 1);
}

/* 1 where the index is that of the maximum. */
static bool change_hardmax(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    bool goes[ONNX_MAX_RANK];
    int axis;
    if (!graph_is(node, "Hardmax") || !sees_one_axis(node, x, goes, &axis) || !graph_takes_room(g, 2 * (size_t)x->shape.dims[axis]))
        return false;
    struct onnx_value *place = place_of_most(g, node, x, goes, axis, false, NULL);
    become(g, node, "Sub", number(g, node, 1), elsewhere(g, node, x, axis, place));
    return true;
}

/* log of the sum of exp(x - most), and x - most */
static struct onnx_value *log_of_sum(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *most,
                                     const bool *goes, struct onnx_value **rest) {
    *rest = put(g, node, "Sub", x, most, &x->shape);
    struct onnx_value *sum = reduced(g, node, "ReduceSum", put(g, node, "Exp", *rest, NULL, &x->shape), goes);
    return put(g, node, "Log", sum, NULL, &sum->shape);
}

/* A LogSoftmax, or the Softmax in front of a Log: what is far below the largest is 0 in bytes, and in floats from 64 on. */
static struct onnx_node *softmax_of(struct onnx_node *node) {
    struct onnx_node *before = graph_is(node, "Log") && onnx_input(node, 0) ? node->inputs[0]->producer : NULL;
    if (graph_is(node, "LogSoftmax")) return node;
    return before && graph_is(before, "Softmax") ? before : NULL;
}

static bool change_log_softmax(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_node *softmax = softmax_of(node);
    struct onnx_value *x = softmax ? onnx_input(softmax, 0) : NULL, *rest;
    bool goes[ONNX_MAX_RANK];
    int axis;
    if (!softmax || !sees_one_axis(softmax, x, goes, &axis)) return false;
    struct onnx_value *log = log_of_sum(g, node, x, reduced(g, node, "ReduceMax", x, goes), goes, &rest);
    become(g, node, "Sub", rest, log);
    return true;
}

/* Sums of sizes, of squares, of exponentials, and logarithms of sums. */
static bool change_reduce(struct onnx_graph *g, struct onnx_node *node) {
    const bool sizes = graph_is(node, "ReduceL1"), squares = graph_is(node, "ReduceSumSquare"), log = graph_is(node, "ReduceLogSum"),
               exps = graph_is(node, "ReduceLogSumExp");
    struct onnx_value *x = onnx_input(node, 0), *rest;
    bool goes[ONNX_MAX_RANK];
    if (!(sizes || squares || log || exps) || !x || x->type != ONNX_FLOAT || x->shape.rank < 1 || onnx_elements(&x->shape) < 1)
        return false;
    if (node->outputs[0]->shape.rank < 0 || !onnx_reduced(node, x->shape.rank, goes)) return false;
    if (exps) {
        struct onnx_value *most = bounded(g, node, reduced(g, node, "ReduceMax", x, goes)),
                          *sum = log_of_sum(g, node, x, most, goes, &rest);
        finish(g, node, put(g, node, "Add", most, sum, &sum->shape));
        return true;
    }
    if (sizes) x = put(g, node, "Abs", x, NULL, &x->shape);
    if (squares) x = put(g, node, "Mul", x, x, &x->shape);
    x = reduced(g, node, "ReduceSum", x, goes);
    finish(g, node, log ? put(g, node, "Log", x, NULL, &x->shape) : x);
    return true;
}

/* Element after element along an axis. */
static struct onnx_value *product_along(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int axis) {
    struct onnx_value *product = NULL;
    struct onnx_shape one = x->shape;
    one.dims[axis] = 1;
    for (int64_t i = 0; i < x->shape.dims[axis]; i++) {
        struct onnx_value *at = put(g, node, "Gather", x, graph_int64s(g, node, "index", &i, 1), &one);
        edit_attribute_int(g, at->producer, "axis", axis);
        product = product ? put(g, node, "Mul", product, at, &one) : at;
    }
    return product;
}

/* One axis after the other. */
static bool change_product(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    bool goes[ONNX_MAX_RANK];
    int64_t factors = 0;
    if (!graph_is(node, "ReduceProd") || !x || x->type != ONNX_FLOAT || x->shape.rank < 1 || onnx_elements(&x->shape) < 1) return false;
    if (node->outputs[0]->shape.rank < 0 || !onnx_reduced(node, x->shape.rank, goes)) return false;
    for (int d = 0; d < x->shape.rank; d++) {
        goes[d] = goes[d] && x->shape.dims[d] > 1;
        if (goes[d] && x->shape.dims[d] > LONGEST_PRODUCT - factors) return false;
        factors += goes[d] ? x->shape.dims[d] : 0;
    }
    if (!factors) return false;
    for (int d = 0; d < x->shape.rank; d++)
        if (goes[d]) x = product_along(g, node, x, d);
    finish(g, node, x);
    return true;
}

int pass_ends(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        if (!graph_is_open(node) || (!*node->domain && node->opset < FIRST_OPSET)) continue;
        changes += change_cast(g, node) || change_comparison(g, node) || change_arg(g, node) || change_top(g, node) ||
                   change_order(g, node) || change_hardmax(g, node) || change_log_softmax(g, node) || change_reduce(g, node) ||
                   change_product(g, node);
    }
    return changes;
}
