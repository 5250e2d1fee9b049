/* SPDX-License-Identifier: MIT */
/* Which rows a task makes of each step of a group or a chain, and where they lie. */
#include "stage.h"

void morsel_link_stages(const struct morsel_session *session, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(session->model, i);
        for (uint32_t n = 0; n < step->input_count; n++) {
            const struct morsel_blob_tensor *x = morsel_blob_input(session->model, step, n);
            int inside = !x->place && x->first_step - first < count; /* what comes before wraps to a huge one */
            morsel_call_at(session, i)->writer[n] = (uint8_t)(inside ? i - x->first_step : 0);
        }
    }
}

void morsel_find_stages(struct morsel_stage *stages, const struct morsel_session *session, uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        stages[i].call = morsel_call_at(session, first + i);
        stages[i].step = morsel_blob_step(session->model, first + i);
        stages[i].tensor = morsel_blob_output(session->model, stages[i].step);
    }
}

struct morsel_reach morsel_call_reach(const struct morsel_call *call) {
    const struct morsel_window *w = morsel_call_window(call);
    return w ? morsel_reach(w->kernel_h, w->stride_h, w->dilation_h, w->pad_top) : morsel_reach(1, 1, 1, 0);
}

/* Adds the rows of `writer` that the rows of `stage`, some at least, need. */
static void need_rows(struct morsel_stage *writer, const struct morsel_stage *stage) {
    struct morsel_reach r = morsel_call_reach(stage->call);
    uint32_t begin = stage->begin * r.stride, end = (stage->end - 1) * r.stride + r.window, height = writer->tensor->dims[1];
    begin = begin > r.pad ? begin - r.pad : 0;
    end = end > r.pad ? end - r.pad : 0;
    end = end < height ? end : height;
    if (begin < writer->begin) writer->begin = begin;
    if (end > writer->end) writer->end = end;
}

void morsel_find_stage_rows(struct morsel_stage *stages, uint32_t count, uint32_t begin, uint32_t end) {
    for (uint32_t i = 0; i < count; i++) {
        stages[i].begin = stages[i].tensor->dims[1];
        stages[i].end = 0;
    }
    stages[count - 1].begin = begin;
    stages[count - 1].end = end;
    for (struct morsel_stage *s = stages + count; s-- > stages;) {
        if (s->begin >= s->end) s->begin = s->end = 0;
        for (uint32_t n = 0; s->end && n < s->step->input_count; n++)
            if (s->call->writer[n]) need_rows(s - s->call->writer[n], s);
    }
}

struct morsel_held morsel_hold_whole(const struct morsel_session *session, const struct morsel_blob_tensor *t, uint32_t image) {
    struct morsel_held held = {morsel_tensor_place(session->model, session->arena, t), t->dims[1], 0};
    held.data += (size_t)image * t->dims[1] * morsel_row_bytes(t);
    return held;
}

void morsel_find_stage_inputs(struct morsel_stage *stages, const struct morsel_session *session, uint32_t count, uint32_t image) {
    for (struct morsel_stage *s = stages; s < stages + count; s++)
        for (uint32_t n = 0; n < s->step->input_count; n++)
            s->x[n] = s->call->writer[n] ? s[-(int)s->call->writer[n]].y
                                         : morsel_hold_whole(session, morsel_blob_input(session->model, s->step, n), image);
}

static uint32_t padding_row_bytes(const struct morsel_stage *stages, uint32_t count) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = morsel_call_padding_row(stages[i].call) ? morsel_aligned(stages[i].step->scratch_bytes) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

uint64_t morsel_find_chain_places(struct morsel_stage *stages, uint32_t first, uint32_t count, uint8_t *end) {
    uint64_t front = padding_row_bytes(stages, count), used[2] = {front, 0}, most = front, offset[MORSEL_MOST_CHAIN];
    uint32_t last[2] = {0, 0}; /* that reads what lies there */
    for (uint32_t i = 0; i + 1 < count; i++) {
        const struct morsel_stage *s = &stages[i];
        uint32_t side = i % 2;
        if (last[side] < first + i) used[side] = side ? 0 : front;
        offset[i] = used[side];
        used[side] += morsel_aligned((s->end - s->begin) * morsel_row_bytes(s->tensor));
        if (side) offset[i] = used[side]; /* from the end */
        if (s->tensor->last_step > last[side]) last[side] = s->tensor->last_step;
        if (used[0] + used[1] > most) most = used[0] + used[1];
    }
    for (uint32_t i = 0; end && i + 1 < count; i++) {
        struct morsel_stage *s = &stages[i];
        s->y.data = i % 2 ? end - offset[i] : end - most + offset[i];
        s->y.rows = s->begin < s->end ? s->end - s->begin : 1; /* none is read: places are counted modulo this */
        s->y.first = s->begin;
    }
    return most;
}
