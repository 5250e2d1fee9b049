/* SPDX-License-Identifier: MIT */
/*
 * Channels that the model holds times a factor. Cross-layer equalization rescales channels so that they fill their bytes, and the weights
 * around them so that the network computes the same. The factors are powers of 2^(1/4), and 1 at inputs and outputs.
 *
 * They are found twice: forwards, by what a value takes on in both networks, and backwards from the outputs, by the weights that read it.
 * There is a factor only where the two agree. A layer that is wrong by a factor that no layer behind it undoes has none.
 */
#include "tools/compare/compare.h"
#include "tools/optimize/pass.h"

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

/* Nothing is known of the channel's factor so far. */
static bool is_open(const struct onnx_value *value, size_t channel) {
    const float *factors = info_of(value)->factors;
    return factors && channel < compare_channels(value) && !(factors[channel] > 0);
}

/* A factor, and its uncertainty as a part of it: with 0.1 the factor may as well be a tenth more. */
struct guess {
    double factor, doubt; /* 0: not known */
};

/* What is known of a value from behind, by channel. */
struct behind {
    struct guess *said;       /* by readers that hand channels on; where two differ it is 1 */
    struct metric_sums *sums; /* of the weights that read it */
    double *rough;            /* the sum of their squared steps */
    struct guess *settled;    /* what came of it */
};

static const struct guess one = {1, 0};

static struct behind *behind_of(const struct comparison *c, struct behind *all, const struct onnx_value *value) {
    struct behind *b = &all[info_of(value) - c->values];
    if (!b->said) {
        b->said = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->said);
        b->sums = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->sums);
        b->rough = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->rough);
        b->settled = onnx_alloc(c->graph, compare_channels(value) * sizeof *b->settled);
    }
    return b;
}

static void say(struct behind *b, size_t channel, struct guess guess) {
    bool differs = b->said[channel].factor > 0 && b->said[channel].factor != guess.factor;
    b->said[channel] = differs ? one : guess;
}

/* By the weights: the model's, times the factor, are the float ones times the factors of the outputs. */
static void say_by_weights(const struct comparison *c, struct behind *all, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    size_t channels = compare_channels(x);
    struct behind *b = behind_of(c, all, x);
    bool fits = compare_axis(x) == l->in_axis && compare_axis(y) == l->out_axis && (size_t)l->in_channels == channels;
    for (size_t i = 0; !fits && i < channels; i++) say(b, i, one);
    for (size_t e = 0; fits && e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        if (is_open(y, (size_t)out)) continue;
        float model = w->values[e];
        float wanted = (float)(onnx_number(l->weights, e) * l->gain) * compare_factor(c, y, (size_t)out);
        metric_add(&b->sums[in], &model, &wanted, 1);
        b->rough[in] += (double)w->steps[out] * (double)w->steps[out];
    }
}

/* Operators that give a channel times a factor where they get it times that factor, and keep channels apart. */
static bool keeps_factors(const struct onnx_node *node) {
    static const char *const names[] = {
        "Relu",          "LeakyRelu",         "PRelu",      "Clip", "Add",    "Sub",      "Sum",     "MaxPool", "AveragePool",
        "GlobalMaxPool", "GlobalAveragePool", "ReduceMean", "Pad",  "Resize", "Identity", "Dropout", "Reshape", "Flatten",
        "Squeeze",       "Unsqueeze",         "Slice"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (graph_is(node, names[i])) return true;
    return false;
}

static void say_by_output(const struct comparison *c, struct behind *all, const struct onnx_node *node, const struct onnx_value *x) {
    const struct onnx_value *y = node->outputs[0];
    size_t channels = compare_channels(x), after = compare_channels(y);
    struct behind *b = behind_of(c, all, x);
    bool keeps = keeps_factors(node) && channels && after % channels == 0;
    const struct guess *known = all[info_of(y) - c->values].settled;
    for (size_t i = 0; i < channels; i++) say(b, i, keeps && known ? known[i * (after / channels)] : one);
}

static struct guess guess_by(const struct metric_sums *sums) {
    const double most = 0x1p20; /* what lies beyond is a fault, not a scale */
    double cosine = metric_cosine(sums->xx, sums->xy, sums->yy), factor = metric_factor(sums);
    return (struct guess){factor < most && factor > 1 / most ? factor : 0, sqrt(fmax(0, 1 - cosine * cosine))};
}

/* By the weights that read a channel: each is off by a step at most, where it was rounded by what comes out. One or two small ones, as in
 * front of a single output, tell little. */
static struct guess read_guess(const struct behind *b, size_t channel) {
    struct guess guess = guess_by(&b->sums[channel]);
    if (guess.factor > 0 && b->sums[channel].xx > 0) guess.doubt += sqrt(b->rough[channel] / 3 / b->sums[channel].xx);
    return guess;
}

/* By what a channel takes on; numbers that may have been added to it are no part of the factor. Few steps of a byte leave it open, too. */
static struct guess measured_guess(const struct compare_value *info, size_t channel) {
    const struct compare_point *p = info->point;
    if (!p || !p->stored || p->inside[channel].count < COMPARE_SEEN_LEAST) return (struct guess){0, 0};
    const struct metric_sums sums = info->movable ? metric_centred(&p->inside[channel]) : p->inside[channel];
    struct guess guess = guess_by(&sums);
    if (guess.factor > 0) guess.doubt += (double)p->qparams.scale * sqrt(sums.count / 12 / sums.yy);
    return guess;
}

static bool is_one(struct guess guess, double doubt) {
    return guess.factor == 1 && guess.doubt < doubt;
}

/* The one that is surer, but 1, which most factors are, where one of them says so. Behind a layer that is wrong what is measured may be
 * anything, and then has large doubts. */
static struct guess agreed(struct guess a, struct guess b) {
    if (!(a.factor > 0) || !(b.factor > 0)) return a.factor > 0 ? a : b;
    bool differ = fabs(log2(a.factor / b.factor)) >= 0.3 + 2 * (a.doubt + b.doubt);
    double doubt = differ ? 0.1 : 0.2;
    if (is_one(a, doubt) || is_one(b, doubt)) return one;
    return a.doubt < b.doubt ? a : b;
}

static void settle(const struct comparison *c, const struct behind *all, struct onnx_value *value) {
    struct compare_value *info = info_of(value);
    const struct behind *b = &all[info - c->values];
    size_t channels = compare_channels(value);
    if (!b->said || value->is_output || value->is_input) return;
    info->factors = onnx_alloc(c->graph, channels * sizeof *info->factors);
    for (size_t i = 0; i < channels; i++) {
        const struct guess behind = agreed(b->said[i], read_guess(b, i));
        b->settled[i] = agreed(behind, measured_guess(info, i));
        info->factors[i] = (float)b->settled[i].factor;
    }
}

/* Channels of which nothing is known but the weights that make them: those that are always 0, and that nobody reads. */
static void settle_rest(const struct comparison *c, const struct compare_weights *w) {
    const struct linear *l = &w->linear;
    const struct onnx_value *x = l->node->inputs[0], *y = l->node->outputs[0];
    float *factors = info_of(y)->factors;
    size_t channels = compare_channels(y);
    if (!factors || compare_axis(y) != l->out_axis || (size_t)l->out_channels != channels) return;
    struct metric_sums *sums = onnx_alloc(c->graph, channels * sizeof *sums);
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        float wanted = (float)(onnx_number(l->weights, e) * l->gain), model = w->values[e] * compare_factor(c, x, (size_t)in);
        metric_add(&sums[out], &wanted, &model, 1);
    }
    for (size_t i = 0; i < channels; i++) factors[i] = factors[i] > 0 ? factors[i] : (float)metric_factor(&sums[i]);
}

/* An operator that hands channels on hands on their factors. That serves where nothing was measured: at values that are no points, in
 * channels that are always 0. */
static void hand_on(const struct comparison *c, const struct onnx_node *node) {
    const struct onnx_value *x = NULL;
    struct onnx_value *y = node->output_count ? node->outputs[0] : NULL;
    for (int k = 0; k < node->input_count && !x; k++) x = node->inputs[k] && !node->inputs[k]->constant ? node->inputs[k] : NULL;
    if (!x || !y || y->is_output || !keeps_factors(node) || (!info_of(x)->factors && !info_of(y)->factors)) return;
    size_t before = compare_channels(x), after = compare_channels(y);
    if (!before || after % before) return;
    const float *have = info_of(y)->factors;
    float *factors = onnx_alloc(c->graph, after * sizeof *factors);
    for (size_t i = 0; i < after; i++)
        factors[i] = info_of(y)->point && have && have[i] > 0 ? have[i] : compare_factor(c, x, i / (after / before));
    info_of(y)->factors = info_of(y)->point && !have ? NULL : factors;
}

static void look_back(const struct comparison *c, struct behind *all, const struct onnx_node *node) {
    const struct compare_weights *w = compare_weights_of(c, node);
    for (int k = 0; k < node->output_count; k++)
        if (node->outputs[k]) settle(c, all, node->outputs[k]);
    for (int k = 0; k < node->input_count; k++) {
        if (!node->inputs[k] || node->inputs[k]->constant) continue;
        if (w && k == 0) say_by_weights(c, all, w);
        else say_by_output(c, all, node, node->inputs[k]);
    }
}

void compare_find_factors(struct comparison *c) {
    struct behind *all = onnx_alloc(c->graph, c->value_count * sizeof *all);
    for (size_t n = c->graph->node_count; n-- > 0;) look_back(c, all, c->graph->nodes[n]);
    for (size_t n = 0; n < c->graph->node_count; n++) {
        const struct compare_weights *w = compare_weights_of(c, c->graph->nodes[n]);
        if (w) settle_rest(c, w);
        hand_on(c, c->graph->nodes[n]);
    }
}
