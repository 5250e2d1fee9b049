/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a detector become boxes: each candidate has a class, its p and a box; those of too low a p go; of those that overlap the
 * best stays.
 *
 * The caller's array is all the memory there is. Its front holds boxes that stay. Behind them stand, in order, the best candidates after
 * the last one that was looked at. Where all of these have been looked at, and the room was too small for all there are, the next best
 * are gathered. So the result is that of greedy suppression over all candidates, whatever the room. Each turn but the last keeps a box.
 *
 * Order is by p, then by number: no two are equal. A NaN is in no comparison true, and every comparison here asks for what is good.
 */
#include "answer.h"
#include "picture.h"
#include "view.h"
#include "../kernels/float.h"
#include "../kernels/requant.h"

/* Where the numbers of an output lie: number k of candidate i is element first + i * step + k * stride. */
struct table {
    struct morsel_input x;
    size_t first, step, stride;
};

struct head {
    const struct morsel_blob_answer *rule;
    const float *anchors; /* [candidates][4], or NULL */
    struct table boxes, scores;
    uint32_t candidates;
};

/* Channels that are last in memory are the last dimension but one. */
static struct table table_of(const struct morsel_blob_answer *rule, const struct morsel_view *view, uint32_t image) {
    const uint32_t *last = view->onnx_dims + (view->onnx_rank - 2);
    int turned = view->layout == MORSEL_CHANNELS_LAST && view->rank >= 3;
    size_t row = turned ? 1 : last[1], column = turned ? last[0] : 1;
    struct table t = {{view->data, morsel_view_qparams(view)}, (size_t)image * last[0] * last[1], row, column};
    if (rule->flags & MORSEL_ANSWER_COLUMNS) {
        t.step = column;
        t.stride = row;
    }
    return t;
}

static float number(const struct table *t, uint32_t candidate, uint32_t k) {
    return morsel_load_float(&t->x, t->first + candidate * t->step + k * t->stride);
}

/* --- A candidate ------------------------------------------------------------------------------------------------------ */

/* The largest score and its class; -1 where there is none. With a softmax no more than p where that is too low. */
static float best_score(const struct head *h, uint32_t i, uint32_t front, uint32_t *class) {
    const struct morsel_blob_answer *rule = h->rule;
    uint32_t background = (rule->flags & MORSEL_ANSWER_BACKGROUND) != 0;
    float best = -FLT_MAX, sum = 0;
    for (uint32_t k = background; k < rule->classes; k++) {
        float score = number(&h->scores, i, front + k);
        if (!(score > best)) continue;
        best = score;
        *class = k;
    }
    if (best == -FLT_MAX) return -1;
    if (rule->flags & MORSEL_ANSWER_SIGMOID) return morsel_sigmoid(best);
    if (!(rule->flags & MORSEL_ANSWER_SOFTMAX)) return best;
    float none = background ? number(&h->scores, i, front) : best, most = none > best ? none : best, p = morsel_exp(best - most);
    if (!(p >= rule->threshold)) return p; /* the sum is 1 or more */
    for (uint32_t k = 0; k < rule->classes; k++) sum = sum + morsel_exp(number(&h->scores, i, front + k) - most);
    return p / sum;
}

/* Of a head that tells the class as a number. */
static float told_score(const struct head *h, uint32_t i, uint32_t *class) {
    float told = number(&h->scores, i, 5) + 0.5f;
    if (!(told >= 0 && told < (float)h->rule->classes)) return -1;
    *class = (uint32_t)told;
    return number(&h->scores, i, 4);
}

static float score_of(const struct head *h, uint32_t i, uint32_t *class) {
    const struct morsel_blob_answer *rule = h->rule;
    if (rule->head == MORSEL_HEAD_YOLOV10) return told_score(h, i, class);
    if (rule->head != MORSEL_HEAD_YOLOV5) return best_score(h, i, rule->scores == rule->output ? 4 : 0, class);
    float there = number(&h->boxes, i, 4);
    if (rule->flags & MORSEL_ANSWER_SIGMOID) there = morsel_sigmoid(there);
    float best = best_score(h, i, 5, class);
    return best >= 0 ? there * best : -1; /* the product of two that are below 0 is no p */
}

/* One side of the box: axis 0 is x. False: it has no extent. */
static int find_side(const struct head *h, uint32_t i, uint32_t axis, float *low, float *high) {
    const struct morsel_blob_answer *rule = h->rule;
    uint32_t k = axis ^ (uint32_t)((rule->flags & MORSEL_ANSWER_Y_FIRST) != 0);
    float a = number(&h->boxes, i, k), b = number(&h->boxes, i, k + 2);
    uint32_t sides = rule->head > MORSEL_HEAD_YOLOV8; /* not centre and extent */
    if (h->anchors) {
        const float *anchor = h->anchors + 4 * (size_t)i + k;
        sides = rule->flags & MORSEL_ANSWER_DISTANCES;
        a = anchor[0] + (sides ? -a : a) * rule->variance[0] * anchor[2];
        b = sides ? anchor[0] + b * rule->variance[0] * anchor[2] : anchor[2] * morsel_exp(b * rule->variance[1]);
    }
    if (!sides) {
        float half = b * 0.5f, centre = a;
        a = centre - half;
        b = centre + half;
    }
    *low = a * rule->scale[axis];
    *high = b * rule->scale[axis];
    return *low >= -FLT_MAX && *low < *high && *high <= FLT_MAX;
}

static int find_box(const struct head *h, uint32_t i, struct morsel_box *box) {
    box->candidate = i;
    box->p = score_of(h, i, &box->index);
    return box->p >= h->rule->threshold && box->p <= FLT_MAX && find_side(h, i, 0, &box->x0, &box->x1) &&
           find_side(h, i, 1, &box->y0, &box->y1);
}

/* --- Which stay ------------------------------------------------------------------------------------------------------- */

static int before(const struct morsel_box *a, const struct morsel_box *b) {
    return a->p > b->p || (a->p == b->p && a->candidate < b->candidate);
}

static float area(const struct morsel_box *a) {
    return (a->x1 - a->x0) * (a->y1 - a->y0);
}

static int overlap(const struct morsel_box *a, const struct morsel_box *b, float iou) {
    float x0 = a->x0 > b->x0 ? a->x0 : b->x0, x1 = a->x1 < b->x1 ? a->x1 : b->x1;
    float y0 = a->y0 > b->y0 ? a->y0 : b->y0, y1 = a->y1 < b->y1 ? a->y1 : b->y1;
    if (!(x0 < x1 && y0 < y1)) return 0;
    float both = (x1 - x0) * (y1 - y0);
    return both > iou * (area(a) + area(b) - both);
}

/* Whether none of `count` boxes takes its place. */
static int stays(const struct morsel_blob_answer *rule, const struct morsel_box *box, const struct morsel_box *kept, uint32_t count) {
    for (uint32_t k = 0; k < count && rule->iou < 1; k++)
        if (kept[k].index == box->index && overlap(&kept[k], box, rule->iou)) return 0;
    return 1;
}

/* The best candidates behind `last` that stay, in order, into the room behind `kept` boxes. Returns how many boxes there are then. */
static uint32_t gather(const struct head *h, struct morsel_box *boxes, uint32_t kept, uint32_t room, const struct morsel_box *last) {
    uint32_t count = kept;
    struct morsel_box box = {0};
    for (uint32_t i = 0; i < h->candidates; i++) {
        if (!find_box(h, i, &box) || !before(last, &box) || !stays(h->rule, &box, boxes, kept)) continue;
        uint32_t at = count < room ? count++ : room;
        for (; at > kept && before(&box, &boxes[at - 1]); at--)
            if (at < room) boxes[at] = boxes[at - 1];
        if (at < room) boxes[at] = box;
    }
    return count;
}

static uint32_t choose(const struct head *h, struct morsel_box *boxes, uint32_t room) {
    struct morsel_box last = {.p = FLT_MAX};
    uint32_t kept = 0, count, most = h->rule->most < room ? h->rule->most : room;
    last.p = last.p * 2; /* infinity: all come behind it */
    do {
        uint32_t first = kept;
        count = gather(h, boxes, kept, room, &last);
        if (count > first) last = boxes[count - 1];
        for (uint32_t i = first; i < count; i++)
            if (stays(h->rule, &boxes[i], boxes, kept)) boxes[kept++] = boxes[i];
    } while (count == room && kept < most);
    return kept < most ? kept : most;
}

enum morsel_error morsel_detect_by_rule(const struct morsel_blob_answer *rule, const struct morsel_view *boxes_of,
                                        const struct morsel_view *scores_of, uint32_t image, struct morsel_box *boxes, size_t capacity,
                                        uint32_t *count) {
    struct morsel_answer_shape shape = morsel_answer_shape(rule->flags, boxes_of->onnx_rank, boxes_of->onnx_dims);
    if (!boxes || image >= shape.images) return MORSEL_ERR_ARGUMENT;
    if (!capacity) return MORSEL_ERR_CAPACITY;
    struct head h = {rule, rule->anchors ? (const float *)(const void *)(rule + 1) : NULL, table_of(rule, boxes_of, image),
                     table_of(rule, scores_of, image), shape.candidates};
    *count = choose(&h, boxes, capacity < UINT32_MAX / 2 ? (uint32_t)capacity : UINT32_MAX / 2);
    return MORSEL_OK;
}

/* --- In the frame ----------------------------------------------------------------------------------------------------- */

/* In order, and within 0 .. most. */
static int cut(float *low, float *high, float most) {
    float a = *low < *high ? *low : *high, b = *low < *high ? *high : *low;
    *low = a > 0 ? a : 0;
    *high = b < most ? b : most;
    return *low < *high;
}

uint32_t morsel_boxes_by_rule(const struct morsel_blob_picture *rule, const struct morsel_frame *frame, struct morsel_box *boxes,
                              uint32_t count) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_box *box = &boxes[left];
        *box = boxes[i];
        float points[4] = {box->x0, box->y0, box->x1, box->y1};
        if (morsel_points_by_rule(rule, frame, points, 2)) return 0;
        box->x0 = points[0];
        box->y0 = points[1];
        box->x1 = points[2];
        box->y1 = points[3];
        left += cut(&box->x0, &box->x1, (float)frame->width) & cut(&box->y0, &box->y1, (float)frame->height);
    }
    return left;
}

enum morsel_error morsel_detect(const struct morsel_session *session, const struct morsel_frame *frame, uint32_t image,
                                struct morsel_box *boxes, size_t capacity, uint32_t *count) {
    const struct morsel_blob_answer *rule;
    struct morsel_view boxes_of, scores_of;
    if (!boxes || !count) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_answer_of(session, MORSEL_ANSWER_DETECTIONS, &rule, &boxes_of);
    if (error) return error;
    error = morsel_output(session, rule->scores, &scores_of);
    float nowhere[2];
    if (!error && frame) error = morsel_frame_points(session->model, frame, nowhere, 0);
    if (!error) error = morsel_detect_by_rule(rule, &boxes_of, &scores_of, image, boxes, capacity, count);
    if (error || !frame) return error;
    *count = morsel_boxes_by_rule(morsel_picture_rule(session->model), frame, boxes, *count);
    return MORSEL_OK;
}
