/* SPDX-License-Identifier: MIT */
/*
 * Integers and conditions that are known as a network runs, where floats are made of them in the end: those floats are computed at once.
 * A Cast to float goes in front of sums, products and moves, up to an input. Of integers such floats are exact up to 2^24.
 */
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <string.h>

static bool is_integer(const struct onnx_value *x) {
    return x && (x->type == ONNX_INT64 || x->type == ONNX_INT32);
}

/* How many inputs of the node are numbers, the rest being shapes and indices; 0: it is none of those that a Cast may pass. */
static int numbers_of(const struct onnx_node *node) {
    static const char *const sums[] = {"Add", "Sub", "Mul", "Max", "Min", "Sum", "Neg", "Abs", "Clip"};
    static const char *const reduces[] = {"ReduceSum", "ReduceMax", "ReduceMin", "CumSum"};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (graph_is(node, sums[i])) return node->input_count;
    for (size_t i = 0; i < sizeof reduces / sizeof *reduces; i++)
        if (graph_is(node, reduces[i])) return 1;
    if (onnx_class_of(node) == ONNX_JOIN) return node->input_count;
    return onnx_class_of(node) == ONNX_MOVE && node->output_count == 1 && !graph_is(node, "Pad") ? 1 : 0;
}

static struct onnx_value *new_float(struct onnx_graph *g, struct onnx_node *before, struct onnx_value *x) {
    double *numbers = x->constant ? graph_doubles(g, (int64_t)x->constant->count + 1) : NULL;
    for (size_t i = 0; numbers && i < x->constant->count; i++) numbers[i] = onnx_number(x->constant, i);
    if (numbers) return graph_floats(g, before, "numbers", &x->shape, numbers);
    struct onnx_value *y = graph_put(g, before, "Cast", &x, 1, &x->shape);
    y->producer->opset = before->opset;
    edit_attribute_int(g, y->producer, "to", ONNX_FLOAT);
    return y;
}

/* The same floats for all that want them, in the place of `lowered`: of a sum of itself over and over there would be 2^n otherwise. */
static struct onnx_value *as_float(struct onnx_graph *g, struct onnx_node *before, struct onnx_value *x) {
    if (!x->lowered) x->lowered = new_float(g, before, x);
    return x->lowered;
}

/* The Cast becomes the node of floats that it is the Cast of. */
static void pass_on(struct onnx_graph *g, struct onnx_node *cast, const struct onnx_node *node, int numbers) {
    struct onnx_value **inputs = onnx_alloc(g, (size_t)node->input_count * sizeof(void *));
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = i < numbers && node->inputs[i] ? as_float(g, cast, node->inputs[i]) : node->inputs[i];
    edit_become(g, cast, node->op, node->domain, inputs, node->input_count);
    cast->opset = node->opset;
    cast->attributes = onnx_alloc(g, (node->attribute_count + 1) * sizeof *cast->attributes);
    if (node->attribute_count) memcpy(cast->attributes, node->attributes, node->attribute_count * sizeof *cast->attributes);
    cast->attribute_count = node->attribute_count;
    if (onnx_class_of(node) != ONNX_MOVE && onnx_class_of(node) != ONNX_JOIN) edit_attribute_int(g, cast, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
}

/* Floats that are 1 or 0: a Cast of what came in, or the work of pass_ends.c. */
static bool is_condition(const struct onnx_value *x) {
    const struct onnx_node *node = x->producer;
    const struct onnx_value *from = graph_is(node, "Cast") ? onnx_input(node, 0) : NULL;
    return x->type == ONNX_BOOL || (x->type == ONNX_FLOAT && node &&
                                    (onnx_attribute_int(node, ONNX_EXACT_MARK, 0) == ONNX_IS_WHOLE || (from && from->type == ONNX_BOOL)));
}

/* A condition that became an integer, or an integer another one: what the floats are made of then. NULL: neither. */
static struct onnx_value *behind_cast(const struct onnx_node *node) {
    struct onnx_value *x = graph_is(node, "Cast") ? onnx_input(node, 0) : NULL;
    return x && !x->constant && (is_condition(x) || is_integer(x)) ? x : NULL;
}

static bool is_above_zero(struct onnx_graph *g, struct onnx_node *cast, const struct onnx_value *x) {
    struct onnx_context c = {g, cast, ""};
    const struct onnx_tensor *t = x ? x->constant : NULL;
    if (!t || !onnx_spend(&c, t->count)) return false;
    for (size_t i = 0; i < t->count; i++)
        if (onnx_integer(t, i) < 1) return false;
    return true;
}

/* Of the shape of the result, or, of one operand, of its own; and marked. */
static struct onnx_value *whole(struct onnx_graph *g, struct onnx_node *cast, const char *op, struct onnx_value *a, struct onnx_value *b) {
    struct onnx_value *y = say(g, cast, op, a, b, b ? &cast->outputs[0]->shape : &a->shape);
    edit_attribute_int(g, y->producer, ONNX_EXACT_MARK, ONNX_IS_WHOLE);
    return y;
}

/* Div, which cuts towards 0, and Mod, by constants above 0. A quotient of whole numbers below 2^24 that is not whole is further from the
 * next whole number than rounding goes: |a / b| 2^-24 < 1 / b. */
static bool change_division(struct onnx_graph *g, struct onnx_node *cast, const struct onnx_node *node) {
    const bool mod = graph_is(node, "Mod"), down = mod && !onnx_attribute_int(node, "fmod", 0);
    struct onnx_value *a = onnx_input(node, 0), *b = onnx_input(node, 1);
    if ((!mod && !graph_is(node, "Div")) || !is_integer(a) || a->shape.rank < 0 || !is_above_zero(g, cast, b)) return false;
    a = as_float(g, cast, a), b = as_float(g, cast, b);
    struct onnx_value *quotient = whole(g, cast, "Div", down ? a : whole(g, cast, "Abs", a, NULL), b);
    quotient = whole(g, cast, "Floor", quotient, NULL);
    if (!down) quotient = whole(g, cast, "Mul", quotient, whole(g, cast, "Sign", a, NULL));
    if (mod) quotient = whole(g, cast, "Sub", a, whole(g, cast, "Mul", quotient, b));
    say_as(g, cast, quotient);
    return true;
}

static bool change_cast(struct onnx_graph *g, struct onnx_node *cast) {
    if (!graph_is(cast, "Cast") || cast->folded || cast->outputs[0]->type != ONNX_FLOAT) return false;
    struct onnx_value *x = onnx_input(cast, 0), *from;
    const struct onnx_node *node = is_integer(x) && !x->constant ? x->producer : NULL;
    if (!node || node->folded || !onnx_is_checked(node) || cast->outputs[0]->shape.rank < 0) return false;
    if (!x->lowered) x->lowered = cast->outputs[0];
    if (x->lowered != cast->outputs[0] && graph_bypass(g, cast, x->lowered)) return true;
    if ((from = behind_cast(node))) {
        edit_set_input(g, cast, 0, from);
        return true;
    }
    if (graph_is(node, "Cast") && node->inputs[0] && node->inputs[0]->type == ONNX_FLOAT && !onnx_attribute_int(node, ONNX_EXACT_MARK, 0)) {
        change_cut(g, cast, node->inputs[0]);
        return true;
    }
    if (change_division(g, cast, node)) return true;
    const int numbers = numbers_of(node);
    for (int i = 0; i < numbers; i++)
        if (node->inputs[i] ? !is_integer(node->inputs[i]) || node->inputs[i]->shape.rank < 0 : !i) return false;
    if (numbers) pass_on(g, cast, node, numbers);
    return numbers != 0;
}

/* Whoever reads a condition that comes into the network reads 0 or 1. */
static bool change_input(struct onnx_graph *g, struct onnx_value *x) {
    size_t at = 0;
    struct onnx_node *first = x->type == ONNX_BOOL && x->shape.rank >= 0 ? edit_next_reader(g, x, &at) : NULL;
    if (!first || (x->uses == 1 + x->is_output && graph_is(first, "Cast") && first->outputs[0]->type == ONNX_FLOAT)) return false;
    struct onnx_value *y = as_float(g, first, x);
    if (edit_replace_uses(g, x, y, false)) edit_set_input(g, y->producer, 0, x);
    return true;
}

/* Where one of those that have one type in common became a float, the conditions among them do. */
static bool change_mixture(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_operator *op = onnx_operator_of(node);
    const int first = graph_is(node, "Where");
    int floats = 0, conditions = 0;
    const bool mixes =
        op && (first || op->infer == onnx_infer_arithmetic || op->infer == onnx_infer_logic || onnx_class_of(node) == ONNX_JOIN);
    if (!mixes || node->folded || !onnx_is_checked(node)) return false;
    for (int i = first; i < node->input_count; i++) {
        const struct onnx_value *x = node->inputs[i];
        floats += x && x->type == ONNX_FLOAT;
        conditions += x && x->type == ONNX_BOOL && x->shape.rank >= 0;
    }
    for (int i = first; floats && i < node->input_count; i++) {
        struct onnx_value *x = node->inputs[i];
        if (x && x->type == ONNX_BOOL && x->shape.rank >= 0) edit_set_input(g, node, i, as_float(g, node, x));
    }
    if (floats && conditions && op->type == first) node->outputs[0]->type = ONNX_FLOAT;
    return floats && conditions;
}

/* Whether this pass, pass_ends.c or pass_masks.c makes a number of a condition that nothing moves. */
static bool is_made_a_number(const struct onnx_value *x) {
    static const char *const known[] = {"And", "Or", "Xor", "Not", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"};
    const struct onnx_node *node = x->producer;
    bool becomes = !node || x->type == ONNX_FLOAT || (graph_is(node, "Cast") && is_integer(onnx_input(node, 0)));
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) becomes = becomes || graph_is(node, known[i]);
    return becomes && !x->constant;
}

/* What a condition is moved from; NULL: nothing moves it. */
static struct onnx_value *moved_from(const struct onnx_value *x) {
    const struct onnx_node *node = x->producer;
    return node && onnx_class_of(node) == ONNX_MOVE ? node->inputs[0] : NULL;
}

/* The same of any. What is so at the end of a chain of moves is so along it: it is kept there, for others of the chain until the next
 * round. */
static bool becomes_number(struct onnx_value *x) {
    struct onnx_value *end = x;
    while (!end->answer && moved_from(end)) end = moved_from(end);
    if (!end->answer) end->answer = is_made_a_number(end) ? 1 : -1;
    for (; x != end; x = moved_from(x)) x->answer = end->answer;
    return end->answer > 0;
}

/* A condition that is smaller than what it chooses from is as large: then so is each product with it. */
static bool change_where(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *condition = onnx_input(node, 0), *y = node->outputs[0];
    if (!graph_is(node, "Where") || node->folded || !condition || condition->constant || y->shape.rank < 0) return false;
    if (condition->shape.rank < 0 || graph_same_shape(condition, y) || !becomes_number(condition)) return false;
    struct onnx_value *inputs[2] = {condition, graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank)};
    struct onnx_value *wide = graph_put(g, node, "Expand", inputs, 2, &y->shape);
    wide->type = condition->type;
    wide->producer->opset = node->opset;
    edit_set_input(g, node, 0, wide);
    return true;
}

static bool has_integer_sums(const struct onnx_graph *g) {
    for (size_t i = 0; i < g->node_count; i++)
        if (onnx_has(graph_node_at(g, i), ONNX_DYNAMIC)) return true;
    return false;
}

enum { FAR = 8, MANY = 256 }; /* steps back, and nodes on the way: each may have hundreds of operands, all of them the same */

/* Whether an integer may be one of a ConvInteger's or MatMulInteger's sums: those stay, as their scales come behind the Cast. `left`
 * says how many nodes it still looks at; what lies behind them may be sums. */
static bool may_be_sums(const struct onnx_value *x, int depth, int *left) {
    const struct onnx_node *node = x->producer;
    if (!node || x->constant || !is_integer(x)) return false;
    if (!depth || !*left || onnx_has(node, ONNX_DYNAMIC)) return true;
    --*left;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && may_be_sums(node->inputs[i], depth - 1, left)) return true;
    return false;
}

static bool reads_sums(const struct onnx_node *node) {
    int left = MANY;
    return graph_is(node, "Cast") && onnx_input(node, 0) && may_be_sums(node->inputs[0], FAR, &left);
}

static bool looks_up(struct onnx_graph *g, struct onnx_node *node) {
    return graph_is_open(node) && (change_lookup(g, node) || change_elements_lookup(g, node) || change_slices_lookup(g, node));
}

/* The place of the largest integer is that of the largest float. */
static bool change_arg(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    if ((!graph_is(node, "ArgMax") && !graph_is(node, "ArgMin")) || node->folded || !onnx_is_checked(node)) return false;
    if (!x || x->constant || !is_integer(x) || x->shape.rank < 0) return false;
    edit_set_input(g, node, 0, as_float(g, node, x));
    return true;
}

int pass_integers(struct onnx_graph *g) {
    const bool casts_stay = has_integer_sums(g);
    int changes = 0;
    for (size_t i = 0; i < g->value_count; i++) {
        g->values[i]->lowered = NULL;
        g->values[i]->answer = 0;
    }
    /* What a change puts in front of a node is looked at, too: a chain goes in one round, however long it is. */
    for (size_t i = 0; graph_goes_on(g, i);) {
        struct onnx_node *node = graph_node_at(g, i);
        const bool stays = casts_stay && reads_sums(node);
        const bool changed = (!stays && change_cast(g, node)) || looks_up(g, node) || change_arg(g, node) || change_where(g, node) ||
                             change_mixture(g, node);
        changes += changed;
        i += !changed;
    }
    for (size_t i = 0; i < g->input_count; i++) changes += change_input(g, g->inputs[i]);
    return changes;
}
