/* SPDX-License-Identifier: MIT */
/* Attention takes some heads at a time. */
#ifndef MORSEL_TOOLS_NET_HEADS_H
#define MORSEL_TOOLS_NET_HEADS_H

#include "tools/net/net.h"

/* So many bytes of scores stay in the caches of phones, too. */
enum { NET_SCORES_ROOM = 256 << 10 };

/* Takes as many heads at a time as have `room` bytes of scores, or one; gives the same bits. Steps that nobody needs are dropped. */
void net_split_heads(struct net *net, uint32_t room);

#endif
