/* SPDX-License-Identifier: MIT */
/* Elementwise operators of one input: a table for a quantized input, a float step otherwise. */
#include "tools/lower/lower.h"

#include <math.h>
#include <string.h>

struct unary {
    enum morsel_unary_op op;
    float alpha, beta;
};

static float unary_number(const void *context, uint32_t channel, float x) {
    const struct unary *u = context;
    (void)channel;
    switch (u->op) {
    case MORSEL_UNARY_CLIP: return fminf(fmaxf(x, u->alpha), u->beta);
    case MORSEL_UNARY_LEAKY_RELU: return x >= 0 ? x : u->alpha * x;
    case MORSEL_UNARY_HARD_SIGMOID: return fmaxf(0, fminf(1, u->alpha * x + u->beta));
    case MORSEL_UNARY_HARD_SWISH: return x * fmaxf(0, fminf(1, u->alpha * x + u->beta));
    case MORSEL_UNARY_SIGMOID: return (float)(1 / (1 + exp(-(double)x)));
    case MORSEL_UNARY_TANH: return (float)tanh(x);
    case MORSEL_UNARY_SILU: return (float)(x / (1 + exp(-(double)x)));
    case MORSEL_UNARY_ERF: return (float)erf(x);
    case MORSEL_UNARY_EXP: return (float)exp(x);
    case MORSEL_UNARY_SQRT: return sqrtf(x);
    case MORSEL_UNARY_ABS: return fabsf(x);
    case MORSEL_UNARY_NEG: return -x;
    default: return x;
    }
}

/* Functions that no float step has: good for tables only. */
static float gelu_number(const void *context, uint32_t channel, float x) {
    const bool *tanh_form = context;
    (void)channel;
    if (*tanh_form) return (float)(0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * (double)x * x * x))));
    return (float)(0.5 * x * (1 + erf(x * 0.7071067811865476)));
}

static float elu_number(const void *context, uint32_t channel, float x) {
    (void)channel;
    return x >= 0 ? x : (float)(*(const float *)context * expm1(x));
}

static float softplus_number(const void *context, uint32_t channel, float x) {
    (void)context, (void)channel;
    return (float)(x > 0 ? x + log1p(exp(-(double)x)) : log1p(exp(x)));
}

static float prelu_number(const void *context, uint32_t channel, float x) {
    return x >= 0 ? x : ((const float *)context)[channel] * x;
}

static float pow_number(const void *context, uint32_t channel, float x) {
    return (float)pow(x, ((const float *)context)[channel]);
}

/* Those of one number that take no constants, or attributes: which of them, and what its attributes are. */
struct rare {
    const char *op;
    float alpha, gamma;
};

static float rare_number(const void *context, uint32_t channel, float x) {
    const struct rare *r = context;
    (void)channel;
    switch (r->op[0]) {
    case 'L': /* Log */ return (float)log(x);
    case 'R': /* Reciprocal */ return 1 / x;
    case 'M': /* Mish */ return (float)(x * tanh(x > 0 ? x + log1p(exp(-(double)x)) : log1p(exp(x))));
    case 'T': /* ThresholdedRelu */ return x > r->alpha ? x : 0;
    case 'C': /* Celu */ return (float)(fmax(0, x) + fmin(0, r->alpha * expm1((double)x / r->alpha)));
    default: /* Selu, Softsign */ return r->op[1] == 'o' ? x / (1 + fabsf(x)) : (float)(r->gamma * (x > 0 ? x : r->alpha * expm1(x)));
    }
}

static bool find_rare(const struct onnx_node *node, struct rare *rare) {
    static const struct rare known[] = {{"Log", 0, 0},
                                        {"Reciprocal", 0, 0},
                                        {"Mish", 0, 0},
                                        {"ThresholdedRelu", 1, 0},
                                        {"Celu", 1, 0},
                                        {"Softsign", 0, 0},
                                        {"Selu", 1.67326319217681884765625F, 1.05070102214813232421875F}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(node, known[i].op)) {
            *rare = known[i];
            rare->alpha = onnx_attribute_float(node, "alpha", rare->alpha);
            rare->gamma = onnx_attribute_float(node, "gamma", rare->gamma);
            return true;
        }
    return false;
}

static bool find_unary(const struct onnx_node *node, struct unary *u) {
    static const struct {
        const char *name;
        struct unary unary;
    } known[] = {
        {"LeakyRelu", {MORSEL_UNARY_LEAKY_RELU, 0.01F, 0}},
        {"QLinearLeakyRelu", {MORSEL_UNARY_LEAKY_RELU, 0.01F, 0}},
        {"Sigmoid", {MORSEL_UNARY_SIGMOID, 0, 0}},
        {"QLinearSigmoid", {MORSEL_UNARY_SIGMOID, 0, 0}},
        {"HardSigmoid", {MORSEL_UNARY_HARD_SIGMOID, 0.2F, 0.5F}},
        {"HardSwish", {MORSEL_UNARY_HARD_SWISH, 1.0F / 6, 0.5F}},
        {"Tanh", {MORSEL_UNARY_TANH, 0, 0}},
        {"Erf", {MORSEL_UNARY_ERF, 0, 0}},
        {"Exp", {MORSEL_UNARY_EXP, 0, 0}},
        {"Sqrt", {MORSEL_UNARY_SQRT, 0, 0}},
        {"Abs", {MORSEL_UNARY_ABS, 0, 0}},
        {"Neg", {MORSEL_UNARY_NEG, 0, 0}},
        {"Swish", {MORSEL_UNARY_SILU, 0, 0}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (node_is(node, known[i].name)) {
            *u = known[i].unary;
            if (u->op == MORSEL_UNARY_LEAKY_RELU || u->op == MORSEL_UNARY_HARD_SIGMOID)
                u->alpha = onnx_attribute_float(node, "alpha", u->alpha);
            if (u->op == MORSEL_UNARY_HARD_SIGMOID) u->beta = onnx_attribute_float(node, "beta", u->beta);
            return true;
        }
    u->op = MORSEL_UNARY_CLIP;
    return clip_bounds(node, &u->alpha, &u->beta);
}

static bool float_step(struct lowering *l, struct onnx_node *node, struct meaning *m, struct morsel_blob_unary p, const float *scale,
                       const float *offset) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    struct tail tail = tail_follow(l, node->outputs[0], TAIL_NO_ACTIVATION);
    struct net_buffer *out = net_add_like(l->net, in, tail.quantized ? tail.q.type : MORSEL_FLOAT32, node->outputs[0]->name);
    out->qualified = true;
    out->scale = tail.quantized ? tail.q.scale : 1;
    out->zero = tail.quantized ? tail.q.zero : 0;
    struct net_step *step = net_add_step(l->net, MORSEL_STEP_UNARY, node->name, in, NULL, out);
    p.count = net_elements(in);
    step->parameters.unary = p;
    if (p.op == MORSEL_UNARY_AFFINE) {
        net_add_constant(step, scale, p.channels * sizeof *scale, offsetof(struct morsel_blob_unary, affine_scale));
        net_add_constant(step, offset, p.channels * sizeof *offset, offsetof(struct morsel_blob_unary, affine_offset));
    }
    meaning_set(l, tail.value,
                (struct meaning){.buffer = out,
                                 .view = view,
                                 .dequantized = tail.quantized && tail.dequantized,
                                 .scale = out->scale,
                                 .zero = out->zero});
    return true;
}

/* Clip of an integer tensor (PyTorch's seven bits): a table on the bytes themselves. */
static bool integer_clip(struct lowering *l, struct onnx_node *node, struct meaning *m, const struct unary *u) {
    struct view view;
    struct net_buffer *in = meaning_any_buffer(l, node, m, &view);
    if (!in) return false;
    uint8_t *table = net_alloc(l->net, 256);
    for (int b = 0; b < 256; b++) {
        float q = (float)(in->type == MORSEL_INT8 ? (int8_t)b : b);
        table[b] = (uint8_t)(int)fminf(fmaxf(q, u->alpha), u->beta);
    }
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

static bool table_only(struct lowering *l, struct onnx_node *node, const struct meaning *m) {
    struct onnx_value *out = node->outputs[0];
    if (node_is(node, "Gelu")) {
        bool tanh_form = !strcmp(onnx_attribute_string(node, "approximate", "none"), "tanh");
        return set_function(l, node, m, out, gelu_number, &tanh_form, 1, 0);
    }
    if (node_is(node, "Elu")) {
        float alpha = onnx_attribute_float(node, "alpha", 1);
        return set_function(l, node, m, out, elu_number, &alpha, 1, 0);
    }
    if (node_is(node, "Softplus")) return set_function(l, node, m, out, softplus_number, NULL, 1, 0);
    struct rare rare;
    if (find_rare(node, &rare)) return set_function(l, node, m, out, rare_number, &rare, 1, 0);
    const struct onnx_tensor *slope = constant_numbers(l, node->input_count > 1 ? node->inputs[1] : NULL);
    int axis = slope ? varying_axis(slope, out->shape.rank) : -2;
    bool power = node_is(node, "Pow");
    if ((!node_is(node, "PRelu") && !power) || axis == -2)
        return refuse(l, node, "its %s is not a constant that varies along one axis at most", power ? "exponent" : "slope");
    if (power && (out->shape.rank != (int)m->view.rank || slope->type != ONNX_FLOAT))
        return refuse(l, node, "its exponent is not a float constant of its input's dimensions");
    uint32_t channels = axis < 0 ? 1 : (uint32_t)slope->count;
    return set_function(l, node, m, out, power ? pow_number : prelu_number, slope->data, channels, axis < 0 ? 0 : (uint32_t)axis);
}

bool lower_unary(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct unary u;
    if (!m) return false;
    bool q8 = m->buffer->type != MORSEL_FLOAT32, number = m->dequantized || m->table;
    if (!find_unary(node, &u)) {
        if (node_is(node, "Clip")) return refuse(l, node, "its bounds are not constant numbers");
        const struct onnx_tensor *exponent = node_is(node, "Pow") ? onnx_input_constant(node, 1) : NULL;
        if (!q8 && exponent && exponent->count == 1 && onnx_number(exponent, 0) == 2) return lower_square(l, node, m);
        return q8 && number ? table_only(l, node, m)
                            : refuse(l, node, "only supported on a quantized input (between DequantizeLinear and QuantizeLinear)");
    }
    if (q8 && number) return set_function(l, node, m, node->outputs[0], unary_number, &u, 1, 0);
    if (q8) return u.op == MORSEL_UNARY_CLIP ? integer_clip(l, node, m, &u) : refuse(l, node, "its input is an integer tensor");
    struct morsel_blob_unary p = {.op = u.op, .alpha = u.alpha, .beta = u.beta, .channels = 1};
    return float_step(l, node, m, p, NULL, NULL);
}

/* Inputs X, X_scale, X_zero_point, Y_scale, Y_zero_point. */
bool lower_qlinear_unary(struct lowering *l, struct onnx_node *node) {
    struct meaning *m = activation(l, node, 0);
    struct quantization in, out;
    const char *why;
    struct unary u;
    if (!m) return false;
    if (!read_quantization(node, 1, 2, node->inputs[0]->type, &in, &why) ||
        !read_quantization(node, 3, 4, node->inputs[0]->type, &out, &why))
        return refuse(l, node, "%s", why);
    if (!meaning_qualify(l, node, m, in.scale, in.zero) || !find_unary(node, &u)) return false;
    struct meaning dequantized = *m;
    dequantized.dequantized = true;
    return set_function(l, node, &dequantized, node->outputs[0], unary_number, &u, 1, 0) &&
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
    if (m->buffer->type != MORSEL_FLOAT32 && function_fits(m, channels, 1))
        return set_function(l, node, m, node->outputs[0], affine_number, &a, channels, 1);
    struct meaning last = *m;
    if (last.table) {
        last.buffer = meaning_float_buffer(l, node, &last, &last.view);
        last.table = NULL;
        last.dequantized = false;
    }
    return last.buffer && meaning_channels_last(l, node, &last) &&
           float_step(l, node, &last, (struct morsel_blob_unary){.op = MORSEL_UNARY_AFFINE, .channels = channels}, scale, offset);
}
