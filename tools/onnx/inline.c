/* SPDX-License-Identifier: MIT */
/*
 * Functions of the model: their nodes take the place of every call, in the file's message itself, before it becomes a graph.
 * A function may call others; passes go on until no call is left. Its values get names of their own for each call.
 */
#include "tools/onnx/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nesting, or more than this after expansion, is a function that calls itself or a bomb. */
enum { MOST_PASSES = 32, BLOCK = 16 /* the C library's own bytes for each */ };

/* What the model becomes goes with what it is: nodes with those of the graph and of all functions, bytes with the message's. */
enum { LEAST_NODES = 8000, NODES_OF_A_NODE = 16, MOST_NODES = 200000, LEAST_MB = 64, BYTES_OF_A_BYTE = 16, MOST_MB = 512 };

/* A function, and what is looked up in it for every call: made ready by the first. */
struct callee {
    const Onnx__Function *function;
    size_t number; /* in the model */
    bool ready;
    struct onnx_name *ports, *defaults; /* ports: its inputs by number, and its outputs behind them */
    size_t port_count, default_count;
};

struct inliner {
    Onnx__Model *model;
    struct callee *callees; /* in order */
    size_t callee_count;
    Onnx__Node **nodes; /* of the pass, malloc'ed */
    size_t count, room, calls, bytes;
    size_t most_nodes, most_bytes;
    struct arena arena;
    struct failure *failure;
};

/* One call while it is expanded. */
struct call {
    struct inliner *in;
    const struct callee *callee;
    const Onnx__Function *function; /* the callee's */
    const Onnx__Node *node;
    struct onnx_name *attributes; /* the node's */
    size_t attribute_count, number;
};

static const char *plain(const char *domain) {
    return strcmp(domain, "ai.onnx") ? domain : "";
}

static int compare_keys(const char *name, const char *domain, const char *overload, const Onnx__Function *f) {
    int order = strcmp(name, f->name);
    if (!order) order = strcmp(plain(domain), plain(f->domain));
    return order ? order : strcmp(overload, f->overload);
}

static int compare_functions(const struct callee *a, const struct callee *b) {
    return compare_keys(a->function->name, a->function->domain, a->function->overload, b->function);
}

static int compare_callees(const void *a, const void *b) {
    const struct callee *x = a, *y = b;
    int order = compare_functions(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int compare_node(const void *key, const void *callee) {
    const Onnx__Node *node = key;
    return compare_keys(node->op_type, node->domain, node->overload, ((const struct callee *)callee)->function);
}

static struct callee *find_callee(const struct inliner *in, const Onnx__Node *node) {
    return bsearch(node, in->callees, in->callee_count, sizeof *in->callees, compare_node);
}

/* A string of a message: the empty ones are protobuf-c's own and must not be freed. */
static void set_string(char **string, char *to) {
    if (*string != (const char *)protobuf_c_empty_string) free(*string);
    *string = to;
}

/* Everything that a call copies is paid for before it is copied. */
static bool pay(const struct call *call, uint64_t bytes) {
    struct inliner *in = call->in;
    if (bytes > in->most_bytes - in->bytes)
        return failure_set(in->failure, STATUS_INPUT,
                           "its functions expand to more than %zu MB of memory, at call %zu: node '%s' calls function '%s'",
                           in->most_bytes >> 20, call->number + 1, call->node->name, call->function->name);
    in->bytes += (size_t)bytes;
    return true;
}

/* A copy that belongs to protobuf-c's allocator, as the message it goes into. NULL: too much. */
static ProtobufCMessage *copy_message(const struct call *call, const ProtobufCMessage *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    if (!pay(call, size)) return NULL;
    uint8_t *bytes = must_have(malloc(size ? size : 1), size);
    protobuf_c_message_pack(message, bytes);
    uint64_t taken = onnx_message_bytes(message->descriptor, bytes, size);
    ProtobufCMessage *copy = NULL;
    if (taken <= size || pay(call, taken - size)) copy = must_have(protobuf_c_message_unpack(message->descriptor, NULL, size, bytes), size);
    free(bytes);
    return copy;
}

/* What a value inside the function is called outside, in its own memory. NULL: too much. */
static char *outside_name(const struct call *call, const char *name) {
    const Onnx__Function *f = call->function;
    const Onnx__Node *node = call->node;
    const struct onnx_name *port = onnx_find_name(call->callee->ports, call->callee->port_count, name);
    size_t output = port ? port->number - f->n_input : 0; /* huge for an input */
    const char *outside = NULL;
    char *text = NULL;
    if (!*name) outside = "";
    else if (port && port->number < f->n_input) outside = port->number < node->n_input ? node->input[port->number] : "";
    else if (port && output < node->n_output && *node->output[output]) outside = node->output[output];
    if (!pay(call, BLOCK + (outside ? strlen(outside) : strlen(f->name) + strlen(name)))) return NULL;
    if (outside) return must_have(strdup(outside), strlen(outside));
    if (asprintf(&text, "%s_%zu/%s", f->name, call->number, name) < 0) text = NULL;
    return must_have(text, strlen(name));
}

/* What an attribute that refers to one of the call's stands for: the call's, or the function's default. */
static const Onnx__Attribute *given_attribute(const struct call *call, const char *name) {
    const struct onnx_name *given = onnx_find_name(call->attributes, call->attribute_count, name);
    if (given) return call->node->attribute[given->number];
    given = onnx_find_name(call->callee->defaults, call->callee->default_count, name);
    return given ? call->function->attribute_proto[given->number] : NULL;
}

/* In place of one that refers; NULL: too much, and the old one is still there. */
static Onnx__Attribute *resolved(const struct call *call, Onnx__Attribute *a, const Onnx__Attribute *given) {
    Onnx__Attribute *copy = (Onnx__Attribute *)copy_message(call, &given->base);
    if (!copy) return NULL;
    set_string(&copy->name, must_have(strdup(a->name), strlen(a->name)));
    onnx__attribute__free_unpacked(a, NULL);
    return copy;
}

/* Attributes that refer to none are left out. False: too much; then the rest stays as it is. */
static bool resolve_attributes(const struct call *call, Onnx__Node *node) {
    size_t kept = 0;
    bool good = true;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__Attribute *a = node->attribute[i];
        if (good && *a->ref_attr_name) {
            const Onnx__Attribute *given = given_attribute(call, a->ref_attr_name);
            if (!given) {
                onnx__attribute__free_unpacked(a, NULL);
                continue;
            }
            Onnx__Attribute *copy = resolved(call, a, given);
            good = copy != NULL;
            if (copy) a = copy;
        }
        node->attribute[kept++] = a;
    }
    node->n_attribute = kept;
    return good;
}

static bool rename_values(const struct call *call, size_t count, char **names) {
    for (size_t i = 0; i < count; i++) {
        char *name = outside_name(call, names[i]);
        if (!name) return false;
        set_string(&names[i], name);
    }
    return true;
}

/* A graph inside reads values by the function's names, which nobody changes there: without it the node is refused. */
static void drop_bodies(Onnx__Node *node) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        ProtobufCBinaryData *g = &node->attribute[i]->g;
        free(g->data);
        *g = (ProtobufCBinaryData){0, NULL};
    }
}

static bool rename_node(const struct call *call, Onnx__Node *node, size_t number) {
    if (!rename_values(call, node->n_input, node->input) || !rename_values(call, node->n_output, node->output)) return false;
    const char *outer = *call->node->name ? call->node->name : call->function->name;
    const char *inner = *node->name ? node->name : node->op_type;
    char *name = NULL;
    drop_bodies(node);
    if (!pay(call, BLOCK + strlen(outer) + strlen(inner))) return false;
    if (asprintf(&name, "%s/%s_%zu", outer, inner, number) < 0) name = NULL;
    set_string(&node->name, must_have(name, strlen(outer)));
    return true;
}

static bool append(struct inliner *in, Onnx__Node *node) {
    if (in->count == in->most_nodes) {
        onnx__node__free_unpacked(node, NULL);
        return failure_set(in->failure, STATUS_INPUT, "its functions expand to more than %zu nodes", in->most_nodes);
    }
    if (in->count == in->room) {
        in->room = in->room ? in->room * 2 : 64;
        in->nodes = must_have(realloc(in->nodes, in->room * sizeof *in->nodes), in->room * sizeof *in->nodes);
    }
    in->nodes[in->count++] = node;
    return true;
}

/* The nodes of a function are written for its own operator sets, which must be the model's. */
static bool same_opsets(struct inliner *in, const Onnx__Function *f) {
    if (f->n_opset_import > ONNX_MOST_IMPORTS)
        return failure_set(in->failure, STATUS_INPUT, "function '%s' imports %zu operator sets (opset_import); %d are the most", f->name,
                           f->n_opset_import, ONNX_MOST_IMPORTS);
    for (size_t i = 0; i < f->n_opset_import; i++)
        for (size_t k = 0; k < in->model->n_opset_import; k++) {
            const Onnx__OperatorSet *own = f->opset_import[i], *models = in->model->opset_import[k];
            if (!strcmp(plain(own->domain), plain(models->domain)) && own->version != models->version)
                return failure_set(in->failure, STATUS_INPUT, "function '%s' and the model use different opsets of '%s'", f->name,
                                   *plain(own->domain) ? own->domain : "ai.onnx");
        }
    return true;
}

static bool no_input_given_out(struct inliner *in, const struct callee *callee) {
    const Onnx__Function *f = callee->function;
    for (size_t i = 0; i < f->n_output; i++)
        if (onnx_find_name(callee->ports, callee->port_count, f->output[i])->number < f->n_input)
            return failure_set(in->failure, STATUS_INPUT, "function '%s' gives out its input '%s', which is not taken", f->name,
                               f->output[i]);
    return true;
}

static size_t sort_attributes(struct onnx_name *names, size_t count, Onnx__Attribute *const *attributes) {
    for (size_t i = 0; i < count; i++) names[i] = (struct onnx_name){attributes[i]->name, i};
    return onnx_sort_names(names, count);
}

static bool make_ready(struct inliner *in, struct callee *callee) {
    const Onnx__Function *f = callee->function;
    if (callee->ready) return true;
    callee->ready = true;
    if (!same_opsets(in, f)) return false;
    callee->ports = arena_alloc(&in->arena, (f->n_input + f->n_output) * sizeof *callee->ports);
    callee->defaults = arena_alloc(&in->arena, f->n_attribute_proto * sizeof *callee->defaults);
    for (size_t i = 0; i < f->n_input; i++) callee->ports[i] = (struct onnx_name){f->input[i], i};
    for (size_t i = 0; i < f->n_output; i++) callee->ports[f->n_input + i] = (struct onnx_name){f->output[i], f->n_input + i};
    callee->port_count = onnx_sort_names(callee->ports, f->n_input + f->n_output);
    callee->default_count = sort_attributes(callee->defaults, f->n_attribute_proto, f->attribute_proto);
    return no_input_given_out(in, callee);
}

static bool expand_into(const struct call *call) {
    const Onnx__Function *f = call->function;
    for (size_t i = 0; i < f->n_node; i++) {
        Onnx__Node *copy = (Onnx__Node *)copy_message(call, &f->node[i]->base);
        if (!copy) return false;
        if (!resolve_attributes(call, copy) || !rename_node(call, copy, i)) {
            onnx__node__free_unpacked(copy, NULL);
            return false;
        }
        if (!append(call->in, copy)) return false;
    }
    return true;
}

static bool expand(struct inliner *in, struct callee *callee, const Onnx__Node *node) {
    struct call call = {in, callee, callee->function, node, NULL, 0, in->calls++};
    if (!make_ready(in, callee)) return false;
    call.attributes = must_calloc(node->n_attribute + 1, sizeof *call.attributes);
    call.attribute_count = sort_attributes(call.attributes, node->n_attribute, node->attribute);
    bool good = expand_into(&call);
    free(call.attributes);
    return good;
}

/* Every call of the graph, one level deep. Nodes that are not calls move over; after an error the rest is dropped. */
static bool pass(struct inliner *in) {
    Onnx__Graph *graph = in->model->graph;
    bool good = true;
    for (size_t i = 0; i < graph->n_node; i++) {
        Onnx__Node *node = graph->node[i];
        struct callee *callee = find_callee(in, node);
        if (good && !callee) {
            good = append(in, node);
            continue;
        }
        good = good && expand(in, callee, node);
        onnx__node__free_unpacked(node, NULL);
    }
    free(graph->node);
    graph->node = in->nodes;
    graph->n_node = in->count;
    in->nodes = NULL;
    in->count = in->room = 0;
    return good;
}

static bool calls_any(const struct inliner *in) {
    for (size_t i = 0; in->callee_count && i < in->model->graph->n_node; i++)
        if (find_callee(in, in->model->graph->node[i])) return true;
    return false;
}

/* Of functions of one name the first counts. */
static void sort_callees(struct inliner *in) {
    const Onnx__Model *model = in->model;
    size_t kept = 0;
    in->callees = arena_alloc(&in->arena, model->n_functions * sizeof *in->callees);
    for (size_t i = 0; i < model->n_functions; i++) in->callees[i] = (struct callee){.function = model->functions[i], .number = i};
    qsort(in->callees, model->n_functions, sizeof *in->callees, compare_callees);
    for (size_t i = 0; i < model->n_functions; i++)
        if (!kept || compare_functions(&in->callees[kept - 1], &in->callees[i])) in->callees[kept++] = in->callees[i];
    in->callee_count = kept;
}

static void set_limits(struct inliner *in) {
    const Onnx__Model *model = in->model;
    size_t nodes = model->graph->n_node, bytes = onnx__model__get_packed_size(model) / (1 << 20) * BYTES_OF_A_BYTE + LEAST_MB;
    for (size_t i = 0; i < model->n_functions; i++) nodes += model->functions[i]->n_node;
    in->most_nodes = nodes < MOST_NODES / NODES_OF_A_NODE ? LEAST_NODES + NODES_OF_A_NODE * nodes : MOST_NODES;
    if (in->most_nodes > MOST_NODES) in->most_nodes = MOST_NODES;
    in->most_bytes = (bytes < MOST_MB ? bytes : MOST_MB) << 20;
}

bool onnx_inline_functions(Onnx__Model *model, struct failure *failure) {
    struct inliner in = {.model = model, .failure = failure};
    bool good = true;
    sort_callees(&in);
    if (in.callee_count) set_limits(&in);
    for (int i = 0; good && calls_any(&in); i++) {
        if (i < MOST_PASSES) good = pass(&in);
        else good = failure_set(failure, STATUS_INPUT, "its functions call each other more than %d deep", MOST_PASSES);
    }
    arena_free(&in.arena);
    return good;
}
