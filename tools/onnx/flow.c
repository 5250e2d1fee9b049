/* SPDX-License-Identifier: MIT */
/*
 * Control flow that is known before a run: the nodes of a Loop whose count and conditions are constants stand once for each round, and of
 * an If with a constant condition those of the branch that runs. Values inside get names of their own for each round. A graph inside a
 * node reads values around it by their names: they are inputs of the node behind its own, until its nodes take its place.
 */
#include "tools/onnx/flow.h"
#include "tools/onnx/operator.h"

#include <string.h>

enum { MOST_DEEP = 6, MOST_WORK = 1 << 17, BYTES_OF_WORK = 64, OPSET = 13 /* of nodes that are put in */ };
enum { MOST_BYTES = 128 << 20 }; /* of the names and attributes of what is put in: each round has its own */
#define AXIS "/(axis)"

/* A graph inside a node. Its locals are its inputs, initializers and what its nodes make, numbered in this order. */
struct onnx_body {
    const Onnx__Graph *graph;
    struct onnx_name *locals;
    size_t local_count;
    const struct onnx_scope *around;
    int own_inputs; /* of the node: those behind are read inside */
};

/* Its names while its nodes are put in. */
struct onnx_scope {
    const struct onnx_body *body;
    const struct onnx_scope *around;
    const char *own;              /* the node's name, or one like it where others have that */
    const char *before;           /* what all names begin with: nothing, unless one of them is there already */
    const char *constants, *made; /* what names of initializers and of values end with: the rounds around it, and its own */
    const char **inputs;          /* what its inputs are called */
    int deep;
};

static bool pay(struct onnx_graph *g, size_t work) {
    return onnx_pays(&g->memory->flow_work, work, MOST_WORK);
}

/* --- Reading --- */

static void *take(void *graph, size_t size) {
    return onnx_alloc(graph, size ? size : 1);
}

static void give(void *graph, void *memory) {
    (void)graph, (void)memory; /* it goes with the graph */
}

struct onnx_body *onnx_read_body(struct onnx_graph *g, const uint8_t *bytes, size_t size, const struct onnx_scope *around) {
    ProtobufCAllocator allocator = {take, give, g};
    struct failure ignored;
    if ((around && around->deep >= MOST_DEEP) || !pay(g, 1 + size / BYTES_OF_WORK)) return NULL;
    if (!onnx_check_body(bytes, size, &g->memory->flow_bytes, &ignored)) return NULL;
    const Onnx__Graph *graph = onnx__graph__unpack(&allocator, size, bytes);
    if (!graph) return NULL;
    struct onnx_body *body = onnx_alloc(g, sizeof *body);
    size_t count = graph->n_input + graph->n_initializer, n = 0;
    for (size_t i = 0; i < graph->n_node; i++) count += graph->node[i]->n_output;
    *body = (struct onnx_body){graph, onnx_alloc(g, (count + 1) * sizeof *body->locals), 0, around, 0};
    for (size_t i = 0; i < graph->n_input; i++, n++) body->locals[n] = (struct onnx_name){graph->input[i]->name, n};
    for (size_t i = 0; i < graph->n_initializer; i++, n++) body->locals[n] = (struct onnx_name){graph->initializer[i]->name, n};
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++, n++) body->locals[n] = (struct onnx_name){graph->node[i]->output[k], n};
    body->local_count = onnx_sort_names(body->locals, n);
    return body;
}

void onnx_body_inputs(struct onnx_attribute *attribute, int count) {
    if (attribute->body) attribute->body->own_inputs = count;
}

static const struct onnx_name *local(const struct onnx_body *body, const char *name) {
    return onnx_find_name(body->locals, body->local_count, name);
}

/* --- What is read of the values around --- */

struct captures {
    struct onnx_graph *graph;
    struct onnx_value **values;
    size_t count, room;
    bool lacking; /* something that is not there */
};

static bool is_inside(const struct onnx_scope *s, const char *name) {
    while (s && !local(s->body, name)) s = s->around;
    return s != NULL;
}

static void capture(struct captures *c, const struct onnx_scope *inside, const char *name) {
    if (!*name || is_inside(inside, name)) return;
    struct onnx_value *value = onnx_find(c->graph, name);
    c->lacking = c->lacking || !value || !onnx_has_source(value);
    for (size_t i = 0; i < c->count; i++)
        if (c->values[i] == value) return;
    if (c->lacking || !pay(c->graph, 1 + c->count / BYTES_OF_WORK)) {
        c->lacking = true;
        return;
    }
    if (c->count == c->room) {
        struct onnx_value **more = onnx_alloc(c->graph, (c->room = 2 * c->room + 16) * sizeof *more);
        if (c->count) memcpy(more, c->values, c->count * sizeof *more);
        c->values = more;
    }
    c->values[c->count++] = value;
}

static void capture_body(struct captures *c, const struct onnx_body *body, const struct onnx_scope *around) {
    const struct onnx_scope inside = {.body = body, .around = around, .deep = around ? around->deep + 1 : 1};
    const Onnx__Graph *graph = body->graph;
    for (size_t i = 0; i < graph->n_output; i++) capture(c, &inside, graph->output[i]->name);
    for (size_t i = 0; i < graph->n_node && !c->lacking; i++) {
        const Onnx__Node *node = graph->node[i];
        for (size_t k = 0; k < node->n_input; k++) capture(c, &inside, node->input[k]);
        for (size_t k = 0; k < node->n_attribute; k++) {
            const ProtobufCBinaryData *g = &node->attribute[k]->g;
            const struct onnx_body *inner = g->len ? onnx_read_body(c->graph, g->data, g->len, &inside) : NULL;
            if (inner) capture_body(c, inner, &inside);
            c->lacking = c->lacking || (g->len && !inner);
        }
    }
}

/* The node reads what its graphs read; where one of them cannot be told, it stays what is refused. */
static void capture_all(struct onnx_graph *g, struct onnx_node *node) {
    struct captures c = {.graph = g};
    bool any = false;
    for (size_t i = 0; i < node->attribute_count; i++) {
        if (node->attributes[i].type != ONNX_GRAPH_ATTRIBUTE) continue;
        c.lacking = c.lacking || !node->attributes[i].body;
        if (!c.lacking) capture_body(&c, node->attributes[i].body, NULL);
        any = true;
    }
    if (!any) return;
    const int own = node->input_count;
    struct onnx_value **inputs = onnx_alloc(g, ((size_t)own + c.count + 1) * sizeof *inputs);
    if (own) memcpy(inputs, node->inputs, (size_t)own * sizeof *inputs);
    if (c.count) memcpy(inputs + own, c.values, c.count * sizeof *inputs);
    for (size_t i = 0; i < node->attribute_count; i++) {
        struct onnx_attribute *a = &node->attributes[i];
        if (a->body) a->body->own_inputs = own;
        if (c.lacking) a->body = NULL;
    }
    if (c.lacking) return;
    node->inputs = inputs;
    node->input_count = own + (int)c.count;
}

void onnx_read_flow(struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->node_count; i++) capture_all(graph, graph->nodes[i]);
}

/* --- Putting nodes in --- */

struct flow {
    struct onnx_graph *graph;
    struct onnx_report *report; /* nobody reads it: inference tells again */
    struct onnx_node **nodes;
    size_t count, room;
    size_t alike;         /* nodes whose names others have */
    size_t before, apart; /* bytes of the graph's memory: that it had, and those of what others bound, folding and files */
    struct failure failure;
};

static size_t bytes(const struct flow *f) {
    return f->graph->memory->arena.taken;
}

/* What is too large once is not tried again. */
static bool has_room(struct flow *f) {
    if (bytes(f) - f->before - f->apart <= MOST_BYTES) return true;
    f->graph->memory->flow_work = MOST_WORK;
    return false;
}

static bool expand(struct flow *f, struct onnx_node *node, const struct onnx_scope *around);

static struct onnx_body *body_of(const struct onnx_node *node, const char *name) {
    const struct onnx_attribute *a = onnx_attribute(node, name);
    return a ? a->body : NULL;
}

static bool is_flow(const struct onnx_node *node) {
    return !*node->domain && (body_of(node, "body") || body_of(node, "then_branch"));
}

static void append(struct flow *f, struct onnx_node *node) {
    if (f->count == f->room) {
        struct onnx_node **more = onnx_alloc(f->graph, (f->room = 2 * f->room + 64) * sizeof *more);
        if (f->count) memcpy(more, f->nodes, f->count * sizeof *more);
        f->nodes = more;
    }
    f->nodes[f->count++] = node;
    const size_t before = bytes(f);
    onnx_infer_node(f->graph, node, f->report);
    f->apart += bytes(f) - before;
}

static const char *outside(struct onnx_graph *g, const struct onnx_scope *s, const char *name) {
    for (; s && *name; s = s->around) {
        const struct onnx_name *found = local(s->body, name);
        if (found && found->number < s->body->graph->n_input) return s->inputs[found->number];
        if (found)
            return onnx_text(g, "%s%s%s", s->before, name,
                             found->number < s->body->graph->n_input + s->body->graph->n_initializer ? s->constants : s->made);
    }
    return name;
}

static char **outside_names(struct onnx_graph *g, const struct onnx_scope *s, char **names, size_t count) {
    char **list = onnx_alloc(g, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) list[i] = (char *)outside(g, s, names[i]);
    return list;
}

static bool put_node(struct flow *f, const struct onnx_scope *s, const Onnx__Node *from, size_t number) {
    struct onnx_node *node = onnx_alloc(f->graph, sizeof *node);
    Onnx__Node renamed = *from;
    renamed.input = outside_names(f->graph, s, from->input, from->n_input);
    renamed.output = outside_names(f->graph, s, from->output, from->n_output);
    renamed.name = onnx_text(f->graph, "%s%s%s", s->before, *from->name ? from->name : from->op_type, s->made);
    if (!has_room(f) || !pay(f->graph, 1 + from->n_input + from->n_output)) return false;
    if (!onnx_load_node(f->graph, node, &renamed, number, s, &f->failure)) return false;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->inside = true;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !onnx_has_source(node->inputs[i])) return false; /* it stands in front of who makes it */
    if (is_flow(node)) return expand(f, node, s);
    append(f, node);
    return true;
}

/* What no name of the file is. */
static struct onnx_value *fresh(struct onnx_graph *g, const char *name) {
    return onnx_find(g, name) ? NULL : onnx_named(g, name);
}

static bool read_constants(struct flow *f, const struct onnx_scope *s) {
    const Onnx__Graph *from = s->body->graph;
    const size_t before = bytes(f);
    for (size_t i = 0; i < from->n_initializer; i++) {
        struct onnx_value *value = fresh(f->graph, onnx_text(f->graph, "%s%s%s", s->before, from->initializer[i]->name, s->constants));
        if (!value || !onnx_load_constant(f->graph, value, from->initializer[i], &f->failure)) return false;
    }
    f->apart += bytes(f) - before;
    return !from->n_sparse_initializer;
}

static bool put_body(struct flow *f, const struct onnx_scope *s) {
    for (size_t i = 0; i < s->body->graph->n_node; i++)
        if (!put_node(f, s, s->body->graph->node[i], i)) return false;
    return true;
}

/* What the body gives as its output i; NULL: nothing. */
static struct onnx_value *result(struct flow *f, const struct onnx_scope *s, size_t i) {
    struct onnx_value *value = onnx_find(f->graph, outside(f->graph, s, s->body->graph->output[i]->name));
    return value && onnx_has_source(value) ? value : NULL;
}

static void put(struct flow *f, const struct onnx_node *of, const char *op, struct onnx_value *const *inputs, size_t count,
                struct onnx_value *y, const char *axis) {
    struct onnx_node *node = onnx_alloc(f->graph, sizeof *node);
    *node = (struct onnx_node){.name = onnx_text(f->graph, "%s/%s", of->name, y->name), .op = op, .domain = "", .opset = OPSET};
    node->rules = onnx_operator_find("", op);
    node->inputs = onnx_alloc(f->graph, count * sizeof *inputs);
    memcpy(node->inputs, inputs, count * sizeof *inputs);
    node->input_count = (int)count;
    node->outputs = onnx_alloc(f->graph, sizeof y);
    node->outputs[0] = y;
    node->output_count = 1;
    y->producer = node;
    node->attributes = onnx_alloc(f->graph, sizeof *node->attributes);
    if (axis) node->attributes[node->attribute_count++] = (struct onnx_attribute){.name = axis, .type = 2, .s = ""};
    append(f, node);
}

static struct onnx_value *put_integer(struct onnx_graph *g, const char *name, enum onnx_type type, int rank, int64_t number) {
    struct onnx_value *value = fresh(g, name);
    struct onnx_tensor *t = onnx_alloc(g, sizeof *t);
    int64_t *data = onnx_alloc(g, sizeof *data);
    if (!value) return NULL;
    if (type == ONNX_BOOL) *(uint8_t *)data = number != 0;
    else *data = number;
    *t = (struct onnx_tensor){.type = type, .shape = {.rank = rank, .dims = {1}}, .count = 1, .data = data};
    value->constant = t;
    value->type = type;
    value->shape = t->shape;
    return value;
}

static const struct onnx_tensor *one_constant(const struct onnx_value *value, enum onnx_type type) {
    const struct onnx_tensor *t = value ? value->constant : NULL;
    return t && t->count == 1 && t->type == type ? t : NULL;
}

static bool is_there(const struct flow *f, const char *name, const char *rounds, const char *end) {
    return onnx_find(f->graph, onnx_text(f->graph, "%s%s%s", name, rounds, end)) != NULL;
}

/* Graphs beside each other may have the same names. */
static struct onnx_scope scope_of(struct flow *f, const struct onnx_node *node, const struct onnx_body *body,
                                  const struct onnx_scope *around) {
    const char *rounds = around ? around->made : "";
    struct onnx_scope s = {body, around, node->name, "", rounds, rounds, NULL, around ? around->deep + 1 : 1};
    bool there = is_there(f, node->name, AXIS, rounds);
    for (size_t i = 0; i < body->local_count && !there; i++)
        there = *body->locals[i].name && (is_there(f, body->locals[i].name, rounds, "") || is_there(f, body->locals[i].name, rounds, "/0"));
    if (there) {
        s.own = onnx_text(f->graph, "%s#%zu", node->name, ++f->alike);
        s.before = onnx_text(f->graph, "%s/", s.own);
    }
    return s;
}

/* --- If --- */

static bool expand_if(struct flow *f, struct onnx_node *node, const struct onnx_scope *around) {
    const struct onnx_tensor *condition = one_constant(onnx_input(node, 0), ONNX_BOOL);
    const struct onnx_body *body = condition ? body_of(node, onnx_integer(condition, 0) ? "then_branch" : "else_branch") : NULL;
    if (!body || body->own_inputs != 1 || body->graph->n_input || body->graph->n_output != (size_t)node->output_count) return false;
    const struct onnx_scope s = scope_of(f, node, body, around);
    if (!read_constants(f, &s) || !put_body(f, &s)) return false;
    for (int i = 0; i < node->output_count; i++) {
        struct onnx_value *value = result(f, &s, (size_t)i);
        if (!value) return false;
        if (node->outputs[i]) put(f, node, "Identity", &value, 1, node->outputs[i], NULL);
    }
    return true;
}

/* --- Loop --- */

struct rounds {
    struct onnx_node *node;
    const struct onnx_body *body;
    struct onnx_scope scope;
    struct onnx_value *axis;  /* 0, along which they are joined */
    size_t carried, gathered; /* how many values go from round to round, and how many of each round are joined */
    struct onnx_value **values;
    struct onnx_value ***joined; /* of each, what the rounds gave */
    int64_t most, done, room;
};

static bool read_rounds(struct flow *f, struct rounds *r) {
    const struct onnx_value *count = r->body->own_inputs > 0 ? onnx_input(r->node, 0) : NULL;
    const struct onnx_tensor *most = one_constant(count, ONNX_INT64);
    const Onnx__Graph *g = r->body->graph;
    r->carried = g->n_input - 2;
    if (g->n_input < 2 || (count && !most) || g->n_output < 1 + r->carried) return false;
    r->gathered = g->n_output - 1 - r->carried;
    r->most = most ? onnx_integer(most, 0) : INT64_MAX;
    if ((size_t)r->node->output_count > r->carried + r->gathered || r->body->own_inputs > 2 + (int)r->carried) return false;
    r->values = onnx_alloc(f->graph, (r->carried + 1) * sizeof(void *));
    r->joined = onnx_alloc(f->graph, (r->gathered + 1) * sizeof(void *));
    for (size_t i = 0; i < r->carried; i++) {
        if ((int)i + 2 >= r->body->own_inputs || !(r->values[i] = onnx_input(r->node, (int)i + 2))) return false;
    }
    return true;
}

static bool keep_gathered(struct flow *f, struct rounds *r, const struct onnx_scope *s) {
    if (r->done == r->room) {
        const int64_t room = 2 * r->room + 16;
        for (size_t i = 0; i < r->gathered; i++) {
            struct onnx_value **more = onnx_alloc(f->graph, (size_t)room * sizeof *more);
            if (r->done) memcpy(more, r->joined[i], (size_t)r->done * sizeof *more);
            r->joined[i] = more;
        }
        r->room = room;
    }
    for (size_t i = 0; i < r->gathered; i++) {
        struct onnx_value *value = result(f, s, 1 + r->carried + i);
        struct onnx_value *line = value ? fresh(f->graph, onnx_text(f->graph, "%s/(line %zu)%s", s->own, i, s->made)) : NULL;
        if (!line) return false;
        line->inside = true;
        put(f, r->node, "Unsqueeze", (struct onnx_value *[]){value, r->axis}, 2, line, NULL);
        r->joined[i][r->done] = line;
    }
    return true;
}

/* False: something is amiss, or is not known before a run. *goes_on: what the body says of a next round. */
static bool put_round(struct flow *f, struct rounds *r, bool *goes_on) {
    const char **inputs = onnx_alloc(f->graph, (2 + r->carried) * sizeof *inputs), *name = r->scope.own;
    struct onnx_scope s = r->scope;
    s.made = onnx_text(f->graph, "%s/%lld", s.constants, (long long)r->done);
    s.inputs = inputs;
    const struct onnx_value *number = put_integer(f->graph, onnx_text(f->graph, "%s/(round)%s", name, s.made), ONNX_INT64, 0, r->done),
                            *yes = put_integer(f->graph, onnx_text(f->graph, "%s/(goes on)%s", name, s.made), ONNX_BOOL, 0, 1);
    if (!number || !yes || !has_room(f) || !pay(f->graph, 4 + r->carried + r->gathered)) return false;
    inputs[0] = number->name;
    inputs[1] = yes->name;
    for (size_t i = 0; i < r->carried; i++) inputs[2 + i] = r->values[i]->name;
    if ((!r->done && !read_constants(f, &s)) || !put_body(f, &s) || !keep_gathered(f, r, &s)) return false;
    struct onnx_value **values = onnx_alloc(f->graph, (r->carried + 1) * sizeof *values);
    for (size_t i = 0; i < r->carried; i++)
        if (!(values[i] = result(f, &s, 1 + i))) return false;
    const struct onnx_tensor *next = one_constant(result(f, &s, 0), ONNX_BOOL);
    r->values = values;
    r->done++;
    *goes_on = next && onnx_integer(next, 0);
    return next || r->done == r->most;
}

static bool expand_loop(struct flow *f, struct onnx_node *node, const struct onnx_scope *around) {
    struct rounds r = {.node = node, .body = body_of(node, "body")};
    const struct onnx_value *first = r.body->own_inputs > 1 ? onnx_input(node, 1) : NULL;
    const struct onnx_tensor *starts = one_constant(first, ONNX_BOOL);
    bool goes_on = !first || (starts && onnx_integer(starts, 0));
    if ((first && !starts) || !read_rounds(f, &r)) return false;
    r.scope = scope_of(f, node, r.body, around);
    r.axis = put_integer(f->graph, onnx_text(f->graph, "%s" AXIS "%s", r.scope.own, r.scope.constants), ONNX_INT64, 1, 0);
    while (goes_on && r.done < r.most)
        if (!r.axis || !put_round(f, &r, &goes_on)) return false;
    for (int i = 0; i < node->output_count; i++) {
        const size_t k = (size_t)i;
        if (!node->outputs[i]) continue;
        if (k < r.carried) put(f, node, "Identity", &r.values[k], 1, node->outputs[i], NULL);
        else if (r.done) put(f, node, "Concat", r.joined[k - r.carried], (size_t)r.done, node->outputs[i], "axis");
        else return false;
    }
    return true;
}

/* Where it cannot be, it stays as it was. */
static bool expand(struct flow *f, struct onnx_node *node, const struct onnx_scope *around) {
    if (!strcmp(node->op, "If")) return expand_if(f, node, around);
    return !strcmp(node->op, "Loop") && body_of(node, "body") && expand_loop(f, node, around);
}

static void give_back(struct onnx_node *node) {
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) node->outputs[i]->producer = node;
}

bool onnx_expand_flow(struct onnx_graph *graph) {
    struct onnx_report ignored = {0};
    struct flow f = {.graph = graph, .report = &ignored, .before = graph->memory->arena.taken};
    bool any = false;
    if (!graph->memory->model) return false; /* a copy, which has no messages: what is left there cannot be */
    for (size_t i = 0; i < graph->node_count; i++) any = any || is_flow(graph->nodes[i]);
    for (size_t i = 0; any && i < graph->node_count; i++) {
        struct onnx_node *node = graph->nodes[i];
        const size_t before = f.count;
        if (is_flow(node) && expand(&f, node, NULL)) continue;
        f.count = before;
        give_back(node);
        append(&f, node);
    }
    if (any) {
        graph->nodes = f.nodes;
        graph->node_count = f.count;
        graph->memory->node_room = 0;
    }
    onnx_report_free(&ignored);
    return any;
}
