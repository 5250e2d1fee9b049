/* SPDX-License-Identifier: MIT */
/*
 * Lines by an index that the network computes: positions by running sums (MPNet, RoBERTa), sizes of boxes (LayoutLM), the place of the
 * last token (CLIP). Blobs look up integers that come in, and whole numbers in floats, in tables that are constant. Of what the network
 * computes, 0 and 1 times the lines give the same numbers.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <math.h>
#include <string.h>

enum { FAR = 8, MANY = 1 << 12 }; /* steps back, each of which may be of two operands; nodes and numbers that are looked at, in all */
enum { MOST_LINES = 1 << 12, MOST_PLACES = 1 << 22, MOST_COUNTED = 1 << 22 };

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
    static const char *const sums[] = {"Add", "Sub",       "Mul",       "Max",       "Min",    "Sum", "Neg",
                                       "Abs", "ReduceSum", "ReduceMax", "ReduceMin", "CumSum", NULL},
                             *const places[] = {"ArgMax", "ArgMin", NULL};
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
    edit_attribute_int(g, y->producer, ONNX_EXACT_MARK, 1);
    return y;
}

/* The index is said in floats, which become integers where it is read: the only Cast of floats that blobs have. */
static void count_in_floats(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *whole, enum onnx_type type) {
    struct onnx_value *at = say_cast(g, node, whole, type);
    edit_attribute_int(g, at->producer, ONNX_EXACT_MARK, 1);
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
    edit_attribute_int(g, cast, ONNX_EXACT_MARK, 1);
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

/* 1 in the place of the index, 0 elsewhere. */
static struct onnx_value *ones(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *at, int64_t count) {
    double *numbers = graph_doubles(g, count);
    struct onnx_shape one = at->shape, all = at->shape;
    const struct onnx_shape line = {1, {count}};
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)i;
    one.dims[one.rank++] = 1, all.dims[all.rank++] = count;
    at = exact(g, node, "Reshape", at, graph_int64s(g, node, "one", one.dims, one.rank), &one);
    at = exact(g, node, "Expand", at, graph_int64s(g, node, "all", all.dims, all.rank), &all);
    struct onnx_value *here = put(g, node, "Equal", at, graph_floats(g, node, "places", &line, numbers), &all);
    here->type = ONNX_BOOL;
    return say_cast(g, node, here, ONNX_FLOAT);
}

/* Whether its lines are those of a constant, along its first axis, and not more than floats count. */
static bool is_table(const struct onnx_value *x) {
    const struct onnx_tensor *t = x->constant;
    if (!t && graph_is(x->producer, "DequantizeLinear")) t = onnx_input_constant(x->producer, 0);
    return t && (t->type == ONNX_FLOAT || t->type == ONNX_INT8 || t->type == ONNX_UINT8) && x->shape.rank > 0 && x->shape.dims[0] > 0 &&
           x->shape.dims[0] <= MOST_COUNTED;
}

/* Of a table, lines by whole numbers in floats. Of others, 0 and 1 times the lines: sums of one number and zeros. */
bool change_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *at = onnx_input(node, 1);
    struct search search = {MANY};
    double range[2];
    if (!graph_is(node, "Gather") || !x || !at || at->constant || !at->producer || !onnx_is_integer(at->type) || at->shape.rank < 0 ||
        onnx_attribute_int(node, "axis", 0))
        return false;
    if (index_kind(at, FAR, &search) != COMPUTED) return false;
    if (is_table(x)) {
        count_in_floats(g, node, say_cast(g, node, at, ONNX_FLOAT), at->type);
        return true;
    }
    if (x->constant || x->type != ONNX_FLOAT || x->shape.rank != 2 || at->shape.rank + 2 > ONNX_MAX_RANK) return false;
    const int64_t count = x->shape.dims[0];
    if (count < 1 || count > MOST_LINES || onnx_elements(&at->shape) > MOST_PLACES / count) return false;
    search.left = MANY;
    struct onnx_value *place = say_cast(g, node, at, ONNX_FLOAT);
    if (!range_of(at, FAR, range, &search) || range[0] < 0 || range[1] >= (double)count) place = from_start(g, node, place, count);
    struct onnx_value *inputs[2] = {ones(g, node, place, count), x};
    edit_become(g, node, "MatMul", "", inputs, 2);
    edit_attribute_int(g, node, ONNX_EXACT_MARK, 2);
    return true;
}

/* GatherND where there is one place along all dimensions that it chooses from but the last: a Gather along that one. */
bool change_slices_lookup(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *at = onnx_input(node, 1), *y = node->outputs[0];
    struct search search = {MANY};
    if (!graph_is(node, "GatherND") || !x || x->type != ONNX_FLOAT || !at || at->constant || at->shape.rank < 1 || y->shape.rank < 0 ||
        onnx_attribute_int(node, "batch_dims", 0))
        return false;
    const int last = at->shape.rank - 1;
    const int64_t chosen = at->shape.dims[last];
    if (chosen < 1 || chosen > x->shape.rank || index_kind(at, FAR, &search) != COMPUTED) return false;
    for (int64_t d = 0; d + 1 < chosen; d++)
        if (x->shape.dims[d] != 1) return false;
    const int64_t lines = x->shape.dims[chosen - 1], which = chosen - 1;
    if (lines < 1 || onnx_elements(&x->shape) < 1) return false;
    const struct onnx_shape table = {2, {lines, onnx_elements(&x->shape) / lines}};
    struct onnx_shape one = at->shape, rows = at->shape;
    one.dims[last] = 1, rows.dims[last] = 1, rows.dims[rows.rank++] = table.dims[1];
    if (rows.rank >= ONNX_MAX_RANK) return false;
    x = put(g, node, "Reshape", x, graph_int64s(g, node, "table", table.dims, 2), &table);
    at = put(g, node, "Gather", at, graph_int64s(g, node, "which", &which, 1), &one);
    edit_attribute_int(g, at->producer, "axis", last);
    at->type = node->inputs[1]->type;
    struct onnx_value *inputs[2] = {put(g, node, "Gather", x, at, &rows), graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank)};
    edit_become(g, node, "Reshape", "", inputs, 2);
    return true;
}
