/* SPDX-License-Identifier: MIT */
/* Elementwise operators of one input: a table for a quantized input, a float step otherwise. */
#include "tools/lower/lower.h"

#include <math.h>

struct function {
    const struct onnx_function *f;
    struct onnx_parameters p;
};

static float function_number(const void *context, uint32_t channel, float x) {
    const struct function *function = context;
    (void)channel;
    return onnx_function_in_table(function->f, &function->p, x);
}

static float clip_number(const void *context, uint32_t channel, float x) {
    const struct onnx_parameters *bounds = context;
    (void)channel;
    return fminf(fmaxf(x, bounds->alpha), bounds->beta);
}

/* A Sigmoid or HardSigmoid whose only reader multiplies it by what it is of: then both are one step, by the same arithmetic. The value that
 * the step gives. */
static struct onnx_value *gated(const struct onnx_node *node, struct morsel_blob_unary *p) {
    struct onnx_value *y = node->outputs[0], *x = node->inputs[0];
    struct onnx_node *mul = p->op == MORSEL_UNARY_SIGMOID || p->op == MORSEL_UNARY_HARD_SIGMOID ? only_reader(y) : NULL;
    if (!node_is(mul, "Mul") || mul->domain[0] || mul->input_count != 2 || mul->inputs[mul->inputs[0] == y ? 1 : 0] != x) return y;
    p->op = p->op == MORSEL_UNARY_SIGMOID ? MORSEL_UNARY_SILU : MORSEL_UNARY_HARD_SWISH;
    mul->done = true;
    return mul->outputs[0];
}

static bool float_step(struct lowering *l, struct onnx_node *node, struct meaning *m, struct morsel_blob_unary p, const float *scale,
                       const float *offset) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    struct onnx_value *y = gated(node, &p);
    struct tail tail = tail_follow(l, y, TAIL_NO_ACTIVATION);
    struct net_buffer *out = net_add_like(l->net, in, tail.quantized ? tail.q.type : MORSEL_FLOAT32, y->name);
    out->qualified = true;
    out->scale = tail.quantized ? tail.q.scale : 1;
    out->zero = tail.quantized ? tail.q.zero : 0;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_UNARY, node->name, in, NULL, out);
    p.count = net_elements(in);
    step->parameters.unary = p;
    if (p.op == MORSEL_UNARY_AFFINE) line_constants(l, step, scale, offset);
    meaning_set(l, tail.value,
                (struct meaning){.buffer = out,
                                 .view = view,
                                 .dequantized = tail.quantized && tail.dequantized,
                                 .scale = out->scale,
                                 .zero = out->zero});
    return true;
}

/* Clip of an integer tensor (PyTorch's seven bits): a table on the bytes themselves. */
static bool integer_clip(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct onnx_parameters *bounds) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    uint8_t *table = net_alloc(l->net, 256);
    for (int b = 0; b < 256; b++)
        table[b] = (uint8_t)clipped(in->type == MORSEL_INT8 ? (int8_t)b : b, bounds->alpha, bounds->beta, in->type);
    struct net_buffer *out = net_add_like(l->net, in, in->type, node->outputs[0]->name);
    out->scale = in->scale;
    out->zero = in->zero;
    out->qualified = in->qualified;
    struct meaning made = *m;
    made.buffer = out;
    made.view = view;
    add_lut(l, node, m, &view, in, out, table);
    meaning_set(l, node->outputs[0], made);
    return true;
}

bool lower_clip(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct onnx_parameters bounds;
    if (!m) return false;
    if (!clip_bounds(node, &bounds.alpha, &bounds.beta)) return refuse(l, node, "its bounds are not constant numbers");
    if (m->buffer->type == MORSEL_FLOAT32)
        return float_step(l, node, m,
                          (struct morsel_blob_unary){.op = MORSEL_UNARY_CLIP, .alpha = bounds.alpha, .beta = bounds.beta, .channels = 1},
                          NULL, NULL);
    if (m->dequantized || m->table) return set_function(l, node, m, node->outputs[0], clip_number, &bounds, 1, 0);
    return integer_clip(l, node, m, &bounds);
}

/* The step that computes a function in float; false: there is none. */
static bool step_of(const struct function *function, struct morsel_blob_unary *step) {
    static const struct {
        const struct onnx_function *f;
        enum morsel_unary_op op;
        bool has_parameters;
    } steps[] = {
        {&onnx_leaky_relu, MORSEL_UNARY_LEAKY_RELU, true},
        {&onnx_hard_sigmoid, MORSEL_UNARY_HARD_SIGMOID, true},
        {&onnx_hard_swish, MORSEL_UNARY_HARD_SWISH, true},
        {&onnx_sigmoid, MORSEL_UNARY_SIGMOID, false},
        {&onnx_tanh, MORSEL_UNARY_TANH, false},
        {&onnx_erf, MORSEL_UNARY_ERF, false},
        {&onnx_exp, MORSEL_UNARY_EXP, false},
        {&onnx_sqrt, MORSEL_UNARY_SQRT, false},
        {&onnx_abs, MORSEL_UNARY_ABS, false},
        {&onnx_neg, MORSEL_UNARY_NEG, false},
        {&onnx_swish, MORSEL_UNARY_SWISH, true},
        {&onnx_quick_gelu, MORSEL_UNARY_SWISH, true},
        {&onnx_elu, MORSEL_UNARY_ELU, true},
        {&onnx_selu, MORSEL_UNARY_ELU, true},
        {&onnx_celu, MORSEL_UNARY_CELU, true},
        {&onnx_softplus, MORSEL_UNARY_SOFTPLUS, false},
        {&onnx_softsign, MORSEL_UNARY_SOFTSIGN, false},
        {&onnx_mish, MORSEL_UNARY_MISH, false},
        {&onnx_gelu, MORSEL_UNARY_GELU, false},
        {&onnx_thresholded_relu, MORSEL_UNARY_THRESHOLD, true},
        {&onnx_shrink, MORSEL_UNARY_SHRINK, true},
        {&onnx_log, MORSEL_UNARY_LOG, false},
        {&onnx_reciprocal, MORSEL_UNARY_RECIPROCAL, false},
        {&onnx_sign, MORSEL_UNARY_SIGN, false},
        {&onnx_round, MORSEL_UNARY_ROUND, false},
        {&onnx_floor, MORSEL_UNARY_FLOOR, false},
        {&onnx_ceil, MORSEL_UNARY_CEIL, false},
    };
    size_t i = 0, count = sizeof steps / sizeof *steps;
    while (i < count && steps[i].f != function->f) i++;
    const bool by_tanh = i == count && function->f == onnx_gelu.tanh_form;
    if (i == count && !by_tanh) return false;
    *step = (struct morsel_blob_unary){.op = by_tanh ? MORSEL_UNARY_GELU_TANH : steps[i].op, .channels = 1};
    if (by_tanh || !steps[i].has_parameters) return true;
    step->alpha = function->p.alpha;
    step->beta = function->f == &onnx_elu ? 1 : function->p.beta;
    if (function->f == &onnx_selu) step->alpha *= step->beta;
    if (step->op == MORSEL_UNARY_SWISH && step->alpha == 1) step->op = MORSEL_UNARY_SILU;
    return true;
}

bool lower_unary(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct function function;
    if (!m) return false;
    function.f = onnx_function_of(node, &function.p);
    bool q8 = m->buffer->type != MORSEL_FLOAT32;
    if (q8 && (m->dequantized || m->table)) return set_function(l, node, m, node->outputs[0], function_number, &function, 1, 0);
    struct morsel_blob_unary step;
    if (!step_of(&function, &step)) return q8 ? refuse(l, node, "its input is an integer tensor") : lower_angle(l, node, m);
    if (!isfinite(step.alpha) || !isfinite(step.beta)) return refuse(l, node, "its alpha or beta is not a finite number");
    if (step.op == MORSEL_UNARY_CELU && step.alpha <= 0) return refuse(l, node, "its alpha is not above 0");
    return q8 ? refuse(l, node, "its input is an integer tensor") : float_step(l, node, m, step, NULL, NULL);
}

struct function_by_channel {
    const struct onnx_function_of_two *f;
    const float *numbers;
};

static float function_by_channel(const void *context, uint32_t channel, float x) {
    const struct function_by_channel *function = context;
    return (float)function->f->number((double)x, (double)function->numbers[channel]);
}

/* In float a PRelu of one slope is a LeakyRelu, and some powers have steps of their own. */
static bool function_in_float(struct lowering *l, struct onnx_node *node, struct meaning *m, bool power) {
    const struct onnx_tensor *t = onnx_input_constant(node, 1);
    if (!t) t = constant_numbers(l, onnx_input(node, 1));
    if (!t || t->count != 1 || t->shape.rank > (int)m->view.rank || !isfinite((float)onnx_number(t, 0))) return lower_binary(l, node);
    struct morsel_blob_unary step = {.op = MORSEL_UNARY_LEAKY_RELU, .alpha = (float)onnx_number(t, 0), .channels = 1};
    if (power && step.alpha == 2) return lower_square(l, node, m);
    if (power && step.alpha == 3) return lower_cube(l, node, m);
    if (power && step.alpha != -1) return lower_binary(l, node);
    if (power) step.op = MORSEL_UNARY_RECIPROCAL;
    return float_step(l, node, m, step, NULL, NULL);
}

/* PRelu and Pow: of one number and a constant. */
bool lower_function_by_channel(struct lowering *l, struct onnx_node *node) {
    if (onnx_input_constant(node, 0)) return lower_binary(l, node);
    struct meaning *m = activation(l, node, 0);
    struct onnx_value *out = node->outputs[0];
    bool power = node_is(node, "Pow");
    if (!m) return false;
    if (m->buffer->type == MORSEL_FLOAT32) return function_in_float(l, node, m, power);
    if (!m->dequantized && !m->table) return refuse(l, node, "its input is an integer tensor");
    const struct onnx_tensor *numbers = constant_numbers(l, onnx_input(node, 1));
    int axis = numbers ? onnx_varying_axis(numbers, out->shape.rank) : -2;
    if (axis == -2) return lower_binary(l, node);
    if (power && (out->shape.rank != (int)m->view.rank || numbers->type != ONNX_FLOAT))
        return refuse(l, node, "its exponent is not a float constant of its input's dimensions");
    struct function_by_channel function = {onnx_operator_of(node)->of_two, numbers->data};
    return set_function(l, node, m, out, function_by_channel, &function, axis < 0 ? 1 : (uint32_t)numbers->count,
                        axis < 0 ? 0 : (uint32_t)axis);
}

/* Inputs X, X_scale, X_zero_point, Y_scale, Y_zero_point. */
bool lower_qlinear_unary(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct quantization in, out;
    struct function function;
    const char *why;
    if (!m) return false;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &in, &why) ||
        !read_quantization(node, 3, 4, node->inputs[0]->type, &out, &why))
        return refuse(l, node, "%s", why);
    if (!meaning_qualify(l, node, m, in.scale, in.zero)) return false;
    struct meaning dequantized = *m;
    dequantized.dequantized = true;
    function.f = onnx_function_of(node, &function.p);
    return set_function(l, node, &dequantized, node->outputs[0], function_number, &function, 1, 0) &&
           requantize(l, node, meaning_of(l, node->outputs[0]), &out);
}

struct affine {
    const float *scale, *offset;
};

static float affine_number(const void *context, uint32_t channel, float x) {
    const struct affine *a = context;
    float scaled = x * a->scale[channel];
    return scaled + a->offset[channel];
}

bool lower_batch_norm(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    const struct onnx_tensor *t[4];
    if (!m) return false;
    if (onnx_attribute_int(node, "training_mode", 0))
        return refuse(l, node, "training_mode is 1: export the model for inference (model.eval() in PyTorch)");
    for (int i = 1; i < node->output_count; i++)
        if (node->outputs[i] && node->outputs[i]->uses) return refuse(l, node, "its outputs beyond the first are not supported");
    uint32_t channels = m->view.rank > 1 ? m->view.dims[1] : 1;
    for (int i = 0; i < 4; i++) {
        t[i] = constant_numbers(l, onnx_input(node, i + 1));
        if (!t[i] || t[i]->count != channels || t[i]->type != ONNX_FLOAT)
            return refuse(l, node, "scale, bias, mean and variance have to be %u float constants each", channels);
    }
    float epsilon = onnx_attribute_float(node, "epsilon", 1e-5F);
    float *scale = net_alloc(l->net, channels * sizeof *scale), *offset = net_alloc(l->net, channels * sizeof *offset);
    for (uint32_t c = 0; c < channels; c++) {
        scale[c] = ((float *)t[0]->data)[c] / sqrtf(((float *)t[3]->data)[c] + epsilon);
        float moved = ((float *)t[2]->data)[c] * scale[c];
        offset[c] = ((float *)t[1]->data)[c] - moved;
        if (!isfinite(scale[c]) || !isfinite(offset[c]))
            return refuse(l, node, "channel %u: its scale, bias, mean and variance give no finite numbers", c);
    }
    struct affine a = {scale, offset};
    if (m->buffer->type != MORSEL_FLOAT32 && !m->dequantized && !m->table) return refuse(l, node, "its input is an integer tensor");
    if (m->buffer->type != MORSEL_FLOAT32 && function_fits(l, m, channels, 1))
        return set_function(l, node, m, node->outputs[0], affine_number, &a, channels, 1) &&
               (set_line(l, m, node->outputs[0], scale, offset), true);
    struct meaning last = *m;
    if (last.table) {
        last.buffer = meaning_float_buffer(l, node, &last, &last.view);
        last.table = NULL;
        last.dequantized = false;
    }
    return last.buffer && meaning_channels_last(l, node, &last) &&
           float_step(l, node, &last, (struct morsel_blob_unary){.op = MORSEL_UNARY_AFFINE, .channels = channels}, scale, offset);
}
