/* SPDX-License-Identifier: MIT */
/*
 * Groups of steps that take turns. The conditions of core/format.h are enough for every ring to hold what is read from it: at t the
 * consumer c makes rows scale(c) * t + lead(c) .. scale(c) * (t + strip) + lead(c), cut at 0 and at its height.
 *   The last of them needs input rows up to stride * (scale(c) * (t + strip) + lead(c) - 1) + (kernel - 1) * dilation - pad, which is
 *   below what its producer has made by then, or outside the picture.
 *   The first needs rows from stride * (scale(c) * t + lead(c)) - pad on: at most ring_rows before the last that was made. Where
 *   scale(c) * t + lead(c) is below 0 the first row is 0, and fewer than ring_rows were made in all.
 * Cutting a group's rows into bands, each of which begins with the first rows that it needs, only leaves rows out.
 * Proven: tests/prove, ring.
 */
#include "check.h"
#include "kind.h"
#include "run.h"
#include "way.h"

#include <string.h>

int morsel_check_rows(const struct morsel_model *model, const struct morsel_blob_step *step) {
    const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
    for (uint32_t n = 0; morsel_kinds[step->kind]->rows == MORSEL_ROWS_SAME && n < step->input_count; n++) {
        const struct morsel_blob_tensor *x = morsel_blob_input(model, step, n);
        if (x->rank != 4 || x->place || memcmp(x->dims, y->dims, 4 * sizeof *x->dims)) return 0;
    }
    return morsel_kind_streams(step->kind, morsel_blob_at(model, step->parameters), step->input_count, y->dims[2] * y->dims[3]);
}

static struct morsel_reach reach_of(const struct morsel_check *c, const struct morsel_blob_step *step) {
    return morsel_kind_reach(step->kind, morsel_blob_at(c->model, step->parameters));
}

/* Rows come in time, and stay. */
static int ring_serves(const struct morsel_blob_group *g, const struct morsel_reach *r, const struct morsel_blob_tensor *ring,
                       const struct morsel_blob_step *writer, const struct morsel_blob_step *reader) {
    int64_t stride = r->stride, lead = writer->stage_lead, strip = (int64_t)writer->stage_scale * g->strip_rows;
    if (writer->stage_scale != stride * reader->stage_scale) return 0;
    if (lead < stride * ((int64_t)reader->stage_lead - 1) + r->window - r->pad) return 0;
    if (ring->ring_rows == ring->dims[1]) return 1;
    return ring->ring_rows >= strip && ring->ring_rows >= strip + lead - stride * reader->stage_lead + r->pad;
}

static int inputs_serve(const struct morsel_check *c, const struct morsel_blob_group *g, const struct morsel_blob_step *step) {
    uint32_t index = (uint32_t)(step - c->steps);
    if (!morsel_check_rows(c->model, step)) return 0;
    struct morsel_reach reach = reach_of(c, step);
    for (uint32_t n = 0; n < step->input_count; n++) {
        const struct morsel_blob_tensor *x = morsel_blob_input(c->model, step, n);
        if (!x->ring_rows) {
            if (x->first_step != MORSEL_STEP_BEFORE && x->first_step >= g->first_step) return 0;
            continue;
        }
        if (x->first_step < g->first_step || x->first_step >= index) return 0;
        if (!ring_serves(g, &reach, x, &c->steps[x->first_step], step)) return 0;
    }
    return 1;
}

/* The output's first t rows end before the rows that are still to be read. */
static int trails_at(const struct morsel_reach *r, const struct morsel_blob_step *reader, const struct morsel_blob_tensor *x,
                     const struct morsel_blob_tensor *y, uint32_t t) {
    int64_t next = (int64_t)r->stride * ((int64_t)reader->stage_scale * t + reader->stage_lead) - r->pad;
    if (next > (int64_t)MORSEL_SIZE_LIMIT) return 1; /* so many rows end behind every output */
    uint64_t kept = x->offset + (next > 0 ? (uint64_t)next : 0) * morsel_row_bytes(x);
    return y->offset + (uint64_t)t * morsel_row_bytes(y) <= kept;
}

/* For each T of the rule. What is written grows evenly with T; what is kept stands still and then grows evenly: the worst T is the last
 * at which it stands, the first at which it has grown, or the last of all. The first two are found by halving.
 * Proven: tests/prove, trails. */
static int trails_reader(const struct morsel_blob_group *g, const struct morsel_reach *r, const struct morsel_blob_step *reader,
                         const struct morsel_blob_tensor *x, const struct morsel_blob_tensor *y) {
    uint32_t strip = g->strip_rows, last = (y->dims[1] - 1) / strip, low = 0, high = last; /* T in strips, 1 .. last */
    if (!last) return 1;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        int64_t rows = (int64_t)r->stride * ((int64_t)reader->stage_scale * middle * strip + reader->stage_lead) - r->pad;
        if (rows <= 0) low = middle;
        else high = middle - 1;
    }
    uint32_t before = low ? low : 1, behind = low < last ? low + 1 : last;
    return trails_at(r, reader, x, y, before * strip) && trails_at(r, reader, x, y, behind * strip) &&
           trails_at(r, reader, x, y, last * strip);
}

/* In its last step a group reads and writes the same rows at once: only element by element. */
int morsel_check_trails(const struct morsel_check *c, const struct morsel_blob_group *g, const struct morsel_blob_tensor *x,
                        const struct morsel_blob_tensor *y) {
    uint32_t last = g->first_step + g->step_count - 1;
    if (x->rank != 4 || x->dims[0] != 1 || x->ring_rows) return 0;
    if (y != morsel_blob_output(c->model, &c->steps[last]) || x->last_step > last) return 0; /* MORSEL_STEP_BEFORE is more, too */
    for (uint32_t i = g->first_step; i <= last; i++) {
        int reads = 0;
        for (uint32_t n = 0; n < c->steps[i].input_count; n++) reads |= morsel_blob_input(c->model, &c->steps[i], n) == x;
        if (!reads) continue;
        struct morsel_reach reach = reach_of(c, &c->steps[i]);
        if (i == last && (morsel_kinds[c->steps[i].kind]->rows != MORSEL_ROWS_SAME || x->bytes != y->bytes || x->offset != y->offset))
            return 0;
        if (!trails_reader(g, &reach, &c->steps[i], x, y)) return 0;
    }
    return 1;
}

static int check_stage(const struct morsel_check *c, const struct morsel_blob_group *g, uint32_t i, uint32_t number) {
    const struct morsel_blob_step *step = &c->steps[i];
    const struct morsel_blob_tensor *y = morsel_blob_output(c->model, step);
    const int32_t most = MORSEL_FORMAT_MAX_STAGE;
    int last = i == g->first_step + g->step_count - 1;
    if (step->group != number || y->rank != 4 || y->dims[0] != morsel_blob_output(c->model, &c->steps[g->first_step])->dims[0]) return 0;
    if (step->stage_scale < 1 || step->stage_scale > MORSEL_FORMAT_MAX_STAGE) return 0;
    if (step->stage_lead < -most || step->stage_lead > most) return 0;
    if (last && (step->stage_scale != 1 || step->stage_lead)) return 0;
    /* Row numbers are formed in 32 bits. Proven: tests/prove, rows_at and find_start. */
    uint32_t height = morsel_blob_output(c->model, &c->steps[g->first_step + g->step_count - 1])->dims[1];
    if ((uint64_t)step->stage_scale * ((uint64_t)height + g->strip_rows) + 2 * MORSEL_FORMAT_MAX_STAGE > INT32_MAX) return 0;
    return last == !y->ring_rows && inputs_serve(c, g, step);
}

/* The output lies over one whole input at most, which is the one that several tasks read from a copy. */
static int covers_one(const struct morsel_check *c, const struct morsel_blob_group *g) {
    uint32_t last = g->first_step + g->step_count - 1;
    const struct morsel_blob_tensor *y = morsel_blob_output(c->model, &c->steps[last]);
    const struct morsel_blob_tensor *x = morsel_covered_input(c->model, g->first_step, last, y, NULL);
    return !x || !morsel_covered_input(c->model, g->first_step, last, y, x);
}

static int group_fits(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_group *g = &c->groups[index];
    if (index && g->first_step < g[-1].first_step + g[-1].step_count) return 0;
    if (g->step_count < 2 || g->step_count > MORSEL_FORMAT_MAX_GROUP) return 0;
    if ((uint64_t)g->first_step + g->step_count > c->header->steps.count) return 0;
    if (g->strip_rows < 1 || g->strip_rows > MORSEL_FORMAT_MAX_STAGE) return 0;
    for (uint32_t i = 0; i < g->step_count; i++)
        if (!check_stage(c, g, g->first_step + i, index + 1)) return 0;
    return covers_one(c, g);
}

static enum morsel_error check_group(const struct morsel_check *c, uint32_t index) {
    return group_fits(c, index) ? MORSEL_OK : MORSEL_ERR_PLAN;
}

const struct morsel_way morsel_way_groups = {.run = morsel_run_group,
                                             .make = morsel_make_group,
                                             .check = check_group,
                                             .trails = morsel_check_trails};

/* A step that says it is in a group is one of those that the group counts. */
static enum morsel_error check_member(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_step *s = &c->steps[index];
    if (!s->group) return s->stage_scale || s->stage_lead ? MORSEL_ERR_PLAN : MORSEL_OK;
    if (s->group > c->header->groups.count) return MORSEL_ERR_PLAN;
    const struct morsel_blob_group *g = &c->groups[s->group - 1];
    return index - g->first_step < g->step_count ? MORSEL_OK : MORSEL_ERR_PLAN;
}

/* A ring is written by a step of a group and read by no later step. */
static enum morsel_error check_ring(const struct morsel_check *c, uint32_t index) {
    const struct morsel_blob_tensor *t = &c->tensors[index];
    if (!t->ring_rows) return MORSEL_OK;
    if (t->first_step >= c->header->steps.count || !c->steps[t->first_step].group) return MORSEL_ERR_PLAN;
    const struct morsel_blob_group *g = &c->groups[c->steps[t->first_step].group - 1];
    return t->last_step < g->first_step + g->step_count ? MORSEL_OK : MORSEL_ERR_PLAN;
}

enum morsel_error morsel_check_groups(const struct morsel_check *c) {
    const struct morsel_way *way = morsel_ways[MORSEL_MODE_GROUP];
    uint32_t count = c->header->groups.count;
    if (count && !way) return MORSEL_ERR_STEP; /* a program that has none of them */
    enum morsel_error error = count ? morsel_check_each(c, MORSEL_PART_GROUP, count, way->check) : MORSEL_OK;
    if (!error) error = morsel_check_each(c, MORSEL_PART_STEP, c->header->steps.count, check_member);
    if (!error) error = morsel_check_each(c, MORSEL_PART_TENSOR, c->header->tensors.count, check_ring);
    return error;
}
