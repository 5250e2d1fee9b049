/* SPDX-License-Identifier: MIT */
/*
 * Elements and slices by constant indices, and sequences backwards, are lines of all of them in a row; a Where by a constant condition is a
 * product with it, and a number added.
 */
#include "tools/optimize/pass.h"

#include <float.h>
#include <math.h>

/* Gather of lines of `width` elements: x in a row, and y from it. */
static void become_lines(struct onnx_graph *g, struct onnx_node *node, int64_t width, const int64_t *lines, int count) {
    struct onnx_value *x = node->inputs[0], *y = node->outputs[0];
    struct onnx_shape rows = {2, {onnx_elements(&x->shape) / width, width}}, picked = {2, {count, width}};
    struct onnx_value *inputs[2] = {x, graph_int64s(g, node, "rows", rows.dims, 2)};
    struct onnx_value *in = edit_value(g, x->name, x->type, &rows), *out = edit_value(g, y->name, x->type, &picked);
    edit_node(g, node, "Reshape", "", NULL, inputs, 2, &in, 1)->opset = node->opset;
    inputs[0] = in, inputs[1] = graph_int64s(g, node, "lines", lines, count);
    edit_node(g, node, "Gather", "", NULL, inputs, 2, &out, 1)->opset = node->opset;
    inputs[0] = out, inputs[1] = graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank);
    edit_become(g, node, "Reshape", "", inputs, 2);
}

/* The index along an axis of x; -1: beyond it. */
static int64_t index_of(const struct onnx_tensor *at, size_t i, int64_t dim) {
    const int64_t index = onnx_integer(at, i);
    return index < -dim || index >= dim ? -1 : index < 0 ? index + dim : index;
}

/* Each place of y is one of x, but for its index along the axis. */
static bool change_elements(struct onnx_graph *g, struct onnx_node *node, const struct onnx_tensor *at) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    int axis;
    if (!onnx_axis_of(onnx_attribute_int(node, "axis", 0), x->rank, &axis) || at->shape.rank != x->rank || at->count > 1 << 26)
        return false;
    int64_t *lines = onnx_alloc(g, (at->count + 1) * sizeof *lines);
    for (size_t i = 0; i < at->count; i++) {
        size_t rest = i;
        int64_t stride = 1;
        for (int d = x->rank; d-- > 0; stride *= x->dims[d]) {
            const int64_t own = (int64_t)(rest % (size_t)at->shape.dims[d]), place = d == axis ? index_of(at, i, x->dims[d]) : own;
            if (place < 0 || place >= x->dims[d]) return false;
            lines[i] += place * stride;
            rest /= (size_t)at->shape.dims[d];
        }
    }
    become_lines(g, node, 1, lines, (int)at->count);
    return true;
}

/* Slices, or single elements, by the first of their indices. */
static bool change_slices(struct onnx_graph *g, struct onnx_node *node, const struct onnx_tensor *at) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    const int64_t given = at->shape.rank < 1 ? 0 : at->shape.dims[at->shape.rank - 1];
    int64_t width = 1;
    if (given < 1 || given > x->rank || onnx_attribute_int(node, "batch_dims", 0) || at->count > 1 << 26) return false;
    const size_t count = at->count / (size_t)given;
    int64_t *lines = onnx_alloc(g, (count + 1) * sizeof *lines);
    for (int d = (int)given; d < x->rank; d++) width *= x->dims[d];
    for (size_t i = 0; i < count; i++)
        for (int64_t d = 0; d < given; d++) {
            const int64_t index = index_of(at, i * (size_t)given + (size_t)d, x->dims[d]);
            if (index < 0) return false;
            lines[i] = lines[i] * x->dims[d] + index;
        }
    become_lines(g, node, width, lines, (int)count);
    return true;
}

/* The first so many of a sequence backwards, and what is behind them: as many of each as is constant. */
static bool change_reverse(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0);
    const struct onnx_tensor *lengths = onnx_input_constant(node, 1);
    const int64_t batch = onnx_attribute_int(node, "batch_axis", 1), time = onnx_attribute_int(node, "time_axis", 0);
    if (!graph_is(node, "ReverseSequence") || !x || x->constant || !lengths || x->shape.rank < 2 || onnx_elements(&x->shape) < 1)
        return false;
    if ((batch != 0 || time != 1) && (batch != 1 || time != 0)) return false;
    if ((int64_t)lengths->count != x->shape.dims[batch]) return false;
    const int64_t count = x->shape.dims[0] * x->shape.dims[1];
    if (count > 1 << 26 || !graph_takes_room(g, 2 * (size_t)count)) return false;
    int64_t *lines = onnx_alloc(g, (size_t)count * sizeof *lines), stride[2] = {x->shape.dims[1], 1};
    for (int64_t b = 0; b < x->shape.dims[batch]; b++) {
        const int64_t length = onnx_integer(lengths, (size_t)b);
        if (length < 0 || length > x->shape.dims[time]) return false;
        for (int64_t t = 0; t < x->shape.dims[time]; t++)
            lines[b * stride[batch] + t * stride[time]] = b * stride[batch] + (t < length ? length - 1 - t : t) * stride[time];
    }
    become_lines(g, node, onnx_elements(&x->shape) / count, lines, (int)count);
    return true;
}

static bool change_gather(struct onnx_graph *g, struct onnx_node *node) {
    const bool elements = graph_is(node, "GatherElements"), slices = graph_is(node, "GatherND");
    const struct onnx_value *x = onnx_input(node, 0);
    const struct onnx_tensor *at = onnx_input_constant(node, 1);
    if ((!elements && !slices) || !x || x->constant || !at || !at->count || x->shape.rank < 1 || onnx_elements(&x->shape) < 1) return false;
    if (!graph_takes_room(g, 2 * at->count)) return false;
    return elements ? change_elements(g, node, at) : change_slices(g, node, at);
}

/* Whether chosen() can say it. A pass judges all inputs before it puts nodes in: else it would do so for ever. */
static bool can_choose(const struct onnx_tensor *condition, const struct onnx_value *x, const struct onnx_value *y) {
    const struct onnx_tensor *t = x->constant;
    return t ? t->count == 1 || onnx_same_shape(&t->shape, &condition->shape) : graph_same_shape(x, y);
}

/* What is chosen where the condition is `when`, and 0 elsewhere. */
static struct onnx_value *chosen(struct onnx_graph *g, struct onnx_node *node, const struct onnx_tensor *condition, struct onnx_value *x,
                                 bool when) {
    const struct onnx_tensor *t = x->constant;
    double *numbers = graph_doubles(g, (int64_t)condition->count);
    for (size_t i = 0; i < condition->count; i++)
        numbers[i] = (onnx_integer(condition, i) != 0) != when ? 0
                     : t                                       ? fmin(fmax(onnx_number(t, t->count > 1 ? i : 0), -FLT_MAX), FLT_MAX)
                                                               : 1;
    struct onnx_value *inputs[2] = {x, graph_floats(g, node, when ? "then" : "else", &condition->shape, numbers)};
    if (t) return inputs[1];
    struct onnx_value *y = graph_put(g, node, "Mul", inputs, 2, &node->outputs[0]->shape);
    edit_become(g, y->producer, "Mask", ONNX_OWN, inputs, 2); /* what is not chosen may be no number */
    return y;
}

/* Which input of a Where is chosen everywhere, by a condition that is the same there; -1: by one that is not. */
static int chosen_everywhere(const struct onnx_tensor *condition) {
    return !onnx_all_alike(condition) ? -1 : onnx_integer(condition, 0) ? 1 : 2;
}

/* Infinity as what is chosen is FLT_MAX, as in pass_masks.c. */
static bool change_where(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_tensor *condition = onnx_input_constant(node, 0);
    struct onnx_value *a = onnx_input(node, 1), *b = onnx_input(node, 2), *y = node->outputs[0];
    if (!graph_is(node, "Where") || !condition || !condition->count || !a || !b || y->type != ONNX_FLOAT || (a->constant && b->constant))
        return false;
    const int all = chosen_everywhere(condition);
    if (all > 0 && !node->inputs[all]->constant) {
        struct onnx_value *inputs[2] = {node->inputs[all], graph_int64s(g, node, "shape", y->shape.dims, y->shape.rank)};
        const bool same = graph_same_shape(inputs[0], y);
        edit_become(g, node, same ? "Identity" : "Expand", "", inputs, same ? 1 : 2);
        return true;
    }
    if (!can_choose(condition, a, y) || !can_choose(condition, b, y) || !graph_takes_room(g, 2 * condition->count)) return false;
    struct onnx_value *both[2] = {chosen(g, node, condition, a, true), chosen(g, node, condition, b, false)};
    edit_become(g, node, "Add", "", both, 2);
    return true;
}

int pass_picks(struct onnx_graph *g) {
    int changes = 0;
    for (size_t i = 0; graph_goes_on(g, i); i++) {
        struct onnx_node *node = graph_node_at(g, i);
        changes += graph_is_open(node) && (change_gather(g, node) || change_reverse(g, node) || change_where(g, node));
    }
    return changes;
}
