/* SPDX-License-Identifier: MIT */
/*
 * Where values lie in a run's workspace. The steps are walked in order: a step's outputs take the gap that fits best among what is free,
 * or grow the workspace; what no later step reads is free again. Outputs may share memory with an input: aliases always, elementwise
 * steps where they are its last reader.
 */
#include "tools/float/internal.h"
#include "tools/base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16 }; /* floats: every value begins on a cache line */

struct gap {
    size_t begin, size;
};

/* Gaps in order of their begin; what lies behind the last one, up to `end`, is in use. */
struct space {
    struct gap *gaps;
    size_t gap_count, room, end;
};

static size_t grains(size_t floats) {
    return (floats + GRAIN - 1) / GRAIN * GRAIN;
}

static void remove_gap(struct space *s, size_t i) {
    memmove(&s->gaps[i], &s->gaps[i + 1], (s->gap_count - i - 1) * sizeof *s->gaps);
    s->gap_count--;
}

static size_t take(struct space *s, size_t size) {
    size_t best = s->gap_count;
    for (size_t i = 0; i < s->gap_count; i++)
        if (s->gaps[i].size >= size && (best == s->gap_count || s->gaps[i].size < s->gaps[best].size)) best = i;
    if (best < s->gap_count) {
        size_t at = s->gaps[best].begin;
        s->gaps[best].begin += size;
        s->gaps[best].size -= size;
        if (!s->gaps[best].size) remove_gap(s, best);
        return at;
    }
    struct gap *last = s->gap_count ? &s->gaps[s->gap_count - 1] : NULL;
    size_t at = s->end;
    if (last && last->begin + last->size == s->end) { /* what is free at the end is used and continued */
        at = last->begin;
        s->gap_count--;
    }
    s->end = at + size;
    return at;
}

/* There is always room: as many gaps as slots, and one. */
static void give(struct space *s, size_t begin, size_t size) {
    size_t i = 0;
    while (i < s->gap_count && s->gaps[i].begin < begin) i++;
    bool joins_left = i && s->gaps[i - 1].begin + s->gaps[i - 1].size == begin;
    bool joins_right = i < s->gap_count && begin + size == s->gaps[i].begin;
    if (joins_left) {
        s->gaps[i - 1].size += size + (joins_right ? s->gaps[i].size : 0);
        if (joins_right) remove_gap(s, i);
    } else if (joins_right) {
        s->gaps[i].begin = begin;
        s->gaps[i].size += size;
    } else {
        memmove(&s->gaps[i + 1], &s->gaps[i], (s->gap_count - i) * sizeof *s->gaps);
        s->gaps[i] = (struct gap){begin, size};
        s->gap_count++;
    }
}

/* Outputs that are their input in another shape share its slot's memory. */
static void join_aliases(struct executor *e) {
    for (size_t i = 0; i < e->step_count; i++)
        if (!e->steps[i].run) e->slots[e->steps[i].outputs[0]].root = slot_root(e, e->steps[i].inputs[0]);
}

static void reads(struct executor *e, size_t slot, size_t step) {
    if (slot == NO_SLOT) return;
    struct slot *root = &e->slots[slot_root(e, slot)];
    if (root->last < step) root->last = step;
}

static void find_lifetimes(struct executor *e) {
    for (size_t i = 0; i < e->step_count; i++) {
        for (int k = 0; k < e->steps[i].output_count; k++) reads(e, e->steps[i].outputs[k], i);
        for (int k = 0; k < e->steps[i].input_count; k++) reads(e, e->steps[i].inputs[k], i);
    }
    for (size_t i = 0; i < e->output_count; i++) reads(e, e->outputs[i], e->step_count);
}

/* Whether output 0 may lie over input 0: nobody reads it later, and no other operand of the step lies there. */
static bool fits_in_place(const struct executor *e, size_t at) {
    const struct step *step = &e->steps[at];
    if (!step->run || !step->in_place || step->inputs[0] == NO_SLOT || step->outputs[0] == NO_SLOT) return false;
    size_t root = slot_root(e, step->inputs[0]), out = step->outputs[0];
    const struct slot *slot = &e->slots[root];
    if (slot->kind != SLOT_WORK || slot->last != at || grains(slot->count) < e->slots[out].count) return false;
    for (int k = 1; k < step->input_count; k++)
        if (step->inputs[k] != NO_SLOT && slot_root(e, step->inputs[k]) == root) return false;
    return e->slots[out].root == out;
}

static void place_outputs(struct executor *e, struct space *space, size_t at) {
    const struct step *step = &e->steps[at];
    if (fits_in_place(e, at)) {
        size_t root = slot_root(e, step->inputs[0]);
        e->slots[root].last = e->slots[step->outputs[0]].last;
        e->slots[step->outputs[0]].root = root;
    }
    for (int k = 0; k < step->output_count; k++) {
        size_t out = step->outputs[k];
        struct slot *slot = out == NO_SLOT ? NULL : &e->slots[slot_root(e, out)];
        if (!slot || slot->kind != SLOT_WORK || slot->has_memory || !slot->count) continue;
        slot->offset = take(space, grains(slot->count));
        slot->has_memory = true;
    }
}

static void free_unread(struct executor *e, struct space *space, const size_t *slots, int count, size_t at) {
    for (int k = 0; k < count; k++) {
        struct slot *slot = slots[k] == NO_SLOT ? NULL : &e->slots[slot_root(e, slots[k])];
        if (!slot || slot->kind != SLOT_WORK || !slot->has_memory || slot->last > at) continue;
        give(space, slot->offset, grains(slot->count));
        slot->has_memory = false;
    }
}

void plan_memory(struct executor *e) {
    struct space space = {.gaps = must_calloc(e->slot_count + 2, sizeof *space.gaps)};
    join_aliases(e);
    find_lifetimes(e);
    for (size_t i = 0; i < e->step_count; i++) {
        place_outputs(e, &space, i);
        free_unread(e, &space, e->steps[i].inputs, e->steps[i].input_count, i);
        free_unread(e, &space, e->steps[i].outputs, e->steps[i].output_count, i);
    }
    e->work = space.end;
    free(space.gaps);
}
