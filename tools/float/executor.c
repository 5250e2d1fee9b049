/* SPDX-License-Identifier: MIT */
/* Opens an executor: checks every node, prepares it, and computes at once what depends on constants alone. */
#include "tools/float/internal.h"
#include "tools/onnx/operator.h"
#include "tools/base/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All values of a graph together, in elements: far more than any network has, and few enough to compute with. */
#define MOST_IN_ALL ((int64_t)1 << 32)

/* Weights are packed for each node that reads them, and one constant may have many readers: room follows from the numbers in the file. Of
 * networks seen, none took more than a quarter of it. */
enum { LEAST_ROOM = 1 << 26, BYTES_OF_A_NUMBER = 64 };

static size_t room_of(const struct onnx_graph *graph) {
    return onnx_room(graph, LEAST_ROOM, BYTES_OF_A_NUMBER, SIZE_MAX);
}

static void *taken(struct executor *executor, size_t bytes) {
    executor->taken += bytes;
    return arena_alloc(&executor->memory, bytes);
}

/* ---- what prepare functions call ---- */

bool cannot(struct preparation *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->why, sizeof p->why, format, args);
    va_end(args);
    return false;
}

void *prepare_alloc(struct preparation *p, size_t bytes) {
    return taken(p->executor, bytes);
}

bool prepare_scratch(struct preparation *p, int64_t floats) {
    if (floats < 0 || floats > FLOAT_MOST) return cannot(p, "it would take too much memory");
    p->step->scratch = (size_t)floats;
    return true;
}

static const float *constant_floats(struct executor *executor, struct slot *slot) {
    const struct onnx_tensor *t = slot->value->constant;
    if (slot->kind != SLOT_KNOWN || slot->known) return slot->known;
    if (t->type == ONNX_FLOAT && (uintptr_t)t->data % sizeof(float) == 0) return slot->known = t->data;
    float *floats = taken(executor, t->count * sizeof(float));
    for (size_t i = 0; i < t->count; i++) floats[i] = (float)onnx_number(t, i);
    return slot->known = floats;
}

const float *prepare_constant(struct preparation *p, int i) {
    if (i >= p->step->input_count || p->step->inputs[i] == NO_SLOT) return NULL;
    struct slot *slot = &p->executor->slots[p->step->inputs[i]];
    return slot->kind == SLOT_KNOWN ? constant_floats(p->executor, slot) : NULL;
}

int prepare_list(struct preparation *p, const char *name, int64_t *out, int max) {
    int count = onnx_integers(p->node, name, out, max);
    if (count < 0) cannot(p, "its %s are %s", name, count == ONNX_LATE_LIST ? "not constant" : "no list of integers");
    return count;
}

/* ---- slots ---- */

static int by_address(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const struct slot *)a)->value, y = (uintptr_t)((const struct slot *)b)->value;
    return (x > y) - (x < y);
}

size_t executor_slot(const struct executor *executor, const struct onnx_value *value) {
    struct slot key = {.value = value};
    const struct slot *found = value ? bsearch(&key, executor->slots, executor->slot_count, sizeof key, by_address) : NULL;
    return found ? (size_t)(found - executor->slots) : NO_SLOT;
}

static size_t add_slots(struct executor *executor, size_t at, struct onnx_value *const *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (values[i]) executor->slots[at++].value = values[i];
    return at;
}

/* A slot for every value that a node, input or output of the graph names. */
static void make_slots(struct executor *executor, const struct onnx_graph *graph) {
    size_t count = graph->input_count + graph->output_count, kept = 0;
    for (size_t i = 0; i < graph->node_count; i++) count += (size_t)(graph->nodes[i]->input_count + graph->nodes[i]->output_count);
    executor->slots = arena_alloc(&executor->memory, (count + 1) * sizeof *executor->slots);
    count = add_slots(executor, 0, graph->inputs, graph->input_count);
    count = add_slots(executor, count, graph->outputs, graph->output_count);
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct onnx_node *node = graph->nodes[i];
        count = add_slots(executor, count, node->inputs, (size_t)node->input_count);
        count = add_slots(executor, count, node->outputs, (size_t)node->output_count);
    }
    qsort(executor->slots, count, sizeof *executor->slots, by_address);
    for (size_t i = 0; i < count; i++)
        if (!kept || executor->slots[kept - 1].value != executor->slots[i].value) executor->slots[kept++] = executor->slots[i];
    executor->slot_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct slot *slot = &executor->slots[i];
        int64_t elements = onnx_elements(&slot->value->shape);
        slot->root = i;
        slot->count = elements < 0 ? 0 : (size_t)elements;
        slot->kind = slot->value->constant ? SLOT_KNOWN : SLOT_UNSEEN;
    }
}

static size_t *slots_of(struct executor *executor, struct onnx_value *const *values, size_t count) {
    size_t *list = arena_alloc(&executor->memory, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count; i++) list[i] = executor_slot(executor, values[i]);
    return list;
}

/* ---- one node ---- */

static bool is_float_type(enum onnx_type type) {
    return type == ONNX_FLOAT || type == ONNX_DOUBLE || type == ONNX_FLOAT16;
}

/* Whether loops over the dimensions before one of 0, which have nothing to do, end soon. */
enum { MOST_EMPTY = 1 << 20 };
static bool empty_is_small(const struct onnx_shape *shape) {
    struct onnx_shape others = *shape;
    for (int i = 0; i < others.rank; i++)
        if (!others.dims[i]) others.dims[i] = 1;
    int64_t elements = onnx_elements(&others);
    return elements >= 0 && elements <= MOST_EMPTY;
}

/* A value's size is known and bearable; its type has numbers. */
static bool check_value(struct preparation *p, const struct onnx_value *value) {
    int64_t elements = onnx_elements(&value->shape);
    if (elements < 0) return cannot(p, "the shape of '%.100s' is not known before the run", value->name);
    if (elements > FLOAT_MOST || (!elements && !empty_is_small(&value->shape)))
        return cannot(p, "'%.100s' is too large for the float executor", value->name);
    if (!onnx_type_bytes(value->type)) return cannot(p, "'%.100s' has no numbers", value->name);
    return true;
}

/* The outputs are shaped as the operator's own rules have it: they may come from an editor, or from what a file claims. */
static bool check_shapes(struct preparation *p, const struct onnx_graph *graph) {
    const struct onnx_operator *rules = onnx_operator_of(p->node);
    struct onnx_node copy = *p->node;
    struct onnx_context c = {(struct onnx_graph *)graph, &copy, ""}; /* it lends memory alone */
    if (!rules) return true;
    for (int i = 0; i < rules->min_inputs; i++)
        if (!onnx_input(p->node, i)) return cannot(p, "input %d is missing", i);
    if (copy.input_count > rules->max_inputs || copy.output_count > rules->max_outputs)
        return cannot(p, "it has more inputs or outputs than the operator has");
    struct onnx_value *values = arena_alloc(&p->executor->memory, (size_t)(copy.output_count + 1) * sizeof *values);
    copy.outputs = arena_alloc(&p->executor->memory, (size_t)(copy.output_count + 1) * sizeof(void *));
    for (int i = 0; i < copy.output_count; i++) {
        values[i].shape.rank = -1;
        copy.outputs[i] = p->node->outputs[i] ? &values[i] : NULL;
    }
    if (!rules->infer(&c)) return cannot(p, "%s", c.why);
    for (int i = 0; i < copy.output_count; i++)
        if (copy.outputs[i] && !onnx_same_shape(&values[i].shape, &p->node->outputs[i]->shape))
            return cannot(p, "its output %d is not shaped as its inputs ask for", i);
    return true;
}

/* Integers are floats here: sums, products and quotients of them are, too, exact up to 2^24. */
static bool takes_integers(const struct onnx_node *node) {
    static const char *const ops[] = {"Add", "Sub", "Mul",    "Div",       "Mod",       "Sum",
                                      "Neg", "Abs", "CumSum", "ReduceSum", "ReduceMax", "ReduceMin"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(node->op, ops[i])) return true;
    return false;
}

static bool check_operands(struct preparation *p, const struct float_operator *row) {
    const struct onnx_node *node = p->node;
    for (int i = 0; i < node->input_count; i++) {
        if (!node->inputs[i]) continue;
        if (!check_value(p, node->inputs[i])) return false;
        if (p->executor->slots[p->step->inputs[i]].kind == SLOT_UNSEEN)
            return cannot(p, "its input '%.100s' is computed by no node before it", node->inputs[i]->name);
    }
    for (int i = 0; i < node->output_count; i++) {
        if (!node->outputs[i]) continue;
        if (!check_value(p, node->outputs[i])) return false;
        if (p->executor->slots[p->step->outputs[i]].kind != SLOT_UNSEEN)
            return cannot(p, "its output '%.100s' is there already", node->outputs[i]->name);
        p->executor->elements += onnx_elements(&node->outputs[i]->shape);
    }
    if (p->executor->elements > MOST_IN_ALL) return cannot(p, "the values up to here are too large for the float executor");
    if (row->types == FLOATS && node->input_count && node->inputs[0] && !is_float_type(node->inputs[0]->type) && !takes_integers(node))
        return cannot(p, "it computes in integers");
    return node->output_count && node->outputs[0] ? true : cannot(p, "it has no output");
}

/* Every input that the step reads has floats; true: all of them are known. */
static bool all_known(struct preparation *p) {
    bool known = true;
    for (int i = 0; i < p->step->input_count; i++) {
        size_t at = p->step->inputs[i];
        if (i >= p->reads) p->step->inputs[i] = NO_SLOT;
        else if (at != NO_SLOT && p->executor->slots[at].kind == SLOT_KNOWN) constant_floats(p->executor, &p->executor->slots[at]);
        else if (at != NO_SLOT) known = false;
    }
    return known;
}

/* Nothing that the step reads changes: it runs now. */
static bool run_known(struct preparation *p) {
    struct executor *executor = p->executor;
    struct step *step = p->step;
    size_t operands = (size_t)(step->input_count + step->output_count), k = 0;
    const float **in = arena_alloc(&executor->memory, (operands + 1) * sizeof *in);
    float **out = arena_alloc(&executor->memory, (operands + 1) * sizeof *out), *scratch = must_calloc(step->scratch + 1, sizeof(float));
    const char *why = NULL;
    for (int i = 0; i < step->input_count; i++, k++) in[k] = step->inputs[i] == NO_SLOT ? NULL : executor->slots[step->inputs[i]].known;
    for (int i = 0; i < step->output_count; i++) {
        struct slot *slot = step->outputs[i] == NO_SLOT ? NULL : &executor->slots[step->outputs[i]];
        if (!slot) continue;
        slot->kind = SLOT_KNOWN;
        slot->known = out[i] = taken(executor, (slot->count + 1) * sizeof(float));
    }
    if (step->run) step->run(step->plan, &(struct call){in, out, scratch, &why});
    else executor->slots[step->outputs[0]].known = in[0];
    free(scratch);
    for (int i = 0; i < step->output_count && why; i++)
        if (step->outputs[i] != NO_SLOT) executor->slots[step->outputs[i]].kind = SLOT_UNSEEN;
    return why ? cannot(p, "%s", why) : true;
}

/* Outputs that the operator cannot compute are left out where nobody reads them. */
static bool drop_outputs(struct preparation *p, const struct float_operator *row) {
    for (int i = row->outputs; i < p->node->output_count; i++) {
        if (p->node->outputs[i] && p->node->outputs[i]->uses) return cannot(p, "its output %d is not computed", i);
        p->step->outputs[i] = NO_SLOT;
    }
    return true;
}

static void run_nothing(const void *plan, const struct call *call) {
    (void)plan;
    (void)call;
}

/* Prepares the node; where its outputs have no elements there is nothing to do, however large their other dimensions. */
static bool prepare(struct preparation *p, const struct float_operator *row) {
    bool empty = true;
    for (int i = 0; i < p->node->output_count; i++) empty = empty && (!p->node->outputs[i] || !onnx_elements(&p->node->outputs[i]->shape));
    if (!empty) return row->prepare(p);
    p->step->run = run_nothing;
    p->reads = 0;
    return true;
}

static bool add_node(struct preparation *p, const struct onnx_graph *graph) {
    struct executor *executor = p->executor;
    const struct onnx_node *node = p->node;
    const struct float_operator *row = float_operator_of(node);
    p->step->node = node;
    p->step->input_count = node->input_count;
    p->step->output_count = node->output_count;
    p->step->inputs = slots_of(executor, node->inputs, (size_t)node->input_count);
    p->step->outputs = slots_of(executor, node->outputs, (size_t)node->output_count);
    p->reads = node->input_count;
    if (!row)
        return cannot(p, "the float executor does not have this operator%s%s%s", *node->domain ? " of " : "", node->domain,
                      onnx_advice(node));
    if (executor->taken > executor->room)
        return cannot(p, "weights take over %zu MB with those before it: too many for what the file holds", executor->room >> 20);
    if (!check_operands(p, row) || !check_shapes(p, graph) || !prepare(p, row) || !drop_outputs(p, row)) return false;
    if (all_known(p)) return run_known(p);
    for (int i = 0; i < node->output_count; i++)
        if (p->step->outputs[i] != NO_SLOT) executor->slots[p->step->outputs[i]].kind = SLOT_WORK;
    if (p->step->scratch > executor->scratch) executor->scratch = p->step->scratch;
    if (node->input_count + node->output_count > executor->most_operands) executor->most_operands = node->input_count + node->output_count;
    executor->step_count++;
    return true;
}

/* What a node that cannot run would have computed is taken as there, so that only nodes that are at fault themselves are named. */
static void pass_over(struct executor *executor, const struct onnx_node *node) {
    for (int i = 0; i < node->output_count; i++) {
        size_t at = executor_slot(executor, node->outputs[i]);
        if (at != NO_SLOT && executor->slots[at].kind != SLOT_KNOWN) {
            executor->slots[at].kind = SLOT_WORK;
            executor->slots[at].refused = true;
        }
    }
}

/* It could not even be looked at: what it reads was to come from a node that was refused. */
static bool follows_refused(const struct executor *executor, const struct onnx_node *node) {
    for (int i = 0; i < node->input_count; i++) {
        size_t at = executor_slot(executor, node->inputs[i]);
        if (at != NO_SLOT && executor->slots[at].refused && onnx_elements(&node->inputs[i]->shape) < 0) return true;
    }
    return false;
}

/* ---- the graph ---- */

static void add_inputs(struct executor *executor, const struct onnx_graph *graph) {
    for (size_t i = 0; i < graph->input_count; i++) {
        struct slot *slot = &executor->slots[executor->inputs[i]];
        if (slot->kind != SLOT_UNSEEN) continue;
        slot->kind = SLOT_INPUT;
        slot->input = i;
    }
}

static void add_nodes(struct executor *executor, const struct onnx_graph *graph, struct onnx_report *report) {
    executor->steps = arena_alloc(&executor->memory, (graph->node_count + 1) * sizeof *executor->steps);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct preparation p = {.executor = executor, .node = graph->nodes[i], .step = &executor->steps[executor->step_count]};
        if (graph->nodes[i]->folded) continue;
        *p.step = (struct step){0};
        bool follows = (float_operator_of(p.node) || onnx_operator_of(p.node)) && follows_refused(executor, p.node);
        if (!follows && add_node(&p, graph)) continue;
        if (!follows) onnx_refuse(report, p.node, "%s", p.why);
        if (executor->taken > executor->room) return; /* so would be all that come behind it */
        pass_over(executor, p.node);
    }
}

static struct executor *open_nodes(const struct onnx_graph *graph, size_t room, struct onnx_report *report) {
    struct executor *executor = must_calloc(1, sizeof *executor);
    executor->room = room;
    make_slots(executor, graph);
    executor->input_count = graph->input_count;
    executor->output_count = graph->output_count;
    executor->inputs = slots_of(executor, graph->inputs, graph->input_count);
    executor->outputs = slots_of(executor, graph->outputs, graph->output_count);
    add_inputs(executor, graph);
    add_nodes(executor, graph, report);
    return executor;
}

struct executor *executor_open_known(const struct onnx_graph *graph) {
    struct onnx_report report = {0};
    struct executor *executor = open_nodes(graph, room_of(graph), &report);
    onnx_report_free(&report);
    return executor;
}

const float *executor_known(const struct executor *executor, const struct onnx_value *value) {
    const size_t at = executor_slot(executor, value);
    return at == NO_SLOT || executor->slots[at].kind != SLOT_KNOWN ? NULL : executor->slots[at].known;
}

static struct executor *open_checked(const struct onnx_graph *graph, size_t room, struct onnx_report *report, struct failure *failure) {
    const size_t refused = report->refusal_count;
    struct executor *executor = open_nodes(graph, room, report);
    bool good = report->refusal_count == refused;
    if (!good) failure_set(failure, STATUS_INPUT, "nodes cannot run");
    for (size_t i = 0; i < executor->output_count && good; i++) {
        struct slot *slot = &executor->slots[executor->outputs[i]];
        good = slot->kind != SLOT_UNSEEN ||
               failure_set(failure, STATUS_INPUT, "graph output '%.200s' is computed by no node", slot->value->name);
        if (slot->kind == SLOT_KNOWN) constant_floats(executor, slot);
    }
    if (good) {
        plan_memory(executor);
        return executor;
    }
    executor_close(executor);
    return NULL;
}

static bool alike(const struct onnx_refusal *a, const struct onnx_refusal *b) {
    return !strcmp(a->op, b->op) && !strcmp(a->why, b->why);
}

/* The first of its kind: how many there are; of others: 0. */
static size_t count_alike(const struct onnx_report *report, size_t i) {
    size_t count = 0;
    for (size_t k = 0; k < report->refusal_count; k++) {
        if (!alike(&report->refusals[k], &report->refusals[i])) continue;
        if (k < i) return 0;
        count++;
    }
    return count;
}

/* "the float executor cannot run 3 nodes: 'a' (Foo) and 1 more: why; 'b' (Bar): why", as far as there is room. */
static void name_refusals(const struct onnx_report *report, struct failure *failure) {
    char text[sizeof failure->text];
    int at = snprintf(text, sizeof text, "the float executor cannot run %zu node%s: ", report->refusal_count,
                      report->refusal_count > 1 ? "s" : "");
    for (size_t i = 0; i < report->refusal_count; i++) {
        const struct onnx_refusal *r = &report->refusals[i];
        char one[400], more[32] = "";
        size_t count = count_alike(report, i);
        if (!count) continue;
        if (count > 1) snprintf(more, sizeof more, " and %zu more", count - 1);
        int length = snprintf(one, sizeof one, "%s'%.100s' (%.40s)%s: %.200s", i ? "; " : "", r->node, r->op, more, r->why);
        if (at + length + 40 > (int)sizeof text) {
            snprintf(text + at, sizeof text - (size_t)at, "; and others");
            break;
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "%s", one);
    }
    failure_set(failure, STATUS_INPUT, "%s", text);
}

struct executor *executor_open(const struct onnx_graph *graph, struct failure *failure) {
    return executor_open_within(graph, room_of(graph), failure);
}

struct executor *executor_open_within(const struct onnx_graph *graph, size_t room, struct failure *failure) {
    struct onnx_report report = {0};
    struct executor *executor = open_checked(graph, room, &report, failure);
    if (!executor && report.refusal_count) name_refusals(&report, failure);
    onnx_report_free(&report);
    return executor;
}

bool executor_check(const struct onnx_graph *graph, struct onnx_report *report) {
    struct failure failure;
    struct executor *executor = open_checked(graph, room_of(graph), report, &failure);
    executor_close(executor);
    return executor != NULL;
}

size_t executor_inputs(const struct executor *executor) {
    return executor->input_count;
}

void executor_close(struct executor *executor) {
    if (executor) arena_free(&executor->memory);
    free(executor);
}
