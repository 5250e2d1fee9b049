/* SPDX-License-Identifier: MIT */
/* Types and shapes for every value, one node after the other, constants folded on the way. */
#include "tools/onnx/flow.h"
#include "tools/onnx/operator.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool onnx_bad(struct onnx_context *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    return false;
}

const struct onnx_shape *onnx_in(const struct onnx_context *c, int i) {
    return &c->node->inputs[i]->shape;
}

bool onnx_out(struct onnx_context *c, int i, const struct onnx_shape *shape) {
    if (i >= c->node->output_count || !c->node->outputs[i]) return true;
    if (onnx_elements(shape) < 0) {
        char text[128];
        return onnx_bad(c, "its output would have the impossible shape %s", onnx_shape_text(shape, text, sizeof text));
    }
    c->node->outputs[i]->shape = *shape;
    return true;
}

void onnx_out_type(struct onnx_context *c, int i, enum onnx_type type) {
    if (i < c->node->output_count && c->node->outputs[i]) c->node->outputs[i]->type = type;
}

bool onnx_axis(struct onnx_context *c, int64_t axis, int rank, int *out) {
    return onnx_axis_of(axis, rank, out) || onnx_bad(c, "axis %lld does not exist in %d dimensions", (long long)axis, rank);
}

int onnx_list(struct onnx_context *c, const char *name, int64_t *out, int max) {
    int count = onnx_integers(c->node, name, out, max);
    if (count == ONNX_NO_LIST) onnx_bad(c, "its %s must be a list of at most %d integers", name, max);
    return count;
}

bool onnx_same_shape(const struct onnx_shape *a, const struct onnx_shape *b) {
    return a->rank == b->rank && (a->rank <= 0 || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]));
}

bool onnx_broadcast(struct onnx_context *c, const struct onnx_shape *a, const struct onnx_shape *b, struct onnx_shape *out) {
    struct onnx_shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= result.rank; i++) {
        int64_t x = i <= a->rank ? a->dims[a->rank - i] : 1, y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char left[100], right[100];
            return onnx_bad(c, "shapes %s and %s do not broadcast", onnx_shape_text(a, left, sizeof left),
                            onnx_shape_text(b, right, sizeof right));
        }
        result.dims[result.rank - i] = x == 1 ? y : x;
    }
    *out = result;
    return true;
}

static enum onnx_type known_type(int64_t number) {
    return number > 0 && number < 64 ? (enum onnx_type)number : ONNX_UNKNOWN;
}

static enum onnx_type type_of_input(const struct onnx_node *node, int i, enum onnx_type otherwise) {
    const struct onnx_value *value = onnx_input(node, i);
    return value ? value->type : otherwise;
}

static enum onnx_type output_type(const struct onnx_node *node, const struct onnx_operator *op) {
    int64_t asked = onnx_attribute_int(node, "output_dtype", 0);
    switch (op->type) {
    case GIVES_BOOL: return ONNX_BOOL;
    case GIVES_INT64: return ONNX_INT64;
    case GIVES_INT32: return ONNX_INT32;
    case GIVES_FLOAT: return ONNX_FLOAT;
    case GIVES_UINT8: return ONNX_UINT8;
    case GIVES_TO: return known_type(onnx_attribute_int(node, "to", 0));
    case GIVES_CONSTANT: return ONNX_UNKNOWN;
    case GIVES_QUANTIZED: return type_of_input(node, 2, asked ? known_type(asked) : ONNX_UINT8);
    case GIVES_DEQUANTIZED: return asked ? known_type(asked) : type_of_input(node, 1, ONNX_FLOAT);
    case GIVES_QGEMM: return type_of_input(node, 8, ONNX_FLOAT);
    default: return type_of_input(node, op->type, ONNX_UNKNOWN);
    }
}

/* A type that is none would leave the output to what the file declares it to be. */
static bool check_type(struct onnx_context *c, const struct onnx_operator *op) {
    const bool chooses = op->type == GIVES_QUANTIZED || op->type == GIVES_DEQUANTIZED;
    const char *name = chooses ? "output_dtype" : "to";
    const int64_t asked = onnx_attribute_int(c->node, name, 0);
    if ((!chooses && op->type != GIVES_TO) || (chooses && !asked) || known_type(asked)) return true;
    return onnx_bad(c, "attribute '%s' is %lld, which is no type", name, (long long)asked);
}

static bool check_counts(struct onnx_context *c, const struct onnx_operator *op) {
    const struct onnx_node *node = c->node;
    if (node->opset < op->since)
        return onnx_bad(c, "the operator exists from opset %d on, the model uses opset %d", op->since, node->opset);
    if (node->opset > op->until)
        return onnx_bad(c, "the operator exists up to opset %d only, the model uses opset %d", op->until, node->opset);
    for (int i = 0; i < op->min_inputs; i++)
        if (!onnx_input(node, i)) return onnx_bad(c, "input %d is missing", i);
    if (node->input_count > op->max_inputs) return onnx_bad(c, "it has %d inputs; %d are the most", node->input_count, op->max_inputs);
    if (node->output_count > op->max_outputs) return onnx_bad(c, "it has %d outputs; %d are the most", node->output_count, op->max_outputs);
    return true;
}

/* Older opsets have no input there: who reads the list's attribute and who reads the input would see two lists. */
static bool check_lists(struct onnx_context *c, const struct onnx_operator *op) {
    for (const struct onnx_list_input *list = op->lists; list && list->name; list++)
        if (c->node->opset < list->from_opset && onnx_input(c->node, list->input))
            return onnx_bad(c, "%s is an input from opset %d on, the model uses opset %d", list->name, list->from_opset, c->node->opset);
    return true;
}

static bool check_readable(struct onnx_context *c) {
    for (int i = 0; i < c->node->input_count; i++) {
        struct onnx_value *value = c->node->inputs[i];
        if (value && onnx_declared(value)->unreadable)
            return onnx_bad(c, "its constant input '%s' %s", value->name, onnx_declared(value)->unreadable);
    }
    return true;
}

static bool inputs_known(const struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && (onnx_elements(&node->inputs[i]->shape) < 0 || !node->inputs[i]->type)) return false;
    return true;
}

static bool inputs_constant(const struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i] && !node->inputs[i]->constant) return false;
    return true;
}

static void forget_outputs(struct onnx_node *node) {
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) {
            node->outputs[i]->type = ONNX_UNKNOWN;
            node->outputs[i]->shape.rank = -1;
        }
}

/* False: the node is malformed. */
static bool infer_known(struct onnx_context *c, const struct onnx_operator *op) {
    struct onnx_node *node = c->node;
    if (!check_counts(c, op) || !onnx_check_attributes(c) || !check_lists(c, op) || !check_type(c, op)) return false;
    for (int i = 0; i < node->output_count; i++) onnx_out_type(c, i, output_type(node, op));
    if (!inputs_known(node)) return true;
    if (!op->infer(c)) return false;
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i] && onnx_elements(&node->outputs[i]->shape) < 0) return true;
    /* The shape of a value is known although the value is not. */
    bool needs_no_data = op->fold == onnx_fold_shape_of || op->fold == onnx_fold_size_of || op->fold == onnx_fold_eye;
    if (op->fold && (needs_no_data || inputs_constant(node))) op->fold(c);
    return true;
}

/* What the file says fills what could not be inferred, unless its shapes are out of date. */
static void take_declared(const struct onnx_graph *graph, struct onnx_node *node) {
    for (int i = 0; i < node->output_count; i++) {
        struct onnx_value *value = node->outputs[i];
        if (!value) continue;
        const struct onnx_declared *declared = onnx_declared(value);
        if (!value->type) value->type = declared->type;
        if (value->shape.rank < 0 && !graph->memory->rebound && onnx_elements(&declared->shape) >= 0) value->shape = declared->shape;
    }
}

/* A shape that the file states for what only a run could say: a copy has no other number of elements. */
static bool copies_all(struct onnx_context *c, const struct onnx_operator *op) {
    if (!op || op->fold != onnx_fold_copy || !inputs_known(c->node) || !c->node->outputs[0]) return true;
    int64_t have = onnx_elements(onnx_in(c, 0)), stated = onnx_elements(&c->node->outputs[0]->shape);
    if (have == stated || have < 0 || stated < 0) return true;
    return onnx_bad(c, "the file states %lld elements for its output, and it has %lld", (long long)stated, (long long)have);
}

void onnx_infer_node(struct onnx_graph *graph, struct onnx_node *node, struct onnx_report *report) {
    struct onnx_context c = {graph, node, ""};
    const struct onnx_operator *op = onnx_operator_of(node);
    forget_outputs(node);
    node->unchecked = !inputs_known(node);
    node->refused = !check_readable(&c) || (op && !infer_known(&c, op));
    if (node->refused) onnx_refuse(report, node, "%s", c.why);
    take_declared(graph, node);
    if (node->refused || copies_all(&c, op)) return;
    node->refused = true;
    onnx_refuse(report, node, "%s", c.why);
}

bool onnx_infer(struct onnx_graph *graph, struct onnx_report *report, struct failure *failure) {
    if (!onnx_sort(graph, failure) || (onnx_expand_flow(graph) && !onnx_sort(graph, failure))) return false;
    for (size_t i = 0; i < graph->output_count; i++)
        if (onnx_declared(graph->outputs[i])->unreadable)
            return failure_set(failure, STATUS_INPUT, "graph output '%s' %s", graph->outputs[i]->name,
                               onnx_declared(graph->outputs[i])->unreadable);
    onnx_count_uses(graph); /* for who asks whether its output is read; onnx_prune() counts what is left */
    for (size_t i = 0; i < graph->node_count; i++) onnx_infer_node(graph, graph->nodes[i], report);
    onnx_prune(graph);
    for (size_t i = 0; i < graph->output_count; i++)
        if (!onnx_declared(graph->outputs[i])->type) onnx_declared(graph->outputs[i])->type = graph->outputs[i]->type;
    return true;
}

enum { FEW_OUTPUTS = 8 };

/* Whether inference gives outputs the shapes they have; those of a node with more are taken as they are. */
static bool infers_the_same(struct onnx_context *c, const struct onnx_operator *op, const struct onnx_value *before) {
    if (!op->infer(c)) return false;
    for (int i = 0; i < c->node->output_count; i++) {
        const struct onnx_value *value = c->node->outputs[i];
        if (value && onnx_elements(&value->shape) >= 0 && !onnx_same_shape(&value->shape, &before[i].shape))
            return onnx_bad(c, "its output %d does not follow from its inputs", i);
    }
    return true;
}

bool onnx_shapes_hold(struct onnx_graph *graph, struct onnx_node *node, char *why, size_t size) {
    const struct onnx_operator *op = onnx_operator_of(node);
    struct onnx_context c = {graph, node, ""};
    struct onnx_value before[FEW_OUTPUTS];
    if (!op || node->output_count > FEW_OUTPUTS || !inputs_known(node)) return true;
    for (int i = 0; i < op->min_inputs; i++)
        if (!onnx_input(node, i)) return true; /* a pass left it out, and whoever lowers it knows */
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) before[i] = *node->outputs[i];
    const bool holds = infers_the_same(&c, op, before);
    for (int i = 0; i < node->output_count; i++)
        if (node->outputs[i]) *node->outputs[i] = before[i];
    snprintf(why, size, "%s", c.why);
    return holds;
}
