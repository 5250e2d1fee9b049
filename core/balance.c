/* SPDX-License-Identifier: MIT */
/*
 * Shares of unlike length for threads of unlike speed: cores of two kinds, or one that somebody else uses too.
 *
 * Groups have most rows to share. Whichever task of a group is done last gets a little less from then on, the more the oftener it was so
 * in succession; equal ones take turns at being last, and keep their shares but for a fraction of a percent. Results do not depend on
 * where steps are cut.
 *
 * What is kept lies behind the memory of the tasks: a line for all, and one for each task, which nobody else writes.
 */
#include "stream.h"

#define WHOLE 16384u /* of all weights together, or more; at most twice as much */
#define LEAST 8u     /* no weight is below an equal share over this */

struct balance {
    uint32_t job;              /* number of the latest one that is watched */
    uint32_t last, succession; /* who was done last, and how many times in succession */
    uint32_t tasks;            /* of that job */
};

struct line { /* of one task */
    _Alignas(MORSEL_ALIGNMENT) uint32_t done; /* the latest job */
    uint32_t last;                            /* the latest job that it was the last in */
    uint32_t weight;
    uint32_t begin; /* of its share, in 1/65536 of all */
};

static struct balance *balance_of(const struct morsel_session *session) {
    uint32_t spare = session->spare_bytes + (session->options.tasks - 1) * session->band_bytes;
    return (struct balance *)(void *)(session->arena + morsel_blob_header(session->model)->arena_bytes + spare);
}

static struct line *lines_of(const struct morsel_session *session) {
    return (struct line *)(void *)((uint8_t *)balance_of(session) + MORSEL_ALIGNMENT);
}

static int is_kept(const struct morsel_session *session) {
    return session->bands > 1 && session->bands == session->options.tasks && session->bands <= MORSEL_BALANCE_MOST;
}

/* Where shares begin, from the weights; the first task's is the last. */
static void place_shares(const struct morsel_session *session) {
    struct line *line = lines_of(session);
    uint32_t total = 0, before = 0;
    for (uint32_t i = 0; i < session->bands; i++) total += line[i].weight;
    for (uint32_t i = session->bands; i-- > 0; before += line[i].weight) line[i].begin = before * 65536 / total;
}

void morsel_balance_start(const struct morsel_session *session) {
    struct balance *balance = balance_of(session);
    struct line *line = lines_of(session);
    if (!is_kept(session)) return;
    balance->job = balance->last = balance->succession = balance->tasks = 0;
    for (uint32_t i = 0; i < session->bands; i++) {
        line[i].done = line[i].last = 0;
        line[i].weight = WHOLE / session->bands + 1;
    }
    place_shares(session);
}

uint32_t morsel_share(const struct morsel_session *session, uint32_t parts, uint32_t tasks, uint32_t task) {
    if (!is_kept(session) || tasks != session->bands) return morsel_share_from(parts, tasks, tasks - 1 - task);
    return (uint32_t)(((uint64_t)parts * lines_of(session)[task].begin + 32768) >> 16);
}

uint32_t morsel_share_end(const struct morsel_session *session, uint32_t parts, uint32_t tasks, uint32_t task) {
    return task ? morsel_share(session, parts, tasks, task - 1) : parts;
}

void morsel_balance_watch(const struct morsel_session *session, uint32_t tasks) {
    if (!is_kept(session)) return;
    balance_of(session)->tasks = tasks;
    balance_of(session)->job++;
}

/* Of two that are done at once both may be the last, or neither; then nobody was. */
void morsel_balance_done(const struct morsel_session *session, uint32_t task) {
    if (!is_kept(session)) return;
    const struct balance *balance = balance_of(session);
    struct line *line = lines_of(session);
    __atomic_store_n(&line[task].done, balance->job, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < balance->tasks; i++)
        if (__atomic_load_n(&line[i].done, __ATOMIC_RELAXED) != balance->job) return;
    line[task].last = balance->job;
}

void morsel_balance_learn(const struct morsel_session *session) {
    struct balance *balance = balance_of(session);
    struct line *line = lines_of(session);
    uint32_t last = 0, total = 0;
    if (!is_kept(session) || balance->tasks != session->bands) return;
    while (last < session->bands && line[last].last != balance->job) last++;
    for (uint32_t i = last + 1; i < session->bands; i++)
        if (line[i].last == balance->job) return;
    if (last == session->bands) return;
    balance->succession = balance->last == last ? balance->succession + 1 : 0;
    balance->last = last;
    uint32_t shift = balance->succession < 3 ? 10 - 2 * balance->succession : 5;
    if (line[last].weight > WHOLE / session->bands / LEAST) line[last].weight -= line[last].weight >> shift;
    for (uint32_t i = 0; i < session->bands; i++) total += line[i].weight;
    for (uint32_t i = 0; total < WHOLE && i < session->bands; i++) line[i].weight += line[i].weight;
    place_shares(session);
}
