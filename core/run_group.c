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
static int32_t rows_at(const struct morsel_stage *s, int32_t t) {
    int64_t rows = (int64_t)s->step->stage_scale * t + s->step->stage_lead;
    if (rows < (int32_t)s->begin) return (int32_t)s->begin;
    return rows < (int32_t)s->end ? (int32_t)rows : (int32_t)s->end;
}

/* Finds a place for every ring, and one for every padding row, which it fills. */
static void find_places(struct morsel_stage *stages, const struct morsel_session *session, uint32_t count, uint32_t task) {
    uint8_t *own = task ? morsel_band_memory(session, task) : NULL;
    for (struct morsel_stage *s = stages; s < stages + count; s++) {
        const struct morsel_blob_tensor *t = s->tensor;
        s->y.data = session->arena + t->offset;
        s->y.rows = t->ring_rows;
        s->y.first = 0;
        if (t->ring_rows && task) {
            s->y.data = own;
            own += morsel_aligned(morsel_slice_bytes(t));
        }
        s->padding_row = morsel_call_padding_row(s->call);
        if (s->padding_row && task) {
            s->padding_row = own;
            own += morsel_aligned(s->step->scratch_bytes);
        }
        morsel_fill_padding_row(s->call, s->padding_row);
    }
}

/* The latest t, a whole number of strips before `begin`, at which no stage has made a row. Nothing here leaves int32, as scale * end +
 * lead, which is no less than the stage's first row, does not (core/check_group.c). Proven: tests/prove, find_start. */
static int32_t find_start(const struct morsel_stage *stages, uint32_t count, int32_t begin, int32_t strip) {
    int32_t least = begin;
    for (const struct morsel_stage *s = stages; s < stages + count; s++) {
        int32_t rows = (int32_t)s->begin - s->step->stage_lead, scale = (int32_t)s->step->stage_scale;
        int32_t t = rows / scale - (rows % scale < 0);
        if (s->begin < s->end && t < least) least = t;
    }
    return begin - (begin - least + strip - 1) / strip * strip;
}

/* Finds what the band needs for rows `row` .. of image `image`; rings have room for one image at a time. */
static void find_band(struct morsel_stage *stages, const struct morsel_session *session, uint32_t count, uint32_t image, uint32_t row,
                      uint32_t end) {
    stages[count - 1].y = morsel_hold_whole(session, stages[count - 1].tensor, image);
    morsel_find_stage_inputs(stages, session, count, image);
    morsel_find_stage_rows(stages, count, row, end);
}

void morsel_run_group(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    const struct morsel_call *call = morsel_call_at(e->session, e->first);
    struct morsel_stage stages[MORSEL_FORMAT_MAX_GROUP];
    uint32_t count = call->count, place = call->tasks - 1u - task; /* core/run.c says why */
    morsel_find_stages(stages, e->session, e->first, count);
    find_places(stages, e->session, count, task);
    const struct morsel_blob_tensor *y = stages[count - 1].tensor;
    int32_t strip = (int32_t)morsel_blob_group(e->session->model, stages->step->group - 1)->strip_rows;
    uint32_t height = y->dims[1], rows = y->dims[0] * height; /* no more than the output has bytes */
    for (uint32_t at = morsel_share_from(rows, call->tasks, place), end = morsel_share_from(rows, call->tasks, place + 1); at < end;) {
        uint32_t row = at % height, last = end - at < height - row ? row + end - at : height;
        find_band(stages, e->session, count, at / height, row, last);
        for (int32_t t = find_start(stages, count, (int32_t)row, strip); t < (int32_t)last; t += strip) {
            for (const struct morsel_stage *s = stages; s < stages + count; s++) {
                uint32_t from = (uint32_t)rows_at(s, t), to = (uint32_t)rows_at(s, t + strip);
                if (from == to) continue;
                morsel_run_rows(s->call, s->x, &s->y, s->padding_row, from, to);
                if (e->session->watch) e->session->tell(e->session, e->first + (uint32_t)(s - stages), 0);
            }
        }
        at += last - row;
    }
}
