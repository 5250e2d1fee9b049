/* SPDX-License-Identifier: MIT */
/*
 * Windows over three dimensions, depth, height and width, said over two. A convolution has the planes under a window as more channels, and
 * the windows along the depth as more pictures. A pool goes over height and width first, and then along the depth.
 */
#include "tools/optimize/optimize.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"

#include <string.h>

enum { DEPTH = 0, HEIGHT, WIDTH, AXIS = 2 /* of the depth, in tensors N C D H W */ };

static bool volume_window(const struct onnx_node *node, const int64_t *kernel, struct onnx_window *window) {
    const char *why;
    const struct onnx_value *x = onnx_input(node, 0);
    return x && x->type == ONNX_FLOAT && x->shape.rank == 5 && onnx_elements(&x->shape) > 0 &&
           onnx_elements(&node->outputs[0]->shape) > 0 && onnx_window(node, &x->shape, kernel, window, &why);
}

/* Zeros before and behind, along the depth. */
static struct onnx_value *padded(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_window *w) {
    int64_t pads[10] = {0};
    struct onnx_shape shape = x->shape;
    if (!w->pad_begin[DEPTH] && !w->pad_end[DEPTH]) return x;
    pads[AXIS] = w->pad_begin[DEPTH], pads[5 + AXIS] = w->pad_end[DEPTH];
    shape.dims[AXIS] += pads[AXIS] + pads[5 + AXIS];
    return say(g, node, "Pad", x, graph_int64s(g, node, "pads", pads, 10), &shape);
}

/* The planes under each window, one window behind the other. NULL: there is no room. */
static struct onnx_value *planes(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_window *w) {
    const int64_t count = w->out[DEPTH] * w->kernel[DEPTH];
    struct onnx_shape shape = x->shape;
    if (count > INT32_MAX || !graph_takes_room(g, (size_t)count)) return NULL;
    int64_t *places = onnx_alloc(g, (size_t)count * sizeof *places);
    bool all = count == shape.dims[AXIS];
    for (int64_t i = 0; i < count; i++) {
        places[i] = i / w->kernel[DEPTH] * w->stride[DEPTH] + i % w->kernel[DEPTH] * w->dilation[DEPTH];
        all = all && places[i] == i;
    }
    if (all) return x;
    shape.dims[AXIS] = count;
    struct onnx_value *y = say(g, node, "Gather", x, graph_int64s(g, node, "planes", places, (int)count), &shape);
    edit_attribute_int(g, y->producer, "axis", AXIS);
    return y;
}

/* Of three dimensions the last two, for attributes. */
static void flat_window(struct onnx_graph *g, struct onnx_node *node, const struct onnx_window *w) {
    const int64_t pads[4] = {w->pad_begin[HEIGHT], w->pad_begin[WIDTH], w->pad_end[HEIGHT], w->pad_end[WIDTH]};
    edit_attribute_ints(g, node, "kernel_shape", w->kernel + HEIGHT, 2);
    edit_attribute_ints(g, node, "strides", w->stride + HEIGHT, 2);
    edit_attribute_ints(g, node, "pads", pads, 4);
    if (!graph_is(node, "AveragePool")) edit_attribute_ints(g, node, "dilations", w->dilation + HEIGHT, 2);
}

/* What the weights are made of: constants themselves, or bytes of output channels or of all. NULL: neither. */
static const struct onnx_tensor *constant_weights(const struct onnx_value *weights) {
    const struct onnx_node *node = weights ? weights->producer : NULL;
    if (!weights || weights->constant || !graph_is(node, "DequantizeLinear") || weights->shape.rank != 5)
        return weights ? weights->constant : NULL;
    const int64_t axis = onnx_attribute_int(node, "axis", 1);
    return onnx_elements(&node->inputs[1]->shape) == 1 || !axis || axis == -5 ? node->inputs[0]->constant : NULL;
}

/* The same numbers in that shape. */
static struct onnx_value *flat_weights(struct onnx_graph *g, struct onnx_node *node, const struct onnx_value *weights,
                                       const struct onnx_shape *shape) {
    const struct onnx_tensor *from = constant_weights(weights);
    struct onnx_tensor *to;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s.weights", node->name), from->type, shape, &to);
    memcpy(to->data, from->data, from->count * onnx_type_bytes(from->type));
    if (weights->constant) return value;
    const struct onnx_node *step = weights->producer;
    struct onnx_value *inputs[3] = {value, step->inputs[1], onnx_input(step, 2)};
    struct onnx_value *y = graph_put(g, node, "DequantizeLinear", inputs, inputs[2] ? 3 : 2, shape);
    y->producer->opset = step->opset;
    edit_attribute_int(g, y->producer, "axis", 0);
    return y;
}

static bool change_conv(struct onnx_graph *g, struct onnx_node *node) {
    static const int64_t windows_first[] = {0, 2, 1, 3, 4, 5}, channels_first[] = {0, 2, 1, 3, 4};
    struct onnx_value *x = node->inputs[0], *weights = onnx_input(node, 1);
    const struct onnx_tensor *numbers = constant_weights(weights);
    struct onnx_window w;
    if (!graph_is(node, "Conv") || !numbers || weights->shape.rank != 5 || !volume_window(node, weights->shape.dims + 2, &w) ||
        !graph_takes_room(g, numbers->count))
        return false;
    const int64_t *d = x->shape.dims, *k = weights->shape.dims, kernel = w.kernel[DEPTH], out = w.out[DEPTH], n = d[0], c = d[1];
    const int64_t high = w.out[HEIGHT], wide = w.out[WIDTH];
    const struct onnx_shape flat = {4, {k[0], k[1] * kernel, k[3], k[4]}}, cut = {6, {n, c, out, kernel, d[3], d[4]}},
                            pictures = {4, {n * out, c * kernel, d[3], d[4]}}, found = {4, {n * out, k[0], high, wide}},
                            windows = {5, {n, out, k[0], high, wide}};
    struct onnx_value *y = planes(g, node, padded(g, node, x, &w), &w);
    if (!y) return false;
    y = say_reshape(g, node, say_transpose(g, node, say_reshape(g, node, y, &cut), windows_first), &pictures);
    struct onnx_value *inputs[3] = {y, flat_weights(g, node, weights, &flat), onnx_input(node, 2)};
    y = graph_put(g, node, "Conv", inputs, inputs[2] ? 3 : 2, &found);
    y->producer->opset = SAY_OPSET;
    flat_window(g, y->producer, &w);
    edit_attribute_int(g, y->producer, "group", onnx_attribute_int(node, "group", 1));
    say_as(g, node, say_transpose(g, node, say_reshape(g, node, y, &windows), channels_first));
    return true;
}

static struct onnx_value *pooled(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, const struct onnx_window *w,
                                 const struct onnx_shape *shape) {
    struct onnx_value *y = say(g, node, node->op, x, NULL, shape);
    flat_window(g, y->producer, w);
    if (w->ceil_mode) edit_attribute_int(g, y->producer, "ceil_mode", 1);
    if (w->count_include_pad) edit_attribute_int(g, y->producer, "count_include_pad", 1);
    return y;
}

static bool change_pool(struct onnx_graph *g, struct onnx_node *node) {
    const bool max = graph_is(node, "MaxPool");
    struct onnx_window w, along = {.rank = 2, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    if ((!max && !graph_is(node, "AveragePool")) || say_is_read(node, 1) || !volume_window(node, NULL, &w)) return false;
    for (int i = 0; !max && i < 3; i++)
        if (w.dilation[i] != 1) return false;
    const int64_t *d = node->inputs[0]->shape.dims, high = w.out[HEIGHT], wide = w.out[WIDTH];
    const struct onnx_shape planes_of = {4, {d[0], d[1] * d[2], d[3], d[4]}}, less = {4, {d[0], d[1] * d[2], high, wide}},
                            lines = {4, {d[0], d[1], d[2], high * wide}}, fewer = {4, {d[0], d[1], w.out[DEPTH], high * wide}};
    along.kernel[HEIGHT] = w.kernel[DEPTH], along.stride[HEIGHT] = w.stride[DEPTH], along.dilation[HEIGHT] = w.dilation[DEPTH];
    along.pad_begin[HEIGHT] = w.pad_begin[DEPTH], along.pad_end[HEIGHT] = w.pad_end[DEPTH];
    along.ceil_mode = w.ceil_mode, along.count_include_pad = w.count_include_pad;
    struct onnx_value *y = pooled(g, node, say_reshape(g, node, node->inputs[0], &planes_of), &w, &less);
    y = pooled(g, node, say_reshape(g, node, y, &lines), &along, &fewer);
    say_as(g, node, say_reshape(g, node, y, &node->outputs[0]->shape));
    return true;
}

static bool change_global(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    const int64_t *d = x->shape.dims;
    if (!graph_is(node, "GlobalMaxPool") || x->type != ONNX_FLOAT || x->shape.rank != 5 || onnx_elements(&x->shape) < 1) return false;
    const struct onnx_shape planes_of = {4, {d[0], d[1], d[2] * d[3], d[4]}}, one = {4, {d[0], d[1], 1, 1}};
    struct onnx_value *y = say(g, node, "GlobalMaxPool", say_reshape(g, node, x, &planes_of), NULL, &one);
    say_as(g, node, say_reshape(g, node, y, &node->outputs[0]->shape));
    return true;
}

bool graph_is_volume(const struct onnx_node *node) {
    static const char *const ops[] = {"Conv", "MaxPool", "AveragePool", "GlobalMaxPool"};
    const struct onnx_value *x = onnx_input(node, 0);
    for (size_t i = 0; x && x->shape.rank == 5 && i < sizeof ops / sizeof *ops; i++)
        if (graph_is(node, ops[i])) return true;
    return false;
}

bool change_volume(struct onnx_graph *g, struct onnx_node *node) {
    return change_conv(g, node) || change_pool(g, node) || change_global(g, node);
}
