/* SPDX-License-Identifier: MIT */
/* Frequent causes of a bad layer: one scale for values of different size, dead channels, a range held by one outlier. */
#include "tools/compare/compare.h"
#include "tools/optimize/pass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADS_APART = 16, OUTLIER = 8 };
static const double few = 1e-4; /* the share of values that an outlier's range may hold beyond an eighth of it */

static const struct compare_value *info_of(const struct onnx_value *value) {
    return value->lowered;
}

static double reach_of(const struct onnx_value *value) {
    const struct compare_value *info = info_of(value);
    return info->low <= info->high ? fmax(fabs((double)info->low), fabs((double)info->high)) : 0;
}

/* --- Heads --- */

struct heads {
    const struct onnx_value *small, *large;
};

static void add_head(struct heads *heads, const struct onnx_value *value) {
    if (!value || value->constant || value->type != ONNX_FLOAT || !(reach_of(value) > 0)) return;
    if (!heads->small || reach_of(value) < reach_of(heads->small)) heads->small = value;
    if (!heads->large || reach_of(value) > reach_of(heads->large)) heads->large = value;
}

static void warn_heads(struct comparison *c, const struct heads *heads, const char *where, const char *name, float scale) {
    if (!heads->small || reach_of(heads->large) < HEADS_APART * reach_of(heads->small)) return;
    onnx_notice(c->report,
                "%s %s: '%s' goes up to %.3g and '%s' to %.3g, and both are stored in steps of %.3g: the smaller one keeps %.0f of 256 "
                "steps. Give them outputs of their own, or divide the larger one in front",
                where, name, heads->small->name, reach_of(heads->small), heads->large->name, reach_of(heads->large), (double)scale,
                fmin(256, reach_of(heads->small) / (double)scale + 1));
}

/* What is put together, or comes apart, in bytes of one scale. */
static void warn_node(struct comparison *c, const struct onnx_node *node) {
    struct heads heads = {0};
    bool joins = graph_is(node, "Concat"), splits = graph_is(node, "Split");
    const struct compare_point *p = joins ? info_of(node->outputs[0])->point : splits ? info_of(node->inputs[0])->point : NULL;
    if (!p || !p->stored) return;
    for (int i = 0; joins && i < node->input_count; i++) add_head(&heads, node->inputs[i]);
    for (int i = 0; splits && i < node->output_count; i++) add_head(&heads, node->outputs[i]);
    warn_heads(c, &heads, joins ? "heads share a scale in" : "heads share the scale of what is split by", node->name, p->qparams.scale);
}

static void warn_outputs(struct comparison *c) {
    for (size_t i = 0; i < c->point_count; i++) {
        struct heads heads = {0};
        const struct compare_point *p = &c->points[i];
        for (size_t k = i; k < c->point_count && p->value->is_output && p->stored; k++) {
            const struct compare_point *other = &c->points[k];
            if (other->value->is_output && other->stored && other->qparams.scale == p->qparams.scale &&
                other->qparams.zero == p->qparams.zero)
                add_head(&heads, other->value);
        }
        warn_heads(c, &heads, "heads share a scale among", "the outputs", p->qparams.scale);
    }
}

/* --- Channels and ranges --- */

/* Layers with weights; what comes behind them only hands such channels on. */
static size_t gone(const struct compare_point *p, bool in_float) {
    return !p->node || !p->weights || p->channels < 2 ? 0 : in_float ? p->dead : p->died;
}

enum { NAMED = 3 };

/* The layers with the largest share of such channels, from the largest on; how many have some. */
static size_t find_gone(const struct comparison *c, bool in_float, const struct compare_point *named[NAMED]) {
    size_t layers = 0;
    for (size_t i = 0; i < c->point_count; i++) {
        const struct compare_point *p = &c->points[i];
        if (!gone(p, in_float)) continue;
        layers++;
        for (int k = 0; k < NAMED && p; k++) {
            const struct compare_point *before = named[k];
            if (before && gone(before, in_float) * p->channels >= gone(p, in_float) * before->channels) continue;
            named[k] = p;
            p = before;
        }
    }
    return layers;
}

/* One line for all layers. */
static void warn_channels(struct comparison *c, bool in_float) {
    const struct compare_point *named[NAMED] = {0};
    char text[512] = "";
    size_t layers = find_gone(c, in_float, named);
    for (int k = 0; k < NAMED && named[k]; k++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%zu of %zu of %.100s", k ? ", " : "", gone(named[k], in_float), named[k]->channels,
                 named[k]->node->name);
    }
    if (!layers) return;
    size_t at = strlen(text);
    if (layers > NAMED) snprintf(text + at, sizeof text - at, ", some of %zu more layers", layers - NAMED);
    if (in_float) onnx_notice(c->report, "dead channels, 0 whatever the sample, also in float: %s", text);
    else onnx_notice(c->report, "lost channels, 0 in the model and not in float, smaller than half a step: %s", text);
}

/* How many of the model's numbers lie beyond `bound` in magnitude. */
static double share_beyond(const struct observed *seen, double bound, struct histogram_bin *bins) {
    size_t count = histogram_bins(seen->histogram, bins);
    double beyond = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        all += (double)bins[i].count;
        if (fmin(fabs(bins[i].low), fabs(bins[i].high)) >= bound) beyond += (double)bins[i].count;
    }
    return all > 0 ? beyond / all : 1;
}

static void warn_range(struct comparison *c, const struct compare_point *p) {
    const struct observed *seen = p->stored ? observer_of(c->observer, p->value) : NULL;
    if (!seen || onnx_has(p->node, ONNX_AT_MOST_ONE)) return;
    double scale = (double)p->qparams.scale;
    double low = (double)(p->qparams.least - p->qparams.zero) * scale, high = (double)(p->qparams.most - p->qparams.zero) * scale;
    double reach = fmax(fabs(low), fabs(high));
    if (!(fmax(fabs((double)seen->low), fabs((double)seen->high)) > 0)) return;
    struct histogram_bin *bins = onnx_alloc(c->graph, histogram_bins_most(seen->histogram) * sizeof *bins);
    if (share_beyond(seen, reach / OUTLIER, bins) < few)
        onnx_notice(c->report,
                    "%s (%s): its range is %.4g .. %.4g, but 99.99 %% of its values lie within %.4g: an outlier holds it; another --method "
                    "of quantize, or other data, would not follow that",
                    p->node->name, p->node->op, low, high, reach / OUTLIER);
}

void compare_warn(struct comparison *c) {
    for (size_t n = 0; n < c->graph->node_count; n++) warn_node(c, c->graph->nodes[n]);
    warn_outputs(c);
    warn_channels(c, false);
    warn_channels(c, true);
    for (size_t i = 0; i < c->point_count; i++)
        if (c->points[i].node) warn_range(c, &c->points[i]);
}
