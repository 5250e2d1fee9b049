/* SPDX-License-Identifier: MIT */
/* Of constants alone: running sums, which count positions, and BatchNormalization in training mode, which standardizes weights. */
#include "tools/onnx/operator.h"
#include <math.h>

/* A line of numbers that lie `step` apart. */
struct line {
    size_t first, step, count;
    bool exclusive, reverse;
};

static size_t place(const struct line *line, size_t i) {
    return line->first + (line->reverse ? line->count - 1 - i : i) * line->step;
}

static void sum_numbers(const struct line *line, const struct onnx_tensor *x, struct onnx_tensor *y) {
    double sum = 0;
    for (size_t i = 0; i < line->count; i++) {
        const double before = sum;
        sum += onnx_number(x, place(line, i));
        onnx_store_number(y, place(line, i), line->exclusive ? before : sum);
    }
}

static void sum_integers(const struct line *line, const struct onnx_tensor *x, struct onnx_tensor *y) {
    uint64_t sum = 0;
    for (size_t i = 0; i < line->count; i++) {
        const uint64_t before = sum;
        sum += (uint64_t)onnx_integer(x, place(line, i));
        onnx_store_integer(y, place(line, i), (int64_t)(line->exclusive ? before : sum));
    }
}

void onnx_fold_sums(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0), *axis_of = onnx_input_constant(c->node, 1);
    const bool numbers = onnx_is_float(x->type);
    struct line line = {.exclusive = onnx_attribute_int(c->node, "exclusive", 0) != 0,
                        .reverse = onnx_attribute_int(c->node, "reverse", 0) != 0};
    int64_t strides[ONNX_MAX_RANK];
    int axis;
    if ((!numbers && !onnx_is_integer(x->type)) || !x->count || axis_of->count != 1) return;
    if (!onnx_axis_of(onnx_integer(axis_of, 0), x->shape.rank, &axis) || !onnx_spend(c, x->count)) return;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    onnx_strides(&x->shape, strides);
    line.step = (size_t)strides[axis];
    line.count = (size_t)x->shape.dims[axis];
    for (size_t i = 0; y && i < x->count / line.count; i++) {
        line.first = i / line.step * line.step * line.count + i % line.step;
        if (numbers) sum_numbers(&line, x, y);
        else sum_integers(&line, x, y);
    }
}

/* A channel of numbers [batches, channels, plane]. */
struct channel {
    const struct onnx_tensor *x;
    size_t batches, channels, plane, at;
    double mean, variance;
};

static size_t number_of(const struct channel *c, size_t i) {
    return (i / c->plane * c->channels + c->at) * c->plane + i % c->plane;
}

static void measure(struct channel *c) {
    const size_t count = c->batches * c->plane;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += onnx_number(c->x, number_of(c, i));
    c->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) {
        const double away = onnx_number(c->x, number_of(c, i)) - c->mean;
        squares += away * away;
    }
    c->variance = squares / (double)count;
}

static void normalize(const struct onnx_node *node, const struct channel *c, struct onnx_tensor *y) {
    const double epsilon = (double)onnx_attribute_float(node, "epsilon", 1e-5F);
    const double factor = onnx_number(onnx_input_constant(node, 1), c->at) / sqrt(c->variance + epsilon);
    const double bias = onnx_number(onnx_input_constant(node, 2), c->at);
    for (size_t i = 0; i < c->batches * c->plane; i++) {
        const size_t k = number_of(c, i);
        onnx_store_number(y, k, (onnx_number(c->x, k) - c->mean) * factor + bias);
    }
}

/* Outputs 1 and 2: means and variances of what was seen before, and a little of these. */
static void remember(struct onnx_context *c, int output, size_t at, double now) {
    const struct onnx_value *value = output < c->node->output_count ? c->node->outputs[output] : NULL;
    const double keeps = (double)onnx_attribute_float(c->node, "momentum", 0.9F),
                 old = onnx_number(onnx_input_constant(c->node, 2 + output), at);
    if (value && value->constant) onnx_store_number((struct onnx_tensor *)value->constant, at, old * keeps + now * (1 - keeps));
}

/* In inference mode the float executor computes it. */
void onnx_fold_batch_norm(struct onnx_context *c) {
    const struct onnx_tensor *x = onnx_input_constant(c->node, 0);
    const struct onnx_shape *shape = &x->shape;
    const bool wide = shape->rank > 1;
    struct channel channel = {.x = x, .channels = wide ? (size_t)shape->dims[1] : 1, .batches = (size_t)shape->dims[0]};
    if (c->node->opset < 14 || !onnx_attribute_int(c->node, "training_mode", 0) || c->node->output_count > 3 || shape->rank < 1) return;
    for (int i = 0; i < 5; i++)
        if (!onnx_is_float(onnx_input_constant(c->node, i)->type)) return;
    if (!x->count || !onnx_spend(c, 3 * x->count)) return;
    channel.plane = x->count / channel.batches / channel.channels;
    struct onnx_tensor *y = onnx_out_constant(c, 0);
    for (int i = 1; y && i < c->node->output_count; i++) onnx_out_constant(c, i);
    for (; y && channel.at < channel.channels; channel.at++) {
        measure(&channel);
        normalize(c->node, &channel, y);
        remember(c, 1, channel.at, channel.mean);
        remember(c, 2, channel.at, channel.variance);
    }
}
