/* SPDX-License-Identifier: MIT */
/* Which values of a graph can get factors by channel, and which have to get the same. */
#include "tools/quant/equalize/equalize_parts.h"
#include "tools/quant/insert/kind.h"

#include <math.h>
#include <string.h>

/* Indexes by root, in their order: those of root r are at[start[r]] .. at[start[r + 1] - 1]. */
struct lists {
    size_t *start, *at;
};

struct finding {
    const struct scheme *scheme;
    struct onnx_graph *graph;
    struct observer *observer;
    size_t *parent;             /* of values: union-find */
    bool *bad;                  /* of values; of a group where any of its values is */
    struct lists values, nodes; /* by root; a node is where its first input is, and where its first output is */
};

static size_t root_of(struct finding *f, size_t i) {
    while (f->parent[i] != i) i = f->parent[i] = f->parent[f->parent[i]];
    return i;
}

static size_t root_of_value(struct finding *f, const struct onnx_value *value) {
    return root_of(f, scheme_index(f->scheme, value));
}

static void tie(struct finding *f, const struct onnx_value *a, const struct onnx_value *b) {
    size_t i = root_of_value(f, a), j = root_of_value(f, b);
    f->parent[i > j ? i : j] = i > j ? j : i;
}

static void spoil(struct finding *f, const struct onnx_value *value) {
    if (value && !value->constant) f->bad[scheme_index(f->scheme, value)] = true;
}

/* f(s * x) = s * f(x) for s > 0, channel by channel; [N, C, 1, 1] as [N, C]. */
static bool keeps_factors(const struct onnx_node *node) {
    if (!onnx_has(node, ONNX_SCALES) || !graph_reshapes(node)) return onnx_has(node, ONNX_SCALES);
    const struct onnx_shape *x = node->input_count && node->inputs[0] ? &node->inputs[0]->shape : NULL;
    const struct onnx_shape *y = node->outputs[0] ? &node->outputs[0]->shape : NULL;
    return x && y && x->rank >= 2 && y->rank >= 2 && x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1] &&
           onnx_elements(x) == x->dims[0] * x->dims[1] && onnx_elements(y) == onnx_elements(x);
}

/* Clip from 0 up. Not one with an upper bound: which channels never reach it no number of samples can tell. */
static bool clips_as_relu(const struct onnx_node *node) {
    const struct onnx_tensor *low = onnx_input_constant(node, 1), *high = onnx_input_constant(node, 2);
    if (!graph_is(node, "Clip") || !kind_is_bound(node)) return false;
    float least = low ? (float)onnx_number(low, 0) : onnx_attribute_float(node, "min", -INFINITY);
    float most = high ? (float)onnx_number(high, 0) : onnx_attribute_float(node, "max", INFINITY);
    return least == 0 && most >= 3.4e38f;
}

static void visit(struct finding *f, struct onnx_node *node) {
    struct linear l;
    bool sum = graph_is(node, "Add") && !node->inputs[0]->constant && !node->inputs[1]->constant &&
               graph_same_shape(node->inputs[0], node->inputs[1]);
    if (linear_read(node, &l) && l.in_axis == 1 && l.out_axis == 1) return;
    if (sum) tie(f, node->inputs[0], node->inputs[1]);
    if (sum || keeps_factors(node) || clips_as_relu(node)) {
        tie(f, node->inputs[0], node->outputs[0]);
        for (int i = 1; i < node->input_count && !sum; i++) /* slopes of PRelu that are computed keep what they are */
            spoil(f, node->inputs[i]);
        return;
    }
    for (int i = 0; i < node->input_count; i++) spoil(f, node->inputs[i]);
    for (int i = 0; i < node->output_count; i++) spoil(f, node->outputs[i]);
}

/* Of what keeps factors: a function, or a maximum. */
static bool rectifies(const struct onnx_node *node) {
    return onnx_class_of(node) == ONNX_FUNCTION || graph_is(node, "MaxPool") || graph_is(node, "GlobalMaxPool");
}

/* What node n is to the group whose root is r. False: its channels are not the group's. */
static bool add_node(struct finding *f, struct equal_group *group, size_t r, struct onnx_node *node) {
    struct linear l;
    bool reads = !node->inputs[0]->constant && root_of_value(f, node->inputs[0]) == r;
    if (linear_read(node, &l)) {
        if (reads) {
            group->read[group->reader_count] = observer_of(f->observer, node->inputs[0]);
            group->readers[group->reader_count++] = l;
        }
        bool makes = root_of_value(f, node->outputs[0]) == r;
        if (makes) group->producers[group->producer_count++] = l;
        return (!reads || (l.in_channels == group->channels && group->read[group->reader_count - 1])) &&
               (!makes || (l.out_channels == group->channels && (linear_takes_bias(&l) || !onnx_input(node, 2))));
    }
    group->rectified = group->rectified || (reads && rectifies(node));
    return true;
}

/* The roots of node n's first input and first output, of which there are 0 to 2 different ones. */
static int roots_of_node(struct finding *f, size_t n, size_t *roots) {
    const struct onnx_node *node = f->graph->nodes[n];
    int count = 0;
    if (node->folded || !node->input_count || !node->inputs[0]) return 0;
    if (!node->inputs[0]->constant) roots[count++] = root_of_value(f, node->inputs[0]);
    size_t made = node->outputs[0] ? root_of_value(f, node->outputs[0]) : SIZE_MAX;
    if (made != SIZE_MAX && (!count || roots[0] != made)) roots[count++] = made;
    return count;
}

static int roots_of_index(struct finding *f, size_t i, size_t *roots) {
    roots[0] = root_of(f, i);
    return 1;
}

/* Indexes below `count` by their roots: each is counted, then put. */
static struct lists list_by_root(struct finding *f, size_t count, int (*roots_of)(struct finding *, size_t, size_t *)) {
    size_t values = f->scheme->value_count, roots[2];
    struct lists lists = {onnx_alloc(f->graph, (values + 2) * sizeof(size_t)), onnx_alloc(f->graph, (2 * count + 1) * sizeof(size_t))};
    for (size_t i = 0; i < count; i++)
        for (int k = roots_of(f, i, roots); k-- > 0;) lists.start[roots[k] + 2]++;
    for (size_t r = 2; r <= values + 1; r++) lists.start[r] += lists.start[r - 1];
    for (size_t i = 0; i < count; i++)
        for (int k = roots_of(f, i, roots); k-- > 0;) lists.at[lists.start[roots[k] + 1]++] = i;
    return lists;
}

/* Its values; false: they cannot have factors. */
static bool add_values(struct finding *f, struct equal_group *group, size_t r) {
    struct onnx_graph *g = f->graph;
    const struct onnx_shape *shape = &g->values[r]->shape;
    bool good = shape->rank >= 2 && shape->dims[1] > 1 && shape->dims[1] <= 1 << 20;
    group->channels = good ? (uint32_t)shape->dims[1] : 0;
    group->members = onnx_alloc(g, (f->values.start[r + 1] - f->values.start[r]) * sizeof(void *));
    for (size_t at = f->values.start[r]; good && at < f->values.start[r + 1]; at++) {
        size_t i = f->values.at[at];
        const struct observed *seen = observer_of(f->observer, g->values[i]);
        good = !f->bad[i] && g->values[i]->shape.rank >= 2 && g->values[i]->shape.dims[1] == (int64_t)group->channels;
        if (good && f->scheme->values[i].quantized && (good = seen && seen->axis == 1 && seen->count > 0))
            group->members[group->member_count++] = seen;
    }
    return good && group->member_count;
}

static struct equal_group *make_group(struct finding *f, size_t r) {
    struct onnx_graph *g = f->graph;
    struct equal_group *group = onnx_alloc(g, sizeof *group);
    if (!add_values(f, group, r)) return NULL;
    size_t nodes = f->nodes.start[r + 1] - f->nodes.start[r];
    bool good = true;
    group->producers = onnx_alloc(g, nodes * sizeof *group->producers);
    group->readers = onnx_alloc(g, nodes * sizeof *group->readers);
    group->read = onnx_alloc(g, nodes * sizeof(void *));
    for (size_t at = f->nodes.start[r]; good && at < f->nodes.start[r + 1]; at++) good = add_node(f, group, r, g->nodes[f->nodes.at[at]]);
    return good && group->producer_count && group->reader_count ? group : NULL;
}

struct equal_group **equal_groups(const struct scheme *scheme, struct observer *observer) {
    struct onnx_graph *g = scheme->graph;
    struct finding f = {.scheme = scheme, .graph = g, .observer = observer};
    struct equal_group **groups = onnx_alloc(g, (g->value_count + 1) * sizeof(void *));
    size_t count = 0;
    f.parent = onnx_alloc(g, scheme->value_count * sizeof *f.parent);
    f.bad = onnx_alloc(g, scheme->value_count * sizeof *f.bad);
    for (size_t i = 0; i < scheme->value_count; i++) {
        f.parent[i] = i;
        f.bad[i] = g->values[i]->is_input || g->values[i]->is_output || g->values[i]->type != ONNX_FLOAT;
    }
    for (size_t n = 0; n < g->node_count; n++)
        if (!g->nodes[n]->folded && g->nodes[n]->input_count && g->nodes[n]->inputs[0] && g->nodes[n]->outputs[0]) visit(&f, g->nodes[n]);
    f.values = list_by_root(&f, scheme->value_count, roots_of_index);
    f.nodes = list_by_root(&f, g->node_count, roots_of_node);
    for (size_t i = 0; i < scheme->value_count; i++) {
        bool root = !g->values[i]->constant && f.parent[i] == i;
        if (root && (groups[count] = make_group(&f, i))) count++;
    }
    return groups;
}
