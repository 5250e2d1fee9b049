/* SPDX-License-Identifier: MIT */
/* Every choice of a session, made once: which kernels, what tasks share and how, what is chained, moved and prefetched. */
#ifndef MORSEL_PLAN_H
#define MORSEL_PLAN_H

#include "call.h"

/* Makes them all: fills the calls. With a watch every step is an entry by itself, and groups run in one task. */
void morsel_plan(const struct morsel_session *session);

/* Makes entries of all steps, and says how their tasks share them; all calls are filled, `strided_pixels` is that of the kernels. Returns
 * whether outputs were moved: then the calls have to be filled again. */
int morsel_plan_split(const struct morsel_session *session, uint32_t strided_pixels);

/* Makes entries of groups and chains, and moves outputs; steps that may not stand in a chain are split by blocks. Returns as above. */
int morsel_plan_chains(const struct morsel_session *session);

/* Where there are several tasks, before that and after it: which steps are cut by channels, and what tasks share of all that is in no
 * group and no chain. */
void morsel_cut_by_channels(const struct morsel_session *session, uint32_t strided_pixels);
void morsel_share_steps(const struct morsel_session *session);

/* What that knows on its way over the steps. */
struct morsel_moves {
    const struct morsel_session *session;
    const struct morsel_blob_tensor *moved; /* the last one that was; NULL: none so far */
};

/* Makes an entry of the group that begins with step `first`; returns its last one. */
uint32_t morsel_make_group(struct morsel_moves *moves, uint32_t first);

/* Gives each convolution what it prefetches. */
void morsel_plan_prefetch(const struct morsel_session *session);

/* Bytes behind the arena that are lent to each task: no kernel has a use for more. */
#define MORSEL_LENT_MOST 98304u

/* Lends each step what the arena has to spare while it runs, or what lies behind it; entries are made. */
void morsel_plan_room(const struct morsel_session *session);

/* The spare memory, which follows the planned arena: for an output that may not lie where it was planned, and for what the first task
 * holds of a chain. */
uint32_t morsel_spare_bytes(const struct morsel_model *model);

/* As many bands at once as tasks are wanted and there is room for behind the planned arena. */
void morsel_count_bands(struct morsel_session *session, size_t room);

/* What one more task takes for itself, of rings and scratch: the most of any group or step. */
uint32_t morsel_band_bytes(const struct morsel_model *model);

#endif
