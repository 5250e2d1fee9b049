/* SPDX-License-Identifier: MIT */
/* Finds layers, chains of functions and the float end of a network, then groups values by scale. */
#include "tools/quant/insert/place.h"
#include "tools/quant/insert/kind.h"
#include "tools/onnx/operator.h"

#include <string.h>

/* The end of a network runs in float where its tensors have at most so many elements. */
#define SMALL_END 16384
/* A table at the end gives floats as well as bytes: worth up to so many elements. */
#define TABLE_END 262144
/* A Concat at the end may join boxes and scores, which one scale would not serve: it and what moves its result are worth more. */
#define JOIN_END 4194304
#define MANY_SHARES 32

struct placing {
    struct scheme *scheme;
    struct onnx_graph *graph;
    enum kind *kinds;
    int *axes;       /* of functions */
    bool *inner;     /* values inside a chain of functions */
    bool *cut;       /* values through which no chain leads */
    size_t *roots;   /* of values: what a chain of functions starts from */
    int *root_axes;  /* along which axis constants of that chain vary, -1 */
    size_t *node_of; /* of values: index of the producer, SIZE_MAX */
    bool *joins;     /* nodes: a Concat, or something that only moves the result of one */
};

static size_t index_of(const struct placing *p, const struct onnx_value *value) {
    return scheme_index(p->scheme, value);
}

static bool is_activation(const struct onnx_value *value) {
    return value && !value->constant;
}

static bool is_small(const struct onnx_value *value, int64_t most) {
    int64_t elements = onnx_elements(&value->shape);
    return elements > 0 && elements <= most;
}

static struct onnx_node *only_reader(const struct placing *p, const struct onnx_value *value) {
    struct onnx_node *const *list = scheme_readers(p->scheme, value);
    return list[0] && !list[1] && !value->is_output ? list[0] : NULL;
}

static size_t node_index(const struct placing *p, const struct onnx_node *node) {
    return scheme_node_index(p->scheme, node);
}

static bool is_name_of(const char *name, const struct onnx_node *node) {
    return !strcmp(name, node->name) || !strcmp(name, node->op);
}

static bool is_product(const char *op) {
    return !strcmp(op, "Gemm") || !strcmp(op, "MatMul");
}

bool scheme_excludes(const struct scheme_options *options, const struct onnx_node *node) {
    for (size_t i = 0; i < options->excluded_count; i++)
        if (is_name_of(options->excluded[i], node)) return true;
    return false;
}

/* One picture, or rows. */
static bool has_dynamic_form(const struct onnx_node *node) {
    if (!strcmp(node->op, "Conv")) return node->inputs[0]->shape.dims[0] == 1;
    return is_product(node->op) && !onnx_attribute_int(node, "transA", 0);
}

/* MatMul and Gemm are one thing by either name: one with a bias behind it may have become the other. */
bool scheme_at_run_time(const struct scheme_options *options, const struct onnx_node *node) {
    bool named = false;
    for (size_t i = 0; i < options->at_run_time_count; i++) {
        const char *name = options->at_run_time[i];
        named = named || is_name_of(name, node) || (is_product(name) && is_product(node->op));
    }
    return named && kind_of(node, NULL) == KIND_LAYER && has_dynamic_form(node) && !scheme_excludes(options, node) &&
           !onnx_attribute_int(node, ONNX_EXACT_MARK, 0);
}

/* A Softmax over so many that steps of 1/256 are coarse: it runs in float, and its range is looked at. */
static bool wants_small_steps(const struct onnx_node *node) {
    const struct onnx_shape *x = &node->inputs[0]->shape;
    int64_t axis = onnx_attribute_int(node, "axis", node->opset < 13 ? 1 : -1), count = 1;
    axis += axis < 0 ? x->rank : 0;
    for (int64_t d = axis; d < x->rank && (d == axis || node->opset < 13); d++) count *= x->dims[d];
    return count >= MANY_SHARES;
}

static void find_kinds(struct placing *p) {
    static const enum scheme_role roles[] = {
        [KIND_UNKNOWN] = SCHEME_FLOAT,   [KIND_LAYER] = SCHEME_LAYER, [KIND_PAIR] = SCHEME_INTEGER, [KIND_POOL] = SCHEME_INTEGER,
        [KIND_SOFTMAX] = SCHEME_INTEGER, [KIND_MOVE] = SCHEME_MOVE,   [KIND_JOIN] = SCHEME_MOVE,    [KIND_FUNCTION] = SCHEME_FUNCTION};
    for (size_t n = 0; n < p->graph->node_count; n++) {
        struct onnx_node *node = p->graph->nodes[n];
        bool runs = false;
        for (int i = 0; i < node->input_count; i++) runs = runs || is_activation(node->inputs[i]);
        p->kinds[n] = runs && !node->folded ? kind_of(node, &p->axes[n]) : KIND_UNKNOWN;
        if (scheme_excludes(&p->scheme->options, node) || scheme_at_run_time(&p->scheme->options, node) ||
            onnx_attribute_int(node, ONNX_EXACT_MARK, 0) || (p->kinds[n] == KIND_SOFTMAX && wants_small_steps(node)))
            p->scheme->nodes[n].role = SCHEME_FLOAT;
        else p->scheme->nodes[n].role = runs && !node->folded ? roles[p->kinds[n]] : SCHEME_NOTHING;
        for (int i = 0; i < node->output_count; i++)
            if (node->outputs[i]) p->node_of[index_of(p, node->outputs[i])] = n;
    }
}

/* The vector added behind a MatMul. */
static struct onnx_node *bias_behind(const struct placing *p, const struct onnx_node *node) {
    struct onnx_node *next = only_reader(p, node->outputs[0]);
    return next && !strcmp(node->op, "MatMul") && kind_is_bias(next, node->outputs[0]) ? next : NULL;
}

/* What is taken into the step of the operator in front, float or not: an added vector behind MatMul, then Relu and Clip. */
static void find_tails(struct placing *p) {
    for (size_t n = 0; n < p->graph->node_count; n++) {
        struct onnx_node *node = p->graph->nodes[n];
        if (p->kinds[n] != KIND_LAYER && p->kinds[n] != KIND_PAIR && p->kinds[n] != KIND_POOL) continue;
        struct onnx_node *next = only_reader(p, node->outputs[0]), *add = p->kinds[n] == KIND_LAYER ? bias_behind(p, node) : NULL;
        if (add) {
            p->scheme->nodes[node_index(p, add)].role = SCHEME_TAIL;
            next = only_reader(p, add->outputs[0]);
        }
        for (; next && kind_is_bound(next); next = only_reader(p, next->outputs[0]))
            p->scheme->nodes[node_index(p, next)].role = SCHEME_TAIL;
    }
}

/* What is in front stands before: a long chain of moves is walked once. */
static void find_joins(struct placing *p) {
    for (size_t n = 0; n < p->graph->node_count; n++) {
        const size_t front = p->kinds[n] == KIND_MOVE ? p->node_of[index_of(p, p->graph->nodes[n]->inputs[0])] : SIZE_MAX;
        p->joins[n] = p->kinds[n] == KIND_JOIN || (front != SIZE_MAX && p->joins[front]);
    }
}

/* Everything that comes of the node goes out of the network, by way of others like it. */
static bool at_end(const struct placing *p, size_t n) {
    const struct onnx_node *node = p->graph->nodes[n];
    int64_t most = p->joins[n] ? JOIN_END : SMALL_END;
    for (int i = 0; i < node->output_count; i++) {
        const struct onnx_value *value = node->outputs[i];
        if (!value) continue;
        struct onnx_node *const *readers = scheme_readers(p->scheme, value);
        if (!is_small(value, most) || (!readers[0] && !value->is_output)) return false;
        for (; *readers; readers++)
            if (p->scheme->nodes[node_index(p, *readers)].role != SCHEME_FLOAT) return false;
    }
    for (int i = 0; i < node->input_count; i++)
        if (is_activation(node->inputs[i]) && !is_small(node->inputs[i], most)) return false;
    return true;
}

static void find_ends(struct placing *p) {
    for (size_t n = p->graph->node_count; n-- > 0;) {
        struct scheme_node *node = &p->scheme->nodes[n];
        if (node->role != SCHEME_TAIL && node->role != SCHEME_NOTHING && kind_runs_in_float(p->graph->nodes[n], p->kinds[n]) &&
            at_end(p, n))
            node->role = SCHEME_FLOAT;
    }
}

/* One table holds constants by channel along one axis only. */
static bool axes_fit(int a, int b) {
    return a < 0 || b < 0 || a == b;
}

/* A function of one value, or of two that are functions of the same: the chain goes on. Otherwise one starts. */
static void follow_chain(struct placing *p, size_t n) {
    struct onnx_node *node = p->graph->nodes[n];
    size_t out = index_of(p, node->outputs[0]), operands[2], count = 0;
    for (int i = 0; i < node->input_count; i++)
        if (is_activation(node->inputs[i]) && count < 2) operands[count++] = index_of(p, node->inputs[i]);
    size_t a = operands[0], b = operands[count - 1];
    int axis = p->root_axes[a] < 0 ? p->root_axes[b] : p->root_axes[a];
    if (p->kinds[n] == KIND_PAIR) {
        if (count != 2 || p->roots[a] != p->roots[b] || (a == p->roots[a] && b == p->roots[b]) ||
            !axes_fit(p->root_axes[a], p->root_axes[b]) || !strcmp(node->op, "MatMul"))
            return;
        p->scheme->nodes[n].role = SCHEME_FUNCTION;
    }
    bool fits = axes_fit(axis, p->axes[n]);
    if (p->cut[out]) return;
    p->roots[out] = fits ? p->roots[a] : a;
    p->root_axes[out] = fits && p->axes[n] < 0 ? axis : p->axes[n];
}

static void find_chains(struct placing *p) {
    for (size_t v = 0; v < p->graph->value_count; v++) {
        p->roots[v] = v;
        p->root_axes[v] = -1;
    }
    for (size_t n = 0; n < p->graph->node_count; n++)
        if (p->scheme->nodes[n].role == SCHEME_FUNCTION && p->kinds[n] == KIND_PAIR) /* of an earlier turn */
            p->scheme->nodes[n].role = SCHEME_INTEGER;
    for (size_t n = 0; n < p->graph->node_count; n++)
        if (p->scheme->nodes[n].role == SCHEME_FUNCTION || (p->scheme->nodes[n].role == SCHEME_INTEGER && p->kinds[n] == KIND_PAIR))
            follow_chain(p, n);
    for (size_t v = 0; v < p->graph->value_count; v++) {
        struct onnx_node **reader = p->scheme->readers[v];
        bool inner = p->roots[v] != v && !p->graph->values[v]->is_output && *reader;
        for (; inner && *reader; reader++)
            inner = p->scheme->nodes[node_index(p, *reader)].role == SCHEME_FUNCTION &&
                    p->roots[index_of(p, (*reader)->outputs[0])] == p->roots[v];
        p->inner[v] = inner;
    }
}

static void need(struct placing *p, size_t v) {
    if (p->inner[v]) v = p->roots[v];
    if (p->graph->values[v]->type == ONNX_FLOAT && !p->graph->values[v]->constant) p->scheme->values[v].quantized = true;
}

/* Two operands, functions of the same value, of which one had to be quantized: no chain leads through it, and both are bytes. True where
 * something changed. */
static bool part_chains(struct placing *p) {
    bool changed = false;
    for (size_t n = 0; n < p->graph->node_count; n++) {
        struct onnx_node *node = p->graph->nodes[n];
        if (p->scheme->nodes[n].role != SCHEME_FUNCTION || p->kinds[n] != KIND_PAIR) continue;
        size_t at[2] = {index_of(p, node->inputs[0]), index_of(p, node->inputs[1])}, root[2];
        for (int i = 0; i < 2; i++) root[i] = p->inner[at[i]] ? p->roots[at[i]] : at[i];
        for (int i = 0; root[0] != root[1] && i < 2; i++)
            if (p->roots[at[i]] != at[i]) {
                p->cut[at[i]] = true;
                changed = true;
            }
    }
    return changed;
}

static void find_needs(struct placing *p) {
    for (size_t n = 0; n < p->graph->node_count; n++) {
        struct onnx_node *node = p->graph->nodes[n];
        enum scheme_role role = p->scheme->nodes[n].role;
        bool first = role == SCHEME_LAYER || (role == SCHEME_MOVE && p->kinds[n] == KIND_MOVE);
        if (role == SCHEME_FLOAT || role == SCHEME_TAIL || role == SCHEME_NOTHING) continue;
        for (int i = 0; i < (first ? 1 : node->input_count); i++)
            if (is_activation(node->inputs[i])) need(p, index_of(p, node->inputs[i]));
    }
    for (size_t i = 0; i < p->graph->output_count; i++) {
        const struct onnx_value *value = p->graph->outputs[i];
        size_t n = is_activation(value) ? p->node_of[index_of(p, value)] : SIZE_MAX;
        enum scheme_role role = n != SIZE_MAX ? p->scheme->nodes[n].role : SCHEME_FLOAT;
        if (role != SCHEME_FLOAT && onnx_elements(&value->shape) > (role == SCHEME_FUNCTION ? TABLE_END : SMALL_END))
            need(p, index_of(p, value));
    }
}

/* Halves the way that it goes: the next one is shorter. */
static size_t group_of(const struct placing *p, size_t v) {
    struct scheme_value *values = p->scheme->values;
    while (values[v].group != v) v = values[v].group = values[values[v].group].group;
    return v;
}

static void join(struct placing *p, size_t a, size_t b) {
    a = group_of(p, a);
    b = group_of(p, b);
    p->scheme->values[a < b ? b : a].group = a < b ? a : b;
}

/* A Pad by something else than zero widens what it pads. */
static bool pads_by_number(const struct onnx_node *node) {
    const struct onnx_tensor *value = onnx_input_constant(node, 2);
    if (strcmp(node->op, "Pad") || strcmp(onnx_attribute_string(node, "mode", "constant"), "constant")) return false;
    return value ? value->count && onnx_number(value, 0) != 0 : onnx_attribute_float(node, "value", 0) != 0;
}

/* From bytes to bytes it is computed in steps of 1/256, which others are not: ONNX Runtime's sums leave their range, or nearly. */
static bool softmax_of_bytes(const struct placing *p, size_t v) {
    const struct onnx_node *node = p->graph->values[v]->producer;
    return node && !*node->domain && !strcmp(node->op, "Softmax") && p->scheme->values[index_of(p, node->inputs[0])].quantized;
}

/* Bytes that are cast to floats, as of pictures that the network itself divides by 255: any byte is kept as it is. */
static bool cast_of_bytes(const struct placing *p, struct scheme_value *value, size_t v) {
    const struct onnx_node *node = p->graph->values[v]->producer;
    if (!node || *node->domain || strcmp(node->op, "Cast")) return false;
    const enum onnx_type type = node->inputs[0]->type;
    value->low = type == ONNX_INT8 ? -128 : 0;
    value->high = value->low + 255;
    return type == ONNX_INT8 || type == ONNX_UINT8;
}

/* The cell before it; NULL: there is none. */
static const struct onnx_node *cell_before(const struct placing *p, size_t n) {
    const struct onnx_value *weights = p->graph->nodes[n]->inputs[1];
    while (n-- > 0) {
        const struct onnx_node *node = p->graph->nodes[n];
        if (p->scheme->nodes[n].role == SCHEME_LAYER && node->inputs[1] == weights && scheme_is_cell(node)) return node;
    }
    return NULL;
}

/* Groups with a range that is given, by their first value: nothing may widen it. */
static bool *fixed_groups(struct placing *p) {
    bool *fixed = onnx_alloc(p->graph, p->graph->value_count * sizeof *fixed);
    for (size_t v = 0; v < p->graph->value_count; v++)
        if (p->scheme->values[v].fixed) fixed[group_of(p, v)] = true;
    return fixed;
}

static void join_alike(struct placing *p, const bool *fixed, const struct onnx_value *a, const struct onnx_value *b) {
    const size_t v = index_of(p, a), w = index_of(p, b);
    const struct scheme_value *values = p->scheme->values;
    if (values[v].quantized && values[w].quantized && !fixed[group_of(p, v)] && !fixed[group_of(p, w)]) join(p, v, w);
}

/* Cells of a recurrent layer have the same weights. With a scale for what they read and one for what they give they have the same biases
 * and multipliers, 12 bytes for each output, which a blob has once then. */
static void join_cells(struct placing *p) {
    const bool *fixed = fixed_groups(p);
    for (size_t n = 0; n < p->graph->node_count; n++) {
        const struct onnx_node *node = p->graph->nodes[n];
        if (p->scheme->nodes[n].role != SCHEME_LAYER || !scheme_is_cell(node)) continue;
        const struct onnx_node *other = cell_before(p, n);
        if (!other) continue;
        join_alike(p, fixed, node->inputs[0], other->inputs[0]);
        join_alike(p, fixed, node->outputs[0], other->outputs[0]);
    }
}

/* What moves shares its scale with what it was; then only what it was is looked at. */
static void find_groups(struct placing *p) {
    struct scheme_value *values = p->scheme->values;
    for (size_t v = 0; v < p->graph->value_count; v++) {
        values[v].group = v;
        const bool shares = values[v].quantized && softmax_of_bytes(p, v);
        values[v].high = shares ? 255.0F / 256 : 0;
        values[v].fixed = shares || (values[v].quantized && cast_of_bytes(p, &values[v], v));
        values[v].watched = values[v].quantized && !values[v].fixed;
    }
    for (size_t n = 0; n < p->graph->node_count; n++) {
        struct onnx_node *node = p->graph->nodes[n];
        bool all = !pads_by_number(node);
        if (p->scheme->nodes[n].role != SCHEME_MOVE) continue;
        for (int o = 0; o < node->output_count; o++) {
            size_t out = node->outputs[o] ? index_of(p, node->outputs[o]) : SIZE_MAX;
            if (out == SIZE_MAX || !values[out].quantized) continue;
            for (int i = 0; i < (p->kinds[n] == KIND_JOIN ? node->input_count : 1); i++) {
                size_t in = node->inputs[i] ? index_of(p, node->inputs[i]) : SIZE_MAX;
                if (in != SIZE_MAX && values[in].quantized) join(p, in, out);
                else all = all && in == SIZE_MAX;
            }
            values[out].watched = !all;
        }
    }
    join_cells(p);
    for (size_t v = 0; v < p->graph->value_count; v++) values[v].group = group_of(p, v);
}

/* The second operand of a product of two activations, whose columns are packed as weights are. */
static void find_centred(struct placing *p) {
    for (size_t n = 0; n < p->graph->node_count; n++) {
        const struct onnx_node *node = p->graph->nodes[n];
        if (strcmp(node->op, "MatMul") || *node->domain || p->scheme->nodes[n].role == SCHEME_FLOAT) continue;
        const size_t v = onnx_input_constant(node, 0) || onnx_input_constant(node, 1) ? SIZE_MAX : index_of(p, node->inputs[1]);
        if (v != SIZE_MAX && p->scheme->values[v].quantized) p->scheme->values[v].centred = true;
    }
}

/* Those at run time are float to all others. */
static bool is_layer(const struct placing *p, size_t n) {
    const struct onnx_node *node = p->graph->nodes[n];
    return p->scheme->nodes[n].role == SCHEME_LAYER || (p->kinds[n] == KIND_LAYER && scheme_at_run_time(&p->scheme->options, node));
}

/* The layers, without numbers: those come with scheme_make_layers(). */
static void list_layers(struct placing *p) {
    struct scheme *s = p->scheme;
    for (size_t n = 0; n < p->graph->node_count; n++) s->layer_count += is_layer(p, n);
    s->layers = onnx_alloc(p->graph, s->layer_count * sizeof *s->layers);
    size_t at = 0;
    for (size_t n = 0; n < p->graph->node_count; n++)
        if (is_layer(p, n)) {
            struct onnx_node *node = p->graph->nodes[n];
            s->nodes[n].layer = &s->layers[at];
            s->layers[at++] = (struct scheme_layer){.node = node,
                                                    .add = bias_behind(p, node),
                                                    .weights = node->inputs[1]->constant,
                                                    .x = index_of(p, node->inputs[0]),
                                                    .out = index_of(p, node->outputs[0]),
                                                    .dynamic = s->nodes[n].role != SCHEME_LAYER || s->options.dynamic};
        }
}

/* Of a dynamic scheme only layers are in integers. */
static void keep_layers(struct scheme *scheme) {
    size_t count = 0;
    for (size_t i = 0; i < scheme->value_count; i++) scheme->values[i].quantized = false;
    for (size_t n = 0; n < scheme->graph->node_count; n++) {
        const enum scheme_role role = scheme->nodes[n].role;
        if (role == SCHEME_NOTHING || (role == SCHEME_LAYER && has_dynamic_form(scheme->graph->nodes[n]))) continue;
        scheme->nodes[n].role = SCHEME_FLOAT;
        scheme->nodes[n].layer = NULL;
    }
    for (size_t i = 0; i < scheme->layer_count; i++) {
        struct scheme_node *node = &scheme->nodes[scheme_node_index(scheme, scheme->layers[i].node)];
        if (!node->layer) continue;
        scheme->layers[count] = scheme->layers[i];
        node->layer = &scheme->layers[count++];
    }
    scheme->layer_count = count;
}

struct scheme *place(struct onnx_graph *graph, const struct scheme_options *options) {
    struct scheme *scheme = scheme_new(graph, options);
    size_t values = graph->value_count, nodes = graph->node_count;
    struct placing p = {.scheme = scheme, .graph = graph};
    p.kinds = onnx_alloc(graph, nodes * sizeof *p.kinds);
    p.axes = onnx_alloc(graph, nodes * sizeof *p.axes);
    p.inner = onnx_alloc(graph, values * sizeof *p.inner);
    p.cut = onnx_alloc(graph, values * sizeof *p.cut);
    p.roots = onnx_alloc(graph, values * sizeof *p.roots);
    p.root_axes = onnx_alloc(graph, values * sizeof *p.root_axes);
    p.joins = onnx_alloc(graph, nodes * sizeof *p.joins);
    p.node_of = onnx_alloc(graph, values * sizeof *p.node_of);
    memset(p.node_of, 0xff, values * sizeof *p.node_of); /* SIZE_MAX */
    find_kinds(&p);
    place_norms(scheme);
    place_residuals(scheme);
    place_quotients(scheme);
    place_magnitudes(scheme);
    place_indices(scheme);
    place_masks(scheme);
    find_tails(&p);
    find_joins(&p);
    find_ends(&p);
    do {
        find_chains(&p);
        find_needs(&p);
    } while (part_chains(&p));
    find_groups(&p);
    find_centred(&p);
    place_limits(scheme);
    list_layers(&p);
    if (options->dynamic) keep_layers(scheme);
    return scheme;
}
