/* SPDX-License-Identifier: MIT */
/* An app of one network, as the files of `--c net.c` have it: prints a mark over its output bytes, and what opening another one gives. Then
 * whether steps are cut into tasks where that is asked for, which changes no byte. With -DSELFTEST also what the self-test finds. */
#include <morsel.h>

#include "net.h"
#include "other.h"

#include <stdio.h>

enum { TASKS = 3 };
static _Alignas(MORSEL_ALIGNMENT) uint8_t arena[NET_ARENA_BYTES_FOR(TASKS)];
static int cut; /* whether there was more than one task */

static void in_turn(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    cut |= n > 1;
    for (uint32_t i = 0; i < n; i++) fn(arg, i);
}

static int run(uint32_t *mark, uint32_t tasks) {
    const struct morsel_options options = {.size = sizeof options, .tasks = tasks, .parallel_for = in_turn};
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view view;
    if (morsel_open(&model, net_blob, NET_BYTES, 0) || morsel_session_open(&session, &model, arena, sizeof arena, &options)) return 1;
    for (uint32_t i = 0; !morsel_input(&session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) ((uint8_t *)view.data)[k] = (uint8_t)(view.type == MORSEL_FLOAT32 ? 0 : k * 7);
    if (morsel_run(&session)) return 1;
    for (uint32_t i = 0; !morsel_output(&session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) *mark = (*mark ^ ((const uint8_t *)view.data)[k]) * 16777619u;
    return 0;
}

int main(void) {
    struct morsel_model other;
    uint32_t mark = 2166136261u, again = mark, index = 0;
    if (run(&mark, 1) || cut || run(&again, TASKS) || mark != again) return 1;
    enum morsel_error error = morsel_open(&other, other_blob, OTHER_BYTES, 0);
    int part = morsel_open_part(&other, &index);
    printf("%08x, other: error %d part %d index %u, %s\n", (unsigned)mark, (int)error, part, (unsigned)index,
           cut ? "in tasks" : "in one task");
#ifdef SELFTEST
    const char *found = morsel_selftest(0);
    if (found) printf("the self-test finds %s\n", found);
#endif
    return 0;
}
