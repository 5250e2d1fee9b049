/* SPDX-License-Identifier: MIT */
/* Rounds each value alone, and takes the sets of nodes that spare most noise for their time, one after the other. */
#include "tools/quant/float_order.h"
#include "tools/base/arena.h"
#include "tools/quant/rounding_noise.h"

#include <stdlib.h>
#include <string.h>

/* What a number more or less costs in float, in products of a layer: one that a function makes, and one that is only moved or added. As
 * measured with a YOLOv8 on AVX2, where a product takes 0.025 ns longer. */
enum { FUNCTION_COST = 100, OTHER_COST = 40 };

/* A value that is rounded, and the nodes that have to run in float to spare it. */
struct rounding {
    size_t value;
    double noise;
    size_t *nodes, node_count;
    bool fixed;  /* one of them has no float form */
    bool spared; /* all of them are chosen */
};

struct ordering {
    const struct scheme *scheme;
    const struct reference *reference;
    unsigned threads;
    struct rounding *list;
    size_t count;
    bool *chosen;  /* nodes */
    double *costs; /* of nodes */
};

static enum scheme_role role_of(const struct ordering *o, size_t n) {
    return o->scheme->nodes[n].role;
}

static size_t producer_of(const struct ordering *o, size_t v) {
    const struct onnx_node *node = o->scheme->graph->values[v]->producer;
    return node ? scheme_node_index(o->scheme, node) : SIZE_MAX;
}

/* --- The nodes of a value --- */

static bool has_float_form(const struct onnx_node *node, enum scheme_role role) {
    return role != SCHEME_INTEGER || strcmp(node->op, "MatMul") != 0;
}

/* False: it is there already. */
static bool add_node(const struct ordering *o, struct rounding *r, size_t n) {
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i] == n) return false;
    r->nodes[r->node_count++] = n;
    r->fixed = r->fixed || !has_float_form(o->scheme->graph->nodes[n], role_of(o, n));
    return true;
}

/* What reads it in bytes; behind what moves it and inside a chain of functions, what reads that. */
static void add_readers(const struct ordering *o, struct rounding *r, const struct onnx_value *value) {
    struct onnx_node *const *readers = scheme_readers(o->scheme, value);
    for (size_t i = 0; readers[i]; i++) {
        const size_t n = scheme_node_index(o->scheme, readers[i]);
        const enum scheme_role role = role_of(o, n);
        if (role == SCHEME_FLOAT || role == SCHEME_NOTHING || role == SCHEME_TAIL || !add_node(o, r, n)) continue;
        for (int k = 0; k < readers[i]->output_count; k++) {
            const struct onnx_value *out = readers[i]->outputs[k];
            const bool goes_on = role == SCHEME_MOVE || (role == SCHEME_FUNCTION && out && !scheme_value(o->scheme, out)->quantized);
            if (out && goes_on) add_readers(o, r, out);
        }
    }
}

/* What made it, unless that is a layer: a chain of functions back to the bytes that it reads, or a sum with its bounds behind it. */
static void add_makers(const struct ordering *o, struct rounding *r, size_t v) {
    const size_t n = producer_of(o, v);
    if (n == SIZE_MAX) return;
    const struct onnx_node *node = o->scheme->graph->nodes[n];
    const enum scheme_role role = role_of(o, n);
    if ((role == SCHEME_INTEGER || role == SCHEME_FUNCTION) && !add_node(o, r, n)) return; /* and what is behind it */
    if (role != SCHEME_TAIL && role != SCHEME_FUNCTION) return;
    for (int i = 0; i < node->input_count; i++) {
        const struct onnx_value *in = node->inputs[i];
        if (in && !in->constant && !scheme_value(o->scheme, in)->quantized) add_makers(o, r, scheme_index(o->scheme, in));
    }
}

/* Bytes that are made anew: what only moves has those of what it moves. */
static bool is_rounded(const struct ordering *o, size_t v) {
    const size_t n = producer_of(o, v);
    return o->scheme->values[v].quantized && (n == SIZE_MAX || role_of(o, n) != SCHEME_MOVE);
}

static void list_roundings(struct ordering *o) {
    const size_t nodes = o->scheme->graph->node_count;
    o->list = must_calloc(o->scheme->value_count, sizeof *o->list);
    for (size_t v = 0; v < o->scheme->value_count; v++) {
        if (!is_rounded(o, v)) continue;
        struct rounding *r = &o->list[o->count++];
        *r = (struct rounding){.value = v, .nodes = must_calloc(nodes, sizeof *r->nodes)};
        add_readers(o, r, o->scheme->graph->values[v]);
        add_makers(o, r, v);
        r->fixed = r->fixed || !r->node_count; /* an output in bytes */
    }
}

/* --- Noise --- */

static bool measure(struct ordering *o, struct failure *failure) {
    size_t *values = must_calloc(o->count + 1, sizeof *values);
    double *noise = must_calloc(o->count + 1, sizeof *noise);
    for (size_t i = 0; i < o->count; i++) values[i] = o->list[i].value;
    bool good = rounding_noise(o->scheme, values, o->count, o->reference, o->threads, noise, failure);
    for (size_t i = 0; i < o->count; i++) o->list[i].noise = noise[i];
    free(values);
    free(noise);
    return good;
}

/* --- Order --- */

static double cost_of(const struct ordering *o, size_t n) {
    const struct onnx_node *node = o->scheme->graph->nodes[n];
    const double elements = node->outputs[0] ? (double)onnx_elements(&node->outputs[0]->shape) : 0;
    const struct scheme_layer *layer = o->scheme->nodes[n].layer;
    if (role_of(o, n) == SCHEME_FUNCTION) return FUNCTION_COST * elements;
    const double products = layer && layer->outputs ? elements / layer->outputs * (double)layer->weights->count : 0;
    return OTHER_COST * elements + products;
}

static bool is_spared(const struct ordering *o, const struct rounding *r) {
    for (size_t i = 0; i < r->node_count; i++)
        if (!o->chosen[r->nodes[i]]) return false;
    return !r->fixed;
}

/* Noise that would be spared by a value's nodes, for the time that they cost. */
static double worth(struct ordering *o, const struct rounding *r) {
    double cost = 1, noise = 0;
    size_t *added = must_calloc(r->node_count + 1, sizeof *added), count = 0;
    for (size_t i = 0; i < r->node_count; i++) {
        if (o->chosen[r->nodes[i]]) continue;
        added[count++] = r->nodes[i];
        o->chosen[r->nodes[i]] = true;
        cost += o->costs[r->nodes[i]];
    }
    for (size_t i = 0; i < o->count; i++)
        if (!o->list[i].spared && is_spared(o, &o->list[i])) noise += o->list[i].noise;
    for (size_t i = 0; i < count; i++) o->chosen[added[i]] = false;
    free(added);
    return noise / cost;
}

static const struct rounding *best(struct ordering *o) {
    const struct rounding *found = NULL;
    double most = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (o->list[i].spared || o->list[i].fixed) continue;
        const double now = worth(o, &o->list[i]);
        if (!(now > most)) continue;
        most = now;
        found = &o->list[i];
    }
    return found;
}

static double rest(struct ordering *o) {
    double noise = 0;
    for (size_t i = 0; i < o->count; i++) {
        o->list[i].spared = is_spared(o, &o->list[i]);
        if (!o->list[i].spared) noise += o->list[i].noise;
    }
    return noise;
}

static void choose(struct ordering *o, struct float_order *order) {
    const double all = rest(o);
    const struct rounding *next;
    size_t end = 0;
    while ((next = best(o))) {
        for (size_t i = 0; i < next->node_count; i++) {
            if (o->chosen[next->nodes[i]]) continue;
            o->chosen[next->nodes[i]] = true;
            order->names[end++] = o->scheme->graph->nodes[next->nodes[i]]->name;
        }
        order->steps[order->count++] = (struct float_step){end, rest(o) / all};
    }
}

bool float_order_find(struct float_order *order, const struct scheme *scheme, const struct reference *reference, unsigned threads,
                      struct failure *failure) {
    struct ordering o = {.scheme = scheme, .reference = reference, .threads = threads};
    const size_t nodes = scheme->graph->node_count;
    *order = (struct float_order){.names = must_calloc(nodes, sizeof *order->names)};
    o.chosen = must_calloc(nodes, sizeof *o.chosen);
    o.costs = must_calloc(nodes, sizeof *o.costs);
    for (size_t n = 0; n < nodes; n++) o.costs[n] = cost_of(&o, n);
    list_roundings(&o);
    order->steps = must_calloc(o.count + 1, sizeof *order->steps);
    bool good = measure(&o, failure);
    if (good) choose(&o, order);
    for (size_t i = 0; i < o.count; i++) free(o.list[i].nodes);
    free(o.list);
    free(o.chosen);
    free(o.costs);
    return good;
}

void float_order_free(struct float_order *order) {
    free(order->names);
    free(order->steps);
    *order = (struct float_order){0};
}
