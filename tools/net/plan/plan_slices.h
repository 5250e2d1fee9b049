/* SPDX-License-Identifier: MIT */
/* The plan's slices: what is placed in the arena, and what of it goes into fast memory. */
#ifndef MORSEL_TOOLS_NET_PLAN_PLAN_SLICES_H
#define MORSEL_TOOLS_NET_PLAN_PLAN_SLICES_H

#include "tools/net/net.h"

/* A slice to place: a buffer or a step's scratch. */
struct slice {
    uint32_t bytes, first, last, offset;
    struct slice *heir; /* the slice that is written over this one; NULL: none */
    bool inherits;      /* it is another one's heir, and is placed with it */
    uint32_t lag;       /* how far before that one it begins */
    uint32_t rise;      /* how far above the lowest of them all */
    bool fast;          /* it lies in the arena's fast part, and its offset counts from there */
    uint64_t traffic;   /* bytes that a run reads and writes of it */
};

/* All slices: those of the buffers, then the scratch of the steps. */
struct layout {
    struct net *net;
    struct slice *slices, **order;
    uint64_t bound; /* bytes that no placement goes below */
    uint64_t work;  /* comparisons of two slices so far */
    uint64_t most;  /* of them, after which no more orders are tried */
};

/* What is placed, by the steps at which it is alive: up to where there is no free byte, and where the highest slice ends. */
struct skyline {
    uint32_t steps, *solid, *top;
};

#define PLACE_TRIES 2000u
/* Comparisons: a fiftieth of a second, up to half a second for a network of a million weights. */
#define PLACE_WORK 4000000u
#define PLACE_WORK_WEIGHT 200u
#define PLACE_WORK_MOST 200000000u

struct traffic_step;
struct traffic_step plan_traffic(const struct net_step *step);

struct skyline plan_skyline(struct net *net);
void plan_clear_skyline(struct skyline *sky);
void plan_raise_skyline(struct skyline *sky, const struct slice *slice, uint32_t at, uint64_t *work);
/* The lowest place for a slice and its heirs beside those that are placed; how many bytes they take. */
uint64_t plan_lowest_gap(struct slice **placed, uint32_t count, const struct skyline *sky, const struct slice *slice, uint64_t *work);
uint64_t plan_height(const struct slice *slice);
/* A slice and its heirs get their offsets from the lowest one's. */
void plan_set_offsets(struct slice *home, uint32_t lowest);

/* Of `count` slices, each with its heirs, those that carry most traffic and fit into `room` bytes together get `fast` and their offsets.
 * Returns how many bytes they take, a multiple of 64. */
uint32_t plan_choose_fast(struct layout *l, struct slice **order, uint32_t count, uint32_t room);

#endif
