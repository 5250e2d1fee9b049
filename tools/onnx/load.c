/* SPDX-License-Identifier: MIT */
/* From a file to a graph: every name resolved, every constant checked, nothing inferred yet. */
#include "tools/onnx/flow.h"
#include "tools/onnx/operator.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_IR = 3, FIRST_OPSET = 7, USUAL_OPSET = 13, LAST_OPSET = 28 };

struct loader {
    struct onnx_graph *graph;
    const Onnx__Model *model;
    const struct onnx_scope *around; /* the graphs that nodes stand in; NULL: none */
    struct failure *failure;
};

#define FAIL(l, ...) failure_set((l)->failure, STATUS_INPUT, __VA_ARGS__)

/* The whole file, or NULL. */
static uint8_t *read_file(const char *path, size_t *size, struct failure *failure) {
    struct stat info = {0};
    uint8_t *bytes = NULL;
    bool there = !stat(path, &info), regular = there && S_ISREG(info.st_mode); /* asked first: opening a pipe would wait */
    FILE *file = regular ? fopen(path, "rb") : NULL;
    if (there && !regular) failure_set(failure, STATUS_INPUT, "not a regular file");
    else if (!file) failure_set(failure, failure_status(errno), "it cannot be read: %s", strerror(errno));
    else if (!info.st_size) failure_set(failure, STATUS_INPUT, "the file is empty");
    else if (info.st_size > INT32_MAX)
        failure_set(failure, STATUS_INPUT,
                    "it has over 2 GiB, the most a protobuf file can have; keep large weights in an external data file");
    else if (!(bytes = malloc((size_t)info.st_size)))
        failure_set(failure, STATUS_SYSTEM, "it needs %" PRId64 " bytes of memory, which are not there", (int64_t)info.st_size);
    else if (fread(bytes, 1, (size_t)info.st_size, file) != (size_t)info.st_size) {
        failure_set(failure, STATUS_INPUT, "it cannot be read to its end");
        free(bytes);
        bytes = NULL;
    }
    *size = (size_t)info.st_size;
    if (file) fclose(file);
    return bytes;
}

static const char *plain_domain(const char *domain) {
    return strcmp(domain, "ai.onnx") ? domain : "";
}

/* The version of an operator set; 1 where the file does not import it, 0 for ai.onnx. */
static int64_t opset_of(const Onnx__Model *model, const char *domain) {
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (!strcmp(plain_domain(model->opset_import[i]->domain), domain)) return model->opset_import[i]->version;
    return *domain ? 1 : 0;
}

static bool check_header(struct loader *l) {
    const Onnx__Model *m = l->model;
    if (!m->graph || (!m->ir_version && !m->n_opset_import)) return FAIL(l, "is not an ONNX model: it holds no graph");
    if (m->ir_version < FIRST_IR) return FAIL(l, "has ONNX IR version %" PRId64 "; 3 and later can be read", m->ir_version);
    if (m->n_opset_import > ONNX_MOST_IMPORTS)
        return FAIL(l, "imports %zu operator sets (opset_import); %d are the most", m->n_opset_import, ONNX_MOST_IMPORTS);
    l->graph->ir_version = m->ir_version;
    l->graph->producer = onnx_text(l->graph, "%s%s%s", m->producer_name, *m->producer_version ? " " : "", m->producer_version);
    return true;
}

/* After functions have been expanded: their nodes count too. */
static bool check_opset(struct loader *l) {
    const Onnx__Model *m = l->model;
    bool needed = false;
    for (size_t i = 0; i < m->graph->n_node; i++) needed = needed || !*plain_domain(m->graph->node[i]->domain);
    int64_t opset = opset_of(m, "");
    if (needed && !opset) return FAIL(l, "does not say which opset of ai.onnx it uses (opset_import)");
    if (opset && (opset < FIRST_OPSET || opset > LAST_OPSET))
        return FAIL(l,
                    "uses opset %" PRId64 " of ai.onnx, and %d to %d are read: export it with opset_version=%d, or let "
                    "onnx.version_converter.convert_version(model, %d) change it",
                    opset, FIRST_OPSET, LAST_OPSET, opset < FIRST_OPSET ? USUAL_OPSET : LAST_OPSET,
                    opset < FIRST_OPSET ? USUAL_OPSET : LAST_OPSET);
    l->graph->opset = (int)opset;
    return true;
}

/* What a file says of a value's type and shape; dimensions that are named or left out become -1. */
static bool declare(struct loader *l, struct onnx_value *value, const Onnx__ValueInfo *info) {
    struct onnx_declared *declared = onnx_declared(value);
    const Onnx__TensorType *type = info->type ? info->type->tensor_type : NULL;
    if (!type) return true;
    declared->type = type->elem_type > 0 && type->elem_type < 64 ? (enum onnx_type)type->elem_type : ONNX_UNKNOWN;
    if (!type->shape) return true;
    if (type->shape->n_dim > ONNX_MAX_RANK) {
        if (value->is_input)
            return FAIL(l, "input '%s' has %zu dimensions; %d are the most", value->name, type->shape->n_dim, ONNX_MAX_RANK);
        return true;
    }
    declared->shape.rank = (int)type->shape->n_dim;
    for (size_t i = 0; i < type->shape->n_dim; i++) {
        const Onnx__Dimension *dim = type->shape->dim[i];
        declared->shape.dims[i] = dim->dim_value > 0 ? dim->dim_value : -1;
        declared->symbols[i] = dim->dim_value <= 0 && *dim->dim_param ? dim->dim_param : NULL;
    }
    return true;
}

bool onnx_load_constant(struct onnx_graph *graph, struct onnx_value *value, const Onnx__Tensor *from, struct failure *failure) {
    struct onnx_declared *declared = onnx_declared(value);
    value->constant = onnx_read_tensor(graph, from, graph->memory->folder, &declared->unreadable, failure);
    if (!value->constant) return declared->unreadable != NULL;
    value->type = value->constant->type;
    value->shape = value->constant->shape;
    return true;
}

static bool load_initializers(struct loader *l) {
    const Onnx__Graph *g = l->model->graph;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__Tensor *tensor = g->initializer[i];
        if (!*tensor->name) return FAIL(l, "initializer %zu has no name", i);
        struct onnx_value *value = onnx_named(l->graph, tensor->name);
        if (value->constant || onnx_declared(value)->unreadable) return FAIL(l, "there are two initializers named '%s'", tensor->name);
        if (!onnx_load_constant(l->graph, value, tensor, l->failure)) return false;
    }
    for (size_t i = 0; i < g->n_sparse_initializer; i++) {
        const Onnx__Tensor *values = g->sparse_initializer[i]->values;
        if (values && *values->name)
            onnx_declared(onnx_named(l->graph, values->name))->unreadable = "is a sparse tensor, which is not read";
    }
    return true;
}

static bool load_inputs(struct loader *l) {
    const Onnx__Graph *g = l->model->graph;
    l->graph->inputs = onnx_alloc(l->graph, (g->n_input + 1) * sizeof(void *));
    for (size_t i = 0; i < g->n_input; i++) {
        if (!*g->input[i]->name) return FAIL(l, "graph input %zu has no name", i);
        struct onnx_value *value = onnx_named(l->graph, g->input[i]->name);
        if (value->constant || onnx_declared(value)->unreadable)
            continue; /* an initializer that is also listed as an input, as IR version 3 demands */
        if (value->is_input) return FAIL(l, "there are two graph inputs named '%s'", value->name);
        value->is_input = true;
        if (!declare(l, value, g->input[i])) return false;
        value->type = onnx_declared(value)->type;
        value->shape = onnx_declared(value)->shape;
        l->graph->inputs[l->graph->input_count++] = value;
    }
    return true;
}

/* Old files leave the type out; it follows from the field that is filled, or where none is from the name. */
static int attribute_type(const struct onnx_node *node, const Onnx__Attribute *a) {
    if (a->type) return a->type;
    int known = onnx_attribute_type(node, a->name);
    return a->t             ? 4
           : a->g.len       ? ONNX_GRAPH_ATTRIBUTE
           : a->n_ints      ? 7
           : a->n_floats    ? 6
           : a->n_strings   ? 8
           : a->s.len       ? 3
           : a->f != 0      ? 1
           : a->i || !known ? 2
                            : known;
}

static const char *bytes_text(struct onnx_graph *graph, const ProtobufCBinaryData *bytes) {
    char *text = onnx_alloc(graph, bytes->len + 1);
    if (bytes->len) memcpy(text, bytes->data, bytes->len);
    return text;
}

static bool load_attribute(struct loader *l, const struct onnx_node *node, const Onnx__Attribute *from, struct onnx_attribute *a) {
    *a = (struct onnx_attribute){.name = from->name, .type = attribute_type(node, from), .f = from->f, .i = from->i, .s = ""};
    switch (a->type) {
    case 3: a->s = bytes_text(l->graph, &from->s); break;
    case 4:
        if (from->t) {
            const char *unreadable = NULL;
            a->t = onnx_read_tensor(l->graph, from->t, l->graph->memory->folder, &unreadable, l->failure);
            if (!a->t && !unreadable) {
                char inner[256];
                snprintf(inner, sizeof inner, "%.255s", l->failure->text);
                return FAIL(l, "node '%s', attribute '%s': %s", node->name, a->name, inner);
            }
        }
        break;
    case ONNX_GRAPH_ATTRIBUTE: a->body = onnx_read_body(l->graph, from->g.data, from->g.len, l->around); break;
    case 6: a->count = from->n_floats, a->floats = from->floats; break;
    case 7: a->count = from->n_ints, a->ints = from->ints; break;
    case 8: {
        const char **strings = onnx_alloc(l->graph, from->n_strings * sizeof *strings);
        for (size_t i = 0; i < from->n_strings; i++) strings[i] = bytes_text(l->graph, &from->strings[i]);
        a->count = from->n_strings, a->strings = strings;
        break;
    }
    default: break; /* numbers are copied already; lists of graphs are left to whoever refuses the node */
    }
    return true;
}

/* Empty names are optional inputs that are not there; those at the end are cut off. Outputs are all kept: Split counts them. */
static size_t named_count(size_t count, char *const *names) {
    while (count && !*names[count - 1]) count--;
    return count;
}

/* A first output that has no name gets one, so that every node has that output. Nobody reads it. */
static const char *first_name(struct onnx_graph *graph, const struct onnx_node *node) {
    static const char format[] = "(first output of %s)";
    const size_t size = strlen(node->name) + sizeof format;
    char *name = onnx_alloc(graph, size);
    snprintf(name, size, format, node->name);
    return name;
}

static bool load_outputs_of(struct loader *l, struct onnx_node *node, const Onnx__Node *from) {
    for (int i = 0; i < node->output_count; i++) {
        if (i && !*from->output[i]) continue;
        struct onnx_value *value = onnx_named(l->graph, *from->output[i] ? from->output[i] : first_name(l->graph, node));
        if (value->producer)
            return FAIL(l, "value '%s' is made twice: by node '%s' and by node '%s'", value->name, value->producer->name, node->name);
        if (value->is_input || value->constant || onnx_declared(value)->unreadable)
            return FAIL(l, "node '%s' writes '%s', which is %s", node->name, value->name, value->is_input ? "a graph input" : "a constant");
        value->producer = node;
        node->outputs[i] = value;
    }
    return true;
}

static bool load_node(struct loader *l, struct onnx_node *node, const Onnx__Node *from, size_t number) {
    struct onnx_graph *graph = l->graph;
    node->op = from->op_type;
    node->domain = plain_domain(from->domain);
    node->rules = onnx_operator_find(node->domain, node->op);
    node->name = *from->name ? from->name : onnx_text(graph, "%s_%zu", *from->op_type ? from->op_type : "node", number);
    if (!*node->op) return FAIL(l, "node %zu ('%s') does not say which operator it is", number, node->name);
    int64_t opset = opset_of(l->model, node->domain);
    node->opset = opset < 0 || opset > INT32_MAX ? 0 : (int)opset;
    size_t inputs = named_count(from->n_input, from->input), outputs = from->n_output;
    if (inputs > INT32_MAX || outputs > INT32_MAX) return FAIL(l, "node '%s' has too many inputs or outputs", node->name);
    node->input_count = (int)inputs;
    node->output_count = (int)outputs;
    node->inputs = onnx_alloc(graph, inputs * sizeof(void *));
    node->outputs = onnx_alloc(graph, outputs * sizeof(void *));
    for (size_t i = 0; i < inputs; i++) node->inputs[i] = *from->input[i] ? onnx_named(graph, from->input[i]) : NULL;
    node->attributes = onnx_alloc(graph, from->n_attribute * sizeof *node->attributes);
    for (size_t i = 0; i < from->n_attribute; i++) {
        if (!strcmp(from->attribute[i]->name, ONNX_EXACT_MARK)) continue; /* the passes', of what they have shown: no file's word counts */
        if (!load_attribute(l, node, from->attribute[i], &node->attributes[node->attribute_count++])) return false;
    }
    for (size_t i = 0; i < node->attribute_count; i++) onnx_body_inputs(&node->attributes[i], node->input_count);
    return load_outputs_of(l, node, from);
}

bool onnx_load_node(struct onnx_graph *graph, struct onnx_node *node, const Onnx__Node *from, size_t number,
                    const struct onnx_scope *around, struct failure *failure) {
    struct loader l = {graph, graph->memory->model, around, failure};
    return load_node(&l, node, from, number);
}

static bool load_nodes(struct loader *l) {
    const Onnx__Graph *g = l->model->graph;
    l->graph->nodes = onnx_alloc(l->graph, (g->n_node + 1) * sizeof(void *));
    for (size_t i = 0; i < g->n_node; i++) {
        struct onnx_node *node = onnx_alloc(l->graph, sizeof *node);
        if (!load_node(l, node, g->node[i], i)) return false;
        l->graph->nodes[l->graph->node_count++] = node;
    }
    return true;
}

bool onnx_has_source(const struct onnx_value *value) {
    return value->producer || value->is_input || value->constant || ((const struct onnx_declared *)value)->unreadable;
}

static bool check_sources(struct loader *l) {
    for (size_t n = 0; n < l->graph->node_count; n++) {
        const struct onnx_node *node = l->graph->nodes[n];
        for (int i = 0; i < node->input_count; i++)
            if (node->inputs[i] && !onnx_has_source(node->inputs[i]))
                return FAIL(l, "node '%s' (%s) reads '%s', which no node makes and which is no input", node->name, node->op,
                            node->inputs[i]->name);
    }
    return true;
}

static bool load_outputs(struct loader *l) {
    const Onnx__Graph *g = l->model->graph;
    if (!g->n_output) return FAIL(l, "the graph has no outputs");
    l->graph->outputs = onnx_alloc(l->graph, g->n_output * sizeof(void *));
    for (size_t i = 0; i < g->n_output; i++) {
        struct onnx_value *value = onnx_find(l->graph, g->output[i]->name);
        if (!value || !onnx_has_source(value)) return FAIL(l, "graph output '%s' is made by no node", g->output[i]->name);
        if (value->is_output) return FAIL(l, "there are two graph outputs named '%s'", value->name);
        value->is_output = true;
        if (!value->is_input && !declare(l, value, g->output[i])) return false;
        l->graph->outputs[l->graph->output_count++] = value;
    }
    for (size_t i = 0; i < g->n_value_info; i++) {
        struct onnx_value *value = onnx_find(l->graph, g->value_info[i]->name);
        if (value && !value->is_input && !value->is_output && !declare(l, value, g->value_info[i])) return false;
    }
    return true;
}

/* "folder/net.onnx": the folder with its slash, and the name without folder and ending. */
static void split_path(struct loader *l, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    int length = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    l->graph->name = onnx_text(l->graph, "%.*s", length, name);
    l->graph->memory->folder = slash ? onnx_text(l->graph, "%.*s", (int)(slash - path + 1), path) : "./";
}

/* protobuf-c gives NULL for a damaged message and for want of memory alike. */
static void *take(void *lacking, size_t size) {
    void *memory = malloc(size);
    if (!memory) *(size_t *)lacking = size;
    return memory;
}

static void give(void *lacking, void *memory) {
    (void)lacking;
    free(memory);
}

static Onnx__Model *unpack(const uint8_t *bytes, size_t size, struct failure *failure) {
    size_t lacking = 0;
    ProtobufCAllocator allocator = {take, give, &lacking};
    Onnx__Model *model = onnx__model__unpack(&allocator, size, bytes);
    if (lacking) failure_memory(failure, lacking);
    else if (!model) failure_set(failure, STATUS_INPUT, "not an ONNX model, or a damaged one: its protobuf message cannot be read");
    return model;
}

struct onnx_graph *onnx_load(const char *path, struct failure *failure) {
    size_t size = 0;
    uint8_t *bytes = read_file(path, &size, failure);
    if (!bytes) return NULL;
    uint64_t taken;
    bool sound = onnx_check_message(bytes, size, &taken, failure);
    Onnx__Model *model = sound ? unpack(bytes, size, failure) : NULL;
    free(bytes);
    if (!model) return NULL;
    struct onnx_graph *graph = onnx_new_graph(model);
    struct loader l = {graph, model, NULL, failure};
    split_path(&l, path);
    if (check_header(&l) && onnx_inline_functions(model, failure) && check_opset(&l) && load_initializers(&l) && load_inputs(&l) &&
        load_nodes(&l) && load_outputs(&l) && check_sources(&l)) {
        onnx_read_flow(graph);
        return graph;
    }
    onnx_free(graph);
    return NULL;
}
