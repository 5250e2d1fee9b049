/* SPDX-License-Identifier: MIT */
/* Groups of steps that run some rows at a time. */
#ifndef MORSEL_STREAM_H
#define MORSEL_STREAM_H

#include "call.h"

/* Told after each piece of work which step it was; for tools that measure. Only without parallel_for. */
struct morsel_trace {
    void (*done)(void *context, uint32_t step);
    void *context;
};

/* Group `index` of the network. */
void morsel_run_group(const struct morsel_session *session, uint32_t index, const struct morsel_trace *trace);

/* A run; `trace` may be NULL. */
void morsel_run_traced(const struct morsel_session *session, const struct morsel_trace *trace);

/* What the copy of an input takes, which several bands need where a group writes over it: the most of any group. */
uint32_t morsel_copy_bytes(const struct morsel_model *model);

/* What one more task takes for itself, of rings and scratch: the most of any group or step. */
uint32_t morsel_band_bytes(const struct morsel_model *model);

/* Where that lies, for task `index` from 1 on, below session->bands. */
uint8_t *morsel_band_memory(const struct morsel_session *session, uint32_t index);

#endif
