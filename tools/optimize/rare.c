/* SPDX-License-Identifier: MIT */
/* Operators that few exporters write, said in those that all have: LpPool, GlobalLpPool, MeanVarianceNormalization, SwiGLU, Compress,
 * Col2Im, LRN, Trilu, averages with dilations, and Sum, Mean, Max and Min of other than two operands. */
#include "tools/onnx/operator.h"
#include "tools/optimize/pass.h"
#include "tools/optimize/say.h"
#include "core/format.h"

#include <string.h>

static struct onnx_value *squares(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    return say(g, node, "Mul", x, x, &x->shape);
}

/* ---- pools of powers: the mean times the count is the sum, of what padding adds nothing to ---- */

/* How many numbers a window has; 0: its pool cannot be an average of all of them. */
static int64_t window_numbers(const struct onnx_node *node) {
    struct onnx_window window;
    const char *why;
    if (!onnx_window(node, &node->inputs[0]->shape, NULL, &window, &why) || window.ceil_mode) return 0;
    struct onnx_shape kernel = {.rank = window.rank};
    memcpy(kernel.dims, window.kernel, sizeof window.kernel);
    return onnx_elements(&kernel);
}

/* Of all numbers of windows with dilations, where padding counts or is none: a depthwise convolution. */
static struct onnx_value *spread_average(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    struct onnx_window window;
    const char *why;
    if (!onnx_window(node, &x->shape, NULL, &window, &why) || window.ceil_mode) return NULL;
    struct onnx_shape weights = {2 + window.rank, {x->shape.dims[1], 1}};
    for (int i = 0; i < window.rank; i++) weights.dims[2 + i] = window.kernel[i];
    const int64_t count = onnx_elements(&weights);
    if (count < 1 || !graph_takes_room(g, (size_t)count)) return NULL;
    double *numbers = graph_doubles(g, count);
    for (int64_t i = 0; i < count; i++) numbers[i] = (double)x->shape.dims[1] / (double)count;
    graph_stays_float(g, node); /* as other pools where layers are quantized at run time; and squares of 8 bits are too coarse */
    struct onnx_value *y = say(g, node, "Conv", x, graph_floats(g, node, "mean", &weights, numbers), &node->outputs[0]->shape);
    say_attributes(g, y->producer, node);
    static const char *const own[] = {"p", "ceil_mode", "count_include_pad"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) edit_attribute_drop(y->producer, own[i]);
    edit_attribute_int(g, y->producer, "group", x->shape.dims[1]);
    return y;
}

static bool is_spread(const struct onnx_node *node) {
    int64_t dilations[ONNX_MAX_RANK];
    const int count = onnx_attribute_ints(node, "dilations", dilations, ONNX_MAX_RANK);
    for (int i = 0; i < count; i++)
        if (dilations[i] != 1) return true;
    return false;
}

/* Whether a window may lie on padding that does not count. */
static bool leaves_padding_out(const struct onnx_node *node) {
    struct onnx_window window;
    const char *why;
    if (!onnx_window(node, &node->inputs[0]->shape, NULL, &window, &why)) return true;
    for (int i = 0; i < window.rank; i++)
        if (window.pad_begin[i] || window.pad_end[i]) return !window.count_include_pad;
    return false;
}

/* Of all numbers of a window, padding included. */
static struct onnx_value *average(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x) {
    if (is_spread(node)) return spread_average(g, node, x);
    struct onnx_value *y = say(g, node, "AveragePool", x, NULL, &node->outputs[0]->shape);
    say_attributes(g, y->producer, node);
    edit_attribute_drop(y->producer, "p");
    edit_attribute_drop(y->producer, "dilations");
    edit_attribute_int(g, y->producer, "count_include_pad", 1);
    return y;
}

static bool change_spread_average(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    if (!graph_is(node, "AveragePool") || x->type != ONNX_FLOAT || x->shape.rank < 3 || !is_spread(node) || leaves_padding_out(node))
        return false;
    x = spread_average(g, node, x);
    if (!x) return false;
    say_as(g, node, x);
    return true;
}

static bool change_lp_pool(struct onnx_graph *g, struct onnx_node *node) {
    const bool global = graph_is(node, "GlobalLpPool");
    struct onnx_value *x = node->inputs[0];
    const struct onnx_shape *y = &node->outputs[0]->shape;
    const int64_t p = onnx_attribute_int(node, "p", 2);
    if ((!global && !graph_is(node, "LpPool")) || x->type != ONNX_FLOAT || x->shape.rank < 3 || (p != 1 && p != 2)) return false;
    if (onnx_elements(&x->shape) < 1 || onnx_elements(y) < 1) return false;
    const int64_t count = global ? onnx_elements(&x->shape) / onnx_elements(y) : window_numbers(node);
    if (count < 1) return false;
    x = p == 1 ? say(g, node, "Abs", x, NULL, &x->shape) : squares(g, node, x);
    x = global ? say(g, node, "GlobalAveragePool", x, NULL, y) : average(g, node, x);
    if (!x) return false;
    x = say_scaled(g, node, x, (double)count);
    say_as(g, node, p == 1 ? x : say(g, node, "Sqrt", x, NULL, y));
    return true;
}

/* ---- MeanVarianceNormalization: (x - mean) / (deviation + 1e-9), over axes N, H and W where none are stated ---- */

static bool change_mean_variance(struct onnx_graph *g, struct onnx_node *node) {
    static const int64_t usual[] = {0, 2, 3};
    int64_t axes[ONNX_MAX_RANK];
    struct onnx_value *x = node->inputs[0];
    if (!graph_is(node, "MeanVarianceNormalization") || x->type != ONNX_FLOAT) return false;
    int count = onnx_attribute_ints(node, "axes", axes, ONNX_MAX_RANK), axis;
    if (count < 0) memcpy(axes, usual, sizeof usual), count = 3;
    if (count > x->shape.rank) return false;
    struct onnx_shape kept = x->shape;
    for (int i = 0; i < count; i++) {
        if (!onnx_axis_of(axes[i], x->shape.rank, &axis)) return false;
        kept.dims[axis] = 1;
    }
    struct onnx_value *off = say(g, node, "Sub", x, graph_reduce(g, node, "ReduceMean", x, axes, count, &kept), &x->shape);
    struct onnx_value *by = graph_reduce(g, node, "ReduceMean", squares(g, node, off), axes, count, &kept);
    by = say(g, node, "Add", say(g, node, "Sqrt", by, NULL, &kept), say_number(g, node, "least", 1e-9), &kept);
    say_as(g, node, say(g, node, "Div", off, by, &x->shape));
    return true;
}

/* ---- SwiGLU(a, b) = a * Sigmoid(alpha * a) * b ---- */

static bool change_gated(struct onnx_graph *g, struct onnx_node *node) {
    if (!graph_is(node, "SwiGLU") || node->inputs[0]->type != ONNX_FLOAT || node->inputs[1]->type != ONNX_FLOAT) return false;
    struct onnx_value *a = node->inputs[0], *x = say_scaled(g, node, a, (double)onnx_attribute_float(node, "alpha", 1));
    x = say(g, node, "Mul", a, say(g, node, "Sigmoid", x, NULL, &a->shape), &a->shape);
    say_as(g, node, say(g, node, "Mul", x, node->inputs[1], &a->shape));
    return true;
}

/* ---- Compress: the elements, or the slices of an axis, for which a constant is true ---- */

static bool change_compress(struct onnx_graph *g, struct onnx_node *node) {
    const struct onnx_tensor *chosen = onnx_input_constant(node, 1);
    const bool flat = !onnx_attribute(node, "axis");
    const struct onnx_shape *y = node->output_count ? &node->outputs[0]->shape : NULL;
    if (!graph_is(node, "Compress") || !chosen || !y || onnx_elements(y) < 1) return false;
    struct onnx_value *x = node->inputs[0];
    const struct onnx_shape line = {1, {onnx_elements(&x->shape)}};
    int64_t *places = onnx_alloc(g, chosen->count * sizeof *places);
    int count = 0;
    for (size_t i = 0; i < chosen->count; i++)
        if (onnx_integer(chosen, i)) places[count++] = (int64_t)i;
    const int64_t axis = flat ? 0 : onnx_attribute_int(node, "axis", 0);
    struct onnx_value *inputs[2] = {flat ? say_reshape(g, node, x, &line) : x, graph_int64s(g, node, "places", places, count)};
    edit_become(g, node, "Gather", "", inputs, 2);
    node->opset = SAY_OPSET;
    edit_attribute_int(g, node, "axis", axis);
    return true;
}

/* ---- Col2Im: a transposed convolution that puts each channel of a block in its place ---- */

static bool change_columns(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    struct onnx_columns f;
    float *numbers;
    if (!graph_is(node, "Col2Im") || x->type != ONNX_FLOAT || node->outputs[0]->shape.rank != 4 || !onnx_columns(node, &f)) return false;
    const int64_t *d = x->shape.dims, block = f.block[0] * f.block[1];
    const struct onnx_shape pictures = {4, {d[0], d[1], f.positions[0], f.positions[1]}}, kernel = {4, {d[1], 1, f.block[0], f.block[1]}};
    const int64_t pads[4] = {f.pad_begin[0], f.pad_begin[1], f.pad_end[0], f.pad_end[1]};
    struct onnx_value *weights = graph_matrix(g, node, d[1], block, &numbers);
    if (!weights) return false;
    for (int64_t i = 0; i < d[1]; i++) numbers[i * block + i % block] = 1;
    x = say_reshape(g, node, x, &pictures);
    struct onnx_value *y = say(g, node, "ConvTranspose", x, say_reshape(g, node, weights, &kernel), &node->outputs[0]->shape);
    edit_attribute_int(g, y->producer, "group", d[1] / block);
    edit_attribute_ints(g, y->producer, "kernel_shape", f.block, 2);
    edit_attribute_ints(g, y->producer, "strides", f.stride, 2);
    edit_attribute_ints(g, y->producer, "dilations", f.dilation, 2);
    edit_attribute_ints(g, y->producer, "pads", pads, 4);
    edit_attribute_ints(g, y->producer, "output_padding", f.rest, 2);
    say_as(g, node, y);
    return true;
}

/* ---- LRN: x / (bias + alpha * the mean of squares in a window of channels) ^ beta ---- */

/* The mean of a window of channels, what lies beside them being 0. Pixels are the channels of that pool, which it goes along. */
static struct onnx_value *mean_of_channels(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, int64_t size) {
    const int64_t *d = x->shape.dims, pads[2] = {(size - 1) / 2, size / 2};
    const struct onnx_shape shape = x->shape, lines = {3, {d[0], d[1], onnx_elements(&shape) / d[0] / d[1]}};
    x = say_exchanged(g, node, say_reshape(g, node, x, &lines), 1, 2);
    struct onnx_value *y = say(g, node, "AveragePool", x, NULL, &x->shape);
    edit_attribute_ints(g, y->producer, "kernel_shape", &size, 1);
    edit_attribute_ints(g, y->producer, "pads", pads, 2);
    edit_attribute_int(g, y->producer, "count_include_pad", 1);
    return say_reshape(g, node, say_exchanged(g, node, y, 1, 2), &shape);
}

/* x ^ power: by roots where it is one, two or three quarters. */
static struct onnx_value *powered(struct onnx_graph *g, struct onnx_node *node, struct onnx_value *x, double power) {
    if (power == 1) return x;
    if (power != 0.25 && power != 0.5 && power != 0.75) return say(g, node, "Pow", x, say_number(g, node, "power", power), &x->shape);
    struct onnx_value *half = say(g, node, "Sqrt", x, NULL, &x->shape);
    if (power == 0.5) return half;
    struct onnx_value *quarter = say(g, node, "Sqrt", half, NULL, &x->shape);
    return power == 0.25 ? quarter : say(g, node, "Mul", half, quarter, &x->shape);
}

static bool change_lrn(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = node->inputs[0];
    const int64_t size = onnx_attribute_int(node, "size", 0);
    if (!graph_is(node, "LRN") || x->type != ONNX_FLOAT || x->shape.rank < 3 || onnx_elements(&x->shape) < 1 || size < 1 ||
        size > MORSEL_FORMAT_MAX_WINDOW)
        return false;
    graph_stays_float(g, node); /* squares of 8 bits are too coarse */
    struct onnx_value *y = mean_of_channels(g, node, squares(g, node, x), size);
    y = say_scaled(g, node, y, (double)onnx_attribute_float(node, "alpha", 1e-4F));
    y = say(g, node, "Add", y, say_number(g, node, "bias", (double)onnx_attribute_float(node, "bias", 1)), &x->shape);
    say_as(g, node, say(g, node, "Div", x, powered(g, node, y, (double)onnx_attribute_float(node, "beta", 0.75F)), &x->shape));
    return true;
}

/* ---- Sum, Mean, Max, Min: one operand after the other, as ONNX Runtime goes ---- */

static bool change_many(struct onnx_graph *g, struct onnx_node *node) {
    const bool mean = graph_is(node, "Mean"), sum = mean || graph_is(node, "Sum");
    const char *op = sum ? "Add" : node->op;
    if ((!sum && !graph_is(node, "Max") && !graph_is(node, "Min")) || (!mean && node->input_count < 3)) return false;
    struct onnx_value *y = node->inputs[0];
    if (mean && y && y->type != ONNX_FLOAT) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!node->inputs[i] || node->inputs[i]->type != y->type) return false;
    for (int i = 1; i < node->input_count; i++) {
        struct onnx_context c = {g, node, ""};
        struct onnx_shape shape;
        if (!onnx_broadcast(&c, &y->shape, &node->inputs[i]->shape, &shape)) return false;
        struct onnx_value *two[2] = {y, node->inputs[i]};
        if (!mean && i + 1 == node->input_count) {
            edit_become(g, node, op, "", two, 2);
            node->opset = SAY_OPSET;
            return true;
        }
        y = say(g, node, op, two[0], two[1], &shape);
        y->type = two[0]->type;
    }
    if (node->input_count > 1) y = say(g, node, "Div", y, say_number(g, node, "count", node->input_count), &y->shape);
    say_as(g, node, y);
    return true;
}

/* ---- the upper or lower part of matrices: the other one is masked ---- */

static bool change_triangle(struct onnx_graph *g, struct onnx_node *node) {
    struct onnx_value *x = onnx_input(node, 0);
    float *numbers;
    if (!graph_is(node, "Trilu") || !x || x->constant || x->type != ONNX_FLOAT || x->shape.rank < 2) return false;
    if (onnx_input(node, 1) && !onnx_input_constant(node, 1)) return false;
    const bool upper = onnx_attribute_int(node, "upper", 1) != 0;
    const int64_t rows = x->shape.dims[x->shape.rank - 2], columns = x->shape.dims[x->shape.rank - 1],
                  from = onnx_input(node, 1) ? onnx_integer(node->inputs[1]->constant, 0) : 0;
    struct onnx_value *inputs[2] = {x, graph_matrix(g, node, rows, columns, &numbers)};
    if (!inputs[1]) return false;
    for (int64_t i = 0; i < rows * columns; i++) {
        const int64_t off = i % columns - i / columns;
        numbers[i] = upper ? off >= from : off <= from;
    }
    edit_become(g, node, "Mask", ONNX_OWN, inputs, 2);
    node->opset = 1;
    return true;
}

bool change_rare(struct onnx_graph *g, struct onnx_node *node) {
    return change_many(g, node) || change_spread_average(g, node) || change_lrn(g, node) || change_columns(g, node) ||
           change_lp_pool(g, node) || change_mean_variance(g, node) || change_gated(g, node) || change_compress(g, node) ||
           change_triangle(g, node);
}
