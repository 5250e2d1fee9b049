/* SPDX-License-Identifier: MIT */
/* Fewer steps where several are functions of the same bytes. */
#ifndef MORSEL_TOOLS_NET_TABLES_H
#define MORSEL_TOOLS_NET_TABLES_H

#include "tools/net/net.h"

/* The outputs keep their bytes. Steps that nobody needs are dropped. */
void net_merge_tables(struct net *net);

#endif
