/* SPDX-License-Identifier: MIT */
/* The loop of workers: tasks 0 .. count - 1, each done by the next worker that is free. Nothing is shared but what the caller shares. */
#ifndef MORSEL_TOOLS_NETWORK_EACH_H
#define MORSEL_TOOLS_NETWORK_EACH_H

#include "tools/base/failure.h"
#include "tools/network/pool.h"

/* Calls of one worker never overlap. */
typedef bool each_task(void *context, unsigned worker, size_t task, struct failure *failure);

/* How many workers there are where `wanted` are asked for: no more than tasks, at least one. */
unsigned each_workers(size_t count, unsigned wanted);

/*
 * In no fixed order: what is kept must not depend on it. False: the failure of the first task that failed, whatever the workers; what
 * came after it may not have been done. `what` is for the progress on the terminal ("pictures"); NULL: none is shown.
 */
bool each(size_t count, unsigned workers, const char *what, each_task *task, void *context, struct failure *failure);

/* The same in threads that are there already, as many workers as those. */
bool each_in(struct pool *pool, size_t count, unsigned workers, const char *what, each_task *task, void *context, struct failure *failure);

/* pool_open(), which says what is wrong. */
struct pool *each_pool(unsigned threads, struct failure *failure);

#endif
