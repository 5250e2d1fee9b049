/* SPDX-License-Identifier: MIT */
/* The loop over steps and groups of steps. */
#include "stream.h"

#include <string.h>

/* A step cut into `tasks` ranges of nearly the same length. */
struct cut {
    const struct morsel_session *session;
    const struct morsel_call *call;
    uint32_t tasks;
    int own_outside; /* every task fills a row of its own */
};

/* Range i: the first units % tasks ranges have one unit more than the others. */
static void run_task(void *arg, uint32_t i) {
    const struct cut *cut = arg;
    uint32_t size = cut->call->units / cut->tasks, longer = cut->call->units % cut->tasks;
    uint32_t begin = i * size + (i < longer ? i : longer);
    uint8_t *outside = morsel_call_outside(cut->call);
    if (outside && cut->own_outside) {
        if (i) outside = morsel_band_memory(cut->session, i);
        morsel_fill_outside(cut->call, outside);
    }
    morsel_call_range(cut->call, outside, begin, begin + size + (i < longer ? 1 : 0));
}

uint8_t *morsel_call_outside(const struct morsel_call *call) {
    return call->kind == MORSEL_STEP_CONV || call->kind == MORSEL_STEP_DEPTHWISE ? call->args.conv.outside : NULL;
}

void morsel_fill_outside(const struct morsel_call *call, uint8_t *outside) {
    const struct morsel_conv_args *a = &call->args.conv;
    if (outside) memset(outside, (int)((uint32_t)a->x.code.zero ^ a->x.code.flip), a->outside_bytes);
}

void morsel_run_step(const struct morsel_session *session, uint32_t index) {
    const struct morsel_options *options = &session->options;
    const struct morsel_call *call = morsel_call_at(session, index);
    struct cut cut = {session, call, options->tasks < call->units ? options->tasks : call->units, 0};
    if (!options->parallel_for || cut.tasks < 1) cut.tasks = 1;
    cut.own_outside = cut.tasks <= session->bands;
    if (!cut.own_outside) morsel_fill_outside(call, morsel_call_outside(call));
    if (cut.tasks < 2) run_task(&cut, 0);
    else options->parallel_for(options->parallel_ctx, cut.tasks, run_task, &cut);
}

void morsel_run_traced(const struct morsel_session *session, const struct morsel_trace *trace) {
    uint32_t group = 0;
    for (uint32_t i = 0; i < session->step_count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(session->model, i);
        if (step->group) {
            morsel_run_group(session, group, trace);
            i += morsel_blob_group(session->model, group++)->step_count - 1;
            continue;
        }
        morsel_run_step(session, i);
        if (trace) trace->done(trace->context, i);
    }
}

enum morsel_error morsel_run(const struct morsel_session *session) {
    if (!session || !session->model || !session->steps) return MORSEL_ERR_ARGUMENT;
    morsel_run_traced(session, NULL);
    return MORSEL_OK;
}
