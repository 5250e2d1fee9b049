/* SPDX-License-Identifier: MIT */
/*
 * Which steps stream rows together: core/format.h, struct morsel_blob_group.
 *
 * Groups are runs of consecutive steps. Every cut of the steps into such runs has a peak, the most bytes that live during any run, and a
 * cost: an estimate of the cycles that a small core spends on bringing tensors and weights to its first cache and on calling kernels for
 * a few rows. Taken is the cheapest cut within the room given (where none is: the one with the least peak), or, where that is 0, within
 * the least room in which the network is hardly slower than in any.
 */
#ifndef MORSEL_TOOLS_NET_PLAN_PLAN_GROUPS_H
#define MORSEL_TOOLS_NET_PLAN_PLAN_GROUPS_H

#include "core/kind.h"
#include "tools/net/net.h"

/* Fills net->groups, the ring_rows of buffers and the stages of steps; lifetimes are known. Returns the peak of the cut, in bytes of the
 * arena as `room` is; UINT64_MAX where nothing was chosen. */
uint64_t plan_groups(struct net *net, uint32_t room);

/* False: the step cannot stand in a group. */
bool plan_reach(const struct net_step *step, struct morsel_reach *reach);

#endif
