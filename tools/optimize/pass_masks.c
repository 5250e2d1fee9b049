/* SPDX-License-Identifier: MIT */
/*
 * Masks as exports write them. What is true or false as a network runs becomes a float, 1 or 0: And is a product, Not the rest to 1, Equal
 * the distance that is at most 1, and Where a sum of products. Of integers such floats are exact up to 2^24.
 *
 * Infinity as what is chosen becomes FLT_MAX: a product with 0 has to be 0. Behind a Softmax both give 0, but for a line that is masked
 * throughout: its elements are equal then, not NaN. So what exports put behind a Softmax against such NaN goes.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct onnx_shape scalar = {0};

static bool is_integer(const struct onnx_value *x) {
    return x->type == ONNX_INT64 || x->type == ONNX_INT32;
}

/* A constant as floats that are finite. */
static struct onnx_value *finite_numbers(struct onnx_graph *g, const struct onnx_node *node, const char *part, const struct onnx_value *x) {
    double *numbers = graph_doubles(g, (int64_t)x->constant->count);
    for (size_t i = 0; i < x->constant->count; i++) numbers[i] = fmin(fmax(onnx_number(x->constant, i), -FLT_MAX), FLT_MAX);
    return graph_floats(g, node, part, &x->shape, numbers);
}

/* Whether numbers_of() takes it. Asked of all inputs before the first node is put in: a change that gives up leaves the graph as it was. */
static bool has_numbers(const struct onnx_value *x) {
    if (!x || x->shape.rank < 0) return false;
    return x->type == ONNX_FLOAT || is_integer(x) || (x->type == ONNX_BOOL && x->constant);
}

/* Constants that many read are written anew for each. */
static bool has_room(struct onnx_graph *g, const struct onnx_node *node) {
    size_t count = 0;
    for (int i = 0; i < node->input_count; i++)
        count += node->inputs[i] && node->inputs[i]->constant ? node->inputs[i]->constant->count : 0;
    return graph_takes_room(g, count);
}

/* The numbers of a condition or of integers as floats. */
static struct onnx_value *numbers_of(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    if (x->type == ONNX_FLOAT) return x;
    if (x->constant) return finite_numbers(g, node, "numbers", x);
    struct onnx_value *y = graph_put(g, node, "Cast", &x, 1, &x->shape);
    y->producer->opset = node->opset;
    edit_attribute_int(g, y->producer, "to", ONNX_FLOAT);
    return y;
}

static struct onnx_value *two(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                              const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b}, *y = graph_put(g, node, op, inputs, 2, shape);
    y->producer->opset = node->opset;
    return y;
}

static struct onnx_value *number(struct onnx_graph *g, struct onnx_node *node, double v) {
    return graph_floats(g, node, "number", &scalar, &v);
}

/* The node gives 1 - x, or x. */
static void become(struct onnx_graph *g, struct onnx_node *node, bool not, struct onnx_value *x) {
    struct onnx_value *inputs[2] = {not ? number(g, node, 1) : x, x};
    edit_become(g, node, not ? "Sub" : "Identity", "", inputs, not ? 2 : 1);
    node->outputs[0]->type = ONNX_FLOAT;
}

/* x within 0 and 1 */
static struct onnx_value *within(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    const struct onnx_shape *shape = &x->shape;
    return two(g, node, "Min", two(g, node, "Max", x, number(g, node, 0), shape), number(g, node, 1), shape);
}

/* Of integers a and b: whether a > b, or whether they differ. */
static struct onnx_value *compared(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *a, struct onnx_value *b, bool differ) {
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    struct onnx_value *d = two(g, node, "Sub", a, b, shape);
    if (differ) d = graph_put(g, node, "Abs", &d, 1, shape);
    return within(g, node, d);
}

static bool change_comparison(struct onnx_graph *g, struct onnx_node *node) {
    const bool equal = graph_is(node, "Equal"), greater = graph_is(node, "Greater"), less = graph_is(node, "Less"),
               not_less = graph_is(node, "GreaterOrEqual"), not_greater = graph_is(node, "LessOrEqual");
    if (!(equal || greater || less || not_less || not_greater) || !node->inputs[0] || !node->inputs[1]) return false;
    if (!is_integer(node->inputs[0]) || !is_integer(node->inputs[1])) return false;
    if (!has_numbers(node->inputs[0]) || !has_numbers(node->inputs[1]) || !has_room(g, node)) return false;
    struct onnx_value *a = numbers_of(g, node, node->inputs[0]), *b = numbers_of(g, node, node->inputs[1]);
    const bool swap = less || not_less;
    become(g, node, equal || not_less || not_greater, compared(g, node, swap ? b : a, swap ? a : b, equal));
    return true;
}

static bool change_logic(struct onnx_graph *g, struct onnx_node *node) {
    const bool and = graph_is(node, "And"), or = graph_is(node, "Or"), not = graph_is(node, "Not"), xor = graph_is(node, "Xor");
    if (!and&&! or &&!not &&!xor) return false;
    if (!has_numbers(onnx_input(node, 0)) || (!not &&!has_numbers(onnx_input(node, 1))) || !has_room(g, node)) return false;
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    struct onnx_value *a = numbers_of(g, node, node->inputs[0]), *b = not ? a : numbers_of(g, node, node->inputs[1]);
    if (not ) become(g, node, true, a);
    else if (xor) become(g, node, false, graph_put(g, node, "Abs", (struct onnx_value *[]){two(g, node, "Sub", a, b, shape)}, 1, shape));
    else become(g, node, false, two(g, node, and? "Mul" : "Max", a, b, shape));
    return true;
}

/* To true or false, of integers; and from those to a float. */
static bool change_cast(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *y = node->outputs[0];
    if (!graph_is(node, "Cast") || !x || x->constant) return false;
    if (y->type != ONNX_BOOL || !is_integer(x)) return false;
    if (!has_numbers(x)) return false;
    struct onnx_value *numbers = numbers_of(g, node, x);
    become(g, node, false, compared(g, node, numbers, number(g, node, 0), true));
    return true;
}

/* What only moves follows the type of what it moves. */
static bool change_move(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0), *y = node->outputs[0];
    (void)g;
    if (!x || x->type != ONNX_FLOAT || y->type != ONNX_BOOL || onnx_class_of(node) != ONNX_MOVE) return false;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->type = ONNX_FLOAT;
    return true;
}

enum { MOST_LOOKED_AT = 64 };

/* Of a quotient or a power: its result is finite where its left operand is. */
static bool is_tame(const struct onnx_node *node) {
    const struct onnx_tensor *right = onnx_input_constant(node, 1);
    bool tame = right != NULL;
    for (size_t i = 0; tame && i < right->count; i++) {
        const double v = onnx_number(right, i);
        tame = graph_is(node, "Div") ? fabs(v) > FLT_MIN : v >= 0 && v == floor(v);
    }
    return tame;
}

/* Whether there may be a NaN or an infinity in it where no input has one: by functions of elements. What sums over them would have spread
 * it. `left`: so many nodes more are looked at; behind them it may. */
static bool may_be_no_number(const struct onnx_value *x, int *left) {
    static const char *const wild[] = {"Log", "Sqrt", "Reciprocal", "Exp", "Acos", "Acosh", "Asin", "Atanh", "Cosh", "Sinh", "Tan"};
    const struct onnx_node *node = x && !x->constant ? x->producer : NULL;
    const struct onnx_operator *op = node ? onnx_operator_of(node) : NULL;
    if (!op || (!op->function && !op->of_two && op->class != ONNX_MOVE)) return false;
    if (--*left < 0) return true;
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        if (graph_is(node, wild[i])) return true;
    if ((graph_is(node, "Div") || graph_is(node, "Pow")) && !is_tame(node)) return true;
    for (int i = 0; i < node->input_count; i++)
        if (may_be_no_number(node->inputs[i], left)) return true;
    return false;
}

/* x where the condition is 1, and 0 elsewhere: a product, but for a factor that 0 does not take away. NULL: x is 0 throughout. */
static struct onnx_value *chosen(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *condition, struct onnx_value *x) {
    double all = 1;
    int left = MOST_LOOKED_AT;
    if (x->constant) x = finite_numbers(g, node, "chosen", x);
    if (graph_scalar(x, &all) && all == 0) return NULL;
    struct onnx_value *y = two(g, node, "Mul", condition, x, &node->outputs[0]->shape);
    if (may_be_no_number(x, &left)) edit_become(g, y->producer, "Mask", ONNX_OWN, (struct onnx_value *[]){x, condition}, 2);
    return y;
}

static bool change_where(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *condition = onnx_input(node, 0);
    const struct onnx_shape *shape = &node->outputs[0]->shape;
    if (!graph_is(node, "Where") || !has_numbers(condition) || node->outputs[0]->type != ONNX_FLOAT) return false;
    if (!condition->constant && condition->type != ONNX_FLOAT) return false;
    if (!node->inputs[1] || !node->inputs[2] || !has_room(g, node)) return false;
    struct onnx_value *c = numbers_of(g, node, condition), *rest = two(g, node, "Sub", number(g, node, 1), c, &c->shape);
    struct onnx_value *a = chosen(g, node, c, node->inputs[1]), *b = chosen(g, node, rest, node->inputs[2]);
    struct onnx_value *both[2] = {a ? a : b, b};
    if (!a && !b) both[0] = two(g, node, "Mul", c, number(g, node, 0), shape);
    edit_become(g, node, a && b ? "Add" : "Identity", "", both, a && b ? 2 : 1);
    return true;
}

/* Where(IsNaN(y), 0, y) behind a Softmax that masks of this kind leave no NaN. */
static bool change_guard(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_value *condition = onnx_input(node, 0);
    if (!graph_is(node, "Where") || !condition || !graph_is(condition->producer, "IsNaN")) return false;
    struct onnx_value *y = condition->producer->inputs[0];
    if (!y || node->inputs[2] != y || !graph_is(y->producer, "Softmax") || !node->inputs[1] || !node->inputs[1]->constant) return false;
    return graph_bypass(g, node, y);
}

static bool change(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_is_open(node) || node->outputs[0]->constant) return false;
    return change_guard(g, node) || change_cast(g, node) || change_comparison(g, node) || change_logic(g, node) || change_move(g, node) ||
           change_where(g, node);
}

/* Before the first condition becomes a float: of a float it would be something else. */
static int bypass_casts(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = g->node_count; i-- > 0;) {
        struct onnx_node *node = graph_node_at(g, i);
        if (graph_is(node, "Cast") && !node->folded && onnx_is_checked(node) && node->inputs[0] && node->inputs[0]->type == ONNX_BOOL &&
            node->outputs[0]->type == ONNX_BOOL)
            changes += graph_bypass(g, node, node->inputs[0]);
    }
    return changes;
}

int pass_masks(struct onnx_graph *g) {
    int changes = bypass_casts(g);
    for (size_t i = 0; graph_goes_on(g, i); i++) changes += change(g, graph_node_at(g, i));
    return changes;
}
