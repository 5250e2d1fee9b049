/* SPDX-License-Identifier: MIT */
/* Groups of steps that run some rows at a time. */
#ifndef MORSEL_STREAM_H
#define MORSEL_STREAM_H

#include "call.h"

/* Who goes through the steps of a run: the caller, who hands them to parallel_for, or one of the tasks of a single parallel_for. */
struct morsel_runner {
    const struct morsel_session *session;
    uint32_t task; /* or MORSEL_CALLER */
};

#define MORSEL_CALLER UINT32_MAX

/* Makes every choice for the session's runs: with a watch, that each step runs by itself. */
void morsel_session_plan(const struct morsel_session *session);

/* A tensor of the network, but for its name and what the ONNX graph states. */
void morsel_fill_view(struct morsel_view *view, const struct morsel_session *session, const struct morsel_blob_tensor *t);

/* Tells the watch of step `index`. */
void morsel_watch_tell(const struct morsel_session *session, uint32_t index, int done);

/* Tasks 0 .. n - 1 of some steps, or the runner's own. */
void morsel_run_tasks(const struct morsel_runner *runner, uint32_t n, morsel_task *fn, void *arg);

/* Group `index` of the network. */
void morsel_run_group(const struct morsel_runner *runner, uint32_t index);

/* Whether the output of group `index` lies over an input: then it cannot run in several tasks. */
int morsel_group_covers(const struct morsel_session *session, uint32_t index);

/* Finds chains, and gives outputs their place in the spare memory; calls are filled and marked MORSEL_CUT_BLOCKS. Returns whether there
 * are such outputs. */
int morsel_plan_chains(const struct morsel_session *session);

/* Steps first .. first + count of a run, all of them but the first ones that go on from the one before. */
void morsel_run_steps(const struct morsel_runner *runner, uint32_t first, uint32_t count);

/* Steps first .. first + count, which are a chain. */
void morsel_run_chain(const struct morsel_runner *runner, uint32_t first, uint32_t count);

/* The spare memory, which follows the planned arena: for an output that may not lie where it was planned, and for what the first task
 * holds of a chain. */
uint32_t morsel_spare_bytes(const struct morsel_model *model);

/* What one more task takes for itself, of rings and scratch: the most of any group or step. */
uint32_t morsel_band_bytes(const struct morsel_model *model);

/* Where that lies, behind the spare memory, for task `index` from 1 on, below session->bands. */
uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index);

static inline int morsel_tensor_is_moved(const struct morsel_session *session, const struct morsel_blob_tensor *t) {
    return !t->place && t->first_step != MORSEL_STEP_BEFORE && morsel_call_at(session, t->first_step)->cut & MORSEL_CUT_MOVED;
}

#endif
