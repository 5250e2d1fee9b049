/* SPDX-License-Identifier: MIT */
/* The pool does every task once, and tasks wait for each other at a barrier. Also run under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/skip.h"
#include "tools/base/clock.h"
#include "tools/network/network.h"
#include "tools/network/pool.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 200, MEMBERS = 8, BARRIERS = 300 };

static void count_task(void *arg, uint32_t index) {
    ((int *)arg)[index]++;
}

static void every_task_is_done_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct pool *pool = pool_open(threads);
        assert_non_null(pool);
        for (uint32_t round = 0; round < 500; round++) {
            int done[TASKS] = {0};
            uint32_t n = round * 7 % TASKS;
            pool_run(pool, n, count_task, done);
            for (uint32_t i = 0; i < TASKS; i++) assert_int_equal(done[i], i < n);
            if (round % 100 == 0) usleep(200); /* long enough for the workers to fall asleep */
        }
        pool_close(pool);
    }
}

/* Short jobs of few and of many tasks in turn, of more threads than there are cores: workers come late to most of them. */
static void workers_may_come_late(void **state) {
    (void)state;
    struct pool *pool = pool_open(8);
    assert_non_null(pool);
    for (uint32_t round = 0; round < 20000; round++) {
        int done[TASKS] = {0};
        uint32_t n = 2 + round % 2 * (round % 29);
        pool_run(pool, n, count_task, done);
        for (uint32_t i = 0; i < 2 + 29; i++) assert_int_equal(done[i], i < n);
    }
    pool_close(pool);
}

/* Where its thread may run. */
static void note_processors(void *arg, uint32_t index) {
    sched_getaffinity(0, sizeof(cpu_set_t), &((cpu_set_t *)arg)[index]);
}

/* Threads that begin on processors of their own may still run on any. */
static void threads_may_run_on_any_processor(void **state) {
    (void)state;
    cpu_set_t all, seen[MEMBERS];
    struct pool *pool = pool_open(MEMBERS);
    assert_non_null(pool);
    sched_getaffinity(0, sizeof all, &all);
    for (unsigned round = 0; round < 100; round++) {
        pool_run(pool, MEMBERS, note_processors, seen);
        for (uint32_t i = 0; i < MEMBERS; i++) assert_true(CPU_EQUAL(&seen[i], &all));
    }
    pool_close(pool);
}

/* Tasks with a barrier: each has written its cell before any reads it, and nobody writes the next round before all have read. */
struct meeting {
    struct pool *pool;
    uint32_t n;
    unsigned cells[MEMBERS];
    int wrong[MEMBERS];
};

static void take_part(void *arg, uint32_t index) {
    struct meeting *m = arg;
    for (unsigned round = 1; round <= BARRIERS; round++) {
        if ((round + index) % 100 == 0) usleep(200); /* long enough for the others to fall asleep */
        m->cells[index] = round;
        pool_barrier(m->pool, m->n, index);
        for (uint32_t k = 0; k < m->n; k++) m->wrong[index] += m->cells[k] != round;
        pool_barrier(m->pool, m->n, index);
    }
}

static void tasks_wait_for_each_other_at_a_barrier(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= MEMBERS; threads *= 2) {
        struct meeting m = {.pool = pool_open(threads)};
        assert_non_null(m.pool);
        for (unsigned job = 0; job < 2 * threads; job++) { /* of ever fewer tasks, then of ever more */
            m.n = job < threads ? threads - job : job - threads + 1;
            memset(m.cells, 0, sizeof m.cells);
            pool_run(m.pool, m.n, take_part, &m);
        }
        for (uint32_t k = 0; k < MEMBERS; k++) assert_int_equal(m.wrong[k], 0);
        pool_close(m.pool);
    }
}

static void barrier_once(void *arg, uint32_t index) {
    pool_barrier(arg, 2, index);
}

/* Jobs that are opened while the worker is going to sleep: it has to see each, or its task never comes and the test never ends. How long a
 * job took tells whether the worker was awake, and so whether the next one is to come later or sooner. */
static void a_worker_that_falls_asleep_sees_the_next_job(void **state) {
    (void)state;
    struct pool *pool = pool_open(2);
    assert_non_null(pool);
    double gap = 40e-6;
    for (unsigned job = 0; job < 20000; job++) {
        double start = clock_seconds() + gap;
        while (clock_seconds() < start) continue;
        pool_run(pool, 2, barrier_once, pool);
        bool slept = clock_seconds() - start > 5e-6;
        gap += slept || gap > 60e-6 ? -20e-9 : 20e-9;
    }
    pool_close(pool);
}

/* `morsel bench` of a small network: its tasks have a barrier, or none. */
static void check_bench(unsigned threads, bool barrier) {
    struct failure failure;
    struct network network;
    assert_true(network_open(&network, &(struct network_call){.path = "ds-cnn-kws", .cpu = MORSEL_CPU_ALL, .threads = threads}, &failure));
    struct network_run *run = network_run_open(&network, &failure);
    assert_non_null(run);
    assert_int_equal(run->session.options.barrier != NULL, barrier);
    assert_true(network_compute(run, NULL, NULL, &failure));
    network_run_close(run);
    network_close(&network);
}

/* They do so where each thread has a processor of those that the process may run on, whatever others the machine has. */
static void threads_take_the_processors_that_are_allowed(void **state) {
    (void)state;
    cpu_set_t all, some;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&some);
    for (unsigned i = 0, count = 0; i < CPU_SETSIZE && count < 2; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        CPU_SET(i, &some);
        count++;
        if (sched_setaffinity(0, sizeof some, &some)) skip_because("the system lets no thread choose its processors");
        assert_int_equal(pool_processors(), count);
        check_bench(2, count == 2);
        check_bench(3, false);
    }
    sched_setaffinity(0, sizeof all, &all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_is_done_once),
                                       cmocka_unit_test(workers_may_come_late),
                                       cmocka_unit_test(threads_may_run_on_any_processor),
                                       cmocka_unit_test(tasks_wait_for_each_other_at_a_barrier),
                                       cmocka_unit_test(a_worker_that_falls_asleep_sees_the_next_job),
                                       cmocka_unit_test(threads_take_the_processors_that_are_allowed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
