/* SPDX-License-Identifier: MIT */
/* Stages: the steps of a group or a chain as one task goes through them, which rows it makes of each, and where those lie. */
#ifndef MORSEL_STAGE_H
#define MORSEL_STAGE_H

#include "call.h"

/* Rows of one picture, all or some: row y lies at data + (y - first) % rows * its length. */
struct morsel_held {
    uint8_t *data;
    uint32_t rows, first;
};

/* What a task holds for each step: little, as it stands on the stack. */
struct morsel_stage {
    uint32_t begin, end; /* rows that the task makes */
    uint8_t *own; /* in its own memory: where these rows go in a chain; in a group the padding row, then the ring. NULL: as planned */
};

struct morsel_stages {
    const struct morsel_session *session;
    uint32_t first, count; /* steps */
    uint32_t image;        /* of whole tensors */
    struct morsel_stage *stage;
};

/* Steps of a chain at most. */
#define MORSEL_MOST_CHAIN 8u

/* Says of steps first .. first + count which of them writes what the others read. */
void morsel_link_stages(const struct morsel_session *session, uint32_t first, uint32_t count);

/* The rows of every stage that rows begin .. end of the last one need; a stage that has none gets 0 .. 0. */
void morsel_find_stage_rows(const struct morsel_stages *stages, uint32_t begin, uint32_t end);

/* Where stage i writes: of the last one the image of a whole tensor. */
struct morsel_held morsel_stage_output(const struct morsel_stages *stages, uint32_t i);

/* Where it finds its inputs: what others hold, or the image of whole tensors. */
void morsel_stage_inputs(const struct morsel_stages *stages, uint32_t i, struct morsel_held *x);

/* Places in a task's own memory for all rows between the steps of a chain, and in front of them for a padding row. They lie at two ends
 * that take turns: what lies at one may be overwritten once no later step reads it. Returns how many bytes that takes; the places are put
 * where that memory, which ends at `end`, has them. NULL: none is needed. */
uint64_t morsel_find_chain_places(const struct morsel_stages *stages, uint8_t *end);

static inline const struct morsel_call *morsel_stage_call(const struct morsel_stages *stages, uint32_t i) {
    return morsel_call_at(stages->session, stages->first + i);
}

static inline const struct morsel_blob_step *morsel_stage_step(const struct morsel_stages *stages, uint32_t i) {
    return morsel_blob_step(stages->session->model, stages->first + i);
}

/* What it writes. */
static inline const struct morsel_blob_tensor *morsel_stage_tensor(const struct morsel_stages *stages, uint32_t i) {
    return morsel_blob_output(stages->session->model, morsel_stage_step(stages, i));
}

/* morsel_kind_reach() of a step that is prepared. */
struct morsel_reach morsel_call_reach(const struct morsel_call *call);

#endif
