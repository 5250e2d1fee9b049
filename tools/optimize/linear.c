/* SPDX-License-Identifier: MIT */
/* Weights and biases of the operators that multiply, read and written in double. */
#include "tools/optimize/linear.h"
#include <math.h>

/* A bias of one number for each output channel, as a row. C of Gemm has the shape N or 1xN; for one channel it may be a scalar. */
static bool bias_fits(const struct linear *l) {
    const struct onnx_value *bias = onnx_input(l->node, 2);
    if (!bias) return true;
    const struct onnx_tensor *numbers = bias->constant;
    if (!numbers || numbers->type != ONNX_FLOAT || numbers->shape.rank > 2) return false;
    bool row = numbers->shape.rank < 2 || numbers->shape.dims[0] == 1;
    return row && (numbers->count == (size_t)l->out_channels || numbers->count == 1);
}

static bool read_conv(struct linear *l, bool transposed) {
    const struct onnx_shape *w = &l->weights->shape;
    l->groups = onnx_attribute_int(l->node, "group", 1);
    if (w->rank < 3 || l->groups < 1 || w->dims[0] % l->groups) return false;
    l->inner = w->dims[1];
    l->window = 1;
    for (int d = 2; d < w->rank; d++) l->window *= w->dims[d];
    l->rows_are_inputs = transposed;
    l->in_channels = transposed ? w->dims[0] : w->dims[1] * l->groups;
    l->out_channels = transposed ? w->dims[1] * l->groups : w->dims[0];
    l->in_axis = l->out_axis = 1;
    return true;
}

static bool read_matrix(struct linear *l, bool gemm) {
    const struct onnx_shape *w = &l->weights->shape, *x = &l->node->inputs[0]->shape, *y = &l->node->outputs[0]->shape;
    bool turned = gemm && onnx_attribute_int(l->node, "transB", 0);
    if (w->rank != 2 || x->rank < 2 || y->rank != x->rank || (gemm && onnx_attribute_int(l->node, "transA", 0))) return false;
    l->groups = l->window = 1;
    l->inner = w->dims[1];
    l->rows_are_inputs = !turned;
    l->in_channels = w->dims[turned ? 1 : 0];
    l->out_channels = w->dims[turned ? 0 : 1];
    l->in_axis = x->rank - 1;
    l->out_axis = y->rank - 1;
    l->gain = gemm ? onnx_attribute_float(l->node, "alpha", 1) : 1;
    l->bias_gain = gemm ? onnx_attribute_float(l->node, "beta", 1) : 1;
    return true;
}

bool linear_read(struct onnx_node *node, struct linear *l) {
    *l = (struct linear){.node = node, .gain = 1, .bias_gain = 1};
    if (!node || node->folded || node->input_count < 2 || !node->inputs[0] || node->inputs[0]->type != ONNX_FLOAT) return false;
    l->weights = onnx_input_constant(node, 1);
    if (!l->weights || l->weights->type != ONNX_FLOAT || !l->weights->count || node->inputs[0]->constant) return false;
    bool read = graph_is(node, "Conv")            ? read_conv(l, false)
                : graph_is(node, "ConvTranspose") ? read_conv(l, true)
                : graph_is(node, "Gemm")          ? read_matrix(l, true)
                : graph_is(node, "MatMul")        ? read_matrix(l, false)
                                                  : false;
    return read && bias_fits(l);
}

/* Of networks seen, none wrote more than a hundredth of its room. */
enum { LEAST_COPIES = 1 << 23, COPIES_OF_A_NUMBER = 16 };

bool linear_has_room(const struct onnx_graph *g, const struct linear *l) {
    const size_t room = onnx_room(g, LEAST_COPIES, COPIES_OF_A_NUMBER, SIZE_MAX);
    return g->numbers_copied <= room && l->weights->count + (size_t)l->out_channels <= room - g->numbers_copied;
}

void linear_place(const struct linear *l, int64_t e, int64_t *in, int64_t *out) {
    int64_t row = e / (l->inner * l->window), column = e / l->window % l->inner;
    int64_t rows = l->rows_are_inputs ? l->in_channels : l->out_channels, group = row / (rows / l->groups);
    int64_t other = group * l->inner + column;
    *in = l->rows_are_inputs ? row : other;
    *out = l->rows_are_inputs ? other : row;
}

double *linear_bias(struct onnx_graph *g, const struct linear *l) {
    double *bias = graph_doubles(g, l->out_channels);
    g->numbers_copied += (size_t)l->out_channels;
    const struct onnx_tensor *numbers = onnx_input_constant(l->node, 2);
    for (int64_t o = 0; o < l->out_channels && numbers; o++)
        bias[o] = l->bias_gain * onnx_number(numbers, numbers->count == 1 ? 0 : (size_t)o);
    return bias;
}

bool linear_takes_bias(const struct linear *l) {
    return !graph_is(l->node, "MatMul") || l->in_axis == 1;
}

static bool in_range(double x) {
    return isfinite(x) && fabs(x) <= 3.0e38;
}

static bool all_in_range(const double *numbers, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!in_range(numbers[i])) return false;
    return true;
}

static struct onnx_value *scaled_weights(struct onnx_graph *g, const struct linear *l, const double *out_scale, const double *in_scale) {
    struct onnx_tensor *made;
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        double w = onnx_number(l->weights, e) * l->gain * (out_scale ? out_scale[out] : 1) * (in_scale ? in_scale[in] : 1);
        if (!in_range(w)) return NULL;
    }
    g->numbers_copied += l->weights->count;
    struct onnx_value *value = edit_constant(g, onnx_text(g, "%s.weight", l->node->name), ONNX_FLOAT, &l->weights->shape, &made);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        double w = onnx_number(l->weights, e) * l->gain * (out_scale ? out_scale[out] : 1) * (in_scale ? in_scale[in] : 1);
        ((float *)made->data)[e] = (float)w;
    }
    return value;
}

static void set_bias(struct onnx_graph *g, const struct linear *l, const double *bias) {
    struct onnx_shape shape = {1, {l->out_channels}};
    struct onnx_value *value = graph_floats(g, l->node, "bias", &shape, bias);
    if (graph_is(l->node, "MatMul")) {
        struct onnx_value *inputs[3] = {l->node->inputs[0], l->node->inputs[1], value};
        edit_become(g, l->node, "Gemm", "", inputs, 3);
    } else {
        edit_set_input(g, l->node, 2, value);
    }
}

bool linear_rewrite(struct onnx_graph *g, struct linear *l, const double *out_scale, const double *in_scale, const double *bias) {
    bool gains = l->gain != 1 || l->bias_gain != 1;
    if (!bias && gains && onnx_input(l->node, 2)) bias = linear_bias(g, l);
    if (bias && !all_in_range(bias, l->out_channels)) return false;
    if (out_scale || in_scale || l->gain != 1) {
        struct onnx_value *weights = scaled_weights(g, l, out_scale, in_scale);
        if (!weights) return false;
        edit_set_input(g, l->node, 1, weights);
        l->weights = weights->constant;
    }
    if (gains) {
        edit_attribute_drop(l->node, "alpha");
        edit_attribute_drop(l->node, "beta");
        l->gain = l->bias_gain = 1;
    }
    if (bias) set_bias(g, l, bias);
    return true;
}
