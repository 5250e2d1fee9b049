/* SPDX-License-Identifier: MIT */
/*
 * A task of a group: its band in turns of some rows of each step; core/format.h says which rows, core/check_group.c why every ring holds
 * what is read.
 *
 * A band makes all that it needs by itself, in rings and scratch of its own: those of the first task lie where the plan put them, those
 * of the others behind the planned arena. A row that two bands need is made twice.
 */
#include "run.h"

/* Rows of stage `s` that are made once the group has reached row t of its last output. Where another stage leads, t is as low as minus
 * the largest lead and a strip: times the largest scale that leaves int32. Proven: tests/prove, rows_at. */
static int32_t rows_at(const struct morsel_stage *s, const struct morsel_blob_step *step, int32_t t) {
    int64_t rows = (int64_t)step->stage_scale * t + step->stage_lead;
    if (rows < (int32_t)s->begin) return (int32_t)s->begin;
    return rows < (int32_t)s->end ? (int32_t)rows : (int32_t)s->end;
}

static uint8_t *padding_row_of(const struct morsel_stages *stages, uint32_t i) {
    uint8_t *planned = morsel_call_padding_row(morsel_stage_call(stages, i));
    return planned && stages->stage[i].own ? stages->stage[i].own : planned;
}

/* Finds a place for every ring, and one for every padding row, which it fills. */
static MORSEL_OWN_FRAME void find_places(const struct morsel_stages *stages, uint32_t task) {
    uint8_t *own = task ? morsel_band_memory(stages->session, task) : NULL;
    for (uint32_t i = 0; i < stages->count; i++) {
        const struct morsel_blob_tensor *t = morsel_stage_tensor(stages, i);
        const struct morsel_call *call = morsel_stage_call(stages, i);
        stages->stage[i].own = own;
        if (task && morsel_call_padding_row(call)) own += morsel_aligned(morsel_stage_step(stages, i)->scratch_bytes);
        if (task && t->ring_rows) own += morsel_aligned(morsel_slice_bytes(t));
        morsel_fill_padding_row(call, padding_row_of(stages, i));
    }
}

/* The latest t, a whole number of strips before `begin`, at which a stage has made no row; `least` if that is less. Nothing here leaves
 * int32, as scale * end + lead, which is no less than the stage's first row, does not (core/check_group.c).
 * Proven: tests/prove, find_start. */
static int32_t least_start(const struct morsel_stage *s, const struct morsel_blob_step *step, int32_t least) {
    int32_t rows = (int32_t)s->begin - step->stage_lead, scale = (int32_t)step->stage_scale;
    int32_t t = rows / scale - (rows % scale < 0);
    return s->begin < s->end && t < least ? t : least;
}

/* A whole number of strips before `begin`, not after `least`. */
static int32_t whole_strips(int32_t begin, int32_t least, int32_t strip) {
    return begin - (begin - least + strip - 1) / strip * strip;
}

static MORSEL_OWN_FRAME int32_t find_start(const struct morsel_stages *stages, int32_t begin, int32_t strip) {
    int32_t least = begin;
    for (uint32_t i = 0; i < stages->count; i++) least = least_start(&stages->stage[i], morsel_stage_step(stages, i), least);
    return whole_strips(begin, least, strip);
}

/* The rows of stage i that turn t makes. */
static void run_turn(const struct morsel_stages *stages, uint32_t i, int32_t t, int32_t strip, uint32_t task) {
    const struct morsel_session *session = stages->session;
    const struct morsel_blob_step *step = morsel_stage_step(stages, i);
    uint32_t from = (uint32_t)rows_at(&stages->stage[i], step, t), to = (uint32_t)rows_at(&stages->stage[i], step, t + strip);
    struct morsel_held x[2], y = morsel_stage_output(stages, i);
    if (from == to) return;
    morsel_stage_inputs(stages, i, x);
    morsel_run_rows(morsel_stage_call(stages, i), x, &y, padding_row_of(stages, i), task, from, to);
    if (session->watch) session->tell(session, stages->first + i, 0);
}

void morsel_run_group(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    const struct morsel_call *call = morsel_call_at(e->session, e->first);
    struct morsel_stage stage[MORSEL_FORMAT_MAX_GROUP];
    struct morsel_stages stages = {e->session, e->first, call->count, 0, stage};
    uint32_t place = call->tasks - 1u - task; /* core/run.c says why */
    find_places(&stages, task);
    const struct morsel_blob_tensor *y = morsel_stage_tensor(&stages, stages.count - 1);
    int32_t strip = (int32_t)morsel_blob_group(e->session->model, morsel_stage_step(&stages, 0)->group - 1)->strip_rows;
    uint32_t height = y->dims[1], rows = y->dims[0] * height; /* at most its elements. Proven: tests/prove, elements. */
    for (uint32_t at = morsel_share_from(rows, call->tasks, place), end = morsel_share_from(rows, call->tasks, place + 1); at < end;) {
        uint32_t row = at % height, last = end - at < height - row ? row + end - at : height;
        stages.image = at / height; /* rings have room for one at a time */
        morsel_find_stage_rows(&stages, row, last);
        for (int32_t t = find_start(&stages, (int32_t)row, strip); t < (int32_t)last; t += strip)
            for (uint32_t i = 0; i < stages.count; i++) run_turn(&stages, i, t, strip, task);
        at += last - row;
    }
}
