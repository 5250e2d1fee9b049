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
enum { MOST_PASSES = 32, MOST_NODES = 200000 };
#define MOST_BYTES ((size_t)512 << 20)

struct inliner {
    Onnx__Model *model;
    Onnx__Node **nodes; /* of the pass, malloc'ed */
    size_t count, room, calls, bytes;
    struct failure *failure;
};

/* One call while it is expanded. */
struct call {
    const Onnx__Function *function;
    const Onnx__Node *node;
    size_t number;
};

static const char *plain(const char *domain) {
    return strcmp(domain, "ai.onnx") ? domain : "";
}

static const Onnx__Function *find_function(const Onnx__Model *model, const Onnx__Node *node) {
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__Function *f = model->functions[i];
        if (!strcmp(f->name, node->op_type) && !strcmp(plain(f->domain), plain(node->domain)) && !strcmp(f->overload, node->overload))
            return f;
    }
    return NULL;
}

/* A string of a message: the empty ones are protobuf-c's own and must not be freed. */
static void set_string(char **string, char *to) {
    if (*string != (const char *)protobuf_c_empty_string) free(*string);
    *string = to;
}

/* A copy that belongs to protobuf-c's allocator, as the message it goes into. */
static ProtobufCMessage *copy_message(const ProtobufCMessage *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = must_have(malloc(size ? size : 1), size);
    protobuf_c_message_pack(message, bytes);
    ProtobufCMessage *copy = must_have(protobuf_c_message_unpack(message->descriptor, NULL, size, bytes), size);
    free(bytes);
    return copy;
}

static int position(const char *name, size_t count, char *const *names) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return (int)i;
    return -1;
}

/* What a value inside the function is called outside. */
static char *outside_name(const struct call *call, const char *name) {
    const Onnx__Function *f = call->function;
    int input = position(name, f->n_input, f->input), output = position(name, f->n_output, f->output);
    const char *outside = NULL;
    char *text = NULL;
    if (!*name) outside = "";
    else if (input >= 0) outside = (size_t)input < call->node->n_input ? call->node->input[input] : "";
    else if (output >= 0 && (size_t)output < call->node->n_output && *call->node->output[output]) outside = call->node->output[output];
    if (outside) return must_have(strdup(outside), strlen(outside));
    if (asprintf(&text, "%s_%zu/%s", f->name, call->number, name) < 0) text = NULL;
    return must_have(text, strlen(name));
}

static const Onnx__Attribute *find_attribute(size_t count, Onnx__Attribute *const *attributes, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(attributes[i]->name, name)) return attributes[i];
    return NULL;
}

/* Attributes that refer to the call's get its value, or the function's default; without either they are left out. */
static void resolve_attributes(const struct call *call, Onnx__Node *node) {
    size_t kept = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__Attribute *a = node->attribute[i];
        if (*a->ref_attr_name) {
            const Onnx__Attribute *given = find_attribute(call->node->n_attribute, call->node->attribute, a->ref_attr_name);
            if (!given) given = find_attribute(call->function->n_attribute_proto, call->function->attribute_proto, a->ref_attr_name);
            char *name = must_have(strdup(a->name), strlen(a->name));
            onnx__attribute__free_unpacked(a, NULL);
            a = given ? (Onnx__Attribute *)copy_message(&given->base) : NULL;
            if (a) set_string(&a->name, name);
            else free(name);
        }
        if (a) node->attribute[kept++] = a;
    }
    node->n_attribute = kept;
}

static void rename_node(const struct call *call, Onnx__Node *node, size_t number) {
    char *name = NULL;
    for (size_t i = 0; i < node->n_input; i++) set_string(&node->input[i], outside_name(call, node->input[i]));
    for (size_t i = 0; i < node->n_output; i++) set_string(&node->output[i], outside_name(call, node->output[i]));
    const char *outer = *call->node->name ? call->node->name : call->function->name;
    if (asprintf(&name, "%s/%s_%zu", outer, *node->name ? node->name : node->op_type, number) < 0) name = NULL;
    set_string(&node->name, must_have(name, strlen(outer)));
}

static bool append(struct inliner *in, Onnx__Node *node) {
    if (in->count == MOST_NODES) {
        onnx__node__free_unpacked(node, NULL);
        return failure_set(in->failure, STATUS_INPUT, "its functions expand to more than %d nodes", MOST_NODES);
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
    for (size_t i = 0; i < f->n_opset_import; i++)
        for (size_t k = 0; k < in->model->n_opset_import; k++) {
            const Onnx__OperatorSet *own = f->opset_import[i], *models = in->model->opset_import[k];
            if (!strcmp(plain(own->domain), plain(models->domain)) && own->version != models->version)
                return failure_set(in->failure, STATUS_INPUT, "function '%s' and the model use different opsets of '%s'", f->name,
                                   *plain(own->domain) ? own->domain : "ai.onnx");
        }
    for (size_t i = 0; i < f->n_output; i++)
        if (position(f->output[i], f->n_input, f->input) >= 0)
            return failure_set(in->failure, STATUS_INPUT, "function '%s' gives out its input '%s', which is not taken", f->name,
                               f->output[i]);
    return true;
}

static bool expand(struct inliner *in, const Onnx__Function *f, const Onnx__Node *node) {
    struct call call = {f, node, in->calls++};
    if (!same_opsets(in, f)) return false;
    for (size_t i = 0; i < f->n_node; i++) {
        size_t size = onnx__node__get_packed_size(f->node[i]);
        if (size > MOST_BYTES - in->bytes)
            return failure_set(in->failure, STATUS_INPUT, "its functions expand to more than %zu MB", MOST_BYTES >> 20);
        in->bytes += size;
        Onnx__Node *copy = (Onnx__Node *)copy_message(&f->node[i]->base);
        resolve_attributes(&call, copy);
        rename_node(&call, copy, i);
        if (!append(in, copy)) return false;
    }
    return true;
}

/* Every call of the graph, one level deep. Nodes that are not calls move over; after an error the rest is dropped. */
static bool pass(struct inliner *in) {
    Onnx__Graph *graph = in->model->graph;
    bool good = true;
    for (size_t i = 0; i < graph->n_node; i++) {
        Onnx__Node *node = graph->node[i];
        const Onnx__Function *f = find_function(in->model, node);
        if (good && !f) {
            good = append(in, node);
            continue;
        }
        good = good && expand(in, f, node);
        onnx__node__free_unpacked(node, NULL);
    }
    free(graph->node);
    graph->node = in->nodes;
    graph->n_node = in->count;
    in->nodes = NULL;
    in->count = in->room = 0;
    return good;
}

static bool calls_any(const Onnx__Model *model) {
    for (size_t i = 0; model->n_functions && i < model->graph->n_node; i++)
        if (find_function(model, model->graph->node[i])) return true;
    return false;
}

bool onnx_inline_functions(Onnx__Model *model, struct failure *failure) {
    struct inliner in = {.model = model, .failure = failure};
    for (int i = 0; calls_any(model); i++) {
        if (i == MOST_PASSES) return failure_set(failure, STATUS_INPUT, "its functions call each other more than %d deep", MOST_PASSES);
        if (!pass(&in)) return false;
    }
    return true;
}
