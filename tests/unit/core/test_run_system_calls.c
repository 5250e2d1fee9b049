/* SPDX-License-Identifier: MIT */
/*
 * A run makes no system call: a process that may make none but read, write, exit and sigreturn (strict seccomp: the system kills it for
 * any other) runs built-in networks many times. Linux alone; skipped where the system does not let a process bind itself so.
 */
#include "core/morsel.h"
#include "tests/unit/support/skip.h"
#include "tools/net/nets.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__linux__)
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__)
enum { RUNS = 10 }; /* slow ones */
#else
enum { RUNS = 100 };
#endif
enum { GOOD = 0, WRONG = 1, NOT_PERMITTED = 2 };

/* exit() and even _exit() make other calls than this one. */
static void leave(int status) {
    syscall(SYS_exit, status);
}

static void run_bound(struct morsel_session *session, const struct morsel_view *in) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) leave(NOT_PERMITTED);
    for (int i = 0; i < RUNS; i++) {
        memset(in->data, i, in->bytes);
        if (morsel_run(session)) leave(WRONG);
    }
    leave(GOOD);
}

static void call_bound(struct morsel_session *session, const struct morsel_view *in) {
    (void)session;
    (void)in;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) leave(NOT_PERMITTED);
    syscall(SYS_getppid);
    leave(GOOD);
}

/* What becomes of a child that does it: an exit status, or minus the signal that ended it. */
static int child(void (*body)(struct morsel_session *session, const struct morsel_view *in), struct morsel_session *session,
                 const struct morsel_view *in) {
    int status = 0;
    pid_t id = fork();
    assert_true(id >= 0);
    if (!id) body(session, in);
    assert_int_equal(waitpid(id, &status, 0), id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void a_call_would_be_seen(void **state) {
    (void)state;
    int end = child(call_bound, NULL, NULL);
    if (end == NOT_PERMITTED) skip_because("the system lets no process bind itself by seccomp");
    assert_int_equal(end, -SIGKILL);
}

static void check_net(const char *name, uint32_t cpu, uint32_t arena_room) {
    struct file_bytes blob = {0};
    struct failure failure;
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu};
    struct morsel_view in;
    assert_true(nets_blob(name, false, arena_room, &blob, &failure));
    assert_int_equal(morsel_open(&model, blob.data, blob.size, 0), MORSEL_OK);
    void *arena = aligned_alloc(MORSEL_ALIGNMENT, morsel_arena_bytes(&model));
    assert_non_null(arena);
    assert_int_equal(morsel_session_open(&session, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&session, 0, &in), MORSEL_OK);
    int end = child(run_bound, &session, &in);
    free(arena);
    file_free(&blob);
    if (end == NOT_PERMITTED) skip_because("the system lets no process bind itself by seccomp");
    assert_int_equal(end, GOOD);
}

static void runs_call_nothing(void **state) {
    (void)state;
    check_net("ds-cnn-kws", MORSEL_CPU_ALL, 0);
    check_net("resnet8-32", MORSEL_CPU_ALL, 0);
    check_net("mobilenetv2-224", MORSEL_CPU_ALL, 0);
    check_net("mobilenetv2-224", MORSEL_CPU_ALL, 1); /* the smallest arena: longer groups */
    check_net("shufflenetv2-224", MORSEL_CPU_ALL, 0);
}

static void nor_do_those_in_plain_c(void **state) {
    (void)state;
    check_net("ds-cnn-kws", MORSEL_CPU_C, 0);
    check_net("resnet8-32", MORSEL_CPU_C, 0);
}

#else

static void a_call_would_be_seen(void **state) {
    (void)state;
    skip_because("seccomp is of Linux");
}

#define runs_call_nothing a_call_would_be_seen
#define nor_do_those_in_plain_c a_call_would_be_seen

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_would_be_seen),
        cmocka_unit_test(runs_call_nothing),
        cmocka_unit_test(nor_do_those_in_plain_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
