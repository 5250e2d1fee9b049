/* SPDX-License-Identifier: MIT */
/* Layer normalization that is spelled out becomes one step. */
#ifndef MORSEL_TOOLS_NET_NORMS_H
#define MORSEL_TOOLS_NET_NORMS_H

#include "tools/net/net.h"

/* Within a few roundings of what the steps compute. Steps that nobody needs are dropped. */
void net_merge_norms(struct net *net);

#endif
