/* SPDX-License-Identifier: MIT */
/*
 * Shifts of channels, so that their ranges overlap and one range for all of them is as narrow as it can be.
 *
 * A shift of the sums that make a channel arrives in all that additions and means make of it. Who reads it in the end takes its weighted
 * sum off its own bias. A value that is the sum of others gets the sum of their shifts. One set of shifts has to serve all of them: it is
 * found by least squares.
 */
#include "tools/quant/equalize/equalize_parts.h"

#include <math.h>
#include <string.h>

enum { SWEEPS = 32 };

static bool pads_nothing(const struct onnx_node *node, const int64_t *weight_kernel) {
    struct onnx_window w;
    const char *why;
    if (!onnx_window(node, &node->inputs[0]->shape, weight_kernel, &w, &why)) return false;
    for (int d = 0; d < w.rank; d++)
        if (w.pad_begin[d] || w.pad_end[d]) return false;
    return !w.ceil_mode;
}

bool equal_reads_evenly(const struct linear *l) {
    if (graph_is(l->node, "Conv")) return pads_nothing(l->node, l->weights->shape.dims + 2);
    return !graph_is(l->node, "ConvTranspose") && linear_takes_bias(l);
}

bool equal_keeps_shifts(const struct onnx_node *node) {
    if (graph_is(node, "AveragePool") || graph_is(node, "MaxPool")) return pads_nothing(node, NULL);
    return onnx_has(node, ONNX_SHIFTS);
}

/* By value of the graph, how often what is added at each producer is in it; NULL: not a value of the group. */
typedef double **tally;

static double *units(struct onnx_graph *g, const struct equal_group *group, size_t producer) {
    double *times = graph_doubles(g, (int64_t)group->producer_count);
    times[producer] = 1;
    return times;
}

static double *sums(struct onnx_graph *g, const struct equal_group *group, const double *a, const double *b) {
    double *times = graph_doubles(g, (int64_t)group->producer_count);
    for (size_t p = 0; p < group->producer_count; p++) times[p] = a[p] + b[p];
    return times;
}

/* From a value of the group to what a node makes of it. False: it makes something else of x + s than f(x) + s. */
static bool follow(const struct scheme *scheme, const struct equal_group *group, struct onnx_node *node, tally times) {
    struct linear l;
    const double *a = node->inputs[0] ? times[scheme_index(scheme, node->inputs[0])] : NULL;
    if (!a) return true;
    if (linear_read(node, &l)) return equal_reads_evenly(&l);
    double **y = &times[scheme_index(scheme, node->outputs[0])];
    if (graph_is(node, "Add")) {
        const double *b = times[scheme_index(scheme, node->inputs[1])];
        *y = b ? sums(scheme->graph, group, a, b) : NULL;
    } else if (equal_keeps_shifts(node)) {
        *y = times[scheme_index(scheme, node->inputs[0])];
    }
    return *y != NULL;
}

static tally count_up(const struct scheme *scheme, const struct equal_group *group) {
    struct onnx_graph *g = scheme->graph;
    tally times = onnx_alloc(g, scheme->value_count * sizeof *times);
    for (size_t p = 0; p < group->producer_count; p++) {
        if (!linear_takes_bias(&group->producers[p])) return NULL;
        times[scheme_index(scheme, group->producers[p].node->outputs[0])] = units(g, group, p);
    }
    for (size_t n = 0; n < g->node_count; n++)
        if (!g->nodes[n]->folded && g->nodes[n]->input_count && !follow(scheme, group, g->nodes[n], times)) return NULL;
    for (size_t m = 0; m < group->member_count; m++)
        if (!times[scheme_index(scheme, group->members[m]->value)]) return NULL;
    return times;
}

/*
 * Of one channel: shifts `added` at the producers, so that in each member `times` of them come to -middle as nearly as can be. One after
 * the other is set to what is best beside the rest.
 */
static void settle(const struct equal_group *group, double *const *times, const double *middle, const double *weight, double *added) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (size_t p = 0; p < group->producer_count; p++) {
            double over = 0, under = 0;
            for (size_t m = 0; m < group->member_count; m++) {
                double rest = middle[m];
                for (size_t i = 0; times[m][p] != 0 && i < group->producer_count; i++) rest += i == p ? 0 : times[m][i] * added[i];
                over -= weight[m] * times[m][p] * rest;
                under += weight[m] * times[m][p] * times[m][p];
            }
            added[p] = under > 0 ? over / under : 0;
        }
    }
}

/* How much a member counts: one over the square of its channels' width. */
static double weight_of(const struct equal_group *group, const struct observed *seen) {
    double width = 0;
    for (uint32_t c = 0; c < group->channels; c++) {
        struct range range = equal_range(seen, c);
        width += (double)range.high - (double)range.low;
    }
    return width > 0 ? 1 / (width * width) : 0;
}

static double *dotted(struct onnx_graph *g, const struct equal_group *group, const double *times) {
    double *shifts = graph_doubles(g, group->channels);
    for (size_t p = 0; p < group->producer_count; p++)
        for (uint32_t c = 0; c < group->channels; c++) shifts[c] += times[p] * group->producer_shifts[p][c];
    return shifts;
}

static void solve(struct onnx_graph *g, struct equal_group *group, double *const *times) {
    double *middle = graph_doubles(g, (int64_t)group->member_count), *weight = graph_doubles(g, (int64_t)group->member_count);
    double *added = graph_doubles(g, (int64_t)group->producer_count);
    for (size_t m = 0; m < group->member_count; m++) weight[m] = weight_of(group, group->members[m]);
    for (uint32_t c = 0; c < group->channels; c++) {
        for (size_t m = 0; m < group->member_count; m++) {
            struct range range = equal_range(group->members[m], c);
            middle[m] = ((double)range.low + (double)range.high) / 2;
        }
        memset(added, 0, group->producer_count * sizeof *added);
        settle(group, times, middle, weight, added);
        for (size_t p = 0; p < group->producer_count; p++) group->producer_shifts[p][c] = added[p];
    }
}

void equal_find_shifts(const struct scheme *scheme, struct equal_group *group) {
    struct onnx_graph *g = scheme->graph;
    tally times = count_up(scheme, group);
    if (!times) return;
    double **of_members = onnx_alloc(g, group->member_count * sizeof *of_members);
    for (size_t m = 0; m < group->member_count; m++) of_members[m] = times[scheme_index(scheme, group->members[m]->value)];
    group->producer_shifts = onnx_alloc(g, group->producer_count * sizeof *group->producer_shifts);
    for (size_t p = 0; p < group->producer_count; p++) group->producer_shifts[p] = graph_doubles(g, group->channels);
    solve(g, group, of_members);
    group->member_shifts = onnx_alloc(g, group->member_count * sizeof *group->member_shifts);
    for (size_t m = 0; m < group->member_count; m++) group->member_shifts[m] = dotted(g, group, of_members[m]);
    group->reader_shifts = onnx_alloc(g, group->reader_count * sizeof *group->reader_shifts);
    for (size_t i = 0; i < group->reader_count; i++)
        group->reader_shifts[i] = dotted(g, group, times[scheme_index(scheme, group->readers[i].node->inputs[0])]);
}
