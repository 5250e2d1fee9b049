/* SPDX-License-Identifier: MIT */
/*
 * Where every buffer lies in the arena, and when it lives.
 *
 * A buffer lives from the step that writes it to the last step that reads it; two that live at once never overlap, but for a step that may
 * write over its input (elementwise, same size, read for the last time). Step slots come first, then the buffers. Steps that stream rows
 * form groups (plan_groups.h); what a group touches lives from its first step to its last.
 */
#ifndef MORSEL_TOOLS_NET_PLAN_PLAN_H
#define MORSEL_TOOLS_NET_PLAN_PLAN_H

#include "tools/net/net.h"

/* Drops steps whose output nobody reads, and says which buffers are used. */
void plan_drop_dead_steps(struct net *net);

/* The same, then fills bytes, offset, first_step and last_step of every buffer, scratch_offset of every step,
 * the groups and net->arena_bytes. False: the arena would pass 2^31 bytes,
 * or there are more steps than a blob holds. */
bool plan_arena(struct net *net);

/* The input that step s, which is in no group, may write its output over; NULL: none. */
struct net_buffer *plan_in_place(const struct net *net, uint32_t s);

/* The step at which most bytes are live, slots included, and how many. */
uint32_t plan_peak(struct net *net, uint32_t *bytes);

#endif
