/* SPDX-License-Identifier: MIT */
/* Who makes and who reads the values of a net, for passes that make one step of several. */
#ifndef MORSEL_TOOLS_NET_USES_H
#define MORSEL_TOOLS_NET_USES_H

#include "tools/net/net.h"

/* Both by the index of a buffer. An output of the net counts as a reader. */
struct net_uses {
    struct net_step **producers; /* NULL: an input, or a constant */
    uint32_t *readers;
};

/* Of the steps that somebody needs: the others are dropped first. */
struct net_uses net_uses_of(struct net *net);

/* Floats within these limits are stored as they come. */
bool net_is_unlimited(float low, float high);

/* The step becomes one of another kind that reads x alone, without parameters or constants yet. */
void net_become(struct net_uses *uses, struct net_step *step, enum morsel_step_kind kind, struct net_buffer *x);

#endif
