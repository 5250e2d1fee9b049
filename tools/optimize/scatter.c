/* SPDX-License-Identifier: MIT */
/*
 * ScatterND and ScatterElements whose places are constants. Those of a box, as of what a network assigns to a slice, leave the parts
 * around it, which are joined with what is put in. Any others are a choice among all elements of both, one after the other.
 */
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <string.h>

struct scatter {
    struct onnx_graph *g;
    struct onnx_node *node;
    struct onnx_value *data, *updates;
    const char *with; /* the operator that puts in; NULL: nothing stays of what was there */
    int64_t low[ONNX_MAX_RANK], high[ONNX_MAX_RANK];
};

/* Whether the places are those of a box, in order. */
static bool is_box(struct scatter *s, const int64_t *places, int64_t count) {
    const struct onnx_shape *shape = &s->data->shape;
    int64_t strides[ONNX_MAX_RANK], elements = 1;
    onnx_strides(shape, strides);
    for (int d = 0; d < shape->rank; d++) {
        s->low[d] = places[0] / strides[d] % shape->dims[d];
        s->high[d] = places[count - 1] / strides[d] % shape->dims[d] + 1;
        if (s->high[d] <= s->low[d]) return false;
        elements *= s->high[d] - s->low[d];
    }
    if (elements != count) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0, left = i;
        for (int d = shape->rank - 1; d >= 0; left /= s->high[d] - s->low[d], d--)
            at += (s->low[d] + left % (s->high[d] - s->low[d])) * strides[d];
        if (at != places[i]) return false;
    }
    return true;
}

/* x, of which the box goes through all axes before this one. */
static struct onnx_value *put_into(const struct scatter *s, struct onnx_value *x, int axis) {
    if (axis == x->shape.rank) {
        struct onnx_value *y = say_reshape(s->g, s->node, s->updates, &x->shape);
        if (!s->with) return y;
        y = say(s->g, s->node, s->with, x, y, &x->shape);
        y->type = x->type;
        return y;
    }
    const int64_t low = s->low[axis], high = s->high[axis], all = x->shape.dims[axis];
    if (!low && high == all) return put_into(s, x, axis + 1);
    struct onnx_value *y = put_into(s, say_slice(s->g, s->node, x, axis, low, high), axis + 1);
    if (low) y = say_joined(s->g, s->node, say_slice(s->g, s->node, x, axis, 0, low), y, axis);
    return high == all ? y : say_joined(s->g, s->node, y, say_slice(s->g, s->node, x, axis, high, all), axis);
}

/* One element after the other: of the data, or what is put there last. NULL: there is no room. */
static struct onnx_value *choose(const struct scatter *s, const int64_t *places, int64_t count) {
    const int64_t all = onnx_elements(&s->data->shape);
    const struct onnx_shape line = {1, {all}}, put = {1, {count}};
    if (all + count > INT32_MAX || !graph_takes_room(s->g, (size_t)all)) return NULL;
    int64_t *from = onnx_alloc(s->g, (size_t)all * sizeof *from);
    for (int64_t i = 0; i < all; i++) from[i] = i;
    for (int64_t i = 0; i < count; i++) from[places[i]] = all + i;
    struct onnx_value *x = say_reshape(s->g, s->node, s->data, &line), *y = say_reshape(s->g, s->node, s->updates, &put);
    x = say_joined(s->g, s->node, x, y, 0);
    y = say(s->g, s->node, "Gather", x, graph_int64s(s->g, s->node, "places", from, (int)all), &line);
    y->type = x->type;
    return say_reshape(s->g, s->node, y, &s->data->shape);
}

/* The operator of a reduction. False: it has none. */
static bool reduces_with(const char *reduction, const char **op) {
    static const char *const names[][2] = {{"none", NULL}, {"add", "Add"}, {"mul", "Mul"}, {"max", "Max"}, {"min", "Min"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *op = names[i][1];
        if (!strcmp(reduction, names[i][0])) return true;
    }
    return false;
}

bool change_scatter(struct onnx_graph *g, struct onnx_node *node) {
    const bool known = graph_is(node, "ScatterND") || graph_is(node, "ScatterElements") || graph_is(node, "Scatter");
    if (!known || node->inputs[0]->type != node->inputs[2]->type) return false;
    struct onnx_context c = {g, node, ""};
    struct scatter s = {.g = g, .node = node, .data = node->inputs[0], .updates = node->inputs[2]};
    if (!reduces_with(onnx_attribute_string(node, "reduction", "none"), &s.with)) return false;
    const int64_t count = onnx_scatter_count(&c);
    if (count < 1 || !graph_takes_room(g, (size_t)count)) return false;
    int64_t *places = onnx_alloc(g, (size_t)count * sizeof *places);
    onnx_scatter_places(&c, places);
    struct onnx_value *y = is_box(&s, places, count) ? put_into(&s, s.data, 0) : s.with ? NULL : choose(&s, places, count);
    if (!y) return false;
    say_as(g, node, y);
    return true;
}
