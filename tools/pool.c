/* SPDX-License-Identifier: MIT */
#include "tools/pool.h"
#include "tools/clock.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * A job is open from pool_run()'s start until every task is done. Workers join an open job, under the lock; pool_run() closes it
 * when no task is left and waits only for those who joined, so a worker that wakes late costs nothing.
 */
struct pool {
    pthread_mutex_t lock;
    pthread_cond_t opened, left;
    atomic_uint generation; /* counts jobs; changed under the lock, read without it by those who wait awake */
    atomic_uint joined;     /* workers within the job */
    atomic_uint next;       /* task */
    bool is_open, quit;
    uint32_t n;
    morsel_task *fn;
    void *arg;
    unsigned worker_count;
    pthread_t workers[];
};

static const double awake_seconds = 20e-6;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void do_tasks(struct pool *pool, uint32_t n, morsel_task *fn, void *arg) {
    for (;;) {
        unsigned task = atomic_fetch_add(&pool->next, 1);
        if (task >= n)
            return;
        fn(arg, task);
    }
}

/* Waits a little, awake, for the next job. */
static void await_generation(struct pool *pool, unsigned seen) {
    double until = clock_seconds() + awake_seconds;
    while (atomic_load(&pool->generation) == seen && clock_seconds() < until)
        pause_briefly();
}

/* One worker's turn: waits for a job it has not seen, does tasks of it, leaves it. False: the pool closes. */
static bool work(struct pool *pool, unsigned *seen) {
    await_generation(pool, *seen);
    pthread_mutex_lock(&pool->lock);
    while (!pool->quit && (!pool->is_open || atomic_load(&pool->generation) == *seen))
        pthread_cond_wait(&pool->opened, &pool->lock);
    bool quit = pool->quit;
    *seen = atomic_load(&pool->generation);
    uint32_t n = pool->n;
    morsel_task *fn = pool->fn;
    void *arg = pool->arg;
    if (!quit)
        atomic_fetch_add(&pool->joined, 1);
    pthread_mutex_unlock(&pool->lock);
    if (quit)
        return false;
    do_tasks(pool, n, fn, arg);
    pthread_mutex_lock(&pool->lock);
    if (atomic_fetch_sub(&pool->joined, 1) == 1)
        pthread_cond_signal(&pool->left);
    pthread_mutex_unlock(&pool->lock);
    return true;
}

static void *worker(void *ctx) {
    struct pool *pool = ctx;
    unsigned seen = 0;
    while (work(pool, &seen)) {
    }
    return NULL;
}

struct pool *pool_open(unsigned threads, struct failure *failure) {
    struct pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->workers[0]);
    if (!pool) {
        failure_memory(failure, sizeof *pool + threads * sizeof pool->workers[0]);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->left, NULL);
    for (unsigned i = 1; i < threads; i++) {
        int code = pthread_create(&pool->workers[pool->worker_count], NULL, worker, pool);
        if (code) {
            failure_set(failure, STATUS_SYSTEM, "cannot start thread %u of %u: %s; ask for fewer with --threads", i + 1, threads,
                        strerror(code));
            pool_close(pool);
            return NULL;
        }
        pool->worker_count++;
    }
    return pool;
}

void pool_close(struct pool *pool) {
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->opened);
    pthread_cond_destroy(&pool->left);
    free(pool);
}

static void open_job(struct pool *pool, uint32_t n, morsel_task *fn, void *arg) {
    pthread_mutex_lock(&pool->lock);
    pool->n = n;
    pool->fn = fn;
    pool->arg = arg;
    pool->is_open = true;
    atomic_store(&pool->next, 0);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
}

/* Nobody joins any more; those who did finish their last task. */
static void close_job(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->is_open = false;
    pthread_mutex_unlock(&pool->lock);
    double until = clock_seconds() + awake_seconds;
    while (atomic_load(&pool->joined) && clock_seconds() < until)
        pause_briefly();
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->joined))
        pthread_cond_wait(&pool->left, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    struct pool *pool = ctx;
    if (n == 1 || pool->worker_count == 0) {
        for (uint32_t i = 0; i < n; i++)
            fn(arg, i);
        return;
    }
    open_job(pool, n, fn, arg);
    do_tasks(pool, n, fn, arg);
    close_job(pool);
}
