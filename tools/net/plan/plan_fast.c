/* SPDX-License-Identifier: MIT */
/* What goes into the arena's fast part: several orders of slices, each slice at the lowest place that is free there, if there is one. */
#include "tools/net/plan/plan_slices.h"
#include "tools/net/plan/traffic.h"

#include <stdlib.h>
#include <string.h>

/* --- Traffic --- */

struct traffic_step plan_traffic(const struct net_step *step) {
    const struct net_buffer *y = step->output;
    struct traffic_step t = {.kind = step->kind,
                             .macs = step->macs,
                             .record = step->more_words ? (const void *)step->more_words : &step->parameters,
                             .y_elements = net_elements(y),
                             .y_rows = y->rank == 4 ? y->dims[0] * y->dims[1] : 0,
                             .scratch_bytes = step->scratch_bytes};
    return t;
}

static void count_traffic(struct layout *l) {
    struct net *net = l->net;
    for (uint32_t s = 0; s < net->step_count; s++) {
        const struct net_step *step = net->steps[s];
        struct traffic_step t = plan_traffic(step);
        for (uint32_t k = 0; k < step->input_count; k++) {
            const struct net_buffer *x = step->inputs[k];
            l->slices[x->index].traffic += traffic_read(&t, k, x->bytes, net_type_bytes(x->type));
        }
        l->slices[step->output->index].traffic += step->output->bytes;
        l->slices[net->buffer_count + s].traffic = traffic_scratch(&t, net_type_bytes(step->inputs[0]->type));
    }
}

static uint64_t traffic(const struct slice *slice) {
    uint64_t all = 0;
    for (; slice; slice = slice->heir) all += slice->traffic;
    return all;
}

/* --- Orders --- */

static double by_area(const struct slice *slice) {
    double area = 1;
    for (const struct slice *s = slice; s; s = s->heir) area += (double)s->bytes * (s->last - s->first + 1);
    return (double)traffic(slice) / area;
}

static double by_bytes(const struct slice *slice) {
    return (double)traffic(slice) / ((double)plan_height(slice) + 1);
}

static double by_traffic(const struct slice *slice) {
    return (double)traffic(slice);
}

struct ranked {
    double worth;
    struct slice *slice;
};

static int worthier_first(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->worth != y->worth) return x->worth < y->worth ? 1 : -1;
    return (x->slice > y->slice) - (x->slice < y->slice); /* of one array: the order stays the same */
}

static void rank(struct slice **order, struct ranked *ranked, uint32_t count, double (*worth)(const struct slice *slice)) {
    for (uint32_t i = 0; i < count; i++) ranked[i] = (struct ranked){worth(order[i]), order[i]};
    qsort(ranked, count, sizeof *ranked, worthier_first);
    for (uint32_t i = 0; i < count; i++) order[i] = ranked[i].slice;
}

/* --- Choosing --- */

/* The best choice so far, and room to try another. */
struct choice {
    struct layout *l;
    uint32_t room, count; /* slices to choose from */
    uint32_t placed_count, kept_count, *offsets;
    struct slice **placed, **kept;
    uint64_t traffic;
    struct skyline sky;
};

static bool try_order(struct choice *c, struct slice **order) {
    uint64_t carried = 0;
    plan_clear_skyline(&c->sky);
    c->placed_count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (plan_height(order[i]) > c->room) continue;
        uint64_t at = plan_lowest_gap(c->placed, c->placed_count, &c->sky, order[i], &c->l->work);
        if (at + plan_height(order[i]) > c->room) continue;
        order[i]->offset = (uint32_t)at;
        plan_raise_skyline(&c->sky, order[i], (uint32_t)at, &c->l->work);
        c->placed[c->placed_count++] = order[i];
        carried += traffic(order[i]);
    }
    if (carried <= c->traffic) return false;
    c->traffic = carried;
    c->kept_count = c->placed_count;
    memcpy(c->kept, c->placed, c->placed_count * sizeof *c->placed);
    for (uint32_t i = 0; i < c->kept_count; i++) c->offsets[i] = c->kept[i]->offset;
    return true;
}

static uint32_t keep(const struct choice *c) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->kept_count; i++) {
        uint64_t end = c->offsets[i] + plan_height(c->kept[i]);
        plan_set_offsets(c->kept[i], c->offsets[i]);
        for (struct slice *s = c->kept[i]; s; s = s->heir) s->fast = true;
        bytes = end > bytes ? end : bytes;
    }
    return (uint32_t)net_aligned(bytes);
}

uint32_t plan_choose_fast(struct layout *l, struct slice **order, uint32_t count, uint32_t room) {
    static double (*const worths[])(const struct slice *slice) = {by_area, by_bytes, by_traffic};
    struct net *net = l->net;
    struct choice c = {.l = l, .room = room / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN, .count = count};
    c.placed = net_alloc(net, (count + 1) * sizeof *c.placed);
    c.kept = net_alloc(net, (count + 1) * sizeof *c.kept);
    c.offsets = net_alloc(net, (count + 1) * sizeof *c.offsets);
    c.sky = plan_skyline(net);
    struct slice **best = net_alloc(net, (count + 1) * sizeof *best);
    struct ranked *ranked = net_alloc(net, (count + 1) * sizeof *ranked);
    count_traffic(l);
    l->work = 0;
    for (size_t o = 0; o < sizeof worths / sizeof *worths; o++) {
        rank(order, ranked, count, worths[o]);
        if (try_order(&c, order)) memcpy(best, order, count * sizeof *order);
    }
    uint32_t state = 1;
    for (uint32_t i = 0; i < PLACE_TRIES && c.traffic && l->work < l->most; i++) {
        memcpy(order, best, count * sizeof *order);
        for (uint32_t k = 0; k <= i % 3; k++) {
            state = state * 1664525u + 1013904223u;
            uint32_t a = (state >> 8) % count, b = (state >> 20) % count;
            struct slice *t = order[a];
            order[a] = order[b];
            order[b] = t;
        }
        if (try_order(&c, order)) memcpy(best, order, count * sizeof *order);
    }
    return keep(&c);
}
