/* SPDX-License-Identifier: MIT */
#include "tools/pool.h"
#include "tools/clock.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every thread, the caller too, has a share of a job's tasks: thread k has tasks k, k + threads, .. and takes those of the others when its
 * own are done. So a task meets what its like of the step before left in the thread's caches, and a thread that wakes late costs nothing.
 *
 * A share says which job it belongs to. Who takes a task reads the job's fn, arg and n before, and has read them of the right job if the
 * share has not changed meanwhile: as long as one task of a job is left, no other job begins.
 */
struct share {
    _Alignas(64) atomic_ullong left; /* generation << 32 | tasks nobody has taken */
};

struct pool {
    _Alignas(64) atomic_uint generation; /* counts jobs; the last thing that opens one */
    atomic_uint sleepers;                /* workers that want to be woken */
    atomic_uint n;
    atomic_uintptr_t fn, arg;
    _Alignas(64) atomic_uint done; /* tasks */
    atomic_bool waits;             /* the caller wants to be woken when all are done */
    pthread_mutex_t lock;
    pthread_cond_t opened, finished;
    bool quit; /* under the lock */
    unsigned thread_count;
    struct worker {
        struct pool *pool;
        unsigned index;
        pthread_t thread;
    } workers[POOL_THREADS_MOST];
    struct share shares[POOL_THREADS_MOST];
};

static const double awake_seconds = 40e-6;

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits a little, awake, until *value is, or is no longer, `wanted`. */
static void await(atomic_uint *value, unsigned wanted, bool is) {
    double until = clock_seconds() + awake_seconds;
    for (unsigned i = 1; (atomic_load(value) == wanted) != is; i++) {
        pause_briefly();
        if (i % 16 == 0 && clock_seconds() > until)
            return;
    }
}

/* --- Tasks --- */

static void finish_task(struct pool *pool, unsigned n) {
    if (atomic_fetch_add(&pool->done, 1) + 1 != n || !atomic_load(&pool->waits))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->finished);
    pthread_mutex_unlock(&pool->lock);
}

/* All that is left of share k. */
static void do_share(struct pool *pool, unsigned k) {
    unsigned long long left = atomic_load(&pool->shares[k].left);
    while ((uint32_t)left) {
        uint32_t n = atomic_load(&pool->n);
        morsel_task *fn = (morsel_task *)atomic_load(&pool->fn);
        void *arg = (void *)atomic_load(&pool->arg);
        if (!atomic_compare_exchange_weak(&pool->shares[k].left, &left, left - 1))
            continue;
        uint32_t own = (n - k + pool->thread_count - 1) / pool->thread_count; /* tasks of the share */
        fn(arg, k + (own - (uint32_t)left) * pool->thread_count);
        finish_task(pool, n);
        left = atomic_load(&pool->shares[k].left);
    }
}

static void do_tasks(struct pool *pool, unsigned index) {
    for (unsigned i = 0; i < pool->thread_count; i++)
        do_share(pool, (index + i) % pool->thread_count);
}

/* --- Workers --- */

/* Sleeps until there is a job other than the one seen last. False: the pool closes. */
static bool sleep_until_opened(struct pool *pool, unsigned seen) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!pool->quit && atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->opened, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    bool quit = pool->quit;
    pthread_mutex_unlock(&pool->lock);
    return !quit;
}

static void *work(void *ctx) {
    struct worker *worker = ctx;
    struct pool *pool = worker->pool;
    unsigned seen = 0;
    for (;;) {
        await(&pool->generation, seen, false);
        if (atomic_load(&pool->generation) == seen && !sleep_until_opened(pool, seen))
            return NULL;
        seen = atomic_load(&pool->generation);
        do_tasks(pool, worker->index);
    }
}

struct pool *pool_open(unsigned threads, struct failure *failure) {
    struct pool *pool = aligned_alloc(_Alignof(struct pool), sizeof *pool);
    if (!pool) {
        failure_memory(failure, sizeof *pool);
        return NULL;
    }
    memset(pool, 0, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pool->thread_count = threads < POOL_THREADS_MOST ? threads : POOL_THREADS_MOST;
    for (unsigned i = 1; i < pool->thread_count; i++) {
        pool->workers[i] = (struct worker){.pool = pool, .index = i};
        int code = pthread_create(&pool->workers[i].thread, NULL, work, &pool->workers[i]);
        if (code) {
            failure_set(failure, STATUS_SYSTEM, "cannot start thread %u of %u: %s; ask for fewer with --threads", i + 1, threads,
                        strerror(code));
            pool->workers[i].pool = NULL;
            pool_close(pool);
            return NULL;
        }
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
    for (unsigned i = 1; i < POOL_THREADS_MOST && pool->workers[i].pool; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->opened);
    pthread_cond_destroy(&pool->finished);
    free(pool);
}

/* --- Jobs --- */

static void open_job(struct pool *pool, uint32_t n, morsel_task *fn, void *arg) {
    unsigned long long generation = atomic_load(&pool->generation) + 1u;
    atomic_store(&pool->n, n);
    atomic_store(&pool->fn, (uintptr_t)fn);
    atomic_store(&pool->arg, (uintptr_t)arg);
    atomic_store(&pool->done, 0);
    for (unsigned k = 0; k < pool->thread_count; k++)
        atomic_store(&pool->shares[k].left, generation << 32 | (n > k ? (n - k + pool->thread_count - 1) / pool->thread_count : 0));
    atomic_store(&pool->generation, (unsigned)generation);
    if (!atomic_load(&pool->sleepers))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
}

static void await_end(struct pool *pool, uint32_t n) {
    await(&pool->done, n, true);
    if (atomic_load(&pool->done) == n)
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waits, true);
    while (atomic_load(&pool->done) != n)
        pthread_cond_wait(&pool->finished, &pool->lock);
    atomic_store(&pool->waits, false);
    pthread_mutex_unlock(&pool->lock);
}

void pool_run(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    struct pool *pool = ctx;
    if (n < 2 || pool->thread_count < 2) {
        for (uint32_t i = 0; i < n; i++)
            fn(arg, i);
        return;
    }
    open_job(pool, n, fn, arg);
    do_tasks(pool, 0);
    await_end(pool, n);
}
