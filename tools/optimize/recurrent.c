/* SPDX-License-Identifier: MIT */
/*
 * Recurrent layers, LSTM, GRU and RNN, said in products, sums, Sigmoids and Tanhs: cell after cell. What is made of x is one product of all
 * times. Products of a DynamicQuantizeLSTM are DynamicQuantizeMatMuls.
 */
#include "tools/onnx/operator.h"
#include "tools/optimize/notes.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <string.h>

enum { MOST_CELLS = 512 }; /* in all directions. A blob holds 4,096 steps: of an LSTM or GRU 17 to 19 for each, of an RNN fewer */

struct layer {
    struct onnx_graph *g;
    struct onnx_node *node;
    int64_t times, batch, hidden;
    int gates;
    int64_t direction;
    bool linear; /* a GRU whose reset comes behind the product */
    bool bytes;  /* the weights are, and what they are multiplied with */
    const char *end;
};

/* States, [1, batch, hidden]; NULL: zeros. */
struct state {
    struct onnx_value *h, *c;
};

/* [from, gates x hidden]; of bytes with a scale and a zero point, which may be NULL. */
struct matrix {
    struct onnx_value *w, *scale, *zero;
};

/* Part `direction` of a constant, of `shape`. */
static struct onnx_value *part(const struct layer *l, int input, const char *name, const struct onnx_shape *shape) {
    const struct onnx_tensor *t = onnx_input_constant(l->node, input);
    if (!t) return NULL;
    struct onnx_tensor *copy;
    struct onnx_value *value = edit_constant(l->g, name, t->type, shape, &copy);
    const size_t bytes = copy->count * onnx_type_bytes(t->type);
    memcpy(copy->data, (const char *)t->data + (size_t)l->direction * bytes, bytes);
    return value;
}

/* Weights in bytes of all gates. */
static struct matrix byte_weights(const struct layer *l, int input) {
    const struct onnx_tensor *t = onnx_input_constant(l->node, input), *scale = onnx_input_constant(l->node, 6 + 2 * input);
    const struct onnx_tensor *zero = onnx_input_constant(l->node, 7 + 2 * input);
    const struct onnx_shape shape = {2, {t->shape.dims[1], t->shape.dims[2]}}, wide = {1, {t->shape.dims[2]}}, one = {0, {0}};
    return (struct matrix){part(l, input, input == 1 ? "input" : "state", &shape),
                           part(l, 6 + 2 * input, "scale", scale->shape.rank == 2 ? &wide : &one),
                           part(l, 7 + 2 * input, "zero_point", zero && zero->shape.rank == 2 ? &wide : &one)};
}

/* Weights of some gates, turned. */
static struct matrix weights(const struct layer *l, int input, int first, int count) {
    if (l->bytes) return byte_weights(l, input);
    const struct onnx_tensor *t = onnx_input_constant(l->node, input);
    const int64_t from = t->shape.dims[2], rows = l->gates * l->hidden, wide = count * l->hidden;
    const struct onnx_shape shape = {2, {from, wide}};
    double *numbers = graph_doubles(l->g, from * wide);
    for (int64_t r = 0; r < wide; r++)
        for (int64_t k = 0; k < from; k++)
            numbers[k * wide + r] = onnx_number(t, (size_t)((l->direction * rows + first * l->hidden + r) * from + k));
    return (struct matrix){graph_floats(l->g, l->node, input == 1 ? "input" : "state", &shape, numbers), NULL, NULL};
}

/* x and the bias of gates: that of x, of the state, or both. */
static struct onnx_value *add_bias(const struct layer *l, struct onnx_value *x, int first, int count, bool of_x, int of_state) {
    const struct onnx_tensor *t = onnx_input_constant(l->node, 3);
    const int64_t rows = l->gates * l->hidden, wide = count * l->hidden;
    const struct onnx_shape shape = {1, {wide}};
    if (!t) return x;
    double *numbers = graph_doubles(l->g, wide);
    for (int64_t r = 0; r < wide; r++) {
        const size_t at = (size_t)(2 * l->direction * rows + first * l->hidden + r);
        const bool state = r < of_state * l->hidden;
        numbers[r] = (of_x ? onnx_number(t, at) : 0) + (state ? onnx_number(t, at + (size_t)rows) : 0);
    }
    struct onnx_value *bias = graph_floats(l->g, l->node, "bias", &shape, numbers);
    return x ? say(l->g, l->node, "Add", x, bias, &x->shape) : bias;
}

static struct onnx_value *pair(const struct layer *l, const char *op, struct onnx_value *a, struct onnx_value *b) {
    return say(l->g, l->node, op, a, b, &a->shape);
}

static struct onnx_value *each(const struct layer *l, const char *op, struct onnx_value *x) {
    return say(l->g, l->node, op, x, NULL, &x->shape);
}

static struct onnx_value *product(const struct layer *l, struct onnx_value *x, const struct matrix *m) {
    struct onnx_shape shape = x->shape;
    shape.dims[2] = m->w->shape.dims[1];
    if (!l->bytes) {
        struct onnx_value *y = say(l->g, l->node, "MatMul", x, m->w, &shape);
        y->producer->cell = x != l->node->inputs[0] && strcmp(l->end, "Relu"); /* whose states may grow */
        return y;
    }
    struct onnx_value *inputs[4] = {x, m->w, m->scale, m->zero}, *y = edit_value(l->g, x->name, ONNX_FLOAT, &shape);
    edit_node(l->g, l->node, "DynamicQuantizeMatMul", "com.microsoft", l->node->name, inputs, m->zero ? 4 : 3, &y, 1);
    return y;
}

/* From .. from + count - 1 along an axis. */
static struct onnx_value *cut(const struct layer *l, struct onnx_value *x, int64_t axis, int64_t from, int64_t count) {
    return x->shape.dims[axis] == count ? x : say_slice(l->g, l->node, x, axis, from, from + count);
}

static struct onnx_value *gate(const struct layer *l, struct onnx_value *x, int first, int count) {
    return cut(l, x, 2, first * l->hidden, count * l->hidden);
}

/* Gates of what comes in, of what goes out, of what is kept, and what is new. */
static void lstm(const struct layer *l, struct onnx_value *x, const struct matrix *r, struct state *s) {
    if (s->h) x = pair(l, "Add", x, product(l, s->h, r));
    struct onnx_value *open = each(l, "Sigmoid", gate(l, x, 0, 3)), *more = each(l, "Tanh", gate(l, x, 3, 1));
    more = pair(l, "Mul", gate(l, open, 0, 1), more);
    s->c = s->c ? pair(l, "Add", pair(l, "Mul", gate(l, open, 2, 1), s->c), more) : more;
    struct onnx_value *out = gate(l, open, 1, 1);
    s->h = pair(l, "Mul", out, each(l, "Tanh", s->c));
}

/* Gates of what is kept, of what is reset, and what is new. */
static void gru(const struct layer *l, struct onnx_value *x, const struct matrix *r, struct state *s) {
    struct onnx_value *gates = gate(l, x, 0, 2), *more = gate(l, x, 2, 1), *old = NULL;
    struct onnx_value *all = s->h ? product(l, s->h, r) : NULL;
    if (all) gates = pair(l, "Add", gates, l->linear ? gate(l, all, 0, 2) : all);
    gates = each(l, "Sigmoid", gates);
    struct onnx_value *keep = gate(l, gates, 0, 1), *reset = gate(l, gates, 1, 1);
    if (l->linear) old = all ? (r[1].w ? pair(l, "Add", gate(l, all, 2, 1), r[1].w) : gate(l, all, 2, 1)) : r[1].w;
    if (l->linear && old) old = pair(l, "Mul", reset, old);
    if (!l->linear && s->h) old = product(l, pair(l, "Mul", reset, s->h), &r[1]);
    more = each(l, "Tanh", old ? pair(l, "Add", more, old) : more);
    s->h = s->h ? pair(l, "Add", more, pair(l, "Mul", keep, pair(l, "Sub", s->h, more))) : pair(l, "Sub", more, pair(l, "Mul", keep, more));
}

static bool is_zero(const struct onnx_value *x) {
    for (size_t i = 0; x && (!x->constant || i < x->constant->count); i++)
        if (!x->constant || onnx_number(x->constant, i) != 0) return false;
    return true;
}

static struct onnx_value *first_state(const struct layer *l, int input) {
    struct onnx_value *x = onnx_input(l->node, input);
    return is_zero(x) ? NULL : cut(l, x, 0, l->direction, 1);
}

static struct onnx_value *join(const struct layer *l, struct onnx_value **parts, int64_t count, int axis) {
    struct onnx_shape shape = parts[0]->shape;
    if (count == 1) return parts[0];
    shape.dims[axis] = count;
    struct onnx_value *y = graph_put(l->g, l->node, "Concat", parts, (int)count, &shape);
    y->producer->opset = SAY_OPSET;
    edit_attribute_int(l->g, y->producer, "axis", axis);
    return y;
}

/* One direction: all states [times, 1, batch, hidden], and the last. */
static struct onnx_value *run_direction(const struct layer *l, bool back, struct state *s) {
    const bool is_gru = l->gates == 3;
    const struct matrix w = weights(l, 1, 0, l->gates);
    struct onnx_value *x = add_bias(l, product(l, l->node->inputs[0], &w), 0, l->gates, true, is_gru && l->linear ? 2 : l->gates);
    struct matrix r[2] = {weights(l, 2, 0, is_gru && !l->linear ? 2 : l->gates), {NULL, NULL, NULL}};
    if (is_gru && l->linear) r[1].w = add_bias(l, NULL, 2, 1, false, 1);
    else if (is_gru) r[1] = weights(l, 2, 2, 1);
    struct onnx_value **all = onnx_alloc(l->g, (size_t)l->times * sizeof(void *));
    *s = (struct state){first_state(l, 5), l->gates == 4 ? first_state(l, 6) : NULL};
    for (int64_t i = 0; i < l->times; i++) {
        const int64_t t = back ? l->times - 1 - i : i;
        struct onnx_value *now = cut(l, x, 0, t, 1);
        if (l->gates == 4) lstm(l, now, r, s);
        else if (is_gru) gru(l, now, r, s);
        else s->h = each(l, l->end, s->h ? pair(l, "Add", now, product(l, s->h, r)) : now);
        all[t] = s->h;
    }
    const struct onnx_shape shape = {4, {l->times, 1, l->batch, l->hidden}};
    return say_is_read(l->node, 0) ? say_reshape(l->g, l->node, join(l, all, l->times, 0), &shape) : NULL;
}

/* The functions are those that a file need not name; an RNN may have Relu. */
static bool read_functions(struct layer *l, int64_t directions) {
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const struct onnx_attribute *a = onnx_attribute(l->node, "activations");
    const size_t each_ = l->gates == 4 ? 3 : l->gates == 3 ? 2 : 1;
    l->end = "Tanh";
    if (!a) return true;
    if (a->count != each_ * (size_t)directions) return false;
    if (l->gates == 1 && !strcmp(a->strings[0], "Relu")) l->end = "Relu";
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->strings[i], l->gates == 1 ? l->end : usual[i % each_])) return false;
    return true;
}

static bool are_as_long(const struct layer *l) {
    const struct onnx_value *lengths = onnx_input(l->node, 4);
    for (size_t i = 0; lengths && (!lengths->constant || i < lengths->constant->count); i++)
        if (!lengths->constant || onnx_integer(lengths->constant, i) != l->times) return false;
    return true;
}

/* Scales and zero points of weights in bytes; what these are multiplied with is found at run time, and so no constant. */
static bool can_be_bytes(const struct layer *l) {
    const struct onnx_value *h = onnx_input(l->node, 5);
    for (int i = 8; i < 12; i++)
        if (onnx_input(l->node, i) && !onnx_input_constant(l->node, i)) return false;
    return !h || !h->constant || is_zero(h);
}

static bool read_layer(struct layer *l, int64_t directions) {
    struct onnx_node *node = l->node;
    const struct onnx_tensor *w = onnx_input_constant(node, 1), *r = onnx_input_constant(node, 2);
    if (!w || !r || (onnx_input(node, 3) && !onnx_input_constant(node, 3)) || onnx_input(node, 7)) return false;
    if (onnx_attribute(node, "clip") || onnx_attribute_int(node, "input_forget", 0)) return false;
    if (!read_functions(l, directions) || (l->bytes && !can_be_bytes(l)) || !are_as_long(l) || l->times > MOST_CELLS / directions)
        return false;
    return graph_takes_room(l->g, w->count + r->count);
}

/* What is read of several outputs is left by the node itself; the others by nodes before it. */
static void leave(struct layer *l, struct onnx_value *const *made) {
    int kept = 0;
    while (kept < 2 && !say_is_read(l->node, kept)) kept++;
    for (int i = kept + 1; i < l->node->output_count; i++)
        if (say_is_read(l->node, i)) say_output(l->g, l->node, i, made[i]);
    struct onnx_value *first = l->node->outputs[0];
    l->node->outputs[0] = l->node->outputs[kept];
    l->node->outputs[kept] = first;
    say_as(l->g, l->node, made[kept]);
}

bool change_recurrent(struct onnx_graph *g, struct onnx_node *node) {
    struct layer l = {.g = g, .node = node};
    struct state ends[2];
    struct onnx_value *all[2], *made[3], *h[2], *c[2];
    const bool bytes = !strcmp(node->domain, "com.microsoft") && onnx_recurrent_bytes(node);
    if (!bytes && !graph_is(node, "LSTM") && !graph_is(node, "GRU") && !graph_is(node, "RNN")) return false;
    if (!say_is_read(node, 0) && !say_is_read(node, 1) && !say_is_read(node, 2)) return false;
    const struct onnx_shape *x = &node->inputs[0]->shape, *r = &node->inputs[2]->shape;
    const int64_t directions = r->dims[0];
    const bool back = !strcmp(onnx_attribute_string(node, "direction", "forward"), "reverse");
    l.times = x->dims[0], l.batch = x->dims[1], l.hidden = r->dims[2 - bytes], l.bytes = bytes, l.gates = onnx_recurrent_gates(node);
    l.linear = onnx_attribute_int(node, "linear_before_reset", 0) != 0;
    if (!read_layer(&l, directions)) return false;
    for (l.direction = 0; l.direction < directions; l.direction++) {
        all[l.direction] = run_direction(&l, back || l.direction, &ends[l.direction]);
        h[l.direction] = ends[l.direction].h, c[l.direction] = ends[l.direction].c;
    }
    made[0] = say_is_read(node, 0) ? join(&l, all, directions, 1) : NULL;
    made[1] = say_is_read(node, 1) ? join(&l, h, directions, 0) : NULL;
    made[2] = say_is_read(node, 2) ? join(&l, c, directions, 0) : NULL;
    leave(&l, made);
    return true;
}
