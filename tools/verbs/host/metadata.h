/* SPDX-License-Identifier: MIT */
/* What a blob says of itself, by --set KEY=VALUE. */
#ifndef MORSEL_TOOLS_VERBS_HOST_METADATA_H
#define MORSEL_TOOLS_VERBS_HOST_METADATA_H

#include "tools/base/failure.h"
#include "tools/base/options.h"
#include "tools/net/blob/blob.h"

/* In the order of the keys' bytes, each key once. Zeroed at first. */
struct metadata {
    uint32_t count;
    struct blob_word *list;
};

/* A value takes the place of the key's; an empty one takes the pair away. */
void metadata_put(struct metadata *metadata, const char *key, const char *value);

/* Each of the options in turn. */
bool metadata_set(struct metadata *metadata, const struct option_texts *set, struct failure *failure);
void metadata_free(struct metadata *metadata);

#endif
