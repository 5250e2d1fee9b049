/* SPDX-License-Identifier: MIT */
/*
 * Where a detector's candidates are whole, in front of what chooses among them.
 *
 * From the output back there are nodes that pick and move lines, to a Concat of box, score and class. From each of its parts there are more
 * such nodes, to the values that all is picked from. A node of any other kind ends the search: what it computes would be lost.
 */
#include "tools/optimize/selection.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/pass.h"
#include <string.h>

enum { STEPS_MOST = 100, BOX = 4, TOLD = BOX + 2 };
enum part { PART_BOX, PART_SCORE, PART_CLASS, PART_OTHERS, PARTS_MOST };

/* What leaves numbers in their order, but for the steps of bytes; and what picks some of them. */
static const char *const moves[] = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "QuantizeLinear", "DequantizeLinear", NULL};
static const char *const picks[] = {"Gather", "GatherElements", "GatherND", NULL};

/* Refused by inference or not: shapes behind a suppression are known at run time only. */
static bool is_called(const struct onnx_node *node, const char *op) {
    return node && !strcmp(node->op, op) && !*node->domain;
}

static bool is_one_of(const struct onnx_node *node, const char *const *names) {
    for (; *names; names++)
        if (is_called(node, *names)) return true;
    return false;
}

/* --- Behind a choice --- */

/* Nodes behind a choice are done. */
static enum selection mark_behind(struct onnx_graph *g) {
    enum selection found = SELECTION_NONE;
    for (size_t i = 0; i < g->node_count; i++) {
        struct onnx_node *node = g->nodes[i];
        const bool suppresses = is_called(node, "NonMaxSuppression");
        node->done = !node->folded && (suppresses || is_called(node, "TopK"));
        if (node->done && found != SELECTION_SUPPRESSED) found = suppresses ? SELECTION_SUPPRESSED : SELECTION_BEST;
        for (int k = 0; k < node->input_count && !node->done; k++)
            node->done = node->inputs[k] && !node->inputs[k]->constant && node->inputs[k]->producer && node->inputs[k]->producer->done;
    }
    return found;
}

static bool is_behind(const struct onnx_value *value) {
    return value->producer && value->producer->done;
}

/* --- Back from the output --- */

/* Lines are of rank 2 or 3, where nothing is known of their rank. */
static bool joins_lines(const struct onnx_node *concat) {
    const int64_t axis = onnx_attribute_int(concat, "axis", 0);
    bool last = axis == -1 || axis == 1 || axis == 2;
    for (int k = 0; k < concat->input_count; k++) {
        const int rank = concat->inputs[k] ? concat->inputs[k]->shape.rank : -1;
        last = last && (axis == -1 || rank < 0 || axis == rank - 1);
    }
    return last;
}

/* Box, score, class and others, in lines that are moved, filled up and put among zeros. NULL: they are not joined so. */
static struct onnx_node *join_of(const struct onnx_value *output) {
    static const char *const fills[] = {"Cast", "Slice", "Pad", "Expand", NULL};
    struct onnx_node *node = output->producer;
    for (int step = 0; node && step < STEPS_MOST; step++) {
        const int from = is_called(node, "ScatterND") ? 2 : 0;
        if (is_called(node, "Concat")) break;
        if (!is_one_of(node, moves) && !is_one_of(node, fills) && !from) return NULL;
        node = onnx_input(node, from) ? node->inputs[from]->producer : NULL;
    }
    if (!is_called(node, "Concat") || node->input_count < PART_OTHERS || node->input_count > PARTS_MOST || !joins_lines(node)) return NULL;
    for (int k = 0; k < node->input_count; k++)
        if (!node->inputs[k] || node->inputs[k]->constant) return NULL;
    return node;
}

/* Picks whole lines: not numbers of a line. */
static bool picks_lines(const struct onnx_node *node) {
    const struct onnx_value *x = onnx_input(node, 0), *index = onnx_input(node, 1);
    const int rank = x ? x->shape.rank : -1;
    const int64_t axis = onnx_attribute_int(node, "axis", 0);
    if (!x || !index) return false;
    if (is_called(node, "GatherND")) return rank <= 2 || (index->shape.rank > 0 && index->shape.dims[index->shape.rank - 1] < rank);
    return axis >= 0 && (rank < 0 ? axis == 0 : axis < rank - 1 || rank == 1);
}

static bool same_line(const struct onnx_value *a, const struct onnx_value *b) {
    const int m = a->shape.rank, n = b->shape.rank;
    return m < 1 || n < 1 || a->shape.dims[m - 1] == b->shape.dims[n - 1];
}

/* The largest of a line, which is the last dimension. */
static bool is_largest(const struct onnx_node *node) {
    bool reduced[ONNX_MAX_RANK];
    const struct onnx_value *x = onnx_input(node, 0);
    if (!is_called(node, "ReduceMax") || !x || x->shape.rank < 2 || !onnx_reduced(node, x->shape.rank, reduced)) return false;
    for (int d = 0; d < x->shape.rank; d++)
        if (reduced[d] != (d == x->shape.rank - 1)) return false;
    return true;
}

/* What a node picks or moves, where that is all it does with it. Of scores it may be the largest. NULL: it is not. */
static struct onnx_value *picked_from(const struct onnx_value *value, enum part part) {
    const struct onnx_node *node = value->producer;
    struct onnx_value *x = node ? onnx_input(node, 0) : NULL;
    if (!x || x->constant) return NULL;
    if (is_called(node, "Cast")) return x->type == ONNX_FLOAT && value->type == ONNX_FLOAT ? x : NULL;
    if (is_one_of(node, picks)) return picks_lines(node) ? x : NULL;
    if (is_one_of(node, moves)) return part == PART_SCORE || same_line(value, x) ? x : NULL;
    if (part != PART_SCORE) return NULL;
    if (is_called(node, "TopK"))
        return value == node->outputs[0] && onnx_attribute_int(node, "largest", 1) && onnx_attribute_int(node, "sorted", 1) ? x : NULL;
    return is_largest(node) ? x : NULL;
}

static bool is_line(const struct onnx_value *value) {
    return value->type == ONNX_FLOAT && value->shape.rank == 3 && onnx_elements(&value->shape) > 0;
}

static int64_t numbers_of(const struct onnx_value *value) {
    return value->shape.dims[value->shape.rank - 1];
}

/* [images, candidates, numbers] in front of every choice. */
static bool is_whole(const struct onnx_value *value) {
    return !is_behind(value) && is_line(value);
}

/* The lines that a part is picked from. NULL: there is none. */
static struct onnx_value *whole_of(struct onnx_value *value, enum part part) {
    for (int step = 0; value && step < STEPS_MOST && !is_whole(value); step++) value = picked_from(value, part);
    return value && is_whole(value) ? value : NULL;
}

/* A place among the scores of a candidate: what is left of the place among all, or where the largest is. */
static bool is_class(const struct onnx_node *node, int64_t classes) {
    const struct onnx_tensor *by = is_called(node, "Mod") ? onnx_input_constant(node, 1) : NULL;
    const struct onnx_value *x = is_called(node, "ArgMax") ? onnx_input(node, 0) : NULL;
    if (by) return by->count == 1 && onnx_integer(by, 0) == classes;
    const int64_t axis = x ? onnx_attribute_int(node, "axis", 0) : 0;
    return x && x->shape.rank > 1 && numbers_of(x) == classes && (axis == -1 || axis == x->shape.rank - 1);
}

/* Such a place in floats, with nothing added: a class for the background, say, would be. */
static bool is_index(const struct onnx_value *value, int64_t classes) {
    bool cast = false;
    for (int step = 0; value && value->producer && step < STEPS_MOST && !is_class(value->producer, classes); step++) {
        const struct onnx_node *node = value->producer;
        cast = cast || is_called(node, "Cast");
        const bool moved = is_one_of(node, moves) || is_called(node, "Cast");
        if (!moved && !(is_one_of(node, picks) && picks_lines(node))) return false;
        value = onnx_input(node, 0);
    }
    return cast && value && value->producer && is_class(value->producer, classes);
}

static bool same_candidates(const struct onnx_value *a, const struct onnx_value *b) {
    return a->shape.dims[0] == b->shape.dims[0] && a->shape.dims[1] == b->shape.dims[1];
}

/* The numbers of a line that is told; -1: known at run time only. */
static int64_t told_by(const struct onnx_value *output) {
    return output->shape.rank > 0 ? output->shape.dims[output->shape.rank - 1] : -1;
}

/* Boxes, scores and others of all candidates; how many these are, 0: the output is no such. Others of one number are the angle of a box. */
static int find_parts(const struct onnx_value *output, struct onnx_value **parts) {
    const struct onnx_node *join = join_of(output);
    const int64_t told = told_by(output);
    if (!join || !is_behind(output)) return 0;
    parts[0] = whole_of(join->inputs[PART_BOX], PART_BOX);
    parts[1] = whole_of(join->inputs[PART_SCORE], PART_SCORE);
    if (!parts[0] || !parts[1] || numbers_of(parts[0]) != BOX || !same_candidates(parts[0], parts[1])) return 0;
    if (!is_index(join->inputs[PART_CLASS], numbers_of(parts[1]))) return 0;
    if (told == TOLD || join->input_count < PARTS_MOST) return told == TOLD || told < 0 ? 2 : 0;
    parts[2] = whole_of(join->inputs[PART_OTHERS], PART_OTHERS);
    if (!parts[2] || !same_candidates(parts[0], parts[2]) || parts[2]->shape.dims[2] < 2) return 0;
    return told < 0 || told == TOLD + parts[2]->shape.dims[2] ? 3 : 0;
}

/* --- The new outputs --- */

/* In the place of the first one. */
static void set_outputs(struct onnx_graph *g, struct onnx_value *const *values, int new_count) {
    static const char *const names[] = {"boxes", "scores", "others"};
    struct onnx_value **outputs = onnx_alloc(g, (g->output_count + (size_t)new_count) * sizeof *outputs);
    g->outputs[0]->is_output = false;
    for (int i = 0; i < new_count; i++) {
        outputs[i] = edit_value(g, names[i], ONNX_FLOAT, &values[i]->shape);
        edit_node(g, NULL, "Identity", "", NULL, &values[i], 1, &outputs[i], 1);
        outputs[i]->is_output = true;
    }
    memcpy(outputs + new_count, g->outputs + 1, (g->output_count - 1) * sizeof *outputs);
    g->outputs = outputs;
    g->output_count += (size_t)new_count - 1;
    edit_clean(g);
}

enum selection selection_cut(struct onnx_graph *g) {
    struct onnx_value *parts[3];
    const enum selection found = g->output_count ? mark_behind(g) : SELECTION_NONE;
    if (found == SELECTION_NONE) return found;
    pass_floats(g);
    const int count = find_parts(g->outputs[0], parts);
    if (count) set_outputs(g, parts, count);
    return count ? found : SELECTION_NONE;
}

/* Whether another output may be the boxes, or the scores. */
static bool has_other(const struct onnx_graph *g, int64_t candidates) {
    for (size_t i = 1; i < g->output_count; i++) {
        const struct onnx_shape *shape = &g->outputs[i]->shape;
        if (shape->rank == 3 && (shape->dims[1] == candidates || shape->dims[2] == candidates)) return true;
    }
    return false;
}

bool selection_split(struct onnx_graph *g, int64_t scores) {
    struct onnx_value *x = g->output_count ? g->outputs[0] : NULL, *parts[3];
    if (!x || !x->producer || !is_line(x) || scores < 1 || scores > INT32_MAX) return false;
    const int axis = x->shape.dims[1] < x->shape.dims[2] ? 1 : 2;
    const int64_t ends[4] = {0, BOX, BOX + scores, x->shape.dims[axis]};
    if (ends[2] >= ends[3] || has_other(g, x->shape.dims[3 - axis])) return false;
    for (int k = 0; k < 3; k++) parts[k] = graph_slice(g, x, axis, ends[k], ends[k + 1]);
    set_outputs(g, parts, 3);
    return true;
}
