/* SPDX-License-Identifier: MIT */
/* Operators of ai.onnx, put in front of the node that they are to say. */
#include "tools/optimize/say.h"
#include "tools/optimize/pass.h"

#include <string.h>

struct onnx_value *say(struct onnx_graph *g, struct onnx_node *node, const char *op, struct onnx_value *a, struct onnx_value *b,
                       const struct onnx_shape *shape) {
    struct onnx_value *inputs[2] = {a, b}, *y = graph_put(g, node, op, inputs, b ? 2 : 1, shape);
    y->producer->opset = SAY_OPSET;
    return y;
}

struct onnx_value *say_reshape(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_shape *shape) {
    struct onnx_value *y = say(g, node, "Reshape", x, graph_int64s(g, node, "shape", shape->dims, shape->rank), shape);
    y->type = x->type;
    return y;
}

struct onnx_value *say_cast(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, enum onnx_type to) {
    struct onnx_value *y = say(g, node, "Cast", x, NULL, &x->shape);
    edit_attribute_int(g, y->producer, "to", to);
    y->type = to;
    return y;
}

struct onnx_value *say_transpose(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const int64_t *perm) {
    struct onnx_shape shape = {.rank = x->shape.rank};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = x->shape.dims[perm[i]];
    struct onnx_value *y = say(g, node, "Transpose", x, NULL, &shape);
    edit_attribute_ints(g, y->producer, "perm", perm, (size_t)shape.rank);
    return y;
}

struct onnx_value *say_exchanged(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int a, int b) {
    int64_t perm[ONNX_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++) perm[d] = d == a ? b : d == b ? a : d;
    return a == b ? x : say_transpose(g, node, x, perm);
}

struct onnx_value *say_turned(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    return say_exchanged(g, node, x, x->shape.rank - 2, x->shape.rank - 1);
}

struct onnx_value *say_number(struct onnx_graph *g, const struct onnx_node *node, const char *part, double number) {
    const struct onnx_shape scalar = {0};
    return graph_floats(g, node, part, &scalar, &number);
}

struct onnx_value *say_scaled(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, double factor) {
    return factor == 1 ? x : say(g, node, "Mul", x, say_number(g, node, "factor", factor), &x->shape);
}

struct onnx_value *say_slice(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t axis, int64_t from, int64_t end) {
    struct onnx_shape shape = x->shape;
    shape.dims[axis] = end - from;
    struct onnx_value *inputs[4] = {x, graph_int64s(g, node, "from", &from, 1), graph_int64s(g, node, "to", &end, 1),
                                    graph_int64s(g, node, "axis", &axis, 1)};
    struct onnx_value *y = graph_put(g, node, "Slice", inputs, 4, &shape);
    y->producer->opset = SAY_OPSET;
    y->type = x->type;
    return y;
}

struct onnx_value *say_joined(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *a, struct onnx_value *b, int axis) {
    struct onnx_shape shape = a->shape;
    shape.dims[axis] += b->shape.dims[axis];
    struct onnx_value *y = say(g, node, "Concat", a, b, &shape);
    edit_attribute_int(g, y->producer, "axis", axis);
    y->type = a->type;
    return y;
}

void say_attributes(struct onnx_graph *g, struct onnx_node *node, const struct onnx_node *from) {
    const size_t own = node->attribute_count, all = own + from->attribute_count;
    struct onnx_attribute *list = onnx_alloc(g, (all + 1) * sizeof *list);
    if (own) memcpy(list, node->attributes, own * sizeof *list);
    if (from->attribute_count) memcpy(list + own, from->attributes, from->attribute_count * sizeof *list);
    node->attributes = list;
    node->attribute_count = all;
}

void say_output(struct onnx_graph *g, const struct onnx_node *node, int i, struct onnx_value *x) {
    if (i < node->output_count && node->outputs[i]) edit_replace_uses(g, node->outputs[i], x, true);
}

void say_first_output_alone(struct onnx_node *node) {
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->producer = NULL;
    node->output_count = 1;
}

/* A picture of one line, of which GridSample takes the nearest pixel. Place p of n is at p * (2 / n) + (1 / n - 1). Rounding here and in
 * GridSample's own formula moves that by less than 3 n / 2^24 pixels: by less than half a pixel of SAY_ROWS_MOST. */
struct onnx_value *say_rows(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, struct onnx_value *places) {
    const int64_t batch = x->shape.dims[0], n = x->shape.dims[1], width = x->shape.dims[2], k = places->shape.dims[1];
    const double factor[2] = {2.0 / (double)n, 0}, term[2] = {1.0 / (double)n - 1, 0};
    const struct onnx_shape pair = {1, {2}}, one = {4, {batch, 1, k, 1}}, grid = {4, {batch, 1, k, 2}}, line = {4, {batch, width, 1, n}},
                            picked = {4, {batch, width, 1, k}}, turned = {3, {batch, width, k}};
    struct onnx_value *at = say(g, node, "Mul", say_reshape(g, node, places, &one), graph_floats(g, node, "factor", &pair, factor), &grid);
    graph_stays_float(g, at->producer);
    at = say(g, node, "Add", at, graph_floats(g, node, "term", &pair, term), &grid);
    graph_stays_float(g, at->producer);
    x = say_reshape(g, node, say_turned(g, node, x), &line);
    struct onnx_value *y = say(g, node, "GridSample", x, at, &picked);
    edit_attribute_string(g, y->producer, "mode", "nearest");
    return say_turned(g, node, say_reshape(g, node, y, &turned));
}

void say_as(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    say_first_output_alone(node);
    edit_become(g, node, "Identity", "", &x, 1);
    node->opset = SAY_OPSET;
}

bool say_is_read(const struct onnx_node *node, int output) {
    return output < node->output_count && node->outputs[output] && (node->outputs[output]->uses || node->outputs[output]->is_output);
}
