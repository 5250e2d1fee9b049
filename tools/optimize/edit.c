/* SPDX-License-Identifier: MIT */
/* Changes to a graph's values and nodes; lists grow in the graph's own memory. */
#include "tools/optimize/edit.h"
#include "tools/onnx/internal.h"
#include "tools/onnx/operator.h"
#include "tools/optimize/notes.h"
#include "tools/optimize/order.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A_FLOAT = 1, A_INT = 2, A_STRING = 3, A_INTS = 7 };

/* NAME, or NAME_2, NAME_3 .. where that is taken; the search begins behind the last that was found. After some of them in doubled steps,
 * and then by halves: there may be 100,000. *numbered: of what has the name; NULL: nothing has. */
static const char *free_name(struct onnx_graph *g, const char *name, unsigned *numbered,
                             unsigned *(*taken)(struct onnx_graph *g, const char *name)) {
    const size_t length = strlen(name), room = 24;
    char *text = onnx_alloc(g, length + room);
    memcpy(text, name, length + 1);
    if (!numbered) return text;
    unsigned low = *numbered ? *numbered : 1, high = low + 1;
    for (; snprintf(text + length, room, "_%u", high), taken(g, text); high += high < 16 ? 1 : high) low = high;
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;
        snprintf(text + length, room, "_%u", middle);
        if (taken(g, text)) low = middle;
        else high = middle;
    }
    snprintf(text + length, room, "_%u", high);
    *numbered = high;
    return text;
}

static unsigned *value_numbered(struct onnx_graph *g, const char *name) {
    struct onnx_value *value = onnx_find(g, name);
    g->memory->names_tried++;
    return value ? &onnx_declared(value)->numbered : NULL;
}

struct onnx_value *edit_value(struct onnx_graph *g, const char *name, enum onnx_type type, const struct onnx_shape *shape) {
    struct onnx_value *value = onnx_named(g, free_name(g, name, value_numbered(g, name), value_numbered));
    value->type = onnx_declared(value)->type = type;
    value->shape = onnx_declared(value)->shape = *shape;
    return value;
}

struct onnx_value *edit_constant(struct onnx_graph *g, const char *name, enum onnx_type type, const struct onnx_shape *shape,
                                 struct onnx_tensor **tensor) {
    struct onnx_value *value = edit_value(g, name, type, shape);
    int64_t count = onnx_elements(shape);
    assert(count >= 0 && onnx_type_bytes(type));
    *tensor = onnx_alloc(g, sizeof **tensor);
    **tensor = (struct onnx_tensor){type, *shape, (size_t)count, onnx_alloc(g, (size_t)count * onnx_type_bytes(type)), 0, 0, 0};
    value->constant = *tensor;
    return value;
}

static const char *free_node_name(struct onnx_graph *g, const char *name, const char *op) {
    const char *own = name ? name : onnx_text(g, "%s_%zu", op, g->node_count);
    unsigned *numbered = edit_node_numbered(g, own);
    if (numbered && !name) numbered = edit_node_numbered(g, own = op);
    const char *text = free_name(g, own, numbered, edit_node_numbered);
    edit_note_node_name(g, text);
    return text;
}

/* Of the graph, or as the first of its nodes of that domain has it: that is asked once. */
static int opset_of(struct onnx_graph *g, const char *domain) {
    if (!*domain) return g->opset;
    struct onnx_domain *known = g->memory->domains;
    while (known && strcmp(known->name, domain)) known = known->next;
    if (known) return known->opset;
    known = onnx_alloc(g, sizeof *known);
    *known = (struct onnx_domain){onnx_copy_text(g, domain), 1, g->memory->domains};
    g->memory->domains = known;
    for (size_t i = 0; i < g->node_count; i++) {
        g->memory->domains_tried++;
        if (strcmp(graph_node_at(g, i)->domain, domain)) continue;
        known->opset = graph_node_at(g, i)->opset;
        break;
    }
    return known->opset;
}

static struct onnx_value **copy_values(struct onnx_graph *g, struct onnx_value *const *values, int count) {
    struct onnx_value **copy = onnx_alloc(g, (size_t)count * sizeof(void *));
    for (int i = 0; i < count; i++) copy[i] = values[i];
    return copy;
}

struct onnx_node *edit_node(struct onnx_graph *g, const struct onnx_node *before, const char *op, const char *domain, const char *name,
                            struct onnx_value *const *inputs, int input_count, struct onnx_value *const *outputs, int output_count) {
    struct onnx_node *node = onnx_alloc(g, sizeof *node);
    *node = (struct onnx_node){.name = free_node_name(g, name, op),
                               .op = onnx_copy_text(g, op),
                               .domain = onnx_copy_text(g, domain),
                               .rules = onnx_operator_find(domain, op),
                               .opset = opset_of(g, domain),
                               .input_count = input_count,
                               .output_count = output_count};
    node->inputs = copy_values(g, inputs, input_count);
    node->outputs = copy_values(g, outputs, output_count);
    node->attributes = onnx_alloc(g, 1);
    edit_order_insert(g, before, node);
    for (int i = 0; i < input_count; i++)
        if (inputs[i]) {
            inputs[i]->uses++;
            edit_note_read(g, node, i);
        }
    for (int i = 0; i < output_count; i++)
        if (outputs[i]) {
            assert(!outputs[i]->producer && !outputs[i]->constant && !outputs[i]->is_input);
            outputs[i]->producer = node;
        }
    return node;
}

/* A folded node's inputs do not count as read. */
static void count_use(const struct onnx_node *node, struct onnx_value *value, int change) {
    if (value && !node->folded) value->uses += change;
}

void edit_set_input(struct onnx_graph *g, struct onnx_node *node, int i, struct onnx_value *value) {
    assert(i >= 0);
    if (i >= node->input_count) {
        struct onnx_value **inputs = onnx_alloc(g, ((size_t)i + 1) * sizeof(void *));
        if (node->input_count) memcpy(inputs, node->inputs, (size_t)node->input_count * sizeof(void *));
        node->inputs = inputs;
        node->input_count = i + 1;
    }
    count_use(node, node->inputs[i], -1);
    count_use(node, value, 1);
    node->inputs[i] = value;
    edit_note_read(g, node, i);
    while (node->input_count && !node->inputs[node->input_count - 1]) node->input_count--;
}

void edit_become(struct onnx_graph *g, struct onnx_node *node, const char *op, const char *domain, struct onnx_value *const *inputs,
                 int input_count) {
    struct onnx_value **list = copy_values(g, inputs, input_count);
    for (int i = 0; i < input_count; i++) count_use(node, list[i], 1);
    for (int i = 0; i < node->input_count; i++) count_use(node, node->inputs[i], -1);
    node->inputs = list;
    node->input_count = input_count;
    for (int i = 0; i < input_count; i++) edit_note_read(g, node, i);
    if (strcmp(node->domain, domain)) node->opset = opset_of(g, domain);
    node->op = onnx_copy_text(g, op);
    node->domain = onnx_copy_text(g, domain);
    node->rules = onnx_operator_find(domain, op);
    const int64_t mark = onnx_attribute_int(node, ONNX_EXACT_MARK, 0);
    node->attribute_count = 0;
    if (mark) edit_attribute_int(g, node, ONNX_EXACT_MARK, mark);
}

/* Where an output stands; who asks for one, asks for many. */
static size_t place_of_output(struct onnx_graph *g, const struct onnx_value *value) {
    const size_t *place = &((const struct onnx_declared *)value)->output;
    if (*place < g->output_count && g->outputs[*place] == value) return *place;
    for (size_t i = 0; i < g->output_count; i++) onnx_declared(g->outputs[i])->output = i;
    g->memory->outputs_tried += g->output_count;
    assert(g->outputs[*place] == value);
    return *place;
}

void edit_replace_output(struct onnx_graph *g, struct onnx_value *from, struct onnx_value *to) {
    const size_t place = place_of_output(g, from);
    g->outputs[place] = to;
    onnx_declared(to)->output = place;
    from->is_output = false;
    to->is_output = true;
    from->uses--;
    to->uses++;
}

bool edit_replace_uses(struct onnx_graph *g, struct onnx_value *from, struct onnx_value *to, bool outputs) {
    if (from == to) return true;
    if (outputs && from->is_output && (from->is_input || to->is_input || to->is_output)) return false;
    int input;
    for (struct onnx_node *node; (node = edit_pop_reader(g, from, &input));)
        if (!node->removed && onnx_input(node, input) == from) edit_set_input(g, node, input, to);
    if (outputs && from->is_output) {
        edit_replace_output(g, from, to);
        onnx_exchange_names(g, from, to);
    }
    return true;
}

void edit_remove_node(struct onnx_graph *g, struct onnx_node *node) {
    assert(!node->removed);
    for (int i = 0; i < node->input_count; i++) count_use(node, node->inputs[i], -1);
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) {
            assert(!node->outputs[i]->uses || node->outputs[i]->constant);
            node->outputs[i]->producer = NULL;
        }
    edit_order_remove(g, node);
    node->removed = true;
}

/* The attribute of that name, emptied, or a new one. The list is copied: another graph may share it. */
static struct onnx_attribute *attribute_for(struct onnx_graph *g, struct onnx_node *node, const char *name, int type) {
    struct onnx_attribute *list = onnx_alloc(g, (node->attribute_count + 1) * sizeof *list);
    size_t at = 0;
    if (node->attribute_count) memcpy(list, node->attributes, node->attribute_count * sizeof *list);
    while (at < node->attribute_count && strcmp(list[at].name, name)) at++;
    node->attribute_count += at == node->attribute_count;
    node->attributes = list;
    list[at] = (struct onnx_attribute){.name = onnx_copy_text(g, name), .type = type, .s = ""};
    return &list[at];
}

void edit_attribute_int(struct onnx_graph *g, struct onnx_node *node, const char *name, int64_t value) {
    attribute_for(g, node, name, A_INT)->i = value;
}

void edit_attribute_float(struct onnx_graph *g, struct onnx_node *node, const char *name, float value) {
    attribute_for(g, node, name, A_FLOAT)->f = value;
}

void edit_attribute_string(struct onnx_graph *g, struct onnx_node *node, const char *name, const char *text) {
    attribute_for(g, node, name, A_STRING)->s = onnx_copy_text(g, text);
}

void edit_attribute_ints(struct onnx_graph *g, struct onnx_node *node, const char *name, const int64_t *values, size_t count) {
    int64_t *ints = onnx_alloc(g, count * sizeof *ints);
    if (count) memcpy(ints, values, count * sizeof *ints);
    struct onnx_attribute *a = attribute_for(g, node, name, A_INTS);
    a->ints = ints;
    a->count = count;
}

void edit_attribute_drop(struct onnx_node *node, const char *name) {
    size_t kept = 0;
    for (size_t i = 0; i < node->attribute_count; i++)
        if (strcmp(node->attributes[i].name, name)) node->attributes[kept++] = node->attributes[i];
    node->attribute_count = kept;
}

/* Producers are the nodes that are still there; a constant has none. */
static void find_producers(struct onnx_graph *g) {
    for (size_t i = 0; i < g->value_count; i++) g->values[i]->producer = NULL;
    for (size_t i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->output_count; k++)
            if (g->nodes[i]->outputs[k]) g->nodes[i]->outputs[k]->producer = g->nodes[i];
}

static void drop_folded(struct onnx_graph *g) {
    size_t kept = 0;
    for (size_t i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->folded) g->nodes[kept++] = g->nodes[i];
    g->node_count = kept;
}

static bool still_there(const struct onnx_value *value) {
    return value->uses || value->producer || value->is_input || value->is_output;
}

void edit_clean(struct onnx_graph *g) {
    struct failure failure;
    edit_settle(g);
    edit_forget(g);
    drop_folded(g);
    find_producers(g);
    if (!onnx_sort(g, &failure)) {
        fprintf(stderr, "morsel: a change to the network went wrong: %s\n", failure.text);
        abort();
    }
    onnx_prune(g);
    drop_folded(g);
    find_producers(g);
    onnx_keep_values(g, still_there);
}

int edit_readers(const struct onnx_graph *g, const struct onnx_value *value, struct onnx_node **list, int most) {
    int count = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = graph_node_at(g, i);
        bool reads = false;
        for (int k = 0; k < node->input_count && !node->folded; k++) reads = reads || node->inputs[k] == value;
        if (reads && count < most) list[count] = node;
        count += reads;
    }
    return count;
}
