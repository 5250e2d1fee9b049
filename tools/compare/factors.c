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
    return factors && channel < compare_channels(value) && factors[channel] > 0 ? factors[channel] : 1;
}

/* What is known of a value from behind, by channel. */
struct behind {
    float *said;              /* by readers that hand channels on: 0 unknown, and where two differ it is 1 */
    struct metric_sums *sums; /* of the weights that read it */
};

static struct behind *behind_of(const struct comparison *c, struct behind *all, const struct onnx_value *value) {
    struct behind *b = &all[info_of(value) - c->values];
    if (!b->said) {
        b->said = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->said);
        b->sums = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->sums);
    }
    return b;
}

static void say(struct behind *b, size_t channel, float factor) {
    b->said[channel] = b->said[channel] > 0 && b->said[channel] != factor ? 1 : factor;
}

/* By the weights: the model's, times the factor, are the float ones times the factors of the outputs. */
static void say_by_weights(const struct comparison *c, struct behind *all, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    size_t channels = compare_channels(x);
    struct behind *b = behind_of(c, all, x);
    bool fits = compare_axis(x) == l->in_axis && compare_axis(y) == l->out_axis && (size_t)l->in_channels == channels;
    for (size_t i = 0; !fits && i < channels; i++)
        say(b, i, 1);
    for (size_t e = 0; fits && e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        float model = w->values[e];
        float wanted = (float)(onnx_number(l->weights, e) * l->gain) * compare_factor(c, y, (size_t)out);
        metric_add(&b->sums[in], &model, &wanted, 1);
    }
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

static void say_by_output(const struct comparison *c, struct behind *all, const struct onnx_node *node, const struct onnx_value *x) {
    const struct onnx_value *y = node->outputs[0];
    size_t channels = compare_channels(x), after = compare_channels(y);
    struct behind *b = behind_of(c, all, x);
    bool keeps = keeps_factors(node) && channels && after % channels == 0;
    for (size_t i = 0; i < channels; i++)
        say(b, i, keeps ? compare_factor(c, y, i * (after / channels)) : 1);
}

static double forward_factor(const struct compare_point *point, size_t channel) {
    const double most = 0x1p20; /* what lies beyond is a fault, not a scale */
    double factor = point && point->stored ? metric_factor(&point->sums[channel]) : 0;
    return factor < most && factor > 1 / most ? factor : 0;
}

/* How far the weights leave a factor open, as a part of it: few of them, rounded to a few steps, say little. */
static double doubt_of(const struct metric_sums *sums) {
    double cosine = metric_cosine(sums->xx, sums->xy, sums->yy);
    return sqrt(fmax(0, 1 - cosine * cosine));
}

/* 0: not known. */
static double settled(double ahead, float said, const struct metric_sums *sums) {
    double weighed = metric_factor(sums), doubt = weighed > 0 ? doubt_of(sums) : 0, known = weighed > 0 ? weighed : (double)said;
    if (weighed > 0 && said > 0 && fabs(log2(weighed / (double)said)) < 0.3 + 2 * doubt) {
        known = (double)said;
        doubt = 0;
    } else if (weighed > 0 && said > 0) {
        known = 1;
    }
    if (!(ahead > 0) || !(known > 0))
        return known > 0 ? known : ahead;
    if (ahead == 1 || fabs(log2(ahead / known)) >= 0.3 + 2 * doubt)
        return 1;
    return doubt < 0.1 ? known : ahead;
}

static void settle(const struct comparison *c, const struct behind *all, struct onnx_value *value) {
    struct compare_value *info = info_of(value);
    const struct behind *b = &all[info - c->values];
    size_t channels = compare_channels(value);
    if (!b->said || value->is_output || value->is_input)
        return;
    info->factors = onnx_alloc(c->graph, channels * sizeof *info->factors);
    for (size_t i = 0; i < channels; i++)
        info->factors[i] = (float)settled(forward_factor(info->point, i), b->said[i], &b->sums[i]);
}

/* Channels of which nothing is known but the weights that make them: those that are always 0, and that nobody reads. */
static void settle_rest(const struct comparison *c, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    float *factors = info_of(y)->factors;
    size_t channels = compare_channels(y);
    if (!factors || compare_axis(y) != l->out_axis || (size_t)l->out_channels != channels)
        return;
    struct metric_sums *sums = onnx_alloc(c->graph, channels * sizeof *sums);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        float wanted = (float)(onnx_number(l->weights, e) * l->gain), model = w->values[e] * compare_factor(c, x, (size_t)in);
        metric_add(&sums[out], &wanted, &model, 1);
    }
    for (size_t i = 0; i < channels; i++)
        factors[i] = factors[i] > 0 ? factors[i] : (float)metric_factor(&sums[i]);
}

/* What comes out of an operator that hands channels on has what went in, where nothing was measured: at values that are no points, in
 * channels that are always 0. */
static void hand_on(const struct comparison *c, const struct onnx_node *node) {
    const struct onnx_value *x = NULL;
    struct onnx_value *y = node->output_count ? node->outputs[0] : NULL;
    for (int k = 0; k < node->input_count && !x; k++)
        x = node->inputs[k] && !node->inputs[k]->constant ? node->inputs[k] : NULL;
    if (!x || !y || y->is_output || !keeps_factors(node) || (!info_of(x)->factors && !info_of(y)->factors))
        return;
    size_t before = compare_channels(x), after = compare_channels(y);
    if (!before || after % before)
        return;
    const float *have = info_of(y)->factors;
    float *factors = onnx_alloc(c->graph, after * sizeof *factors);
    for (size_t i = 0; i < after; i++)
        factors[i] = info_of(y)->point && have && have[i] > 0 ? have[i] : compare_factor(c, x, i / (after / before));
    info_of(y)->factors = info_of(y)->point && !have ? NULL : factors;
}

static const struct compare_weights *weights_of(const struct comparison *c, const struct onnx_node *node) {
    for (size_t i = 0; i < c->point_count; i++)
        if (c->points[i].node == node && c->points[i].weights)
            return c->points[i].weights;
    return NULL;
}

static void look_back(const struct comparison *c, struct behind *all, const struct onnx_node *node) {
    const struct compare_weights *w = weights_of(c, node);
    for (int k = 0; k < node->output_count; k++)
        if (node->outputs[k])
            settle(c, all, node->outputs[k]);
    for (int k = 0; k < node->input_count; k++) {
        if (!node->inputs[k] || node->inputs[k]->constant)
            continue;
        if (w && k == 0)
            say_by_weights(c, all, w);
        else
            say_by_output(c, all, node, node->inputs[k]);
    }
}

void compare_find_factors(struct comparison *c) {
    struct behind *all = onnx_alloc(c->graph, c->value_count * sizeof *all);
    for (size_t n = c->graph->node_count; n-- > 0;)
        look_back(c, all, c->graph->nodes[n]);
    for (size_t n = 0; n < c->graph->node_count; n++) {
        const struct compare_weights *w = weights_of(c, c->graph->nodes[n]);
        if (w)
            settle_rest(c, w);
        hand_on(c, c->graph->nodes[n]);
    }
    for (size_t i = 0; i < c->point_count; i++)
        for (size_t k = 0; k < c->points[i].channels; k++)
            c->points[i].rescaled += compare_factor(c, c->points[i].value, k) != 1;
}
