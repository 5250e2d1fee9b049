/* SPDX-License-Identifier: MIT */
/* Proofs of core/model.c and core/session.c: what tasks take of the arena lies in it, whatever the plan needs. */
#include "core/model.c"
#include "core/session.c"
#include "any.h"

uint32_t any_band, any_spare;

uint32_t morsel_band_bytes(const struct morsel_model *model) {
    (void)model;
    return any_band;
}

uint32_t morsel_spare_bytes(const struct morsel_model *model) {
    (void)model;
    return any_spare;
}

/* The arena that is asked for is as large as planned arena, spare memory and bands together; 0 where that is 2^31 or more. */
void prove_arena(uint32_t tasks) {
    struct morsel_blob_header h;
    struct morsel_model m;
    prove_any(&h);
    prove_any(&m);
    prove_any(&any_band);
    prove_any(&any_spare);
    any_header(&h);
    m.blob = (const uint8_t *)&h;
    m.opened = MORSEL_OPENED;
    uint32_t bytes = morsel_arena_bytes_for(&m, tasks);
    int more = tasks > 1 & any_band != 0 & h.arena_bytes != 0;
    wide all = h.arena_bytes + (more ? any_spare + ((wide)tasks - 1) * any_band : 0);
    if (bytes) prove_assert(bytes == all & bytes <= MORSEL_SIZE_LIMIT);
    else prove_assert(all > MORSEL_SIZE_LIMIT || !h.arena_bytes);
}

/* The memory of each task lies in the arena that a session was given, behind the spare memory. */
void prove_bands(uint64_t arena_bytes, uint32_t task) {
    struct morsel_blob_header h;
    struct morsel_model m;
    struct morsel_session s;
    prove_any(&h);
    prove_any(&m);
    prove_any(&s);
    prove_any(&any_band);
    prove_any(&any_spare);
    any_header(&h);
    m.blob = (const uint8_t *)&h;
    m.opened = MORSEL_OPENED;
    s.model = &m;
    prove_assume(arena_bytes >= h.arena_bytes & s.options.tasks >= 1 & s.options.tasks <= MORSEL_MOST_TASKS);
    morsel_count_bands(&s, arena_bytes - h.arena_bytes);
    prove_assert(s.bands >= 1 & s.bands <= s.options.tasks);
    prove_assume(task >= 1 & task < s.bands);
    prove_assert((wide)task * any_band <= ((wide)s.bands - 1) * any_band);
    prove_assert((wide)h.arena_bytes + any_spare + (wide)task * any_band <= arena_bytes);
}
