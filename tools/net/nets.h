/* SPDX-License-Identifier: MIT */
/*
 * Networks that are built in: well-known topologies with weights made by a fixed rule. So a device can be timed with nothing but the tool.
 * They take the same steps as a converted network of that name, and recognize nothing.
 */
#ifndef MORSEL_TOOLS_NET_NETS_H
#define MORSEL_TOOLS_NET_NETS_H

#include "tools/base/file.h"
#include <stdint.h>

/* "mobilenetv2-224 mobilenetv1-224 ...": all names. */
const char *nets_names(void);
bool nets_has(const char *name);

/* The blob of a built-in network; no_streaming, arena_room: as in struct net. */
bool nets_blob(const char *name, bool no_streaming, uint32_t arena_room, struct file_bytes *blob, struct failure *failure);
/* The same with a fast_room. */
bool nets_blob_parted(const char *name, bool no_streaming, uint32_t arena_room, uint32_t fast_room, struct file_bytes *blob,
                      struct failure *failure);

#endif
