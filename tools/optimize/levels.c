/* SPDX-License-Identifier: MIT */
/* Finds which outputs are of which level of a feature pyramid, and puts nodes behind them that join the levels. */
#include "tools/optimize/levels.h"
#include "tools/optimize/edit.h"
#include "tools/optimize/pass.h"
#include <string.h>

enum { PARTS_MOST = 8, ANCHORS_MOST = 16, BOX = 4, LEVELS_LEAST = 3 };

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
    p->images = shape->dims[0];
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

static int box_numbers(const struct pyramid *p) {
    return BOX * (p->head->bins ? p->head->bins : 1);
}

/* Of a cell. Rows say it by their count. Where scores of one class are the least of the finest maps, boxes have their multiple. */
static bool may_have_anchors(const struct pyramid *p, int64_t anchors) {
    int64_t least = 0;
    bool rows = false, boxes = false, multiple = false;
    for (size_t i = 0; i < p->graph->output_count; i++) {
        const struct onnx_value *value = p->graph->outputs[i];
        if (!may_be_part(value)) continue;
        rows = rows || (!is_map(value) && candidates_of(value) == anchors * cells(p, 0));
        if (!is_map_of(p, value, 0)) continue;
        const int64_t channels = value->shape.dims[1];
        least = least && least < channels ? least : channels;
        boxes = boxes || channels == box_numbers(p);
        multiple = multiple || channels == anchors * box_numbers(p);
    }
    if (rows || !least) return rows;
    return anchors == 1 ? boxes : anchors == least && multiple && (!boxes || least == box_numbers(p));
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
    if (l->count == PARTS_MOST || p->images != images_of(value)) return false;
    l->parts[l->count++] = (struct part){value, numbers};
    return true;
}

/* The level that an output is of; of several with as many cells the finest that has not yet what the finest of all has. LEVELS_MOST: it is
 * of none. Exporters go from level to level, or from part to part and within it from level to level: both come out right. */
static int level_of(const struct pyramid *p, const struct onnx_value *value) {
    int first = 0, level;
    while (first < LEVELS_MOST && !numbers_at(p, value, first)) first++;
    for (level = first; level < LEVELS_MOST && numbers_at(p, value, level); level++)
        if (!level || p->levels[level].count < p->levels[0].count) return level;
    return first;
}

static bool same_parts(const struct level *a, const struct level *b) {
    for (int i = 0; i < PARTS_MOST; i++)
        if (a->parts[i].numbers != b->parts[i].numbers) return false;
    return true;
}

/* From the finest level on those that have the same parts. What looks like a coarser one is another output. */
static bool find_levels(struct pyramid *p, int64_t anchors) {
    memset(p->levels, 0, sizeof p->levels);
    p->level_count = 0;
    p->anchors = anchors;
    for (size_t i = 0; i < p->graph->output_count; i++) {
        struct onnx_value *value = p->graph->outputs[i];
        const int level = may_be_part(value) ? level_of(p, value) : LEVELS_MOST;
        if (level < LEVELS_MOST && !add_part(p, level, value, numbers_at(p, value, level))) return false;
    }
    while (p->level_count < LEVELS_MOST && p->levels[p->level_count].count && same_parts(&p->levels[0], &p->levels[p->level_count]))
        p->level_count++;
    return p->level_count >= LEVELS_LEAST;
}

/* Coarser levels of several anchors may have as many rows as the finest one of fewer: the most comes first. */
static bool find_apart(struct pyramid *p) {
    for (int64_t anchors = ANCHORS_MOST; anchors > 0; anchors--)
        if (may_have_anchors(p, anchors) && find_levels(p, anchors)) return true;
    return false;
}

/* Outputs that have all levels are one level; not those that were made here. */
static bool find_joined(struct pyramid *p) {
    int64_t count = 0, counts[LEVELS_MOST];
    memset(p->levels, 0, sizeof p->levels);
    for (int k = 0; k < LEVELS_MOST; k++) counts[k] = count += cells(p, k);
    for (size_t i = 0; (p->head->bins || p->head->product) && i < p->graph->output_count; i++) {
        struct onnx_value *value = p->graph->outputs[i];
        if (!may_be_part(value) || is_map(value)) continue;
        const int64_t numbers = value->shape.dims[value->shape.rank - 1];
        if (!strncmp(value->name, boxes_name, strlen(boxes_name)) && value->shape.rank == 3 && numbers == BOX && p->head->bins)
            return false;
        bool all = false;
        for (int k = LEVELS_LEAST - 1; k < LEVELS_MOST; k++) all = all || candidates_of(value) == counts[k];
        if (all && !add_part(p, 0, value, numbers)) return false;
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

/* The mean of 0, 1, 2 .. of each number's bins; marked to stay in float, as steps of bytes would be coarse. */
static struct onnx_value *means(struct pyramid *p, struct onnx_value *x) {
    const int64_t candidates = x->shape.dims[1], bins = p->head->bins;
    const struct onnx_shape column = {2, {bins, 1}};
    double places[LEVELS_BINS_MOST];
    for (int i = 0; i < p->head->bins; i++) places[i] = i;
    x = put(p, "Softmax", reshape(p, x, BOX * candidates, bins), NULL, BOX * candidates, bins);
    edit_attribute_int(p->graph, x->producer, "axis", 2);
    edit_attribute_int(p->graph, x->producer, ONNX_EXACT_MARK, ONNX_STAYS_FLOAT);
    struct onnx_value *factors = graph_floats(p->graph, x->producer, "places", &column, places);
    return reshape(p, put(p, "MatMul", x, factors, BOX * candidates, 1), candidates, BOX);
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
    add_end(ends, boxes_name, means(p, graph_slice(p->graph, x, 2, scores, numbers)));
    add_end(ends, "scores", graph_slice(p->graph, x, 2, 0, scores));
    return true;
}

/* In front of the boxes there are two, of as many numbers or one of 1. */
static bool has_product(const struct pyramid *p, int box) {
    const struct part *parts = p->levels[0].parts;
    return box == 2 && (parts[0].numbers == parts[1].numbers || parts[0].numbers == 1 || parts[1].numbers == 1);
}

static bool make_ends(struct pyramid *p, struct ends *ends) {
    const int box = box_part(p), count = p->levels[0].count;
    if (box < 0 || count < 2) return split(p, ends);
    if (p->head->product && !has_product(p, box)) return false;
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

static bool has_other_floats(const struct onnx_graph *g) {
    bool any = false;
    for (size_t i = 0; i < g->output_count; i++) any = any || g->outputs[i]->type == ONNX_FLOAT16 || g->outputs[i]->type == ONNX_DOUBLE;
    return any;
}

bool levels_join(struct onnx_graph *g, const struct levels_head *head) {
    struct pyramid p = {.graph = g, .head = head};
    struct ends ends = {.count = 0};
    if (has_other_floats(g)) pass_floats(g);
    if (!find_sides(&p) || !(find_apart(&p) || find_joined(&p)) || !make_ends(&p, &ends)) return false;
    set_outputs(&p, &ends);
    return true;
}
