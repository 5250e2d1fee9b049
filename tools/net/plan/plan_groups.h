/* SPDX-License-Identifier: MIT */
/*
 * Which steps stream rows together: core/format.h, struct morsel_blob_group.
 *
 * Groups are runs of consecutive steps. Every cut of the steps into such runs has a peak, the most bytes that live during any run. It also
 * has a cost, in estimated cycles of a small core: to bring tensors and weights to its first cache, to call kernels for few rows. Taken is
 * the cheapest cut within the room given; where there is none, the one with the least peak. A room of 0 is the least in which the network
 * is hardly slower than in any.
 */
#ifndef MORSEL_TOOLS_NET_PLAN_PLAN_GROUPS_H
#define MORSEL_TOOLS_NET_PLAN_PLAN_GROUPS_H

#include "core/kind.h"
#include "tools/net/net.h"

/* Fills net->groups, the ring_rows of buffers and the stages of steps; lifetimes are known. Returns the peak of the cut, in bytes of the
 * arena as `room` is; UINT64_MAX where nothing was chosen. */
uint64_t plan_groups(struct net *net, uint32_t room);

/* A group writes y in strips, rows 0 .. height - 1 in all. After its first t rows a reader of x needs rows from slope * t + offset on. */
struct plan_trail {
    uint32_t strip, height;
    int64_t slope, offset; /* slope >= 0 */
    int64_t written, kept; /* bytes of a row of y, and of x */
};

/* How far before x the output y must begin: at every strip but the first, what is written of y ends before the rows of x still needed. */
int64_t plan_lag(const struct plan_trail *trail);

/* False: the step cannot stand in a group. */
bool plan_reach(const struct net_step *step, struct morsel_reach *reach);

#endif
