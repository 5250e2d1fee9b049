/* SPDX-License-Identifier: MIT */
/*
 * Scores of classes on a grid of cells become the class of each pixel of a frame.
 *
 * A pixel's centre goes the way that the picture went: region -> turned, mirrored -> resized -> cropped or boxed. There it lies among four
 * cells. Where these have one class, that is the pixel's: each of its scores is the largest of its cell, and so is every mean of them.
 * Elsewhere all scores are interpolated. Places are fractions of whole numbers, and go on by whole numbers from a pixel to the next.
 *
 * A NaN is in no comparison true, and every comparison here asks for what is larger.
 */
#include "answer_map.h"
#include "picture.h"
#include "../kernels/float.h"

#include <string.h>

/* --- Classes ------------------------------------------------------------------------------------------------------------ */

static uint32_t by_threshold(const struct morsel_blob_answer *rule, float score) {
    float p = rule->flags & MORSEL_ANSWER_SIGMOID ? morsel_sigmoid(score) : score;
    return p >= rule->threshold;
}

/* Of a map of numbers: the nearest whole one. */
static uint32_t by_number(const struct morsel_blob_answer *rule, float number) {
    float up = number + 0.5f;
    return up >= 0 && up < (float)rule->classes ? (uint32_t)up : MORSEL_NO_CLASS;
}

/* Of one cell. */
static uint32_t class_in(const struct morsel_blob_answer *rule, const struct morsel_answer_map *map, size_t cell) {
    float best = morsel_map_value(map, cell, 0);
    uint32_t class = 0;
    if (rule->head == MORSEL_HEAD_INDICES) return by_number(rule, best);
    if (rule->classes == 1) return by_threshold(rule, best);
    if (best != best) best = -FLT_MAX;
    for (uint32_t k = 1; k < rule->classes; k++) {
        float score = morsel_map_value(map, cell, k);
        if (!(score > best)) continue;
        best = score;
        class = k;
    }
    return class;
}

/* Four cells about a place: two rows of two. */
struct corners {
    size_t cells[4];
    uint32_t classes[4];
};

static int agree(const struct corners *c) {
    return c->classes[0] == c->classes[1] && c->classes[0] == c->classes[2] && c->classes[0] == c->classes[3];
}

/* PyTorch's order of operations. */
static float between(const struct morsel_answer_map *map, const struct corners *c, uint32_t k, float x, float y) {
    float above = (1 - x) * morsel_map_value(map, c->cells[0], k) + x * morsel_map_value(map, c->cells[1], k);
    float below = (1 - x) * morsel_map_value(map, c->cells[2], k) + x * morsel_map_value(map, c->cells[3], k);
    return (1 - y) * above + y * below;
}

static uint32_t class_between(const struct morsel_blob_answer *rule, const struct morsel_answer_map *map, const struct corners *c, float x,
                              float y) {
    float best = between(map, c, 0, x, y);
    uint32_t class = 0;
    if (rule->classes == 1) return by_threshold(rule, best);
    if (best != best) best = -FLT_MAX;
    for (uint32_t k = 1; k < rule->classes; k++) {
        float score = between(map, c, k, x, y);
        if (!(score > best)) continue;
        best = score;
        class = k;
    }
    return class;
}

/* --- Places ------------------------------------------------------------------------------------------------------------- */

/* Cells along one direction of the frame, and where in them the pixels lie that went into the input: from `begin` up to `end`. The place
 * of a pixel is a number of cells times `unit`; it grows by `step` from each to the next, the other way round where `mirrored`. */
struct walk {
    uint32_t begin, end, cells;
    int mirrored;
    int64_t unit, step, first; /* of pixel `begin`, or of the last one where mirrored */
};

/* n / d by bits: 32-bit machines have no division of 64 bits of their own. d is from 1 to 2^63. */
static uint64_t divided(uint64_t n, uint64_t d, uint64_t *rest) {
    uint64_t quotient = 0;
    *rest = 0;
    for (int bit = 63; bit >= 0; bit--) {
        *rest = *rest << 1 | (n >> bit & 1);
        quotient <<= 1;
        if (*rest < d) continue;
        *rest -= d;
        quotient |= 1;
    }
    return quotient;
}

static uint64_t divided_up(uint64_t n, uint64_t d) {
    uint64_t rest;
    return divided(n + d - 1, d, &rest);
}

/*
 * Pixel k of a region has its centre at (2 k + 1) / 2, after the resize at (2 k + 1) * out / (2 in). Visible are those from `first` on
 * and below first + visible. With unit = 2 * in * size the place among cells is
 *     ((2 k + 1) * out + 2 * in * (pad - first)) * cells, less half a cell where scores are interpolated
 * and from the far end on, where mirrored, unit * cells less it. in and cells are at most 2^15, out and size 2^30; what is visible lies
 * within the result, so the first factor is from 0 to 2 * in * size <= 2^46: nothing reaches 2^62. Where nothing is, it is below 2^48.
 */
static struct walk walk_of(const struct morsel_axis *a, int mirrored, uint32_t cells, int nearest) {
    uint64_t low = divided_up(2 * (uint64_t)a->in * a->first, a->out);
    uint64_t high = divided_up(2 * (uint64_t)a->in * ((uint64_t)a->first + a->visible), a->out);
    struct walk w = {(uint32_t)(low / 2), (uint32_t)(high / 2), cells, mirrored, 2 * (int64_t)a->in * a->size, 0, 0};
    if (w.end > a->in) w.end = a->in;
    w.step = 2 * (int64_t)a->out * cells;
    uint32_t k = mirrored && w.end > w.begin ? w.end - 1 : w.begin; /* a crop may lie between two centres */
    int64_t at = (2 * (int64_t)k + 1) * a->out + 2 * (int64_t)a->in * ((int64_t)a->pad - (int64_t)a->first);
    if (mirrored) at = w.unit - at;
    w.first = at * cells - (nearest ? 0 : w.unit / 2);
    return w;
}

/* A place on the way: in front of the first cell, whole = -1. */
struct place {
    int64_t whole, rest;
};

static struct place place_at(const struct walk *w, int64_t at) {
    uint64_t rest, whole = divided(at < 0 ? 0 - (uint64_t)at : (uint64_t)at, (uint64_t)w->unit, &rest);
    struct place p = {(int64_t)whole, (int64_t)rest};
    if (at >= 0) return p;
    p.whole = -p.whole - (p.rest > 0);
    if (p.rest) p.rest = w->unit - p.rest;
    return p;
}

/* The two cells about a place, the same at an end; how far it is from the first to the second. */
struct pair {
    uint32_t low, high;
    float part;
};

static struct pair pair_at(const struct walk *w, struct place p, int nearest) {
    struct pair pair = {0, 0, 0};
    if (p.whole < 0) return pair;
    pair.low = pair.high = p.whole < w->cells ? (uint32_t)p.whole : w->cells - 1;
    if (nearest) return pair;
    pair.high += pair.low + 1 < w->cells;
    pair.part = (float)p.rest / (float)w->unit;
    return pair;
}

/* --- Pixels --------------------------------------------------------------------------------------------------------------- */

struct segment {
    const struct morsel_blob_answer *rule;
    struct morsel_answer_map map;
    struct walk x, y;   /* of the frame */
    size_t along, down; /* elements from a cell to the next */
    int nearest;
};

/* Corners side by side: of the next pair those on the left may be those that were on the right. */
static void move_corners(const struct segment *s, struct corners *c, const struct pair *x, const struct pair *y,
                         const struct pair *before) {
    const size_t rows[2] = {s->map.first + y->low * s->down, s->map.first + y->high * s->down};
    for (uint32_t r = 0; r < 2; r++) {
        size_t *cells = c->cells + 2 * r;
        uint32_t *classes = c->classes + 2 * r;
        uint32_t known = before && before->high == x->low;
        cells[0] = rows[r] + x->low * s->along;
        classes[0] = known ? classes[1] : class_in(s->rule, &s->map, cells[0]);
        cells[1] = rows[r] + x->high * s->along;
        if (x->high != x->low) classes[1] = class_in(s->rule, &s->map, cells[1]);
        else classes[1] = classes[0];
    }
}

/* The place of the next pixel. */
static void go_on(const struct walk *w, struct place step, struct place *p) {
    p->whole += step.whole;
    p->rest += step.rest;
    if (p->rest < w->unit) return;
    p->rest -= w->unit;
    p->whole++;
}

/* One row of the frame's pixels, `y` of the walk down. Where four cells agree all pixels between them are done at once. */
static void segment_row(const struct segment *s, const struct pair *y, uint8_t *row) {
    const struct walk *w = &s->x;
    struct place p = place_at(w, w->first), step = place_at(w, w->step);
    struct corners c = {{0}, {0}};
    struct pair before = {0, 0, 0};
    for (uint32_t i = 0, count = w->end - w->begin; i < count;) {
        struct pair x = pair_at(w, p, s->nearest);
        if (!i || x.low != before.low || x.high != before.high) move_corners(s, &c, &x, y, i ? &before : NULL);
        const int same = agree(&c);
        const uint32_t class = same ? c.classes[0] : class_between(s->rule, &s->map, &c, x.part, y->part);
        const int64_t whole = p.whole;
        do {
            row[w->mirrored ? w->end - 1 - i : w->begin + i] = (uint8_t) class;
            go_on(w, step, &p);
            i++;
        } while (same && i < count && p.whole == whole);
        before = x;
    }
}

static void segment_frame(const struct segment *s, const struct morsel_frame *frame, uint8_t *classes) {
    const struct walk *w = &s->y;
    memset(classes, MORSEL_NO_CLASS, (size_t)frame->width * frame->height);
    for (uint32_t k = w->begin; k < w->end; k++) {
        uint32_t steps = w->mirrored ? w->end - 1 - k : k - w->begin;
        struct pair y = pair_at(w, place_at(w, w->first + steps * w->step), s->nearest);
        segment_row(s, &y, classes + (size_t)(frame->top + k) * frame->width + frame->left);
    }
}

static void segment_cells(const struct segment *s, uint8_t *classes) {
    for (uint32_t y = 0; y < s->map.shape.height; y++)
        for (uint32_t x = 0; x < s->map.shape.width; x++) *classes++ = (uint8_t)class_in(s->rule, &s->map, morsel_map_cell(&s->map, y, x));
}

enum morsel_error morsel_segment_by_rule(const struct morsel_blob_answer *rule, const struct morsel_blob_picture *picture,
                                         const struct morsel_view *view, const struct morsel_frame *frame, uint32_t image, uint8_t *classes,
                                         size_t capacity) {
    struct segment s = {.rule = rule, .map = morsel_map_of(rule, view, image)};
    const struct morsel_map_shape *shape = &s.map.shape;
    struct morsel_picture_plan plan;
    struct morsel_frame own;
    if (image >= shape->images) return MORSEL_ERR_ARGUMENT;
    if (!frame) {
        if (capacity / shape->width < shape->height) return MORSEL_ERR_CAPACITY;
        segment_cells(&s, classes);
        return MORSEL_OK;
    }
    enum morsel_error error = morsel_frame_plan(picture, frame, &own, &plan);
    if (error) return error;
    if (capacity / own.width < own.height) return MORSEL_ERR_CAPACITY;
    s.nearest = rule->head == MORSEL_HEAD_INDICES || rule->flags & MORSEL_ANSWER_NEAREST;
    s.x = walk_of(&plan.x, plan.mirror_x, plan.transposed ? shape->height : shape->width, s.nearest);
    s.y = walk_of(&plan.y, plan.mirror_y, plan.transposed ? shape->width : shape->height, s.nearest);
    s.along = plan.transposed ? s.map.row : s.map.column;
    s.down = plan.transposed ? s.map.column : s.map.row;
    segment_frame(&s, &own, classes);
    return MORSEL_OK;
}

enum morsel_error morsel_segment(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image, uint8_t *classes,
                                 size_t capacity) {
    const struct morsel_blob_answer *rule;
    struct morsel_view view;
    if (!classes) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_answer_of(session, MORSEL_ANSWER_SEGMENTATION, &rule, &view);
    if (error) return error;
    return morsel_segment_by_rule(rule, morsel_picture_rule(session->model), &view, frame, image, classes, capacity);
}
