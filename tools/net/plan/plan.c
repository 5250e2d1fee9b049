/* SPDX-License-Identifier: MIT */
/* Lifetimes, and places in the arena: several orders of slices, each slice at the lowest place that is free. */
#include "core/kind.h"
#include "tools/base/arena.h"
#include "tools/net/plan/plan_groups.h"
#include "tools/net/plan/plan.h"
#include "tools/net/plan/plan_slices.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_TRIES 8u
#define TOO_MUCH ((uint64_t)INT32_MAX + 1) /* bytes of an arena that no placement is taken for */
#define ROUNDS_AS_PLACED 16u               /* through what is placed, in the order of its placing; networks seen take a few */

/* --- Lifetimes --- */

void plan_drop_dead_steps(struct net *net) {
    bool *needed = net_alloc(net, net->buffer_count * sizeof *needed + 1);
    uint32_t kept = net->step_count;
    for (uint32_t i = 0; i < net->output_count; i++) needed[net->outputs[i].buffer->index] = true;
    for (uint32_t i = net->step_count; i-- > 0;) {
        struct net_step *step = net->steps[i];
        if (!needed[step->output->index]) continue;
        for (uint32_t k = 0; k < step->input_count; k++) needed[step->inputs[k]->index] = true;
        net->steps[--kept] = step;
    }
    if (kept) memmove(net->steps, net->steps + kept, (net->step_count - kept) * sizeof *net->steps);
    net->step_count -= kept;
    for (uint32_t i = 0; i < net->buffer_count; i++) net->buffers[i]->used = needed[i];
}

/* And forgets the groups of an earlier plan. */
static void find_lifetimes(struct net *net) {
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        net->buffers[i]->first_step = net->buffers[i]->last_step = MORSEL_STEP_BEFORE;
        net->buffers[i]->ring_rows = 0;
    }
    for (uint32_t i = 0; i < net->input_count; i++) {
        net->inputs[i].buffer->used = true; /* the caller writes it even if nobody reads it */
        net->inputs[i].buffer->last_step = 0;
    }
    for (uint32_t s = 0; s < net->step_count; s++) {
        net->steps[s]->group = net->steps[s]->stage_scale = net->steps[s]->lag = 0;
        net->steps[s]->stage_lead = 0;
        net->steps[s]->over = NULL;
        net->steps[s]->output->first_step = s;
        net->steps[s]->output->last_step = s;
        for (uint32_t k = 0; k < net->steps[s]->input_count; k++) net->steps[s]->inputs[k]->last_step = s;
    }
    for (uint32_t i = 0; i < net->output_count; i++) net->outputs[i].buffer->last_step = net->step_count;
}

/* What a buffer takes of the arena, and the steps between which it lives. */
static uint32_t slice_bytes(const struct net_buffer *b) {
    return b->ring_rows ? b->ring_rows * (b->bytes / b->dims[0] / b->dims[1]) : b->bytes;
}

static uint32_t first_of(const struct net *net, const struct net_buffer *b) {
    uint32_t first = b->first_step == MORSEL_STEP_BEFORE ? 0 : b->first_step;
    uint32_t group = first < net->step_count ? net->steps[first]->group : 0;
    return group ? net->groups[group - 1].first_step : first;
}

static uint32_t last_of(const struct net *net, const struct net_buffer *b) {
    uint32_t group = b->last_step < net->step_count ? net->steps[b->last_step]->group : 0;
    return group ? net->groups[group - 1].first_step + net->groups[group - 1].step_count - 1 : b->last_step;
}

/* --- Writing over an input --- */

/* A step that reads element i before it writes element i, and no other after that. */
static bool by_element(const struct net *net, const struct net_step *step, uint32_t input) {
    const struct morsel_kind *kind = morsel_kinds[step->kind];
    return (kind->by_line && net->format > 1) || (kind->rows == MORSEL_ROWS_SAME && kind->period(&step->parameters, input));
}

struct net_buffer *plan_in_place(const struct net *net, uint32_t s) {
    const struct net_step *step = net->steps[s];
    bool twice = step->input_count == 2 && step->inputs[0] == step->inputs[1];
    for (uint32_t k = 0; k < step->input_count && !twice; k++) {
        struct net_buffer *in = step->inputs[k];
        if (!in->constant && in->last_step == s && in->bytes == step->output->bytes && by_element(net, step, k)) return in;
    }
    return NULL;
}

static void share_slices(const struct net *net, struct slice *slices) {
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        const struct net_buffer *in = step->group ? step->over : plan_in_place(net, s);
        if (!in) continue;
        struct slice *out = &slices[step->output->index], *parent = &slices[in->index];
        parent->heir = out;
        out->inherits = true;
        out->lag = step->group ? step->lag : 0;
    }
}

/* An heir begins `lag` bytes before the slice that it inherits. */
static void find_rises(struct slice *home) {
    int64_t at = 0, least = 0;
    for (struct slice *s = home; s; s = s->heir) {
        at -= s == home ? 0 : s->lag;
        least = at < least ? at : least;
    }
    at = -least;
    for (struct slice *s = home; s; s = s->heir) {
        at -= s == home ? 0 : s->lag;
        s->rise = (uint32_t)at;
    }
}

/* --- Placing --- */

static int larger_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int earlier_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static int longer_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    uint32_t lx = x->last - x->first, ly = y->last - y->first;
    if (lx != ly) return lx < ly ? 1 : -1;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static bool alive_together(const struct slice *a, const struct slice *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* Where the slice and its heirs, put at `at`, would be past what is placed in their way; `at` where nothing is. */
static uint64_t past(const struct slice *placed, const struct slice *slice, uint64_t at, uint64_t *work) {
    uint64_t next = at;
    for (const struct slice *p = placed; p; p = p->heir) {
        uint64_t begin = (uint64_t)placed->offset + p->rise, end = begin + p->bytes;
        for (const struct slice *s = slice; s; s = s->heir, ++*work)
            if (alive_together(p, s) && at + s->rise < end && begin < at + s->rise + s->bytes && next + s->rise < end) next = end - s->rise;
    }
    return next;
}

uint64_t plan_height(const struct slice *slice) {
    uint64_t most = 0;
    for (; slice; slice = slice->heir) most = (uint64_t)slice->rise + slice->bytes > most ? (uint64_t)slice->rise + slice->bytes : most;
    return most;
}

struct skyline plan_skyline(struct net *net) {
    struct skyline sky = {.steps = net->step_count + 1}; /* outputs are alive behind the last */
    sky.solid = net_alloc(net, sky.steps * sizeof *sky.solid);
    sky.top = net_alloc(net, sky.steps * sizeof *sky.top);
    return sky;
}

void plan_clear_skyline(struct skyline *sky) {
    memset(sky->solid, 0, sky->steps * sizeof *sky->solid);
    memset(sky->top, 0, sky->steps * sizeof *sky->top);
}

/* The lowest place at which a slice and its heirs lie above a line. */
static uint64_t above(const uint32_t *line, const struct slice *slice) {
    int64_t at = 0;
    for (; slice; slice = slice->heir) {
        uint32_t most = 0;
        for (uint32_t t = slice->first; t <= slice->last; t++) most = line[t] > most ? line[t] : most;
        at = (int64_t)most - slice->rise > at ? (int64_t)most - slice->rise : at;
    }
    return (uint64_t)at;
}

void plan_raise_skyline(struct skyline *sky, const struct slice *slice, uint32_t at, uint64_t *work) {
    for (; slice; slice = slice->heir) {
        uint32_t begin = at + slice->rise, end = begin + slice->bytes;
        for (uint32_t t = slice->first; t <= slice->last; t++) {
            sky->solid[t] = begin <= sky->solid[t] && end > sky->solid[t] ? end : sky->solid[t];
            sky->top[t] = end > sky->top[t] ? end : sky->top[t];
        }
        *work += slice->last - slice->first + 1;
    }
}

static int lower_first(const void *a, const void *b) {
    const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The lowest place from `at` on, in rounds until nothing is in the way any more; at most `rounds` of them. True: it is found. */
static bool pass_all(struct slice **placed, uint32_t count, const struct slice *slice, uint64_t *at, uint32_t rounds, uint64_t *work) {
    for (uint64_t before = *at; rounds--; before = *at) {
        for (uint32_t i = 0; i < count; i++) *at = past(placed[i], slice, *at, work);
        if (*at == before) return true;
    }
    return false;
}

/* The lowest place for a slice and its heirs. Where all is solid up to the top, that is the top: so networks of thousands of branches are
 * planned in no time. Otherwise whatever is in the way at some place is in the way up to its own end: nothing lower is free. Slices that
 * lie one above the other in the order of their placing are passed in one go, and those that lie the other way round once they are sorted:
 * else a stair of them would take a round for each. */
uint64_t plan_lowest_gap(struct slice **placed, uint32_t count, const struct skyline *sky, const struct slice *slice, uint64_t *work) {
    uint64_t at = above(sky->solid, slice);
    if (at >= above(sky->top, slice) || pass_all(placed, count, slice, &at, ROUNDS_AS_PLACED, work)) return at;
    struct slice **sorted = must_calloc(count, sizeof *sorted);
    memcpy(sorted, placed, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, lower_first);
    pass_all(sorted, count, slice, &at, UINT32_MAX, work);
    free(sorted);
    return at;
}

/* Places the slices in the order given; how many bytes that takes, or UINT64_MAX where it is not less than `most`. */
static uint64_t place(struct slice **order, uint32_t count, struct skyline *sky, uint64_t most, uint64_t *work) {
    uint64_t total = 0;
    plan_clear_skyline(sky);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = plan_lowest_gap(order, i, sky, order[i], work);
        uint64_t end = at + plan_height(order[i]);
        if (end >= most) return UINT64_MAX;
        order[i]->offset = (uint32_t)at;
        plan_raise_skyline(sky, order[i], (uint32_t)at, work);
        total = end > total ? end : total;
    }
    return total;
}

/* The best placement so far. */
struct placement {
    struct slice **slices; /* in an order of their own */
    uint32_t count, *offsets;
    uint64_t total, *work;
    struct skyline sky;
};

static bool try_order(struct placement *best, struct slice **order) {
    uint64_t total = place(order, best->count, &best->sky, best->total, best->work);
    if (total == UINT64_MAX) return false;
    best->total = total;
    for (uint32_t i = 0; i < best->count; i++) best->offsets[i] = best->slices[i]->offset;
    return true;
}

static void swap(struct slice **a, struct slice **b) {
    struct slice *t = *a;
    *a = *b;
    *b = t;
}

/* Tries the orders that do well on one network or another; as long as the arena is larger than its fullest step, neighbours of the best
 * too. */
static uint64_t place_best(struct layout *l, struct slice **order, uint32_t count, uint32_t tries) {
    static int (*const orders[])(const void *, const void *) = {larger_first, longer_first, earlier_first};
    struct placement best = {.count = count, .total = TOO_MUCH, .work = &l->work};
    struct net *net = l->net;
    best.slices = net_alloc(net, (count + 1) * sizeof *order);
    best.offsets = net_alloc(net, (count + 1) * sizeof *best.offsets);
    best.sky = plan_skyline(net);
    struct slice **kept = net_alloc(net, (count + 1) * sizeof *order);
    memcpy(best.slices, order, count * sizeof *order);
    for (size_t o = 0; o < sizeof orders / sizeof *orders && best.total > l->bound; o++) {
        qsort(order, count, sizeof *order, orders[o]);
        if (try_order(&best, order)) memcpy(kept, order, count * sizeof *order);
    }
    uint32_t state = 1;
    bool more = count > 1 && best.total != TOO_MUCH;
    for (uint32_t i = 0; i < tries && more && best.total > l->bound && l->work < l->most; i++) {
        memcpy(order, kept, count * sizeof *order);
        for (uint32_t k = 0; k <= i % 3; k++) {
            state = state * 1664525u + 1013904223u;
            swap(&order[(state >> 8) % count], &order[(state >> 20) % count]);
        }
        if (try_order(&best, order)) memcpy(kept, order, count * sizeof *order);
    }
    for (uint32_t i = 0; i < count && best.total != TOO_MUCH; i++) best.slices[i]->offset = best.offsets[i];
    return best.total;
}

static void find_slices(struct layout *l) {
    struct net *net = l->net;
    for (uint32_t i = 0; i < net->buffer_count; i++) {
        const struct net_buffer *b = net->buffers[i];
        l->slices[i] = (struct slice){.bytes = (uint32_t)net_aligned(slice_bytes(b)), .first = first_of(net, b), .last = last_of(net, b)};
    }
    for (uint32_t s = 0; s < net->step_count; s++) {
        uint32_t group = net->steps[s]->group, first = group ? net->groups[group - 1].first_step : s;
        l->slices[net->buffer_count + s] = (struct slice){.bytes = (uint32_t)net_aligned(net->steps[s]->scratch_bytes),
                                                          .first = first,
                                                          .last = group ? first + net->groups[group - 1].step_count - 1 : s};
    }
    share_slices(net, l->slices);
}

static void add_alive(int64_t *changes, uint32_t first, uint32_t last, int64_t bytes) {
    changes[first] += bytes;
    changes[last + 1] -= bytes;
}

/* Bytes that no placement goes below: of the slices that are alive at a step, each counted as it is placed, in whole lines, without what an
 * heir lies over. */
static uint64_t fullest_step(const struct layout *l) {
    uint32_t steps = l->net->step_count, buffers = l->net->buffer_count;
    int64_t *changes = net_alloc(l->net, (steps + 2) * sizeof *changes), live = 0, most = 0;
    for (uint32_t i = 0; i < buffers + steps; i++) {
        const struct slice *s = &l->slices[i], *heir = s->heir;
        if (s->fast || (i < buffers && (!l->net->buffers[i]->used || l->net->buffers[i]->constant))) continue;
        add_alive(changes, s->first, s->last, s->bytes);
        if (!heir || heir->bytes <= heir->lag || heir->first > s->last) continue;
        int64_t shared = heir->bytes - heir->lag < s->bytes ? heir->bytes - heir->lag : s->bytes;
        add_alive(changes, heir->first, s->last, -shared);
    }
    for (uint32_t s = 0; s <= steps; s++) {
        live += changes[s];
        most = live > most ? live : most;
    }
    return (uint64_t)most;
}

/* The slices to place, those of fast memory apart, each with its heirs: how many. */
static uint32_t find_order(struct layout *l) {
    uint32_t n = 0, buffers = l->net->buffer_count;
    for (uint32_t i = 0; i < buffers; i++)
        if (l->net->buffers[i]->used && !l->net->buffers[i]->constant && !l->slices[i].inherits && !l->slices[i].fast) {
            find_rises(&l->slices[i]);
            l->order[n++] = &l->slices[i];
        }
    for (uint32_t s = 0; s < l->net->step_count; s++)
        if (l->net->steps[s]->scratch_bytes && !l->slices[buffers + s].fast) l->order[n++] = &l->slices[buffers + s];
    return n;
}

void plan_set_offsets(struct slice *home, uint32_t lowest) {
    for (struct slice *s = home; s; s = s->heir) s->offset = lowest + s->rise;
}

/* Offsets for all slices; how many bytes that takes. */
static uint64_t place_slices(struct layout *l, uint32_t tries) {
    uint32_t n = find_order(l);
    uint64_t total = place_best(l, l->order, n, tries);
    for (uint32_t i = 0; i < n; i++) plan_set_offsets(l->order[i], l->order[i]->offset);
    return total;
}

static void set_heir(struct slice *parent, struct slice *heir) {
    if (parent->heir) parent->heir->inherits = false;
    parent->heir = heir;
    if (heir) heir->inherits = true;
}

/* Slices that inherit bind others far from their own time; each that the arena is smaller without is placed by itself. */
static void part_heirs(struct layout *l) {
    uint64_t best = place_slices(l, 0);
    for (uint32_t i = 0; i < l->net->buffer_count && best > l->bound && l->work < l->most; i++) {
        struct slice *heir = l->slices[i].heir;
        if (!heir) continue;
        set_heir(&l->slices[i], NULL);
        uint64_t total = place_slices(l, 0);
        if (total >= best) set_heir(&l->slices[i], heir);
        else best = total;
    }
}

/* What is written over an input is so no longer where its slice was placed by itself. */
static void drop_parted(struct layout *l) {
    for (uint32_t s = 0; s < l->net->step_count; s++) {
        struct net_step *step = l->net->steps[s];
        if (step->over && l->slices[step->over->index].heir != &l->slices[step->output->index]) step->over = NULL;
    }
}

/* The smaller of two placements: with all heirs, and without some. */
static uint64_t place_all(struct layout *l) {
    uint32_t count = l->net->buffer_count + l->net->step_count;
    uint64_t whole = place_slices(l, PLACE_TRIES);
    if (whole <= l->bound || l->work >= l->most) return whole;
    struct slice *kept = net_alloc(l->net, (count + 1) * sizeof *kept);
    memcpy(kept, l->slices, count * sizeof *kept);
    part_heirs(l);
    uint64_t parted = place_slices(l, PLACE_TRIES);
    if (parted >= whole) memcpy(l->slices, kept, count * sizeof *kept);
    else drop_parted(l);
    return parted < whole ? parted : whole;
}

/* Moves what carries most traffic into fast memory, and places the rest anew: how many bytes that takes now. */
static uint64_t part_fast(struct layout *l, uint64_t total) {
    struct net *net = l->net;
    net->fast_bytes = net->fast_room ? plan_choose_fast(l, l->order, find_order(l), net->fast_room) : 0;
    if (!net->fast_bytes) return total;
    l->bound = fullest_step(l);
    l->work = 0;
    return place_slices(l, PLACE_TRIES);
}

/* Where the slice lies in the arena, whose parts are slots, slow and fast memory. */
static uint32_t offset_of(const struct slice *slice, uint32_t slots, uint64_t slow) {
    return slots + (slice->fast ? (uint32_t)slow : 0) + slice->offset;
}

/* A file of a few KB is planned in the time that such a file may take. */
static uint64_t most_work(const struct net *net) {
    const uint64_t weights = net->parameter_count;
    return weights >= (PLACE_WORK_MOST - PLACE_WORK) / PLACE_WORK_WEIGHT ? PLACE_WORK_MOST : PLACE_WORK + weights * PLACE_WORK_WEIGHT;
}

/* Groups within `room`, and the places. */
static bool plan_within(struct net *net, uint32_t room, uint64_t *cut_peak) {
    find_lifetimes(net);
    *cut_peak = plan_groups(net, room);
    uint32_t slots = net->step_count * MORSEL_FORMAT_STEP_SLOT, count = net->buffer_count + net->step_count + 1;
    struct layout l = {net, net_alloc(net, count * sizeof *l.slices), net_alloc(net, count * sizeof *l.order), 0, 0, most_work(net)};
    find_slices(&l);
    l.bound = fullest_step(&l);
    uint64_t slow = part_fast(&l, place_all(&l));
    if (slow + slots + net->fast_bytes > INT32_MAX) return false;
    for (uint32_t i = 0; i < net->buffer_count; i++) net->buffers[i]->offset = offset_of(&l.slices[i], slots, slow);
    for (uint32_t s = 0; s < net->step_count; s++)
        net->steps[s]->scratch_offset = net->steps[s]->scratch_bytes ? offset_of(&l.slices[net->buffer_count + s], slots, slow) : 0;
    net->arena_bytes = slots + (uint32_t)slow + net->fast_bytes;
    return true;
}

/* The room for groups: what was asked for; for those that suit fast memory, what the plan takes without. 0: as there is no wish. */
static bool find_room(struct net *net, uint32_t *room) {
    uint32_t fast = net->fast_room;
    uint64_t peak;
    *room = net->arena_room;
    if (*room || !fast) return true;
    net->fast_room = 0;
    bool planned = plan_within(net, 0, &peak);
    net->fast_room = fast;
    *room = net->arena_bytes;
    return planned;
}

/* What is placed may take more than its peak. Where that is more than was asked for, a lower peak is tried, by what was too much. */
bool plan_arena(struct net *net) {
    uint64_t peak, before = UINT64_MAX;
    uint32_t asked = net->arena_room, least, room;
    plan_drop_dead_steps(net);
    net->format = net_format(net);
    if (net->step_count > MORSEL_FORMAT_MAX_STEPS) return false;
    if (!find_room(net, &room) || !plan_within(net, room, &peak)) return false;
    least = net->arena_bytes;
    for (uint32_t i = 1; asked && net->arena_bytes > asked && peak <= asked && peak < before && i <= ROOM_TRIES; i++) {
        uint32_t over = net->arena_bytes - asked, next = peak > over && i < ROOM_TRIES ? (uint32_t)peak - over : 1;
        before = peak;
        if (!plan_within(net, next, &peak)) break;
        room = net->arena_bytes < least ? next : room;
        least = net->arena_bytes < least ? net->arena_bytes : least;
    }
    return net->arena_bytes == least || plan_within(net, room, &peak);
}

/* What the output of step s, or of the group that it stands in, has in common with an input. */
static uint32_t shared_bytes(const struct net *net, uint32_t s, const struct net_step *writer) {
    const struct net_buffer *y = writer->output;
    if (!writer->group) return plan_in_place(net, s) ? y->bytes : 0;
    if (!writer->over || y->bytes <= writer->lag) return 0;
    return y->bytes - writer->lag < writer->over->bytes ? y->bytes - writer->lag : writer->over->bytes;
}

/* A step and its scratch, or all those of its group. */
static void add_scratch(const struct net *net, uint32_t s, int64_t *changes) {
    uint32_t group = net->steps[s]->group, first = group ? net->groups[group - 1].first_step : s;
    add_alive(changes, first, group ? first + net->groups[group - 1].step_count - 1 : s, net->steps[s]->scratch_bytes);
}

/* A buffer; until its writer is done, without what lies over an input. */
static void add_buffer(const struct net *net, const struct net_buffer *b, int64_t *changes) {
    if (!b->used || b->constant) return;
    add_alive(changes, first_of(net, b), last_of(net, b), slice_bytes(b));
    if (b->first_step < net->step_count)
        add_alive(changes, first_of(net, b), b->first_step, -(int64_t)shared_bytes(net, b->first_step, net->steps[b->first_step]));
}

uint32_t plan_peak(struct net *net, uint32_t *bytes) {
    uint32_t peak = 0;
    int64_t *changes = net_alloc(net, (net->step_count + 2) * sizeof *changes), live = (int64_t)net->step_count * MORSEL_FORMAT_STEP_SLOT;
    for (uint32_t s = 0; s < net->step_count; s++) add_scratch(net, s, changes);
    for (uint32_t i = 0; i < net->buffer_count; i++) add_buffer(net, net->buffers[i], changes);
    *bytes = 0;
    for (uint32_t s = 0; s < net->step_count; s++) {
        live += changes[s];
        if (live > *bytes) {
            *bytes = (uint32_t)live;
            peak = s;
        }
    }
    return peak;
}
