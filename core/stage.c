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

struct morsel_reach morsel_call_reach(const struct morsel_call *call) {
    const struct morsel_window *w = morsel_call_window(call);
    return w ? morsel_reach(w->kernel_h, w->stride_h, w->dilation_h, w->pad_top) : morsel_reach(1, 1, 1, 0);
}

/* Adds the rows of `writer`, of `height`, that the rows of `stage`, some at least, need. */
static void need_rows(struct morsel_stage *writer, uint32_t height, const struct morsel_stage *stage, const struct morsel_call *call) {
    struct morsel_reach r = morsel_call_reach(call);
    uint32_t begin = stage->begin * r.stride, end = (stage->end - 1) * r.stride + r.window;
    begin = begin > r.pad ? begin - r.pad : 0;
    end = end > r.pad ? end - r.pad : 0;
    end = end < height ? end : height;
    if (begin < writer->begin) writer->begin = begin;
    if (end > writer->end) writer->end = end;
}

void morsel_find_stage_rows(const struct morsel_stages *stages, uint32_t begin, uint32_t end) {
    struct morsel_stage *stage = stages->stage;
    for (uint32_t i = 0; i < stages->count; i++) {
        stage[i].begin = morsel_stage_tensor(stages, i)->dims[1];
        stage[i].end = 0;
    }
    stage[stages->count - 1].begin = begin;
    stage[stages->count - 1].end = end;
    for (uint32_t i = stages->count; i-- > 0;) {
        const struct morsel_call *call = morsel_stage_call(stages, i);
        if (stage[i].begin >= stage[i].end) stage[i].begin = stage[i].end = 0;
        for (uint32_t n = 0; stage[i].end && n < morsel_stage_step(stages, i)->input_count; n++) {
            uint32_t writer = i - call->writer[n];
            if (writer < i) need_rows(&stage[writer], morsel_stage_tensor(stages, writer)->dims[1], &stage[i], call);
        }
    }
}

static struct morsel_held hold_whole(const struct morsel_stages *stages, const struct morsel_blob_tensor *t) {
    const struct morsel_blocks blocks = morsel_session_blocks(stages->session);
    struct morsel_held held = {morsel_tensor_place(stages->session->model, &blocks, t), t->dims[1], 0};
    held.data += (size_t)stages->image * t->dims[1] * morsel_row_bytes(t);
    return held;
}

struct morsel_held morsel_stage_output(const struct morsel_stages *stages, uint32_t i) {
    const struct morsel_blob_tensor *t = morsel_stage_tensor(stages, i);
    const struct morsel_call *call = morsel_stage_call(stages, i);
    const struct morsel_stage *stage = &stages->stage[i];
    struct morsel_held held = {stage->own, t->ring_rows, 0};
    if (i + 1 == stages->count) return hold_whole(stages, t);
    if (call->mode == MORSEL_MODE_CHAIN) {
        held.rows = stage->begin < stage->end ? stage->end - stage->begin : 1; /* none is read: places are counted modulo this */
        held.first = stage->begin;
        return held;
    }
    const struct morsel_blocks blocks = morsel_session_blocks(stages->session);
    if (!held.data) held.data = morsel_arena_at(stages->session->model, &blocks, t->offset);
    else if (morsel_call_padding_row(call)) held.data += morsel_aligned(morsel_stage_step(stages, i)->scratch_bytes);
    return held;
}

void morsel_stage_inputs(const struct morsel_stages *stages, uint32_t i, struct morsel_held *x) {
    const struct morsel_model *model = stages->session->model;
    const struct morsel_blob_step *step = morsel_stage_step(stages, i);
    const struct morsel_call *call = morsel_stage_call(stages, i);
    for (uint32_t n = 0; n < step->input_count; n++)
        x[n] = call->writer[n] ? morsel_stage_output(stages, i - call->writer[n]) : hold_whole(stages, morsel_blob_input(model, step, n));
}

static uint32_t padding_row_bytes(const struct morsel_stages *stages) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < stages->count; i++) {
        uint32_t scratch = morsel_aligned(morsel_stage_step(stages, i)->scratch_bytes);
        uint32_t bytes = morsel_call_padding_row(morsel_stage_call(stages, i)) ? scratch : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

uint64_t morsel_find_chain_places(const struct morsel_stages *stages, uint8_t *end) {
    uint64_t front = padding_row_bytes(stages), used[2] = {front, 0}, most = front, offset[MORSEL_MOST_CHAIN];
    uint32_t last[2] = {0, 0}; /* that reads what lies there */
    for (uint32_t i = 0; i + 1 < stages->count; i++) {
        const struct morsel_stage *s = &stages->stage[i];
        const struct morsel_blob_tensor *t = morsel_stage_tensor(stages, i);
        uint32_t side = i % 2;
        if (last[side] < stages->first + i) used[side] = side ? 0 : front;
        offset[i] = used[side];
        used[side] += morsel_aligned((s->end - s->begin) * morsel_row_bytes(t));
        if (side) offset[i] = used[side]; /* from the end */
        if (t->last_step > last[side]) last[side] = t->last_step;
        if (used[0] + used[1] > most) most = used[0] + used[1];
    }
    for (uint32_t i = 0; end && i + 1 < stages->count; i++) stages->stage[i].own = i % 2 ? end - offset[i] : end - most + offset[i];
    return most;
}
