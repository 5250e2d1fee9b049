/* SPDX-License-Identifier: MIT */
/*
 * More images than a network is made for: each thread runs whole images (or the network's batches of them) in a session and an arena of its
 * own, so that nothing is shared but the model, threads never wait for each other, and memory does not grow with the images.
 */
#ifndef MORSEL_TOOLS_NETWORK_CROWD_H
#define MORSEL_TOOLS_NETWORK_CROWD_H

#include "core/morsel.h"
#include "tools/base/failure.h"

struct crowd;

/* Before a run of image `image` in a session, and after it. */
typedef void crowd_step(void *context, const struct morsel_session *session, uint32_t image);

/* `threads` sessions of the network, each in one of so many threads. */
struct crowd *crowd_open(const struct morsel_model *network, uint32_t cpu_mask, unsigned threads, struct failure *failure);
void crowd_close(struct crowd *crowd); /* NULL is legal */

/* All their arenas. */
size_t crowd_arena_bytes(const struct crowd *crowd);

/* Images 0 .. images - 1, each in the next session that is free; `after` may be NULL. */
void crowd_run(struct crowd *crowd, uint32_t images, crowd_step *before, crowd_step *after, void *context);

#endif
