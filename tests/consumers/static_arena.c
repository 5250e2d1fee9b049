/* SPDX-License-Identifier: MIT */
/* The network as a C array, the arena as a static variable of the size that the array's file states: no file, no allocation.
 * NETWORK may name the header instead, with the array compiled by itself; it is C++ as well. */
#include <morsel.h>

#include <stdio.h>
#include <string.h>

#ifndef NETWORK
#define NETWORK "model.c"
#endif
#include NETWORK

#ifdef __cplusplus
alignas(MORSEL_ALIGNMENT) static uint8_t arena[MODEL_ARENA_BYTES];
#else
static _Alignas(MORSEL_ALIGNMENT) uint8_t arena[MODEL_ARENA_BYTES];
#endif

int main(void) {
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view view;
    if (morsel_open(&model, MODEL_BLOB, MODEL_BLOB_BYTES, 0) || morsel_arena_bytes(&model) != sizeof arena)
        return 1;
    if (morsel_session_open(&session, &model, arena, sizeof arena, NULL))
        return 1;
    if (morsel_session_open(&session, &model, arena, sizeof arena - 1, NULL) != MORSEL_ERR_ARENA)
        return 1;
    if (morsel_session_open(&session, &model, arena, sizeof arena, NULL))
        return 1;
    for (uint32_t i = 0; !morsel_input(&session, i, &view); i++)
        memset(view.data, 0, view.bytes);
    if (morsel_run(&session))
        return 1;
    for (uint32_t i = 0; !morsel_output(&session, i, &view); i++) {
        printf("%s:", view.name);
        for (uint32_t k = 0; k < view.bytes; k++)
            printf(" %02x", ((uint8_t *)view.data)[k]);
        printf("\n");
    }
    return 0;
}
