/* SPDX-License-Identifier: MIT */
/* BatchNormalization with its constants; InstanceNormalization, GroupNormalization, LayerNormalization, RMSNormalization, LpNormalization
 * and LRN, which measure each input. */
#include "tools/float/operator.h"

#include <math.h>
#include <string.h>

struct batch_norm {
    int64_t outer, channels, inner;
    float *factor, *shift;
};

static void run_batch_norm(const void *plan, const struct call *call) {
    const struct batch_norm *b = plan;
    for (int64_t i = 0; i < b->outer * b->channels; i++) {
        const float factor = b->factor[i % b->channels], shift = b->shift[i % b->channels], *x = call->in[0] + i * b->inner;
        float *y = call->out[0] + i * b->inner;
        for (int64_t k = 0; k < b->inner; k++) y[k] = x[k] * factor + shift;
    }
}

bool prepare_batch_norm(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    struct batch_norm *b = prepare_alloc(p, sizeof *b);
    const float *constants[5] = {NULL};
    for (int i = 1; i < 5; i++)
        if (!(constants[i] = prepare_constant(p, i))) return cannot(p, "its scale, shift, mean and variance are not constant");
    if (onnx_attribute_int(p->node, "training_mode", 0))
        return cannot(p, "it is in training mode: export the network for inference, model.eval() in PyTorch");
    bool one = x->rank < 2;
    *b = (struct batch_norm){one ? 1 : x->dims[0], one ? 1 : x->dims[1], one ? onnx_elements(x) : shape_part(x, 2, x->rank), NULL, NULL};
    b->factor = prepare_alloc(p, (size_t)(b->channels + 1) * sizeof *b->factor);
    b->shift = prepare_alloc(p, (size_t)(b->channels + 1) * sizeof *b->shift);
    float epsilon = onnx_attribute_float(p->node, "epsilon", 1e-5F);
    for (int64_t i = 0; i < b->channels; i++) {
        b->factor[i] = constants[1][i] / sqrtf(constants[4][i] + epsilon);
        b->shift[i] = constants[2][i] - constants[3][i] * b->factor[i];
    }
    p->step->plan = b;
    p->step->run = run_batch_norm;
    p->step->in_place = true;
    p->reads = 1;
    return true;
}

/* Lists of `count` neighbours are brought to mean 0 (unless keeps_mean) and variance 1; then each number gets the factor and shift that
 * i / inner % channels stands for. */
struct norm {
    int64_t lists, count, inner, channels;
    const float *factor, *shift; /* NULL: none */
    float epsilon;
    bool keeps_mean;
    int outputs; /* 1, or what LayerNormalization measured as well: mean, 1 / deviation */
};

static void run_norm(const void *plan, const struct call *call) {
    const struct norm *n = plan;
    for (int64_t i = 0; i < n->lists; i++) {
        const float *x = call->in[0] + i * n->count;
        float *y = call->out[0] + i * n->count;
        double sum = 0, squares = 0;
        for (int64_t k = 0; k < n->count; k++) sum += (double)x[k];
        const double mean = n->keeps_mean ? 0 : sum / (double)n->count;
        for (int64_t k = 0; k < n->count; k++) squares += ((double)x[k] - mean) * ((double)x[k] - mean);
        const double scale = 1 / sqrt(squares / (double)n->count + (double)n->epsilon);
        if (n->outputs > 1 && call->out[1]) call->out[1][i] = (float)mean;
        if (n->outputs > 2 && call->out[2]) call->out[2][i] = (float)scale;
        for (int64_t k = 0; k < n->count; k++) {
            int64_t channel = (i * n->count + k) / n->inner % n->channels;
            y[k] = (float)(((double)x[k] - mean) * scale) * (n->factor ? n->factor[channel] : 1) + (n->shift ? n->shift[channel] : 0);
        }
    }
}

static bool use_norm(struct preparation *p, struct norm norm) {
    struct norm *n = prepare_alloc(p, sizeof *n);
    *n = norm;
    n->factor = prepare_constant(p, 1);
    n->shift = prepare_constant(p, 2);
    n->outputs = p->node->output_count;
    n->epsilon = onnx_attribute_float(p->node, "epsilon", 1e-5F);
    if ((onnx_input(p->node, 1) && !n->factor) || (onnx_input(p->node, 2) && !n->shift))
        return cannot(p, "its scale and shift are not constant");
    for (int i = 1; i < 3; i++)
        if (onnx_input(p->node, i) && onnx_elements(shape_in(p, i)) != n->channels)
            return cannot(p, "input %d must have %lld numbers", i, (long long)n->channels);
    p->step->plan = n;
    p->step->run = run_norm;
    p->step->in_place = true;
    p->reads = 1;
    return onnx_elements(shape_in(p, 0)) ? true : cannot(p, "its input is empty");
}

bool prepare_instance_norm(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    if (x->rank < 2) return cannot(p, "its input has no channels");
    int64_t area = shape_part(x, 2, x->rank);
    return use_norm(p, (struct norm){.lists = x->dims[0] * x->dims[1], .count = area, .inner = area, .channels = x->dims[1]});
}

/* Scales are for each channel from opset 21 on, for each group before. */
bool prepare_group_norm(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    int64_t groups = onnx_attribute_int(p->node, "num_groups", 0);
    if (x->rank < 2 || groups < 1 || groups > x->dims[1] || x->dims[1] % groups) return cannot(p, "its groups do not fit the channels");
    int64_t area = shape_part(x, 2, x->rank), count = x->dims[1] / groups * area;
    bool by_channel = p->node->opset >= 21;
    return use_norm(p, (struct norm){.lists = x->dims[0] * groups,
                                     .count = count,
                                     .inner = by_channel ? area : count,
                                     .channels = by_channel ? x->dims[1] : groups});
}

bool prepare_layer_norm(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    int64_t stated = onnx_attribute_int(p->node, "axis", -1);
    if (stated < -x->rank || stated >= x->rank) return cannot(p, "axis %lld does not exist in %d dimensions", (long long)stated, x->rank);
    int axis = shape_axis(x, stated);
    int64_t count = shape_part(x, axis, x->rank);
    bool rms = !strcmp(p->node->op, "RMSNormalization");
    return use_norm(p, (struct norm){.lists = shape_part(x, 0, axis), .count = count, .inner = 1, .channels = count, .keeps_mean = rms});
}

/* ---- LRN: each number by what its neighbours among the channels sum up to ---- */

struct lrn {
    int64_t outer, channels, inner, before, after;
    float alpha, beta, bias; /* alpha by neighbour */
};

static void run_lrn(const void *plan, const struct call *call) {
    const struct lrn *l = plan;
    for (int64_t i = 0; i < l->outer * l->channels; i++) {
        int64_t channel = i % l->channels, first = channel < l->before ? -channel : -l->before;
        int64_t last = l->channels - 1 - channel < l->after ? l->channels - 1 - channel : l->after;
        const float *x = call->in[0] + i * l->inner;
        for (int64_t k = 0; k < l->inner; k++) {
            float sum = 0;
            for (int64_t c = first; c <= last; c++) sum += x[c * l->inner + k] * x[c * l->inner + k];
            call->out[0][i * l->inner + k] = x[k] / powf(l->bias + l->alpha * sum, l->beta);
        }
    }
}

bool prepare_lrn(struct preparation *p) {
    const struct onnx_shape *x = shape_in(p, 0);
    int64_t size = onnx_attribute_int(p->node, "size", 0);
    struct lrn *l = prepare_alloc(p, sizeof *l);
    if (x->rank < 2 || size < 1 || size > INT32_MAX) return cannot(p, "its size does not fit the input");
    *l = (struct lrn){x->dims[0],
                      x->dims[1],
                      shape_part(x, 2, x->rank),
                      (size - 1) / 2,
                      size / 2,
                      onnx_attribute_float(p->node, "alpha", 1e-4F) / (float)size,
                      onnx_attribute_float(p->node, "beta", 0.75F),
                      onnx_attribute_float(p->node, "bias", 1)};
    p->step->plan = l;
    p->step->run = run_lrn;
    return true;
}
