/* SPDX-License-Identifier: MIT */
/* The loop of workers: every task once, the first failure of several, whatever the workers. Also run under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tools/network/each.h"

enum { TASKS = 300, WORKERS = 5 };

struct seen {
    int times[TASKS];
    unsigned worker[TASKS], busy[WORKERS];
    size_t broken; /* this task and those behind it fail */
};

static bool see(void *context, unsigned worker, size_t task, struct failure *failure) {
    struct seen *seen = context;
    seen->busy[worker]++; /* calls of one worker never overlap */
    seen->times[task]++;
    seen->worker[task] = worker;
    return task < seen->broken || failure_set(failure, STATUS_INPUT, "task %zu", task);
}

static void every_task_comes_once(void **unused) {
    (void)unused;
    for (unsigned workers = 1; workers <= WORKERS; workers++) {
        struct seen seen = {.broken = TASKS};
        struct failure failure;
        unsigned busy = 0;
        assert_true(each(TASKS, workers, "tasks", see, &seen, &failure));
        for (int i = 0; i < TASKS; i++) assert_int_equal(seen.times[i], 1);
        for (int i = 0; i < TASKS; i++) assert_true(seen.worker[i] < workers);
        for (unsigned i = 0; i < WORKERS; i++) busy += seen.busy[i];
        assert_int_equal(busy, TASKS);
    }
}

static void the_first_failure_is_told(void **unused) {
    (void)unused;
    struct pool *pool = pool_open(WORKERS);
    assert_non_null(pool);
    for (size_t broken = 0; broken < 40; broken++) {
        struct seen seen = {.broken = broken};
        struct failure failure;
        char text[32];
        snprintf(text, sizeof text, "task %zu", broken);
        assert_false(each_in(pool, TASKS, WORKERS, NULL, see, &seen, &failure));
        assert_string_equal(failure.text, text);
        for (size_t i = 0; i <= broken; i++) assert_int_equal(seen.times[i], 1);
    }
    pool_close(pool);
}

static void no_tasks_are_no_failure(void **unused) {
    (void)unused;
    struct seen seen = {.broken = 0};
    struct failure failure;
    assert_true(each(0, 3, NULL, see, &seen, &failure));
    assert_int_equal(each_workers(0, 3), 3);
    assert_int_equal(each_workers(2, 3), 2);
    assert_int_equal(each_workers(2, 0), 1);
    assert_int_equal(each_workers(100000, 100000), POOL_THREADS_MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_comes_once), cmocka_unit_test(the_first_failure_is_told),
                                       cmocka_unit_test(no_tasks_are_no_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
