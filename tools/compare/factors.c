/* SPDX-License-Identifier: MIT */
/*
 * Channels that the model holds times a factor: quantizers rescale channels so that they fill their bytes, and the weights around them so
 * that the network stays what it was. The factors are powers of 2^(1/4), and at inputs and outputs 1.
 *
 * They are found twice: forwards, by what a value takes on in both networks, and backwards from the outputs, by the weights that read it.
 * Only where the two agree there is one; a layer that is merely wrong by a factor, with nothing behind it that makes up for it, has none.
 */
#include "tools/compare/compare.h"
#include "tools/graph/pass.h"

#include <math.h>
#include <string.h>

static struct compare_value *info_of(const struct onnx_value *value) {
    return value->lowered;
}

float compare_factor(const struct comparison *c, const struct onnx_value *value, size_t channel) {
    (void)c;
    const float *factors = info_of(value)->factors;
    return factors && channel < compare_channels(value) ? factors[channel] : 1;
}

/* Readers' opinions meet: unknown (0) gives way, and where two differ it is 1. */
static void suggest(const struct comparison *c, float **back, const struct onnx_value *value, size_t channel, double factor) {
    size_t index = (size_t)(info_of(value) - c->values);
    if (!back[index])
        back[index] = onnx_alloc(c->graph, compare_channels(value) * sizeof **back);
    float *have = &back[index][channel];
    if (factor > 0)
        *have = *have > 0 && *have != (float)factor ? 1 : (float)factor;
}

/* By the weights: the model's, times the factor, are the float ones times the factors of the outputs. */
static void suggest_by_weights(const struct comparison *c, float **back, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    size_t channels = compare_channels(x);
    bool fits = compare_axis(x) == l->in_axis && compare_axis(y) == l->out_axis && (size_t)l->in_channels == channels;
    struct metric_sums *sums = onnx_alloc(c->graph, channels * sizeof *sums);
    for (size_t e = 0; fits && e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        float model = w->values[e];
        float wanted = (float)(onnx_number(l->weights, e) * l->gain) * compare_factor(c, y, (size_t)out);
        metric_add(&sums[in], &model, &wanted, 1);
    }
    for (size_t i = 0; i < channels; i++)
        suggest(c, back, x, i, fits ? metric_factor(&sums[i]) : 1);
}

/* Operators that give a channel times a factor where they get it times that factor, and keep channels apart. */
static bool keeps_factors(const struct onnx_node *node) {
    static const char *const names[] = {"Relu", "LeakyRelu", "PRelu", "Clip", "Add", "Sub", "Sum", "MaxPool", "AveragePool",
                                        "GlobalMaxPool", "GlobalAveragePool", "ReduceMean", "Pad", "Resize", "Identity", "Dropout",
                                        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (graph_is(node, names[i]))
            return true;
    return false;
}

static void suggest_by_output(const struct comparison *c, float **back, const struct onnx_node *node, const struct onnx_value *x) {
    const struct onnx_value *y = node->outputs[0];
    size_t channels = compare_channels(x), after = compare_channels(y);
    bool keeps = keeps_factors(node) && channels && after % channels == 0;
    for (size_t i = 0; i < channels; i++)
        suggest(c, back, x, i, keeps ? (double)compare_factor(c, y, i * (after / channels)) : 1);
}

static double forward_factor(const struct compare_point *point, size_t channel) {
    const double most = 0x1p20; /* what lies beyond is a fault, not a scale */
    double factor = point && point->stored ? metric_factor(&point->sums[channel]) : 0;
    return factor < most && factor > 1 / most ? factor : 0;
}

static void settle(const struct comparison *c, float **back, struct onnx_value *value) {
    struct compare_value *info = info_of(value);
    const float *behind = back[info - c->values];
    size_t channels = compare_channels(value), other = 0;
    if (!behind || value->is_output || value->is_input)
        return;
    float *factors = onnx_alloc(c->graph, channels * sizeof *factors);
    for (size_t i = 0; i < channels; i++) {
        double ahead = forward_factor(info->point, i), known = (double)behind[i];
        factors[i] = 1;
        if (ahead > 0 && known > 0 && ahead != 1 && fabs(log2(ahead / known)) < 0.3)
            factors[i] = (float)known;
        else if (!(ahead > 0) || !(known > 0))
            factors[i] = (float)(known > 0 ? known : ahead > 0 && info->point ? ahead : 1);
        other += factors[i] != 1;
    }
    info->factors = other ? factors : NULL;
    if (info->point)
        info->point->rescaled = other;
}

/* What comes out of an operator that only moves channels on, and is no point: nothing was measured there, so it has what went in. */
static void hand_on(const struct comparison *c, const struct onnx_node *node) {
    const struct onnx_value *x = NULL;
    struct onnx_value *y = node->output_count ? node->outputs[0] : NULL;
    for (int k = 0; k < node->input_count && !x; k++)
        x = node->inputs[k] && !node->inputs[k]->constant ? node->inputs[k] : NULL;
    if (!x || !y || y->is_output || info_of(y)->point || !keeps_factors(node) || (!info_of(x)->factors && !info_of(y)->factors))
        return;
    size_t before = compare_channels(x), after = compare_channels(y);
    if (!before || after % before)
        return;
    float *factors = onnx_alloc(c->graph, after * sizeof *factors);
    for (size_t i = 0; i < after; i++)
        factors[i] = compare_factor(c, x, i / (after / before));
    info_of(y)->factors = factors;
}

void compare_find_factors(struct comparison *c) {
    float **back = onnx_alloc(c->graph, c->value_count * sizeof *back);
    for (size_t n = c->graph->node_count; n-- > 0;) {
        struct onnx_node *node = c->graph->nodes[n];
        struct compare_weights *w = NULL;
        for (int k = 0; k < node->output_count; k++)
            if (node->outputs[k])
                settle(c, back, node->outputs[k]);
        for (size_t i = 0; i < c->point_count && !w; i++)
            w = c->points[i].node == node ? c->points[i].weights : NULL;
        for (int k = 0; k < node->input_count; k++) {
            if (!node->inputs[k] || node->inputs[k]->constant)
                continue;
            if (w && k == 0)
                suggest_by_weights(c, back, w);
            else
                suggest_by_output(c, back, node, node->inputs[k]);
        }
    }
    for (size_t n = 0; n < c->graph->node_count; n++)
        hand_on(c, c->graph->nodes[n]);
}
