/* SPDX-License-Identifier: MIT */
/*
 * Networks that are built in: well-known topologies with weights made by a fixed rule, so that a device can be timed with nothing but the
 * tool. They take the same steps as a converted network of that name, and recognize nothing.
 */
#ifndef MORSEL_TOOLS_NET_NETS_H
#define MORSEL_TOOLS_NET_NETS_H

#include "tools/network/model.h"

/* "mobilenetv2-224 mobilenetv1-224 ...": all names. */
const char *nets_names(void);
bool nets_has(const char *name);

/* The blob of a built-in network; no_streaming, arena_room: as in struct net. */
bool nets_blob(const char *name, bool no_streaming, uint32_t arena_room, struct file_bytes *blob, struct failure *failure);

/* What a verb was asked for: a file or, where there is none, a built-in network; the others are for that one alone. */
struct nets_call {
    const char *path;
    long arena; /* 0: not given */
    bool no_streaming;
};

/* As model_open(). Says so where an arena was asked for that cannot be had. */
bool nets_open(const struct nets_call *call, uint32_t cpu_mask, unsigned threads, struct model *model, struct failure *failure);

#endif
