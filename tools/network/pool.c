/* SPDX-License-Identifier: MIT */
/* Deals a job's tasks out to threads, which stay awake for the next one for a while. */

/* The functions that bind threads to processors are beyond POSIX. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pool.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Every thread, the caller too, has a share of a job's tasks: thread k has tasks k, k + threads, .. So a task finds what its like of the
 * step before left in the thread's caches. When its own share is done the caller also does what others have not begun, unless there is a
 * barrier (below). A thread that wakes late costs nothing. Workers help where shares have several tasks.
 *
 * Cache lines that travel between cores are what a short job costs. There is one each way. The caller writes the job's, which workers
 * watch. Each worker's own says what it has taken and done.
 *
 * Jobs are numbered. A thread's `taken` is the number of the latest job of which somebody took a task of its share, and how many were
 * taken. A job's number and its count of tasks are one word, lest a late thread measures an old job by the tasks of a new one. Who takes a
 * task reads fn and arg before. They are of the right job if the exchange succeeds: no other job begins while a task of this one is left.
 *
 * Tasks with a barrier run each in a thread of its own. Nobody, the caller included, takes a second one: the first is not done before all
 * have begun. So a thread that wakes late is waited for. At a barrier, too, one line travels each way: a task's, which says how often it
 * was there.
 */
struct job {
    _Alignas(64) atomic_ullong opened; /* number << TASK_BITS | tasks; the last thing that opens one */
    atomic_uintptr_t fn, arg;
};

struct thread {
    _Alignas(64) atomic_ullong taken; /* number << TASK_BITS | tasks; by whom it may be */
    _Alignas(64) atomic_ullong done;  /* tasks that this thread did, of all jobs and any share */
    atomic_ullong reached;            /* number << TASK_BITS | how often the task of this index came to a barrier */
    struct pool *pool;
    unsigned index;
    pthread_t id;
};

enum { TASK_BITS = 20 }; /* 44 remain for the number: at a million jobs a second, half a year */

static unsigned long long tasks_of(unsigned long long word) {
    return word & ((1u << TASK_BITS) - 1);
}

struct pool {
    struct job job;
    _Alignas(64) atomic_uint sleepers; /* workers that want to be woken */
    atomic_bool waits;                 /* the caller wants to be woken when all are done */
    atomic_uint early;                 /* tasks that want to be woken when others come to the barrier */
    unsigned long long opened_tasks;   /* of all jobs */
    pthread_mutex_t lock;
    pthread_cond_t opened, finished, came;
    bool quit;     /* under the lock */
    int processor; /* where the caller was */
    unsigned thread_count;
    struct thread threads[POOL_THREADS_MOST];
};

static const double awake_seconds = 40e-6; /* for a job */
static const double barrier_seconds = 1e-3;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits a little; false when it was enough. */
struct patience {
    double seconds;
    unsigned turns;
    double until;
};

static bool wait_briefly(struct patience *patience) {
    pause_briefly();
    if (++patience->turns % 16) return true;
    double now = seconds();
    if (patience->turns == 16) patience->until = now + patience->seconds;
    return now < patience->until;
}

/* --- Tasks --- */

/* Does what is left of share k of job `job`, in thread `own`. */
static void do_share(struct pool *pool, struct thread *own, unsigned k, unsigned long long job) {
    atomic_ullong *taken = &pool->threads[k].taken;
    unsigned long long number = job >> TASK_BITS;
    for (;;) {
        unsigned long long before = atomic_load_explicit(taken, memory_order_acquire);
        morsel_task *fn = (morsel_task *)atomic_load_explicit(&pool->job.fn, memory_order_relaxed);
        void *arg = (void *)atomic_load_explicit(&pool->job.arg, memory_order_relaxed);
        unsigned long long tasks = before >> TASK_BITS == number ? tasks_of(before) : 0;
        unsigned long long task = k + tasks * pool->thread_count;
        if (before >> TASK_BITS > number || task >= tasks_of(job)) return;
        if (!atomic_compare_exchange_strong(taken, &before, number << TASK_BITS | (tasks + 1))) continue;
        fn(arg, (uint32_t)task);
        atomic_store(&own->done, atomic_load_explicit(&own->done, memory_order_relaxed) + 1);
    }
}

/* A worker's part in a job: its share, then those of others that have several tasks. */
static void help(struct pool *pool, struct thread *own, unsigned long long job) {
    do_share(pool, own, own->index, job);
    for (unsigned i = 1; i < pool->thread_count; i++) {
        unsigned k = (own->index + i) % pool->thread_count;
        if (k + pool->thread_count < tasks_of(job)) do_share(pool, own, k, job);
    }
}

/* --- Workers --- */

/* The job that is open, waiting awake for one other than `seen`. */
static unsigned long long await_job(struct pool *pool, unsigned long long seen) {
    struct patience patience = {.seconds = awake_seconds};
    unsigned long long job;
    do job = atomic_load_explicit(&pool->job.opened, memory_order_acquire);
    while (job == seen && wait_briefly(&patience));
    return job;
}

/* Sleeps until there is a job other than the one seen last. False: the pool closes. */
static bool sleep_until_opened(struct pool *pool, unsigned long long seen) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!pool->quit && atomic_load(&pool->job.opened) == seen) pthread_cond_wait(&pool->opened, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    bool quit = pool->quit;
    pthread_mutex_unlock(&pool->lock);
    return !quit;
}

/* The caller may sleep: it does so under the lock, having said so before it looked at what is done. */
static void tell_caller(struct pool *pool) {
    if (!atomic_load(&pool->waits)) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->finished);
    pthread_mutex_unlock(&pool->lock);
}

/* Where the calling thread may run, and on how many processors; 0: nobody knows. */
static unsigned processors_allowed(cpu_set_t *allowed) {
    return sched_getaffinity(0, sizeof *allowed, allowed) ? 0 : (unsigned)CPU_COUNT(allowed);
}

unsigned pool_processors(void) {
    cpu_set_t allowed;
    unsigned count = processors_allowed(&allowed);
    if (!count) { /* more than the set has room for */
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online < 1 ? 1 : (unsigned)online;
    }
    return count < POOL_THREADS_MOST ? count : POOL_THREADS_MOST;
}

/* Moves thread `index` to another processor than those before it, the first of which is the caller's. Threads begin where they are made,
 * and one that waits awake is not moved for milliseconds. From there it may go anywhere. */
static void move_away(const struct pool *pool, unsigned index) {
    cpu_set_t all, one;
    unsigned count = processors_allowed(&all);
    if (pool->processor < 0 || count < 2) return;
    int processor = pool->processor;
    for (unsigned left = index % count; left; left -= CPU_ISSET(processor, &all) != 0) processor = (processor + 1) % CPU_SETSIZE;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    if (!sched_setaffinity(0, sizeof one, &one)) sched_setaffinity(0, sizeof all, &all);
}

static void *work(void *ctx) {
    struct thread *own = ctx;
    struct pool *pool = own->pool;
    unsigned long long seen = 0;
    move_away(pool, own->index);
    for (;;) {
        unsigned long long job = await_job(pool, seen);
        if (job == seen) {
            if (!sleep_until_opened(pool, seen)) return NULL;
            continue;
        }
        help(pool, own, job);
        tell_caller(pool);
        seen = job;
    }
}

/* Workers take no signals from outside: what the app's own threads hold back is held back. 0 or an errno. */
static int start(struct thread *thread) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPROF};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int code = pthread_create(&thread->id, NULL, work, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

struct pool *pool_open(unsigned threads) {
    struct pool *pool = aligned_alloc(_Alignof(struct pool), sizeof *pool);
    if (!pool) return NULL;
    memset(pool, 0, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->opened, NULL);
    pthread_cond_init(&pool->finished, NULL);
    pthread_cond_init(&pool->came, NULL);
    pool->processor = sched_getcpu();
    pool->thread_count = threads < POOL_THREADS_MOST ? threads : POOL_THREADS_MOST;
    for (unsigned i = 1; i < pool->thread_count; i++) {
        pool->threads[i].pool = pool;
        pool->threads[i].index = i;
        int code = start(&pool->threads[i]);
        if (code) {
            pool->threads[i].pool = NULL;
            pool_close(pool);
            errno = code;
            return NULL;
        }
    }
    return pool;
}

void pool_close(struct pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->opened);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < POOL_THREADS_MOST && pool->threads[i].pool; i++) pthread_join(pool->threads[i].id, NULL);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->opened);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->came);
    free(pool);
}

/* --- Jobs --- */

/* No worker sleeps through it: tasks with a barrier would wait for ever. Who goes to sleep says so before it looks for a job a last time.
 * Here a job is opened before anybody looks for sleepers. Both are in the one order of such accesses. */
static unsigned long long open_job(struct pool *pool, uint32_t n, morsel_task *fn, void *arg) {
    struct job *job = &pool->job;
    unsigned long long number = (atomic_load_explicit(&job->opened, memory_order_relaxed) >> TASK_BITS) + 1;
    unsigned long long opened = number << TASK_BITS | n;
    pool->opened_tasks += n;
    atomic_store_explicit(&job->fn, (uintptr_t)fn, memory_order_relaxed);
    atomic_store_explicit(&job->arg, (uintptr_t)arg, memory_order_relaxed);
    atomic_store(&job->opened, opened);
    if (atomic_load(&pool->sleepers)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->opened);
        pthread_mutex_unlock(&pool->lock);
    }
    return opened;
}

static bool all_done(struct pool *pool) {
    unsigned long long done = 0;
    for (unsigned k = 0; k < pool->thread_count; k++) done += atomic_load(&pool->threads[k].done);
    return done == pool->opened_tasks;
}

static void await_end(struct pool *pool) {
    struct patience patience = {.seconds = awake_seconds};
    while (!all_done(pool)) {
        if (wait_briefly(&patience)) continue;
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->waits, true);
        while (!all_done(pool)) pthread_cond_wait(&pool->finished, &pool->lock);
        atomic_store(&pool->waits, false);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void run_job(struct pool *pool, uint32_t n, morsel_task *fn, void *arg) {
    unsigned long long job = open_job(pool, n, fn, arg);
    do_share(pool, &pool->threads[0], 0, job);
    for (unsigned i = 0; i < 32 && !all_done(pool); i++) pause_briefly();
    if (all_done(pool)) return;
    for (unsigned k = 1; k < pool->thread_count; k++) do_share(pool, &pool->threads[0], k, job);
    await_end(pool);
}

void pool_run(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    struct pool *pool = ctx;
    if (n < 2 || pool->thread_count < 2 || n >> TASK_BITS) {
        for (uint32_t i = 0; i < n; i++) fn(arg, i);
        return;
    }
    run_job(pool, n, fn, arg);
}

/* --- Barrier --- */

enum { PAUSES = 64 }; /* some microseconds: most come in time */

/*
 * Tasks with a barrier are all under way, or are being woken, which takes longer than the work between two barriers. Who went to sleep as
 * soon as without a job would have the others do so at the next one. A thread that shares its processor with the one that it waits for lets
 * it go on.
 */
static void await_reached(struct pool *pool, const atomic_ullong *reached, unsigned long long wanted) {
    struct patience patience = {.seconds = barrier_seconds};
    while (atomic_load_explicit(reached, memory_order_acquire) < wanted) {
        if (patience.turns > PAUSES) sched_yield();
        if (wait_briefly(&patience)) continue;
        pthread_mutex_lock(&pool->lock);
        atomic_fetch_add(&pool->early, 1);
        while (atomic_load(reached) < wanted) pthread_cond_wait(&pool->came, &pool->lock);
        atomic_fetch_sub(&pool->early, 1);
        pthread_mutex_unlock(&pool->lock);
    }
}

void pool_barrier(void *ctx, uint32_t n, uint32_t index) {
    struct pool *pool = ctx;
    atomic_ullong *own = &pool->threads[index].reached;
    unsigned long long number = atomic_load_explicit(&pool->job.opened, memory_order_relaxed) >> TASK_BITS;
    unsigned long long before = atomic_load_explicit(own, memory_order_relaxed);
    unsigned long long now = before >> TASK_BITS == number ? before + 1 : number << TASK_BITS | 1;
    atomic_store(own, now);
    if (atomic_load(&pool->early)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->came);
        pthread_mutex_unlock(&pool->lock);
    }
    for (uint32_t k = 0; k < n; k++) await_reached(pool, &pool->threads[k].reached, now);
}
