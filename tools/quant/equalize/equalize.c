/* SPDX-License-Identifier: MIT */
/* Chooses factors between layers, by the noise that they leave, and applies them. */
#include "tools/quant/equalize/equalize.h"
#include "tools/quant/equalize/equalize_parts.h"
#include "tools/quant/insert/place.h"

#include <math.h>
#include <string.h>

/* Less than this much of the estimated noise is not worth changing a network for. */
#define LEAST_GAIN 0.05

/* The grid's next factor. */
static double on_grid(double factor) {
    double steps = log2(factor) * EQUALIZE_STEPS_AN_OCTAVE, most = EQUALIZE_STEPS_AN_OCTAVE * EQUALIZE_MOST_OCTAVES;
    return exp2(fmax(fmin(rint(steps), most), -most) / EQUALIZE_STEPS_AN_OCTAVE);
}

/* The largest magnitude worth keeping of channel c of member i, and of what is added to it. */
static double reach(const struct equal_group *group, size_t i, uint32_t c) {
    const struct observed *seen = group->members[i];
    struct range range = equal_range(seen, c);
    double shift = group->member_shifts ? group->member_shifts[i][c] : 0;
    return seen->channel_low[c] == seen->channel_high[c] ? 0 : fmax((double)range.high + shift, -((double)range.low + shift));
}

/* By channel the widest that any value of the group is. */
static void find_reaches(const struct equal_group *group, double *reaches) {
    for (uint32_t c = 0; c < group->channels; c++) {
        reaches[c] = 0;
        for (size_t i = 0; i < group->member_count; i++) reaches[c] = fmax(reaches[c], reach(group, i, c));
    }
}

/* largest[c] = the largest weight of channel c among those of `l` that make it, or read it. */
static void find_largest(const struct linear *l, bool makes, double *largest) {
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        double *to = &largest[makes ? out : in];
        *to = fmax(*to, fabs((double)((const float *)l->weights->data)[e]));
    }
}

/* By channel the largest weight that reads it over the largest that makes it. */
static void find_weight_ratios(struct onnx_graph *g, const struct equal_group *group, double *ratios) {
    double *made = graph_doubles(g, group->channels), *read = graph_doubles(g, group->channels);
    for (size_t i = 0; i < group->producer_count; i++) find_largest(&group->producers[i], true, made);
    for (size_t i = 0; i < group->reader_count; i++) find_largest(&group->readers[i], false, read);
    for (uint32_t c = 0; c < group->channels; c++) ratios[c] = made[c] > 0 && read[c] > 0 ? read[c] / made[c] : 1;
}

/* Factors that bring reaches together to the power `values`, and weights on both sides to the power `weights`. */
static void try_factors(const struct equal_group *group, const double *reaches, const double *ratios, double values, double weights,
                        double *factors) {
    double widest = 0;
    for (uint32_t c = 0; c < group->channels; c++) widest = fmax(widest, reaches[c]);
    for (uint32_t c = 0; c < group->channels; c++) {
        double factor = reaches[c] > 0 ? pow(widest / reaches[c], values) * pow(ratios[c], weights) : 1;
        factors[c] = on_grid(factor);
    }
}

/* The best factors; false: none are worth it. */
static bool choose(struct onnx_graph *g, const struct equal_group *group, const struct scheme_options *options, double *best) {
    double *reaches = graph_doubles(g, group->channels), *ratios = graph_doubles(g, group->channels);
    double *tried = graph_doubles(g, group->channels), least, before;
    find_reaches(group, reaches);
    find_weight_ratios(g, group, ratios);
    for (uint32_t c = 0; c < group->channels; c++) best[c] = 1;
    before = equal_noise(group, options, best, false);
    least = before * (1 - LEAST_GAIN);
    for (int weights = 0; weights <= (options->per_tensor ? 2 : 0); weights++) {
        for (int values = 0; values <= 8; values++) {
            try_factors(group, reaches, ratios, values / 8.0, weights / 4.0, tried);
            double noise = equal_noise(group, options, tried, group->member_shifts != NULL);
            if (noise < least) {
                least = noise;
                memcpy(best, tried, group->channels * sizeof *best);
            }
        }
    }
    return least < before * (1 - LEAST_GAIN);
}

/* Numbers that no factor takes out of float's range. */
static bool is_moderate(const struct linear *l) {
    const struct onnx_tensor *bias = onnx_input_constant(l->node, 2);
    for (size_t e = 0; e < l->weights->count; e++)
        if (!(fabsf(((const float *)l->weights->data)[e]) < 0x1p100f)) return false;
    for (size_t o = 0; bias && o < bias->count; o++)
        if (!(fabs(onnx_number(bias, o)) < 0x1p100)) return false;
    return true;
}

/* Another group may have changed a layer's weights since it was read. */
static bool read_again(struct equal_group *group) {
    bool good = true;
    for (size_t i = 0; i < group->producer_count; i++)
        good = good && linear_read(group->producers[i].node, &group->producers[i]) && is_moderate(&group->producers[i]);
    for (size_t i = 0; i < group->reader_count; i++)
        good = good && linear_read(group->readers[i].node, &group->readers[i]) && is_moderate(&group->readers[i]);
    return good;
}

/* bias[o] -= what a reader makes of the numbers added to its input. */
static void take_off(const struct linear *l, const double *shifts, double *bias) {
    for (size_t e = 0; e < l->weights->count; e++) {
        int64_t in, out;
        linear_place(l, (int64_t)e, &in, &out);
        bias[out] -= l->gain * onnx_number(l->weights, e) * shifts[in];
    }
}

/* What a layer makes is, by channel, to be (y + added) * factors. */
static void change_producer(struct onnx_graph *g, struct onnx_node *node, const double *factors, const double *added) {
    struct linear l;
    double *bias = NULL;
    linear_read(node, &l);
    if (added || onnx_input(node, 2)) {
        bias = linear_bias(g, &l);
        for (int64_t o = 0; o < l.out_channels; o++) bias[o] = (bias[o] + (added ? added[o] : 0)) * factors[o];
    }
    linear_rewrite(g, &l, factors, NULL, bias);
}

/* What a layer reads is, by channel, (x + added) / inverse. */
static void change_reader(struct onnx_graph *g, struct onnx_node *node, const double *inverse, const double *added) {
    struct linear l;
    double *bias = NULL;
    linear_read(node, &l);
    if (added) {
        bias = linear_bias(g, &l);
        take_off(&l, added, bias);
    }
    linear_rewrite(g, &l, NULL, inverse, bias);
}

static size_t apply(struct onnx_graph *g, const struct equal_group *group, const double *factors) {
    double *inverse = graph_doubles(g, group->channels);
    size_t changed = 0;
    for (uint32_t c = 0; c < group->channels; c++) {
        inverse[c] = 1 / factors[c];
        changed += factors[c] != 1 || group->member_shifts;
    }
    for (size_t i = 0; i < group->producer_count; i++)
        change_producer(g, group->producers[i].node, factors, group->producer_shifts ? group->producer_shifts[i] : NULL);
    for (size_t i = 0; i < group->reader_count; i++)
        change_reader(g, group->readers[i].node, inverse, group->reader_shifts ? group->reader_shifts[i] : NULL);
    return changed;
}

size_t equalize(struct onnx_graph *graph, const struct scheme_options *options, struct observer *observer) {
    struct scheme *scheme = place(graph, options);
    struct equal_group **groups = equal_groups(scheme, observer);
    size_t changed = 0;
    for (; *groups; groups++) {
        double *factors = graph_doubles(graph, (*groups)->channels);
        bool good = read_again(*groups);
        if (good) equal_find_shifts(scheme, *groups);
        if (good && choose(graph, *groups, options, factors)) changed += apply(graph, *groups, factors);
    }
    return changed;
}
