/* SPDX-License-Identifier: MIT */
/* Finds which outputs are of which level of a feature pyramid, and puts nodes behind them that join the levels. */
#include "tools/optimize/levels.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/pass.h"
#include <string.h>

enum { PARTS_MOST = 8, ANCHORS_MOST = 16, BOX = 4, JOINED_LEAST = 3 };

static const char boxes_name[] = "boxes";

/* An output of a level. */
struct part {
    struct onnx_value *value;
    int64_t numbers; /* of a candidate */
};

struct level {
    struct part parts[PARTS_MOST];
    int count;
};

struct pyramid {
    struct onnx_graph *graph;
    const struct levels_head *head;
    int64_t height, width, images, anchors;
    struct level levels[LEVELS_MOST];
    int level_count;
};

/* --- Which output is what --- */

static bool find_sides(struct pyramid *p) {
    const struct onnx_shape *shape = p->graph->input_count ? &p->graph->inputs[0]->shape : NULL;
    if (!shape || shape->rank != 4 || onnx_elements(shape) < 1) return false;
    const int64_t *sides = shape->dims[1] == 1 || shape->dims[1] == 3 ? shape->dims + 2 : shape->dims + 1;
    p->height = sides[0];
    p->width = sides[1];
    return true;
}

static int64_t cells(const struct pyramid *p, int level) {
    return levels_cells(p->height, level) * levels_cells(p->width, level);
}

static bool is_map(const struct onnx_value *value) {
    return value->shape.rank == 4;
}

static bool is_map_of(const struct pyramid *p, const struct onnx_value *value, int level) {
    const int64_t *dims = value->shape.dims;
    return is_map(value) && dims[2] == levels_cells(p->height, level) && dims[3] == levels_cells(p->width, level);
}

/* Rows of numbers, or maps: no other output is looked at. */
static bool may_be_part(const struct onnx_value *value) {
    return value->producer && value->type == ONNX_FLOAT && value->shape.rank >= 2 && value->shape.rank <= 4 &&
           onnx_elements(&value->shape) > 0;
}

static int64_t candidates_of(const struct onnx_value *value) {
    return value->shape.dims[value->shape.rank - 2];
}

/* As many as the finest level's rows say. */
static int64_t anchors_of_rows(const struct pyramid *p) {
    int64_t least = 0;
    for (size_t i = 0; i < p->graph->output_count; i++) {
        const struct onnx_value *value = p->graph->outputs[i];
        if (!may_be_part(value) || is_map(value) || candidates_of(value) % cells(p, 0)) continue;
        int64_t anchors = candidates_of(value) / cells(p, 0);
        if (!least || anchors < least) least = anchors;
    }
    return least;
}

static int box_numbers(const struct pyramid *p) {
    return BOX * (p->head->bins ? p->head->bins : 1);
}

/* The least channels of the finest level's maps, if those are scores of one class: then boxes have their multiple. Else 1. */
static int64_t anchors_of_maps(const struct pyramid *p) {
    const struct onnx_graph *g = p->graph;
    int64_t least = 0;
    for (size_t i = 0; i < g->output_count; i++)
        if (may_be_part(g->outputs[i]) && is_map_of(p, g->outputs[i], 0) && (!least || g->outputs[i]->shape.dims[1] < least))
            least = g->outputs[i]->shape.dims[1];
    for (size_t i = 0; least && i < g->output_count; i++)
        if (is_map_of(p, g->outputs[i], 0) && g->outputs[i]->shape.dims[1] == least * box_numbers(p)) return least;
    return least ? 1 : 0;
}

/* The numbers of a candidate, where the output is of that level; else 0. */
static int64_t numbers_at(const struct pyramid *p, const struct onnx_value *value, int level) {
    const struct onnx_shape *shape = &value->shape;
    if (is_map(value)) return is_map_of(p, value, level) && shape->dims[1] % p->anchors == 0 ? shape->dims[1] / p->anchors : 0;
    return candidates_of(value) == p->anchors * cells(p, level) ? shape->dims[shape->rank - 1] : 0;
}

static int64_t images_of(const struct onnx_value *value) {
    return value->shape.rank > 2 ? value->shape.dims[0] : 1;
}

static bool add_part(struct pyramid *p, int level, struct onnx_value *value, int64_t numbers) {
    struct level *l = &p->levels[level];
    if (l->count == PARTS_MOST || (p->images && p->images != images_of(value))) return false;
    p->images = images_of(value);
    l->parts[l->count++] = (struct part){value, numbers};
    return true;
}

/* Whether each level has the same parts, from the finest on. */
static bool levels_are_alike(struct pyramid *p) {
    while (p->level_count < LEVELS_MOST && p->levels[p->level_count].count) p->level_count++;
    for (int k = 1; k < LEVELS_MOST; k++) {
        if (k >= p->level_count && p->levels[k].count) return false;
        for (int i = 0; k < p->level_count && i < PARTS_MOST; i++)
            if (p->levels[k].parts[i].numbers != p->levels[0].parts[i].numbers) return false;
    }
    return p->level_count > 1;
}

static bool find_levels(struct pyramid *p) {
    int64_t of_rows = anchors_of_rows(p);
    p->anchors = of_rows ? of_rows : anchors_of_maps(p);
    if (!p->anchors || p->anchors > ANCHORS_MOST) return false;
    for (size_t i = 0; i < p->graph->output_count; i++) {
        struct onnx_value *value = p->graph->outputs[i];
        int64_t numbers = 0;
        int level = 0;
        if (!may_be_part(value)) continue;
        while (level < LEVELS_MOST && !(numbers = numbers_at(p, value, level))) level++;
        if (level < LEVELS_MOST && !add_part(p, level, value, numbers)) return false;
    }
    return levels_are_alike(p);
}

/* Outputs that have all levels are one level; not those that were made here. */
static bool find_joined(struct pyramid *p) {
    int64_t count = 0, counts[LEVELS_MOST];
    for (size_t i = 0; i < p->graph->output_count; i++) {
        const struct onnx_value *value = p->graph->outputs[i];
        if (!strcmp(value->name, boxes_name) && value->shape.rank == 3 && value->shape.dims[2] == BOX) return false;
    }
    for (int k = 0; k < LEVELS_MOST; k++) counts[k] = count += cells(p, k);
    for (size_t i = 0; p->head->bins && i < p->graph->output_count; i++) {
        struct onnx_value *value = p->graph->outputs[i];
        if (!may_be_part(value) || is_map(value)) continue;
        bool all = false;
        for (int k = JOINED_LEAST - 1; k < LEVELS_MOST; k++) all = all || candidates_of(value) == counts[k];
        if (all && !add_part(p, 0, value, value->shape.dims[value->shape.rank - 1])) return false;
    }
    p->anchors = p->level_count = 1;
    return p->levels[0].count > 0;
}

/* --- Nodes --- */

static struct onnx_value *put(struct pyramid *p, const char *op, struct onnx_value *a, struct onnx_value *b, int64_t candidates,
                              int64_t numbers) {
    struct onnx_value *inputs[2] = {a, b};
    const struct onnx_shape shape = {3, {p->images, candidates, numbers}};
    return graph_put(p->graph, a->producer, op, inputs, b ? 2 : 1, &shape);
}

static struct onnx_value *reshape(struct pyramid *p, struct onnx_value *x, int64_t candidates, int64_t numbers) {
    const int64_t dims[3] = {p->images, candidates, numbers};
    return put(p, "Reshape", x, graph_int64s(p->graph, x->producer, "shape", dims, 3), candidates, numbers);
}

/* [images, candidates, numbers] of what a level has. */
static struct onnx_value *rows(struct pyramid *p, const struct part *part) {
    static const int64_t last[4] = {0, 2, 3, 1};
    struct onnx_value *x = part->value;
    if (x->shape.rank == 3) return x;
    const int64_t candidates = onnx_elements(&x->shape) / p->images / part->numbers;
    if (is_map(x)) {
        const struct onnx_shape turned = {4, {x->shape.dims[0], x->shape.dims[2], x->shape.dims[3], x->shape.dims[1]}};
        x = graph_put(p->graph, x->producer, "Transpose", &x, 1, &turned);
        edit_attribute_ints(p->graph, x->producer, "perm", last, 4);
    }
    return reshape(p, x, candidates, part->numbers);
}

/* A part of all levels. */
static struct onnx_value *joined(struct pyramid *p, int part) {
    struct onnx_value *inputs[LEVELS_MOST];
    struct onnx_shape shape = {3, {p->images, 0, p->levels[0].parts[part].numbers}};
    for (int k = 0; k < p->level_count; k++) {
        inputs[k] = rows(p, &p->levels[k].parts[part]);
        shape.dims[1] += inputs[k]->shape.dims[1];
    }
    if (p->level_count == 1) return inputs[0];
    struct onnx_value *y = graph_put(p->graph, inputs[0]->producer, "Concat", inputs, p->level_count, &shape);
    edit_attribute_int(p->graph, y->producer, "axis", 1);
    return y;
}

/* The mean of 0, 1, 2 .. of each number's bins. */
static struct onnx_value *means(struct pyramid *p, struct onnx_value *x) {
    const int64_t candidates = x->shape.dims[1], bins = p->head->bins;
    const struct onnx_shape column = {2, {bins, 1}};
    double places[64];
    for (int i = 0; i < p->head->bins; i++) places[i] = i;
    x = put(p, "Softmax", reshape(p, x, BOX * candidates, bins), NULL, BOX * candidates, bins);
    edit_attribute_int(p->graph, x->producer, "axis", 2);
    struct onnx_value *factors = graph_floats(p->graph, x->producer, "places", &column, places);
    return reshape(p, put(p, "MatMul", x, factors, BOX * candidates, 1), candidates, BOX);
}

static struct onnx_value *sliced(struct pyramid *p, struct onnx_value *x, int64_t begin, int64_t end) {
    const int64_t axis = 2;
    const struct onnx_shape shape = {3, {p->images, x->shape.dims[1], end - begin}};
    struct onnx_value *inputs[4] = {x, graph_int64s(p->graph, x->producer, "begin", &begin, 1),
                                    graph_int64s(p->graph, x->producer, "end", &end, 1),
                                    graph_int64s(p->graph, x->producer, "axis", &axis, 1)};
    return graph_put(p->graph, x->producer, "Slice", inputs, 4, &shape);
}

/* --- The new outputs --- */

struct ends {
    struct onnx_value *values[PARTS_MOST + 2];
    const char *names[PARTS_MOST + 2];
    int count;
};

static void add_end(struct ends *ends, const char *name, struct onnx_value *value) {
    ends->names[ends->count] = name;
    ends->values[ends->count++] = value;
}

/* Which part is the boxes; -1: none. */
static int box_part(const struct pyramid *p) {
    int at = p->levels[0].count - 1;
    while (at >= 0 && p->levels[0].parts[at].numbers != box_numbers(p)) at--;
    return at;
}

/* One part has both: of the same output, scores in front. */
static bool split(struct pyramid *p, struct ends *ends) {
    const int64_t numbers = p->levels[0].parts[0].numbers, scores = numbers - box_numbers(p);
    if (!p->head->bins || p->levels[0].count != 1 || scores < 1) return false;
    struct onnx_value *x = joined(p, 0);
    add_end(ends, boxes_name, means(p, sliced(p, x, scores, numbers)));
    add_end(ends, "scores", sliced(p, x, 0, scores));
    return true;
}

static bool make_ends(struct pyramid *p, struct ends *ends) {
    const int box = box_part(p), count = p->levels[0].count;
    if (box < 0 || count < (p->head->product ? 3 : 2)) return split(p, ends);
    struct onnx_value *boxes = joined(p, box);
    add_end(ends, boxes_name, p->head->bins ? means(p, boxes) : boxes);
    for (int part = 0; part < count; part++)
        if (part != box) add_end(ends, ends->count == 1 ? "scores" : "points", joined(p, part));
    if (!p->head->product) return true;
    struct onnx_value *a = ends->values[1], *b = ends->values[2];
    const int64_t *dims = (a->shape.dims[2] > b->shape.dims[2] ? a : b)->shape.dims;
    ends->values[1] = put(p, "Sqrt", put(p, "Mul", a, b, dims[1], dims[2]), NULL, dims[1], dims[2]);
    for (int i = 2; i + 1 < ends->count; i++) ends->values[i] = ends->values[i + 1];
    ends->count--;
    return true;
}

/* Outputs that are parts are none any more; the new ones come first. */
static void set_outputs(struct pyramid *p, const struct ends *ends) {
    struct onnx_graph *g = p->graph;
    struct onnx_value **outputs = onnx_alloc(g, (g->output_count + (size_t)ends->count) * sizeof *outputs);
    size_t count = 0;
    for (int k = 0; k < p->level_count; k++)
        for (int i = 0; i < p->levels[k].count; i++) p->levels[k].parts[i].value->is_output = false;
    for (int i = 0; i < ends->count; i++) {
        struct onnx_value *output = edit_value(g, ends->names[i], ONNX_FLOAT, &ends->values[i]->shape);
        edit_node(g, NULL, "Identity", "", NULL, (struct onnx_value *[]){ends->values[i]}, 1, &output, 1);
        output->is_output = true;
        outputs[count++] = output;
    }
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i]->is_output) outputs[count++] = g->outputs[i];
    g->outputs = outputs;
    g->output_count = count;
    edit_clean(g);
}

bool levels_join(struct onnx_graph *g, const struct levels_head *head) {
    struct pyramid p = {.graph = g, .head = head};
    struct ends ends = {.count = 0};
    if (!find_sides(&p)) return false;
    if (!find_levels(&p)) {
        struct pyramid none = {.graph = g, .head = head, .height = p.height, .width = p.width};
        p = none;
        if (!find_joined(&p)) return false;
    }
    if (!make_ends(&p, &ends)) return false;
    set_outputs(&p, &ends);
    return true;
}
