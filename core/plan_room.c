/* SPDX-License-Identifier: MIT */
/*
 * Room for kernels: while a step runs, some of the arena holds nothing. The largest such gap is lent to the step's kernel, in equal parts
 * to its tasks, for tiles that are larger than the stack allows. It costs no byte of the arena. Without it kernels take smaller tiles.
 * Where the caller's arena is longer than asked, what is left behind it may be larger.
 */
#include "plan.h"

#define MOST_ALIVE 64u /* tensors at a time; where there are more, the steps from there on get no room */

/* The tensors of the arena that are alive in an entry. */
struct alive {
    uint32_t count;
    uint32_t tensors[MOST_ALIVE];
};

static int add_alive(struct alive *alive, uint32_t tensor) {
    if (alive->count == MOST_ALIVE) return 0;
    alive->tensors[alive->count++] = tensor;
    return 1;
}

/* Those that steps from `first` on read, or the caller does. Never read: MORSEL_STEP_BEFORE, which 1 more makes the least. */
static void drop_dead(struct alive *alive, const struct morsel_model *model, uint32_t first) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < alive->count; i++)
        if (morsel_blob_tensor(model, alive->tensors[i])->last_step + 1 > first) alive->tensors[kept++] = alive->tensors[i];
    alive->count = kept;
}

static int add_inputs(struct alive *alive, const struct morsel_model *model) {
    const struct morsel_blob_section *inputs = &morsel_blob_header(model)->inputs;
    const struct morsel_blob_io *in = morsel_blob_at(model, inputs->offset);
    for (uint32_t i = 0; i < inputs->count; i++)
        if (!add_alive(alive, in[i].tensor)) return 0;
    return 1;
}

/* A walk up the arena: bytes `at` and on, of which what is in use pushes the end. */
struct sweep {
    uint32_t at;   /* nothing below is looked at any more */
    uint32_t past; /* the end of what covers `at`; `at` itself: nothing does */
    uint32_t next; /* where the next slice begins */
};

/* What is empty is nowhere: nobody has checked its offset. */
static void meet(struct sweep *s, uint32_t offset, uint32_t bytes) {
    if (!bytes) return;
    if (offset > s->at && offset < s->next) s->next = offset;
    if (offset <= s->at && offset + bytes > s->past) s->past = offset + bytes;
}

/* The largest gap of steps first .. last, in one of the arena's two parts, as every slice. Slices are aligned, and end below 2^31.
 * Proven: tests/prove, place and scratch. */
static struct morsel_room find_gap(const struct morsel_session *session, const struct alive *alive, uint32_t first, uint32_t last) {
    const struct morsel_model *model = session->model;
    struct morsel_room gap = {NULL, 0};
    const struct morsel_blocks blocks = morsel_session_blocks(session);
    const uint32_t end = morsel_blob_header(model)->arena_bytes, split = morsel_fast_from(morsel_blob_header(model));
    for (struct sweep s = {.at = session->step_count * MORSEL_FORMAT_STEP_SLOT}; s.at < end;) {
        s.past = s.at;
        s.next = s.at < split ? split : end;
        for (uint32_t i = 0; i < alive->count; i++) {
            const struct morsel_blob_tensor *t = morsel_blob_tensor(model, alive->tensors[i]);
            meet(&s, t->offset, morsel_aligned(morsel_slice_bytes(t)));
        }
        for (uint32_t i = first; i <= last; i++) {
            const struct morsel_blob_step *step = morsel_blob_step(model, i);
            meet(&s, step->scratch_offset, morsel_aligned(step->scratch_bytes));
        }
        if (s.past == s.at && s.next - s.at > gap.bytes) {
            gap.data = morsel_arena_at(model, &blocks, s.at);
            gap.bytes = s.next - s.at;
        }
        s.at = s.past > s.at ? s.past : s.next;
    }
    return gap;
}

/* What follows the arena, the spare memory and the bands, for so many tasks. */
static struct morsel_room rest_of(const struct morsel_session *session, uint32_t tasks) {
    const size_t used = session->bands > 1 ? session->spare_bytes + (size_t)(session->bands - 1) * session->band_bytes : 0;
    const size_t left = session->behind_bytes - used, most = (size_t)MORSEL_LENT_MOST * tasks;
    const struct morsel_room rest = {session->behind + used, (uint32_t)(left < most ? left : most)};
    return rest;
}

void morsel_plan_room(const struct morsel_session *session) {
    const struct morsel_model *model = session->model;
    struct alive alive = {0};
    int known = add_inputs(&alive, model);
    for (uint32_t i = 0, last; i < session->step_count; i = last + 1) {
        const struct morsel_call *entry = morsel_call_at(session, i);
        struct morsel_room room = {NULL, 0};
        last = i + entry->count - 1u;
        drop_dead(&alive, model, i);
        for (uint32_t k = i; known && k <= last; k++) {
            const struct morsel_blob_step *step = morsel_blob_step(model, k);
            known = add_alive(&alive, morsel_blob_operand(model, step, step->input_count));
        }
        if (known) room = find_gap(session, &alive, i, last);
        const struct morsel_room rest = rest_of(session, entry->tasks);
        if (rest.bytes > room.bytes) room = rest;
        room.bytes = room.bytes / entry->tasks / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT;
        for (uint32_t k = i; k <= last; k++) {
            struct morsel_room *of_step = morsel_args_room(&morsel_call_at(session, k)->args, morsel_call_at(session, k)->kind);
            if (of_step) *of_step = room;
        }
    }
}
