/* SPDX-License-Identifier: MIT */
/* Workers take tasks in order; the first failure, by the order of tasks, is the one that counts. */
#include "tools/network/each.h"
#include "tools/base/progress.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct loop {
    size_t count;
    const char *what;
    each_task *task;
    void *context;
    atomic_size_t next, done;
    atomic_bool stop;
    struct progress progress; /* worker 0 draws it */
    pthread_mutex_t lock;
    size_t failed; /* the first task that failed; count: none */
    struct failure *failure;
};

static void note_failure(struct loop *loop, size_t task, const struct failure *failure) {
    pthread_mutex_lock(&loop->lock);
    if (task < loop->failed) {
        loop->failed = task;
        *loop->failure = *failure;
    }
    pthread_mutex_unlock(&loop->lock);
    atomic_store(&loop->stop, true);
}

/* Takes tasks until there are none. One that fails stops all from taking more; those before it were taken already and are finished, so that
 * the first of all failures is among those noted. */
static void work(void *arg, uint32_t worker) {
    struct loop *loop = arg;
    struct failure failure;
    size_t at;
    while (!atomic_load(&loop->stop) && (at = atomic_fetch_add(&loop->next, 1)) < loop->count) {
        if (!loop->task(loop->context, worker, at, &failure)) {
            note_failure(loop, at, &failure);
            return;
        }
        size_t done = atomic_fetch_add(&loop->done, 1) + 1;
        if (!worker && loop->what) progress_show(&loop->progress, done);
    }
}

unsigned each_workers(size_t count, unsigned wanted) {
    unsigned workers = wanted < 1 ? 1 : wanted < POOL_THREADS_MOST ? wanted : POOL_THREADS_MOST;
    return count && count < workers ? (unsigned)count : workers;
}

bool each_in(struct pool *pool, size_t count, unsigned workers, const char *what, each_task *task, void *context, struct failure *failure) {
    struct loop loop = {.count = count, .what = what, .task = task, .context = context, .failed = count, .failure = failure};
    pthread_mutex_init(&loop.lock, NULL);
    if (what) progress_start(&loop.progress, what, count);
    pool_run(pool, workers, work, &loop);
    if (what) progress_end(&loop.progress);
    pthread_mutex_destroy(&loop.lock);
    return loop.failed == count;
}

bool each(size_t count, unsigned workers, const char *what, each_task *task, void *context, struct failure *failure) {
    struct pool *pool = each_pool(workers, failure);
    if (!pool) return false;
    bool good = each_in(pool, count, workers, what, task, context, failure);
    pool_close(pool);
    return good;
}

struct pool *each_pool(unsigned threads, struct failure *failure) {
    struct pool *pool = pool_open(threads);
    if (!pool) failure_set(failure, STATUS_SYSTEM, "cannot start %u threads: %s; ask for fewer with --threads", threads, strerror(errno));
    return pool;
}
