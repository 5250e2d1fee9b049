/* SPDX-License-Identifier: MIT */
/*
 * A small pool of threads: an example of what an app hands to Morsel as parallel_for. This pair of files needs morsel.h alone, so that an
 * app can copy it. Workers wait some 40 microseconds awake for the next step of a run, then sleep until there is one. Task i runs in
 * thread i where that is in time. It finds in its caches what task i of the step before left there.
 */
#ifndef MORSEL_TOOLS_NETWORK_POOL_H
#define MORSEL_TOOLS_NETWORK_POOL_H

#include "morsel.h"

enum { POOL_THREADS_MOST = 256 };

/* Processors that the process may run on, at most POOL_THREADS_MOST. */
unsigned pool_processors(void);

struct pool;

/* A pool in which `threads` threads work, the caller of pool_run() among them. NULL: errno says why. */
struct pool *pool_open(unsigned threads);
void pool_close(struct pool *pool); /* NULL is legal */

/* A morsel_parallel_for: ctx is the pool. One caller at a time, and not from within a task. */
void pool_run(void *ctx, uint32_t n, morsel_task *fn, void *arg);

/* A morsel_barrier for tasks of pool_run(), no more of them than the pool has threads. Worth it where each thread has a processor and jobs
 * follow each other at once: a worker that sleeps is waited for. */
void pool_barrier(void *ctx, uint32_t n, uint32_t index);

#endif
