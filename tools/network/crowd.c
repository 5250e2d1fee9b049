/* SPDX-License-Identifier: MIT */
#include "tools/network/crowd.h"
#include "tools/network/pool.h"
#include <stdatomic.h>
#include <stdlib.h>

struct crowd {
    struct pool *pool;
    uint8_t *arenas;
    size_t arena_bytes; /* of each */
    unsigned threads;
    struct morsel_session sessions[POOL_THREADS_MOST];
};

struct images {
    struct crowd *crowd;
    atomic_uint next;
    uint32_t count;
    crowd_step *before, *after;
    void *context;
};

static bool open_sessions(struct crowd *crowd, const struct morsel_model *network, uint32_t cpu_mask, struct failure *failure) {
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu_mask};
    crowd->arena_bytes = ((size_t)morsel_arena_bytes(network) + MORSEL_ALIGNMENT - 1) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
    crowd->arenas = aligned_alloc(MORSEL_ALIGNMENT, crowd->arena_bytes * crowd->threads);
    if (!crowd->arenas) return failure_memory(failure, crowd->arena_bytes * crowd->threads);
    for (unsigned i = 0; i < crowd->threads; i++) {
        enum morsel_error error =
            morsel_session_open(&crowd->sessions[i], network, crowd->arenas + i * crowd->arena_bytes, crowd->arena_bytes, &options);
        if (error) return failure_set(failure, STATUS_INPUT, "no session can be opened: %s", morsel_error_text(error));
    }
    crowd->pool = pool_open(crowd->threads, failure);
    return crowd->pool != NULL;
}

struct crowd *crowd_open(const struct morsel_model *network, uint32_t cpu_mask, unsigned threads, struct failure *failure) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd) {
        failure_memory(failure, sizeof *crowd);
        return NULL;
    }
    crowd->threads = threads < POOL_THREADS_MOST ? threads : POOL_THREADS_MOST;
    if (open_sessions(crowd, network, cpu_mask, failure)) return crowd;
    crowd_close(crowd);
    return NULL;
}

void crowd_close(struct crowd *crowd) {
    if (!crowd) return;
    pool_close(crowd->pool);
    free(crowd->arenas);
    free(crowd);
}

size_t crowd_arena_bytes(const struct crowd *crowd) {
    return crowd->arena_bytes * crowd->threads;
}

/* Task k has session k, whichever thread it runs in. */
static void run_some(void *arg, uint32_t index) {
    struct images *images = arg;
    const struct morsel_session *session = &images->crowd->sessions[index];
    for (;;) {
        uint32_t image = atomic_fetch_add(&images->next, 1);
        if (image >= images->count) return;
        images->before(images->context, session, image);
        morsel_run(session);
        if (images->after) images->after(images->context, session, image);
    }
}

void crowd_run(struct crowd *crowd, uint32_t images, crowd_step *before, crowd_step *after, void *context) {
    struct images all = {.crowd = crowd, .count = images, .before = before, .after = after, .context = context};
    pool_run(crowd->pool, crowd->threads, run_some, &all);
}
