/* SPDX-License-Identifier: MIT */
/* A task of a chain: its rows of one step after the other, in memory of its own (core/plan_chain.c says which chains there are). */
#include "run.h"

/* The first task's memory ends where the spare memory does: an output that was moved lies in front of it. */
static uint8_t *memory_end(const struct morsel_session *session, uint32_t task) {
    if (task) return morsel_band_memory(session, task) + session->band_bytes;
    return session->arena + morsel_blob_header(session->model)->arena_bytes + session->spare_bytes;
}

static void find_band(struct morsel_stage *stages, const struct morsel_session *session, uint32_t first, uint32_t task) {
    const struct morsel_call *call = morsel_call_at(session, first);
    uint32_t count = call->count, place = call->tasks - 1 - task; /* core/run.c says why */
    struct morsel_stage *last = &stages[count - 1];
    uint8_t *end = memory_end(session, task);
    morsel_find_stages(stages, session, first, count);
    uint32_t height = last->tensor->dims[1];
    morsel_find_stage_rows(stages, count, morsel_share_from(height, call->tasks, place), morsel_share_from(height, call->tasks, place + 1));
    uint8_t *padding_row = end - morsel_find_chain_places(stages, first, count, end);
    for (uint32_t i = 0; i < count; i++) stages[i].padding_row = morsel_call_padding_row(stages[i].call) ? padding_row : NULL;
    last->y = morsel_hold_whole(session, last->tensor, 0);
    morsel_find_stage_inputs(stages, session, count, 0);
}

/* A convolution for the task's rows alone, which fetches all that is to be fetched in step with them. */
static const struct morsel_call *fetching(const struct morsel_session *session, const struct morsel_stage *s, uint32_t index,
                                          uint32_t place, struct morsel_call *part) {
    if (s->call->kind != MORSEL_STEP_CONV) return s->call;
    *part = *s->call;
    part->args.conv.y.data = s->y.data;
    part->args.conv.prefetch_row = s->begin - s->y.first;
    part->args.conv.prefetch_rows = s->end - s->begin;
    morsel_fetch_share(session, index, &part->args.conv, place);
    return part;
}

void morsel_run_chain(void *entry, uint32_t task) {
    const struct morsel_entry *e = entry;
    const struct morsel_call *first = morsel_call_at(e->session, e->first);
    struct morsel_stage stages[MORSEL_MOST_CHAIN];
    struct morsel_call part;
    find_band(stages, e->session, e->first, task);
    for (uint32_t i = 0; i < first->count; i++) {
        const struct morsel_stage *s = &stages[i];
        morsel_fill_padding_row(s->call, s->padding_row);
        const struct morsel_call *call = fetching(e->session, s, e->first + i, first->tasks - 1 - task, &part);
        morsel_run_rows(call, s->x, &s->y, s->padding_row, s->begin, s->end);
    }
}
