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

struct morsel_stage {
    const struct morsel_call *call;
    const struct morsel_blob_step *step;
    const struct morsel_blob_tensor *tensor; /* that it writes */
    uint32_t begin, end;                     /* rows that the task makes */
    struct morsel_held y;                    /* where they go */
    struct morsel_held x[2];                 /* where it finds its inputs */
    uint8_t *padding_row;
};

/* Steps of a chain at most. */
#define MORSEL_MOST_CHAIN 8u

/* Says of steps first .. first + count which of them writes what the others read. */
void morsel_link_stages(const struct morsel_session *session, uint32_t first, uint32_t count);

/* Names stages first .. first + count, which are linked. */
void morsel_find_stages(struct morsel_stage *stages, const struct morsel_session *session, uint32_t first, uint32_t count);

/* The rows of every stage that rows begin .. end of the last one need; a stage that has none gets 0 .. 0. */
void morsel_find_stage_rows(struct morsel_stage *stages, uint32_t count, uint32_t begin, uint32_t end);

/* Points all stages at what they read: what others of them hold, or image `image` of whole tensors. */
void morsel_find_stage_inputs(struct morsel_stage *stages, const struct morsel_session *session, uint32_t count, uint32_t image);

/* Image `image` of a whole tensor. */
struct morsel_held morsel_hold_whole(const struct morsel_session *session, const struct morsel_blob_tensor *t, uint32_t image);

/* Places in a task's own memory for all rows between the steps of a chain that begins with step `first`, and in front of them for a
 * padding row. They lie at two ends that take turns: what lies at one may be overwritten once no later step reads it. Returns how many
 * bytes that takes; the places are put where that memory, which ends at `end`, has them. NULL: none is needed. */
uint64_t morsel_find_chain_places(struct morsel_stage *stages, uint32_t first, uint32_t count, uint8_t *end);

/* morsel_kind_reach() of a step that is prepared. */
struct morsel_reach morsel_call_reach(const struct morsel_call *call);

#endif
