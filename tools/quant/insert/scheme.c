/* SPDX-License-Identifier: MIT */
/* Looking things up in a scheme, and the scales of its values. */
#include "tools/quant/insert/scheme.h"

#include <math.h>
#include <stdlib.h>

struct scheme_place {
    const struct onnx_value *value;
    size_t index;
};

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct scheme_place *)a)->value, y = (uintptr_t)((const struct scheme_place *)b)->value;
    return x < y ? -1 : x > y;
}

struct scheme *scheme_new(struct onnx_graph *graph, const struct scheme_options *options) {
    struct scheme *s = onnx_alloc(graph, sizeof *s);
    *s = (struct scheme){.graph = graph, .options = *options, .value_count = graph->value_count};
    s->values = onnx_alloc(graph, graph->value_count * sizeof *s->values);
    s->nodes = onnx_alloc(graph, graph->node_count * sizeof *s->nodes);
    s->places = onnx_alloc(graph, graph->value_count * sizeof *s->places);
    for (size_t i = 0; i < graph->value_count; i++) s->places[i] = (struct scheme_place){graph->values[i], i};
    qsort(s->places, graph->value_count, sizeof *s->places, by_address);
    return s;
}

size_t scheme_index(const struct scheme *scheme, const struct onnx_value *value) {
    struct scheme_place key = {value, 0};
    const struct scheme_place *found = bsearch(&key, scheme->places, scheme->value_count, sizeof key, by_address);
    return found ? found->index : SIZE_MAX;
}

size_t scheme_node_index(const struct scheme *scheme, const struct onnx_node *node) {
    size_t i = 0;
    while (i < scheme->graph->node_count && scheme->graph->nodes[i] != node) i++;
    return i;
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

static void widen(struct scheme_value *group, float low, float high) {
    group->low = fminf(group->low, low);
    group->high = fmaxf(group->high, high);
}

/* Zero is a byte, and the scale a normal number, whatever the range. */
void scheme_set_scale(const struct scheme_options *options, struct scheme_value *v) {
    int least = scheme_least(options);
    float low = fminf(v->low, 0), high = fmaxf(v->high, 0);
    float scale = options->symmetric ? fmaxf(-low, high) / 127.5F : (float)(((double)high - (double)low) / 255);
    if (!(scale >= 0x1p-100f)) scale = 1;
    v->scale = scale;
    v->zero = options->symmetric ? least + 128 : least + (int32_t)rintf(fminf(-low / scale, 255));
}

void scheme_set_ranges(struct scheme *scheme, scheme_range_fn *range_of, void *context) {
    struct scheme_value *groups = onnx_alloc(scheme->graph, scheme->value_count * sizeof *groups);
    for (size_t i = 0; i < scheme->value_count; i++) {
        const struct scheme_value *v = &scheme->values[i];
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
