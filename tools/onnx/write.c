/* SPDX-License-Identifier: MIT */
/* A graph as protobuf messages, packed. The messages point into the graph; they live in an empty graph's memory until they are packed. */
#include "tools/onnx/write.h"
#include "tools/onnx/operator.h"
#include "tools/onnx/internal.h"
#include "tools/onnx/operator.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_IR = 4 };

struct writer {
    const struct onnx_graph *from;
    struct onnx_graph *room;
    struct failure *failure;
};

#define FAIL(w, ...) failure_set((w)->failure, STATUS_INPUT, __VA_ARGS__)

/* Messages hold plain pointers, but are only read here. */
static char *plain(const char *text) {
    return (char *)(uintptr_t)text;
}

static void *list_of(struct writer *w, size_t count) {
    return onnx_alloc(w->room, count * sizeof(void *));
}

static Onnx__Tensor *tensor_message(struct writer *w, const char *name, const struct onnx_tensor *from) {
    Onnx__Tensor *t = onnx_alloc(w->room, sizeof *t);
    onnx__tensor__init(t);
    t->name = plain(name);
    t->data_type = (int32_t)from->type;
    t->n_dims = (size_t)from->shape.rank;
    t->dims = onnx_alloc(w->room, t->n_dims * sizeof *t->dims);
    for (size_t i = 0; i < t->n_dims; i++) t->dims[i] = from->shape.dims[i];
    t->raw_data.len = from->count * onnx_type_bytes(from->type);
    t->raw_data.data = from->data;
    return t;
}

static Onnx__ValueInfo *value_message(struct writer *w, const struct onnx_value *value) {
    Onnx__ValueInfo *info = onnx_alloc(w->room, sizeof *info);
    Onnx__Type *type = onnx_alloc(w->room, sizeof *type);
    Onnx__TensorType *tensor = onnx_alloc(w->room, sizeof *tensor);
    onnx__value_info__init(info);
    onnx__type__init(type);
    onnx__tensor_type__init(tensor);
    info->name = plain(value->name);
    info->type = type;
    type->tensor_type = tensor;
    tensor->elem_type = (int32_t)value->type;
    if (value->shape.rank < 0) return info;
    Onnx__Shape *shape = tensor->shape = onnx_alloc(w->room, sizeof *shape);
    onnx__shape__init(shape);
    shape->n_dim = (size_t)value->shape.rank;
    shape->dim = list_of(w, shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) {
        Onnx__Dimension *dim = shape->dim[i] = onnx_alloc(w->room, sizeof *dim);
        const char *symbol = ((const struct onnx_declared *)value)->symbols[i];
        onnx__dimension__init(dim);
        if (value->shape.dims[i] >= 0) dim->dim_value = value->shape.dims[i];
        else if (symbol) dim->dim_param = plain(symbol);
    }
    return info;
}

static ProtobufCBinaryData text_bytes(const char *text) {
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)plain(text)};
}

/* NULL: its contents were not read. */
static Onnx__Attribute *attribute_message(struct writer *w, const struct onnx_attribute *from) {
    Onnx__Attribute *a = onnx_alloc(w->room, sizeof *a);
    onnx__attribute__init(a);
    a->name = plain(from->name);
    a->type = from->type;
    switch (from->type) {
    case 1: a->f = from->f; return a;
    case 2: a->i = from->i; return a;
    case 3: a->s = text_bytes(from->s); return a;
    case 4: a->t = from->t ? tensor_message(w, "", from->t) : NULL; return from->t ? a : NULL;
    case 6: a->n_floats = from->count, a->floats = (float *)(uintptr_t)from->floats; return a;
    case 7: a->n_ints = from->count, a->ints = (int64_t *)(uintptr_t)from->ints; return a;
    case 8:
        a->n_strings = from->count;
        a->strings = onnx_alloc(w->room, from->count * sizeof *a->strings);
        for (size_t i = 0; i < from->count; i++) a->strings[i] = text_bytes(from->strings[i]);
        return a;
    default: return NULL;
    }
}

static char **name_list(struct writer *w, struct onnx_value *const *values, int count) {
    char **names = list_of(w, (size_t)count);
    for (int i = 0; i < count; i++) names[i] = values[i] ? plain(values[i]->name) : plain("");
    return names;
}

static Onnx__Node *node_message(struct writer *w, const struct onnx_node *from) {
    Onnx__Node *node = onnx_alloc(w->room, sizeof *node);
    onnx__node__init(node);
    node->name = plain(from->name);
    const bool own = !strcmp(from->domain, ONNX_OWN); /* there is a product of that meaning for all but NaN and infinity */
    node->op_type = plain(own ? "Mul" : from->op);
    node->domain = plain(own ? "" : from->domain);
    node->n_input = (size_t)from->input_count;
    node->input = name_list(w, from->inputs, from->input_count);
    node->n_output = (size_t)from->output_count;
    node->output = name_list(w, from->outputs, from->output_count);
    node->attribute = list_of(w, from->attribute_count);
    for (size_t i = 0; i < from->attribute_count; i++) {
        if (!strcmp(from->attributes[i].name, ONNX_EXACT_MARK)) continue;
        if (!(node->attribute[node->n_attribute++] = attribute_message(w, &from->attributes[i]))) {
            FAIL(w, "node '%s' (%s): its attribute '%s' is of a kind that is not read and cannot be written", from->name, from->op,
                 from->attributes[i].name);
            return NULL;
        }
    }
    for (int i = 0; i < from->input_count; i++)
        if (from->inputs[i] && onnx_declared(from->inputs[i])->unreadable) {
            FAIL(w, "node '%s' (%s): its constant '%s' %s (it cannot be written either)", from->name, from->op, from->inputs[i]->name,
                 onnx_declared(from->inputs[i])->unreadable);
            return NULL;
        }
    return node;
}

static bool fill_nodes(struct writer *w, Onnx__Graph *g) {
    g->node = list_of(w, w->from->node_count);
    for (size_t i = 0; i < w->from->node_count; i++)
        if (!w->from->nodes[i]->folded && !(g->node[g->n_node++] = node_message(w, w->from->nodes[i]))) return false;
    return true;
}

static bool worth_telling(const struct onnx_value *value) {
    return value->producer && !value->constant && !value->is_output && !value->is_input && value->type && value->shape.rank >= 0;
}

/* Once, by its name; the graph that lends its memory remembers names as well. */
static void add_initializer(struct writer *w, Onnx__Graph *g, const struct onnx_value *value) {
    if (!value || !value->constant || onnx_find(w->room, value->name)) return;
    onnx_named(w->room, value->name);
    g->initializer[g->n_initializer++] = tensor_message(w, value->name, value->constant);
}

/* Those that are read. */
static void fill_initializers(struct writer *w, Onnx__Graph *g) {
    const struct onnx_graph *from = w->from;
    g->initializer = list_of(w, from->value_count);
    for (size_t i = 0; i < from->node_count; i++)
        for (int k = 0; k < from->nodes[i]->input_count && !from->nodes[i]->folded; k++) add_initializer(w, g, from->nodes[i]->inputs[k]);
    for (size_t i = 0; i < from->output_count; i++) add_initializer(w, g, from->outputs[i]);
}

static void fill_values(struct writer *w, Onnx__Graph *g) {
    const struct onnx_graph *from = w->from;
    g->value_info = list_of(w, from->value_count);
    g->input = list_of(w, from->input_count);
    g->output = list_of(w, from->output_count);
    for (size_t i = 0; i < from->value_count; i++)
        if (worth_telling(from->values[i])) g->value_info[g->n_value_info++] = value_message(w, from->values[i]);
    for (size_t i = 0; i < from->input_count; i++) g->input[g->n_input++] = value_message(w, from->inputs[i]);
    for (size_t i = 0; i < from->output_count; i++) g->output[g->n_output++] = value_message(w, from->outputs[i]);
}

static void need_opset(struct writer *w, Onnx__Model *m, const char *domain, int version) {
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (!strcmp(m->opset_import[i]->domain, domain)) {
            if (m->opset_import[i]->version < version) m->opset_import[i]->version = version;
            return;
        }
    Onnx__OperatorSet *set = m->opset_import[m->n_opset_import++] = onnx_alloc(w->room, sizeof *set);
    onnx__operator_set__init(set);
    set->domain = plain(domain);
    set->version = version;
}

static void fill_opsets(struct writer *w, Onnx__Model *m) {
    m->opset_import = list_of(w, w->from->node_count + 1);
    if (w->from->opset) need_opset(w, m, "", w->from->opset);
    for (size_t i = 0; i < w->from->node_count; i++)
        if (!w->from->nodes[i]->folded && strcmp(w->from->nodes[i]->domain, ONNX_OWN) != 0)
            need_opset(w, m, w->from->nodes[i]->domain, w->from->nodes[i]->opset);
}

static uint8_t *pack(struct writer *w, const Onnx__Model *m, size_t *bytes) {
    *bytes = onnx__model__get_packed_size(m);
    if (*bytes > INT32_MAX) {
        FAIL(w, "takes %zu bytes; a protobuf file can have 2 GiB at most", *bytes);
        return NULL;
    }
    uint8_t *packed = malloc(*bytes + 1);
    if (packed) onnx__model__pack(m, packed);
    else failure_memory(w->failure, *bytes);
    return packed;
}

uint8_t *onnx_write(const struct onnx_graph *graph, size_t *bytes, struct failure *failure) {
    struct writer w = {graph, onnx_new_graph(NULL), failure};
    Onnx__Model model;
    Onnx__Graph body;
    uint8_t *packed = NULL;
    onnx__model__init(&model);
    onnx__graph__init(&body);
    model.ir_version = graph->ir_version < FIRST_IR ? FIRST_IR : graph->ir_version;
    model.producer_name = plain(graph->producer ? graph->producer : "");
    model.graph = &body;
    body.name = plain(graph->name && *graph->name ? graph->name : "graph");
    fill_opsets(&w, &model);
    fill_initializers(&w, &body);
    fill_values(&w, &body);
    if (fill_nodes(&w, &body)) packed = pack(&w, &model, bytes);
    onnx_free(w.room);
    return packed;
}
