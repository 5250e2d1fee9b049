/* SPDX-License-Identifier: MIT */
/* Looking things up in a scheme, and the scales of its values. */
#include "tools/quant/insert/scheme.h"

#include <string.h>

#include <math.h>
#include <stdlib.h>

struct scheme_place {
    const void *pointer;
    size_t index;
};

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct scheme_place *)a)->pointer, y = (uintptr_t)((const struct scheme_place *)b)->pointer;
    return x < y ? -1 : x > y;
}

static void sort_places(struct scheme_place *places, size_t count) {
    if (count) qsort(places, count, sizeof *places, by_address);
}

static size_t find_place(const struct scheme_place *places, size_t count, const void *pointer) {
    const struct scheme_place key = {pointer, 0}, *found = count ? bsearch(&key, places, count, sizeof key, by_address) : NULL;
    return found ? found->index : SIZE_MAX;
}

/* Once to count, once to write down. */
static void find_readers(struct scheme *s) {
    const struct onnx_graph *g = s->graph;
    size_t *counts = onnx_alloc(s->graph, s->value_count * sizeof *counts);
    s->readers = onnx_alloc(s->graph, s->value_count * sizeof *s->readers);
    for (int pass = 0; pass < 2; pass++) {
        const struct onnx_node **last = onnx_alloc(s->graph, s->value_count * sizeof(void *));
        for (size_t n = 0; n < g->node_count; n++)
            for (int i = 0; !g->nodes[n]->folded && i < g->nodes[n]->input_count; i++) {
                const size_t v = g->nodes[n]->inputs[i] ? scheme_index(s, g->nodes[n]->inputs[i]) : SIZE_MAX;
                if (v == SIZE_MAX || last[v] == g->nodes[n]) continue;
                last[v] = g->nodes[n];
                if (pass) s->readers[v][counts[v]] = g->nodes[n];
                counts[v]++;
            }
        for (size_t v = 0; !pass && v < s->value_count; v++) {
            s->readers[v] = onnx_alloc(s->graph, (counts[v] + 1) * sizeof(void *));
            counts[v] = 0;
        }
    }
}

bool scheme_is_cell(const struct onnx_node *layer) {
    return layer->cell && !strcmp(layer->op, "MatMul") && layer->inputs[1]->uses > 1;
}

struct scheme *scheme_new(struct onnx_graph *graph, const struct scheme_options *options) {
    struct scheme *s = onnx_alloc(graph, sizeof *s);
    *s = (struct scheme){.graph = graph, .options = *options, .value_count = graph->value_count};
    s->values = onnx_alloc(graph, graph->value_count * sizeof *s->values);
    s->nodes = onnx_alloc(graph, graph->node_count * sizeof *s->nodes);
    s->value_places = onnx_alloc(graph, graph->value_count * sizeof *s->value_places);
    s->node_places = onnx_alloc(graph, graph->node_count * sizeof *s->node_places);
    for (size_t i = 0; i < graph->value_count; i++) s->value_places[i] = (struct scheme_place){graph->values[i], i};
    for (size_t i = 0; i < graph->node_count; i++) s->node_places[i] = (struct scheme_place){graph->nodes[i], i};
    sort_places(s->value_places, graph->value_count);
    sort_places(s->node_places, graph->node_count);
    find_readers(s);
    return s;
}

size_t scheme_index(const struct scheme *scheme, const struct onnx_value *value) {
    return find_place(scheme->value_places, scheme->value_count, value);
}

size_t scheme_node_index(const struct scheme *scheme, const struct onnx_node *node) {
    return find_place(scheme->node_places, scheme->graph->node_count, node);
}

struct onnx_node *const *scheme_readers(const struct scheme *scheme, const struct onnx_value *value) {
    return scheme->readers[scheme_index(scheme, value)];
}

struct scheme_value *scheme_value(const struct scheme *scheme, const struct onnx_value *value) {
    size_t i = scheme_index(scheme, value);
    return i == SIZE_MAX ? NULL : &scheme->values[i];
}

int scheme_least(const struct scheme_options *options) {
    return options->signed_bytes ? -128 : 0;
}

int scheme_most(const struct scheme_options *options) {
    return scheme_least(options) + 255;
}

/* How much of a range may lie on one side of 0 where the zero point is put in the middle: steps are a third wider then. */
#define CENTRED_MOST 0.67F

static void widen(struct scheme_value *group, float low, float high) {
    group->low = fminf(group->low, low);
    group->high = fmaxf(group->high, high);
}

/* Zero is a byte, and the scale a normal number, whatever the range. */
void scheme_set_scale(const struct scheme_options *options, struct scheme_value *v) {
    int least = scheme_least(options);
    float low = fminf(v->low, 0), high = fmaxf(v->high, 0), most = fmaxf(-low, high);
    const bool symmetric = options->symmetric || (v->centred && most <= CENTRED_MOST * (high - low));
    float scale = symmetric ? most / 127.5F : (float)(((double)high - (double)low) / 255);
    if (!(scale >= 0x1p-100f)) scale = 1;
    v->scale = scale;
    v->zero = symmetric ? least + 128 : least + (int32_t)rintf(fminf(-low / scale, 255));
}

void scheme_set_ranges(struct scheme *scheme, scheme_range_fn *range_of, void *context) {
    struct scheme_value *groups = onnx_alloc(scheme->graph, scheme->value_count * sizeof *groups);
    for (size_t i = 0; i < scheme->value_count; i++) {
        const struct scheme_value *v = &scheme->values[i];
        groups[v->group].centred |= v->centred;
        if (v->fixed) widen(&groups[v->group], v->low, v->high);
        if (!v->watched) continue;
        float low = 0, high = 0;
        range_of(context, scheme->graph->values[i], &low, &high);
        widen(&groups[v->group], fmaxf(low, v->floor), fminf(high, v->ceiling));
    }
    for (size_t i = 0; i < scheme->value_count; i++)
        if (scheme->values[i].group == i) scheme_set_scale(&scheme->options, &groups[i]);
    for (size_t i = 0; i < scheme->value_count; i++) {
        scheme->values[i].scale = groups[scheme->values[i].group].scale;
        scheme->values[i].zero = groups[scheme->values[i].group].zero;
    }
}
