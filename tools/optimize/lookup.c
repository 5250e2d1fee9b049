/* SPDX-License-Identifier: MIT */
/*
 * Lines by an index that the network computes: positions by running sums (MPNet, RoBERTa), sizes of boxes (LayoutLM), the place of the
 * last token (CLIP), the queries of a detector (RT-DETR). Blobs look up integers that come in, and whole numbers in floats, in tables that
 * are constant. Of what the network computes, GridSample picks rows and elements.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <math.h>
#include <string.h>

enum { FAR = 16, MANY = 1 << 12 }; /* steps back, each of which may be of two operands; nodes and numbers that are looked at, in all */
enum { MOST_COUNTED = 1 << 22 };

struct search {
    size_t left;
};

/* What an index is: of integers that come in, of those that are computed, or of what no pass makes a float of. */
enum index { COMES_IN, COMPUTED, UNKNOWN };

static bool is_one_of(const struct onnx_node *node, const char *const *ops) {
    while (*ops && !graph_is(node, *ops)) ops++;
    return *ops != NULL;
}

static enum index index_kind(const struct onnx_value *x, int depth, struct search *search) {
    static const char *const sums[] = {"Add",       "Sub",       "Mul",       "Max",    "Min", "Sum", "Neg",  "Abs",
                                       "ReduceSum", "ReduceMax", "ReduceMin", "CumSum", "Div", "Mod", "Clip", NULL},
                             *const places[] = {"ArgMax", "ArgMin", "TopK", NULL};
    const struct onnx_node *node = x->producer;
    if (x->type == ONNX_BOOL) return COMPUTED;
    if (!onnx_is_integer(x->type)) return UNKNOWN;
    if (x->constant || !node) return COMES_IN;
    if (!depth || !search->left || !onnx_is_checked(node) || !node->input_count || !node->inputs[0]) return UNKNOWN;
    search->left--;
    if (is_one_of(node, places)) return COMPUTED;
    if (graph_is(node, "Cast") && node->inputs[0]->type == ONNX_FLOAT)
        return onnx_attribute_int(node, ONNX_EXACT_MARK, 0) ? UNKNOWN : COMPUTED; /* cut off, or what was made of floats already */
    const bool sum = is_one_of(node, sums), join = onnx_class_of(node) == ONNX_JOIN,
               move = graph_is(node, "Cast") || onnx_class_of(node) == ONNX_MOVE;
    if (!sum && !join && !move) return UNKNOWN;
    enum index kind = sum ? COMPUTED : COMES_IN;
    const int operands = move || graph_is(node, "CumSum") || !strncmp(node->op, "Reduce", 6) ? 1 : node->input_count;
    for (int i = 0; i < operands; i++) {
        const enum index of = node->inputs[i] ? index_kind(node->inputs[i], depth - 1, search) : UNKNOWN;
        kind = of > kind ? of : kind;
    }
    return kind;
}

static bool range_of_constant(const struct onnx_tensor *t, double range[2], struct search *search) {
    if (t->count > search->left) return false;
    search->left -= t->count;
    range[0] = range[1] = t->count ? onnx_number(t, 0) : 0;
    for (size_t i = 1; i < t->count; i++) {
        range[0] = fmin(range[0], onnx_number(t, i));
        range[1] = fmax(range[1], onnx_number(t, i));
    }
    return true;
}

/* The least and the most that an integer is. False: not known. */
static bool range_of(const struct onnx_value *x, int depth, double range[2], struct search *search) {
    const struct onnx_node *node = x->producer;
    double a[2], b[2];
    if (x->type == ONNX_BOOL) return range[0] = 0, range[1] = 1, true;
    if (x->constant) return range_of_constant(x->constant, range, search);
    if (!search->left || !depth || !node || !onnx_is_checked(node) || !node->input_count || !node->inputs[0]) return false;
    search->left--;
    if (!range_of(node->inputs[0], depth - 1, a, search)) return false;
    if (graph_is(node, "CumSum")) {
        int64_t most = 1;
        for (int d = 0; d < x->shape.rank; d++) most = x->shape.dims[d] > most ? x->shape.dims[d] : most;
        range[0] = fmin(a[0] * (double)most, 0), range[1] = fmax(a[1] * (double)most, 0);
        return true;
    }
    if (graph_is(node, "Cast") && (node->inputs[0]->type == ONNX_BOOL || onnx_is_integer(node->inputs[0]->type)))
        return range[0] = a[0], range[1] = a[1], true;
    const bool product = graph_is(node, "Mul");
    if ((!product && !graph_is(node, "Add")) || !onnx_input(node, 1) || !range_of(node->inputs[1], depth - 1, b, search)) return false;
    if (product && (a[0] < 0 || b[0] < 0)) return false;
    for (int i = 0; i < 2; i++) range[i] = product ? a[i] * b[i] : a[i] + b[i];
    return true;
}

static struct onnx_value *put(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                              const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b}, *y = graph_put(g, node, op, inputs, b ? 2 : 1, shape);
    y->producer->opset = node->opset;
    return y;
}

/* Its numbers are whole, and never bytes. */
static struct onnx_value *exact(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                                const struct onnx_shape *shape) {
    struct onnx_value *y = put(g, node, op, a, b, shape);
    edit_attribute_int(g, y->producer, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
    return y;
}

/* The index is said in floats, which become integers where it is read: the only Cast of floats that blobs have. */
static void count_in_floats(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *whole, enum onnx_type type) {
    struct onnx_value *at = say_cast(g, node, whole, type);
    edit_attribute_int(g, at->producer, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
    edit_set_input(g, node, 1, at);
}

/* Whether each is a whole number: of integers, of what rounds, and of sums and products of such. */
static bool is_whole(const struct onnx_value *x, int depth, struct search *search) {
    static const char *const sums[] = {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Neg", "Abs", "ReduceSum", "ReduceMax", "ReduceMin", NULL},
                             *const rounds[] = {"Floor", "Ceil", "Round", "Sign", NULL},
                             *const makes[] = {"Resize", "Upsample", "Pad", NULL};
    const struct onnx_node *node = x->producer;
    if (onnx_is_integer(x->type) || x->type == ONNX_BOOL) return true;
    if (x->constant) {
        if (x->constant->count > search->left) return false;
        search->left -= x->constant->count;
        for (size_t i = 0; i < x->constant->count; i++)
            if (onnx_number(x->constant, i) != trunc(onnx_number(x->constant, i))) return false;
        return true;
    }
    if (!depth || !search->left || !node || !onnx_is_checked(node) || !node->input_count) return false;
    search->left--;
    if (is_one_of(node, rounds)) return true;
    const bool all = is_one_of(node, sums) || onnx_class_of(node) == ONNX_JOIN;
    if (is_one_of(node, makes) || (!all && !graph_is(node, "Cast") && onnx_class_of(node) != ONNX_MOVE)) return false;
    for (int i = 0; i < (all && strncmp(node->op, "Reduce", 6) ? node->input_count : 1); i++)
        if (!node->inputs[i] || !is_whole(node->inputs[i], depth - 1, search)) return false;
    return true;
}

/* What a Cast to integers and back makes of floats: they are cut towards 0. */
void change_cut(struct onnx_graph *g, struct onnx_node *cast, struct onnx_value *x) {
    struct search search = {MANY};
    if (is_whole(x, FAR, &search)) {
        edit_become(g, cast, "Identity", "", &x, 1);
        return;
    }
    struct onnx_value *inputs[2] = {exact(g, cast, "Floor", put(g, cast, "Abs", x, NULL, &x->shape), NULL, &x->shape),
                                    put(g, cast, "Sign", x, NULL, &x->shape)};
    edit_become(g, cast, "Mul", "", inputs, 2);
    edit_attribute_int(g, cast, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
}

/* An index below 0 counts from the end. */
static struct onnx_value *from_start(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *at, int64_t lines) {
    const double zero = 0, all = (double)lines;
    const struct onnx_shape scalar = {0};
    struct onnx_value *below = put(g, node, "Less", at, graph_floats(g, node, "zero", &scalar, &zero), &at->shape);
    below->type = ONNX_BOOL;
    struct onnx_value *more =
        exact(g, node, "Mul", say_cast(g, node, below, ONNX_FLOAT), graph_floats(g, node, "all", &scalar, &all), &at->shape);
    return exact(g, node, "Add", at, more, &at->shape);
}

/* Whether its lines are those of a constant, along its first axis, and not more than floats count. */
static bool is_table(const struct onnx_value *x) {
    const struct onnx_tensor *t = x->constant;
    if (!t && graph_is(x->producer, "DequantizeLinear")) t = onnx_input_constant(x->producer, 0);
    return t && (t->type == ONNX_FLOAT || t->type == ONNX_INT8 || t->type == ONNX_UINT8) && x->shape.rank > 0 && x->shape.dims[0] > 0 &&
           x->shape.dims[0] <= MOST_COUNTED;
}

/* The same index in floats, none below 0. */
static struct onnx_value *place_of(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *at, int64_t lines) {
    struct search search = {MANY};
    double range[2];
    struct onnx_value *place = say_cast(g, node, at, ONNX_FLOAT);
    const bool known = range_of(at, FAR, range, &search) && range[0] >= 0 && range[1] < (double)lines;
    return known ? place : from_start(g, node, place, lines);
}

static bool is_computed(const struct onnx_value *at) {
    struct search search = {MANY};
    return at && !at->constant && at->producer && onnx_is_integer(at->type) && at->shape.rank >= 0 && onnx_elements(&at->shape) > 0 &&
           index_kind(at, FAR, &search) == COMPUTED;
}

/* x as [in front of the axis, along it, behind it] */
static struct onnx_shape around(const struct onnx_shape *x, int axis) {
    struct onnx_shape shape = {3, {1, x->dims[axis], 1}};
    for (int d = 0; d < x->rank; d++)
        if (d != axis) shape.dims[d < axis ? 0 : 2] *= x->dims[d];
    return shape;
}

/* y are rows of x, which is seen as `shape`, at places that are the same, or as many, for each of its first dimension. */
static void become_rows(struct onnx_graph *g, struct onnx_node *node, const struct onnx_shape *shape, struct onnx_value *at) {
    const int64_t batch = shape->dims[0], own = onnx_elements(&at->shape),
                  k = onnx_elements(&node->outputs[0]->shape) / batch / shape->dims[2];
    const struct onnx_shape given = {2, {own / k, k}}, all = {2, {batch, k}};
    struct onnx_value *places = say_reshape(g, node, place_of(g, node, at, shape->dims[1]), &given);
    if (own != batch * k) places = exact(g, node, "Expand", places, graph_int64s(g, node, "all", all.dims, 2), &all);
    struct onnx_value *rows = say_rows(g, node, say_reshape(g, node, node->inputs[0], shape), places);
    say_as(g, node, say_reshape(g, node, rows, &node->outputs[0]->shape));
}

static bool is_number(const struct onnx_value *x, int64_t number) {
    return x && x->constant && x->constant->count == 1 && onnx_is_integer(x->type) && onnx_integer(x->constant, 0) == number;
}

/* The index of a Where that adds `lines` to what is below 0, as frameworks write it: Gather does so itself. NULL: it is no such. */
static struct onnx_value *counted_from_end(const struct onnx_value *at, int64_t lines) {
    const struct onnx_node *where = at ? at->producer : NULL;
    struct onnx_value *x = graph_is(where, "Where") ? onnx_input(where, 2) : NULL;
    const struct onnx_node *below = x && onnx_input(where, 0) ? where->inputs[0]->producer : NULL,
                           *more = x && onnx_input(where, 1) ? where->inputs[1]->producer : NULL;
    if (!graph_is(below, "Less") || onnx_input(below, 0) != x || !is_number(onnx_input(below, 1), 0) || !graph_is(more, "Add")) return NULL;
    const int first = onnx_input(more, 0) != x;
    return graph_same_shape(x, at) && onnx_input(more, first) == x && is_number(onnx_input(more, !first), lines) ? x : NULL;
}

/* Of a table, lines by whole numbers in floats. Of others, rows. */
bool change_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *at = onnx_input(node, 1), *plain;
    int axis;
    if (!graph_is(node, "Gather") || !x || !at || !onnx_axis_of(onnx_attribute_int(node, "axis", 0), x->shape.rank, &axis)) return false;
    if ((plain = counted_from_end(at, x->shape.dims[axis]))) {
        edit_set_input(g, node, 1, plain);
        return true;
    }
    if (!is_computed(at)) return false;
    if (!axis && is_table(x)) {
        count_in_floats(g, node, say_cast(g, node, at, ONNX_FLOAT), at->type);
        return true;
    }
    if (x->constant || x->type != ONNX_FLOAT || onnx_elements(&x->shape) < 1) return false;
    const int64_t count = x->shape.dims[axis];
    const struct onnx_shape shape = around(&x->shape, axis);
    if (count <= SAY_ROWS_MOST) become_rows(g, node, &shape, at);
    return count <= SAY_ROWS_MOST;
}

/* Whether an index picks whole rows: one for all that is behind the axis, and one for each in front of it. */
static bool picks_rows(const struct onnx_value *at, const struct onnx_shape *x, const struct onnx_shape *y, int axis) {
    if (at->shape.rank != x->rank) return false;
    for (int d = 0; d < x->rank; d++)
        if (d == axis ? at->shape.dims[d] != y->dims[d] : y->dims[d] != x->dims[d] || at->shape.dims[d] != (d < axis ? x->dims[d] : 1))
            return false;
    return true;
}

/* The index that another one is spread from, if it picks rows; NULL: it does not. */
static struct onnx_value *row_index(struct onnx_value *at, const struct onnx_shape *x, const struct onnx_shape *y, int axis) {
    static const char *const spreads[] = {"Expand", "Tile", "Cast", "Identity", NULL}; /* a Cast to fewer bits would wrap */
    for (int step = 0; step < FAR && at && (at->type == ONNX_INT32 || at->type == ONNX_INT64); step++) {
        if (picks_rows(at, x, y, axis)) return at;
        at = at->producer && is_one_of(at->producer, spreads) ? onnx_input(at->producer, 0) : NULL;
    }
    return NULL;
}

/* Of all elements in a row, each where its index says: `index` times what is behind the axis, and what its other places come to. */
static void become_elements(struct onnx_graph *g, struct onnx_node *node, int axis, struct onnx_value *at) {
    const struct onnx_shape *x = &node->inputs[0]->shape, *y = &at->shape, row = {3, {1, onnx_elements(x), 1}};
    const int64_t count = onnx_elements(y), behind = around(x, axis).dims[2];
    const struct onnx_shape list = {2, {1, count}};
    double *terms = graph_doubles(g, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, stride = 1;
        for (int d = x->rank; d-- > 0; stride *= x->dims[d]) {
            terms[i] += d == axis ? 0 : (double)(rest % y->dims[d] * stride);
            rest /= y->dims[d];
        }
    }
    struct onnx_value *place = place_of(g, node, at, x->dims[axis]);
    place = exact(g, node, "Mul", place, say_number(g, node, "stride", (double)behind), y);
    place = exact(g, node, "Add", place, graph_floats(g, node, "term", y, terms), y);
    place = say_reshape(g, node, place, &list);
    say_as(g, node, say_reshape(g, node, say_rows(g, node, say_reshape(g, node, node->inputs[0], &row), place), &node->outputs[0]->shape));
}

/* GatherElements by an index that is computed. False: it is none, or has no room. */
bool change_elements_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *at = onnx_input(node, 1), *narrow;
    const struct onnx_shape *y = &node->outputs[0]->shape;
    int axis;
    if (!graph_is(node, "GatherElements") || !x || x->constant || x->type != ONNX_FLOAT || !is_computed(at) ||
        at->shape.rank != x->shape.rank)
        return false;
    if (!onnx_axis_of(onnx_attribute_int(node, "axis", 0), x->shape.rank, &axis) || onnx_elements(&x->shape) < 1) return false;
    if (x->shape.dims[axis] <= SAY_ROWS_MOST && (narrow = row_index(at, &x->shape, y, axis))) {
        const struct onnx_shape shape = around(&x->shape, axis);
        become_rows(g, node, &shape, narrow);
        return true;
    }
    if (onnx_elements(&x->shape) > SAY_ROWS_MOST || !graph_takes_room(g, (size_t)onnx_elements(&at->shape))) return false;
    become_elements(g, node, axis, at);
    return true;
}

/* The place along some first dimensions of x, which are seen as one, of an index that has one number for each of them. */
static struct onnx_value *place_along(struct onnx_graph *g, struct onnx_node *node, const struct onnx_shape *x, struct onnx_value *at) {
    const int last = at->shape.rank - 1;
    struct onnx_value *sum = NULL;
    int64_t stride = 1;
    for (int64_t d = at->shape.dims[last]; d-- > 0; stride *= x->dims[d]) {
        struct onnx_value *place = place_of(g, node, say_slice(g, node, at, last, d, d + 1), x->dims[d]);
        if (stride > 1) place = exact(g, node, "Mul", place, say_number(g, node, "stride", (double)stride), &place->shape);
        sum = sum ? exact(g, node, "Add", sum, place, &place->shape) : place;
    }
    return sum;
}

/* GatherND: where there is one place along all dimensions that it chooses from but the last, a Gather along that one; else rows. */
bool change_slices_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *at = onnx_input(node, 1), *y = node->outputs[0];
    if (!graph_is(node, "GatherND") || !x || x->type != ONNX_FLOAT || !is_computed(at) || at->shape.rank < 1 || y->shape.rank < 0 ||
        onnx_attribute_int(node, "batch_dims", 0))
        return false;
    const int last = at->shape.rank - 1;
    const int64_t chosen = at->shape.dims[last];
    int64_t lines = 1;
    if (chosen < 1 || chosen > x->shape.rank || onnx_elements(&x->shape) < 1 || at->shape.rank + 1 >= ONNX_MAX_RANK) return false;
    for (int64_t d = 0; d < chosen; d++) lines *= x->shape.dims[d];
    const struct onnx_shape table = {2, {lines, onnx_elements(&x->shape) / lines}}, rows = {3, {1, lines, table.dims[1]}},
                            list = {2, {1, onnx_elements(&at->shape) / chosen}};
    if (lines != x->shape.dims[chosen - 1]) {
        if (lines > SAY_ROWS_MOST || x->constant) return false;
        struct onnx_value *places = say_reshape(g, node, place_along(g, node, &x->shape, at), &list);
        say_as(g, node, say_reshape(g, node, say_rows(g, node, say_reshape(g, node, x, &rows), places), &y->shape));
        return true;
    }
    struct onnx_shape picked = at->shape;
    picked.dims[last] = 1, picked.dims[picked.rank++] = table.dims[1];
    x = put(g, node, "Reshape", x, graph_int64s(g, node, "table", table.dims, 2), &table);
    at = say_slice(g, node, at, last, chosen - 1, chosen);
    struct onnx_value *inputs[2] = {put(g, node, "Gather", x, at, &picked), graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}
