/* SPDX-License-Identifier: MIT */
/*
 * Where a detector's candidates are whole, in front of what chooses among them.
 *
 * All nodes behind a choice go. What they read of others is a cut through the network: its members. As long as these are not what is
 * wanted, the node that makes one of them goes, too, and what it reads is a member in the place of what it made. Each step leaves a cut.
 */
#include "tools/optimize/selection.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/pass.h"
#include <string.h>

enum { MEMBERS_MOST = 32, STEPS_MOST = 500, BOX = 4, JOINED_LEAST = BOX + 1, TURN_MOST = 16 };

struct selection {
    struct onnx_graph *graph;
    struct onnx_value *members[MEMBERS_MOST];
    int count;
    struct onnx_value *best; /* what the first choice looks for the largest of */
    bool activates;
    bool *stays; /* of the outputs: it is not behind a choice, wherever the cut moves */
};

/* Refused or not. */
static bool is_called(const struct onnx_node *node, const char *op) {
    return !strcmp(node->op, op) && !*node->domain;
}

static bool is_choice(const struct onnx_node *node) {
    return is_called(node, "TopK") || is_called(node, "NonMaxSuppression");
}

static bool has_weights(const struct onnx_node *node) {
    for (int k = 0; k < node->input_count; k++) {
        const struct onnx_tensor *numbers = onnx_input_constant(node, k);
        if (numbers && numbers->type == ONNX_FLOAT && numbers->count > TURN_MOST) return true;
    }
    return false;
}

/* A product by 4 x 4 makes corners of centres and sides. */
static bool is_layer(const struct onnx_node *node) {
    return strstr(node->op, "Conv") || ((strstr(node->op, "MatMul") || strstr(node->op, "Gemm")) && has_weights(node));
}

/* Scores of what is told, or boxes from cells and anchors: a rule that gets less than that would be wrong. */
static bool decodes(const struct onnx_node *node) {
    static const char *const names[] = {"Exp", "Sigmoid", "Softmax", "Tanh", "Pow"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_called(node, names[i])) return true;
    return is_layer(node) || has_weights(node);
}

/* --- The cut --- */

/* False: there are too many, or it is an input of the network. What a node that goes makes is no member. */
static bool add_member(struct selection *s, struct onnx_value *value) {
    if (!value || value->constant || (value->producer && value->producer->done)) return true;
    for (int i = 0; i < s->count; i++)
        if (s->members[i] == value) return true;
    if (s->count == MEMBERS_MOST || !value->producer) return false;
    s->members[s->count++] = value;
    return true;
}

static bool take_out(struct selection *s, struct onnx_node *node) {
    int kept = 0;
    node->done = true;
    for (int i = 0; i < s->count; i++)
        if (s->members[i]->producer != node) s->members[kept++] = s->members[i];
    s->count = kept;
    for (int k = 0; k < node->input_count; k++)
        if (!add_member(s, node->inputs[k])) return false;
    return true;
}

/* Nodes behind a choice are done. False: there is none, or layers are behind it. */
static bool mark_behind(struct selection *s) {
    struct onnx_graph *g = s->graph;
    bool any = false;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = g->nodes[i];
        node->done = is_choice(node) && !node->folded;
        if (node->done && !any) s->best = onnx_input(node, is_called(node, "TopK") ? 0 : 1);
        any = any || node->done;
        for (int k = 0; k < node->input_count && !node->done; k++)
            node->done = node->inputs[k] && !node->inputs[k]->constant && node->inputs[k]->producer && node->inputs[k]->producer->done;
        if (node->done && is_layer(node)) return false;
        s->activates = s->activates || (node->done && (is_called(node, "Sigmoid") || is_called(node, "Softmax")));
    }
    return any;
}

/* Whether an output is behind a choice. */
static bool any_goes(struct selection *s) {
    const struct onnx_graph *g = s->graph;
    bool any = false;
    s->stays = onnx_alloc(s->graph, g->output_count * sizeof *s->stays);
    for (size_t i = 0; i < g->output_count; i++) {
        s->stays[i] = !g->outputs[i]->producer || !g->outputs[i]->producer->done;
        any = any || !s->stays[i];
    }
    return any;
}

static bool find_members(struct selection *s) {
    struct onnx_graph *g = s->graph;
    for (size_t i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->input_count && g->nodes[i]->done; k++)
            if (!add_member(s, g->nodes[i]->inputs[k])) return false;
    return s->count > 0;
}

/* --- What is wanted --- */

static int64_t numbers_of(const struct onnx_value *value) {
    return value->shape.dims[value->shape.rank - 1];
}

static bool is_line(const struct onnx_value *value) {
    return value->type == ONNX_FLOAT && value->shape.rank == 3 && onnx_elements(&value->shape) > 0;
}

static bool is_member(const struct selection *s, const struct onnx_value *value) {
    for (int i = 0; i < s->count; i++)
        if (s->members[i] == value) return true;
    return false;
}

/* The member that the first choice goes by. NULL: it goes by several, or by none. */
static struct onnx_value *scores_of(const struct selection *s) {
    struct onnx_value *value = s->best;
    while (value && !is_member(s, value)) {
        struct onnx_value *from = NULL;
        for (int k = 0; value->producer && k < value->producer->input_count && !from; k++)
            if (value->producer->inputs[k] && !value->producer->inputs[k]->constant) from = value->producer->inputs[k];
        value = from;
    }
    return value;
}

static void put_at(struct selection *s, int place, struct onnx_value *member) {
    int at = 0;
    while (s->members[at] != member) at++;
    s->members[at] = s->members[place];
    s->members[place] = member;
}

static bool is_box(const struct onnx_value *value) {
    return is_line(value) && numbers_of(value) == BOX;
}

/* Boxes are lines; of the others each is, or each is a column. Boxes come first, then scores. */
static bool are_apart(struct selection *s) {
    struct onnx_value *scores = scores_of(s), *boxes = NULL;
    for (int i = 0; i < s->count && !boxes; i++)
        if (s->members[i] != scores && is_box(s->members[i])) boxes = s->members[i];
    if (!scores || !boxes) return false;
    for (int i = 0; i < s->count; i++) {
        const int64_t *dims = s->members[i]->shape.dims, *wanted = boxes->shape.dims;
        if (!is_line(s->members[i]) || dims[0] != wanted[0] || (dims[1] != wanted[1] && dims[2] != wanted[1])) return false;
    }
    put_at(s, 0, boxes);
    put_at(s, 1, scores);
    return true;
}

static bool is_joined(const struct selection *s) {
    const struct onnx_value *value = s->members[0];
    return s->count == 1 && is_line(value) && value->shape.dims[1] >= JOINED_LEAST && numbers_of(value) >= JOINED_LEAST;
}

/* What is no line first, then the last. */
static struct onnx_node *next_out(const struct selection *s) {
    for (int i = 0; i < s->count; i++)
        if (!is_line(s->members[i])) return s->members[i]->producer;
    for (size_t n = s->graph->node_count; n-- > 0;)
        for (int i = 0; i < s->count; i++)
            if (s->members[i]->producer == s->graph->nodes[n]) return s->graph->nodes[n];
    return NULL;
}

static bool find_cut(struct selection *s, enum selection_form form) {
    for (int step = 0; !(form == SELECTION_JOINED ? is_joined(s) : are_apart(s)); step++) {
        struct onnx_node *node = next_out(s);
        if (!node || step == STEPS_MOST || decodes(node) || !take_out(s, node) || !s->count) return false;
    }
    return true;
}

/* --- What boxes are behind the cut --- */

/* Corners of centres and sizes: half of the size is taken away, in one way or another. */
static bool takes_away(const struct onnx_node *node) {
    if (is_called(node, "Sub") || is_called(node, "Neg") || strstr(node->op, "MatMul") || strstr(node->op, "Gemm")) return true;
    for (int k = 0; k < node->input_count && (is_called(node, "Mul") || is_called(node, "Div")); k++) {
        const struct onnx_tensor *factors = onnx_input_constant(node, k);
        for (size_t i = 0; factors && factors->type == ONNX_FLOAT && i < factors->count && i < TURN_MOST; i++)
            if (onnx_number(factors, i) < 0) return true;
    }
    return false;
}

/* What picks lines has its data first; the lines' numbers are of no interest. */
static int inputs_followed(const struct onnx_node *node) {
    return strstr(node->op, "Gather") || strstr(node->op, "Slice") || strstr(node->op, "Shape") ? 1 : node->input_count;
}

/* Between the cut and a value, where nodes are done. */
static bool is_turned_before(const struct onnx_graph *g, struct onnx_value *value) {
    bool turned = false;
    for (size_t i = 0; i < g->value_count; i++) g->values[i]->lowered = NULL;
    value->lowered = value;
    for (size_t n = g->node_count; n-- > 0;) {
        const struct onnx_node *node = g->nodes[n];
        bool on_path = false;
        for (int k = 0; k < node->output_count; k++) on_path = on_path || (node->outputs[k] && node->outputs[k]->lowered);
        if (!on_path || !node->done) continue;
        turned = turned || takes_away(node);
        for (int k = 0; k < node->input_count && k < inputs_followed(node); k++)
            if (node->inputs[k]) node->inputs[k]->lowered = value;
    }
    for (size_t i = 0; i < g->value_count; i++) g->values[i]->lowered = NULL;
    return turned;
}

static struct selection_kind kind_of(const struct selection *s) {
    const struct onnx_graph *g = s->graph;
    struct selection_kind kind = {.activates = s->activates};
    for (size_t n = 0; n < g->node_count && !kind.suppresses; n++) {
        const struct onnx_node *node = g->nodes[n];
        kind.suppresses = node->done && is_called(node, "NonMaxSuppression");
        if (!kind.suppresses || !onnx_input(node, 0)) continue;
        kind.centres = onnx_attribute_int(node, "center_point_box", 0) == 1 || is_turned_before(g, node->inputs[0]);
    }
    return kind;
}

/* --- The new outputs --- */

/* Columns become lines. */
static void turn(struct selection *s) {
    static const int64_t perm[3] = {0, 2, 1};
    for (int i = 1; i < s->count; i++) {
        struct onnx_value *x = s->members[i];
        const int64_t *dims = x->shape.dims;
        if (dims[1] == s->members[0]->shape.dims[1]) continue;
        s->members[i] = graph_put(s->graph, x->producer, "Transpose", &x, 1, &(struct onnx_shape){3, {dims[0], dims[2], dims[1]}});
        edit_attribute_ints(s->graph, s->members[i]->producer, "perm", perm, 3);
    }
}

/* In front of those that stay. From the third on they share a name, and get numbers behind it. */
static void set_outputs(struct onnx_graph *g, struct onnx_value *const *values, int new_count, const bool *stays) {
    static const char *const names[] = {"boxes", "scores", "others"};
    struct onnx_value **outputs = onnx_alloc(g, (g->output_count + (size_t)new_count) * sizeof *outputs);
    size_t count = 0;
    for (size_t i = 0; i < g->output_count; i++) g->outputs[i]->is_output = stays[i];
    for (int i = 0; i < new_count; i++) {
        const char *name = new_count == 1 ? "candidates" : names[i < 2 ? i : 2];
        struct onnx_value *output = edit_value(g, name, ONNX_FLOAT, &values[i]->shape);
        edit_node(g, NULL, "Identity", "", NULL, &values[i], 1, &output, 1);
        output->is_output = true;
        outputs[count++] = output;
    }
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i]->is_output) outputs[count++] = g->outputs[i];
    g->outputs = outputs;
    g->output_count = count;
    edit_clean(g);
}

bool selection_cut(struct onnx_graph *g, enum selection_form form, struct selection_kind *kind) {
    struct selection s = {.graph = g};
    if (!mark_behind(&s) || !any_goes(&s)) return false;
    pass_floats(g);
    if (!find_members(&s) || !find_cut(&s, form)) return false;
    *kind = kind_of(&s);
    if (form == SELECTION_APART) turn(&s);
    set_outputs(g, s.members, s.count, s.stays);
    return true;
}

bool selection_split(struct onnx_graph *g, int64_t scores) {
    struct onnx_value *x = g->outputs[0], *parts[3];
    if (!is_line(x) || !x->producer || scores < 1 || scores > INT32_MAX) return false;
    const int axis = x->shape.dims[1] < x->shape.dims[2] ? 1 : 2;
    const int64_t ends[4] = {0, BOX, BOX + scores, x->shape.dims[axis]};
    if (ends[2] >= ends[3]) return false;
    bool *stays = onnx_alloc(g, g->output_count * sizeof *stays);
    for (size_t i = 1; i < g->output_count; i++) stays[i] = true;
    for (int k = 0; k < 3; k++) parts[k] = graph_slice(g, x, axis, ends[k], ends[k + 1]);
    set_outputs(g, parts, 3, stays);
    return true;
}
