/* SPDX-License-Identifier: MIT */
/* A task of a chain: its rows of one step after the other, in memory of its own (core/plan_chain.c says which chains there are). */
#include "run.h"

/* The first task's memory ends where the spare memory does: an output that was moved lies in front of it. */
static uint8_t *memory_end(const struct morsel_session *session, uint32_t task) {
    if (task) return morsel_band_memory(session, task) + session->band_bytes;
    return session->behind + session->spare_bytes;
}

/* Returns the padding row of all steps. */
static uint8_t *find_band(const struct morsel_stages *stages, uint32_t task) {
    const struct morsel_call *call = morsel_stage_call(stages, 0);
    uint32_t place = call->tasks - 1u - task; /* core/run.c says why */
    uint32_t height = morsel_stage_tensor(stages, stages->count - 1)->dims[1];
    uint8_t *end = memory_end(stages->session, task);
    morsel_find_stage_rows(stages, morsel_share_from(height, call->tasks, place), morsel_share_from(height, call->tasks, place + 1));
    return end - morsel_find_chain_places(stages, end);
}

/* A convolution for the task's rows alone, which fetches all that is to be fetched in step with them. */
static const struct morsel_call *fetching(const struct morsel_stages *stages, uint32_t i, const struct morsel_held *y, uint32_t task,
                                          struct morsel_call *part) {
    const struct morsel_call *call = morsel_stage_call(stages, i);
    const struct morsel_stage *s = &stages->stage[i];
    if (call->kind != MORSEL_STEP_CONV) return call;
    *part = *call;
    part->args.conv.y.data = y->data;
    part->args.conv.prefetch_row = s->begin - y->first;
    part->args.conv.prefetch_rows = s->end - s->begin;
    morsel_fetch_share(stages->session, stages->first + i, &part->args.conv, morsel_stage_call(stages, 0)->tasks - 1u - task);
    return part;
}

void morsel_run_chain(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    struct morsel_stage stage[MORSEL_MOST_CHAIN];
    struct morsel_stages stages = {e->session, e->first, morsel_call_at(e->session, e->first)->count, 0, stage};
    struct morsel_call part;
    struct morsel_held x[2], y;
    uint8_t *padding_row = find_band(&stages, task);
    for (uint32_t i = 0; i < stages.count; i++) {
        const struct morsel_call *call = morsel_stage_call(&stages, i);
        uint8_t *own = morsel_call_padding_row(call) ? padding_row : NULL;
        morsel_fill_padding_row(call, own);
        y = morsel_stage_output(&stages, i);
        morsel_stage_inputs(&stages, i, x);
        morsel_run_rows(fetching(&stages, i, &y, task, &part), x, &y, own, task, stage[i].begin, stage[i].end);
    }
}
