/* SPDX-License-Identifier: MIT */
/* The network as a C array, the arena as a static variable of the size that the array's file states, for one thread and for several: no
 * file, no allocation.
 * NETWORK may name the header instead, with the array compiled by itself; it is C++ as well. */
#include <morsel.h>

#include <stdio.h>
#include <string.h>

#ifndef NETWORK
#define NETWORK "model.c"
#endif
#include NETWORK

enum { TASKS = 4 };

#ifdef __cplusplus
alignas(MORSEL_ALIGNMENT) static uint8_t arena[MODEL_ARENA_BYTES];
alignas(MORSEL_ALIGNMENT) static uint8_t arena_of_tasks[MODEL_ARENA_BYTES_FOR(TASKS)];
#else
static _Alignas(MORSEL_ALIGNMENT) uint8_t arena[MODEL_ARENA_BYTES];
static _Alignas(MORSEL_ALIGNMENT) uint8_t arena_of_tasks[MODEL_ARENA_BYTES_FOR(TASKS)];
#endif

/* Whether the macro says for every number of tasks what the library says. */
static int same_arenas(const struct morsel_model *model) {
    for (uint32_t tasks = 0; tasks <= 9; tasks++)
        if (MODEL_ARENA_BYTES_FOR(tasks) != morsel_arena_bytes_for(model, tasks)) return 0;
    return MODEL_ARENA_BYTES_FOR(2) >= MODEL_ARENA_BYTES && sizeof arena_of_tasks == morsel_arena_bytes_for(model, TASKS);
}

static void in_turn(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) fn(arg, i);
}

static int print_outputs(struct morsel_session *session) {
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_input(session, i, &view); i++) memset(view.data, 0, view.bytes);
    if (morsel_run(session)) return 1;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) {
        printf("%s:", view.name);
        for (uint32_t k = 0; k < view.bytes; k++) printf(" %02x", ((uint8_t *)view.data)[k]);
        printf("\n");
    }
    return 0;
}

int main(void) {
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_options options; /* designated initializers are C++20 */
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.tasks = TASKS;
    options.parallel_for = in_turn;
    if (morsel_open(&model, MODEL_BLOB, MODEL_BLOB_BYTES, 0) || morsel_arena_bytes(&model) != sizeof arena || !same_arenas(&model))
        return 1;
    if (morsel_session_open(&session, &model, arena, sizeof arena, NULL)) return 1;
    if (morsel_session_open(&session, &model, arena, sizeof arena - 1, NULL) != MORSEL_ERR_ARENA) return 1;
#ifdef IN_TASKS
    if (morsel_session_open(&session, &model, arena_of_tasks, sizeof arena_of_tasks, &options)) return 1;
#else
    (void)options;
    if (morsel_session_open(&session, &model, arena, sizeof arena, NULL)) return 1;
#endif
    return print_outputs(&session);
}
