/* SPDX-License-Identifier: MIT */
/* Which pictures a call names: files, folders of such, and lists on stdin. */
#ifndef MORSEL_TOOLS_VERBS_PICTURES_H
#define MORSEL_TOOLS_VERBS_PICTURES_H

#include "tools/network/network.h"

struct pictures {
    char **list;
    const char **names; /* what of each path lies below the folder that was named, or the name behind the last slash */
    size_t count, room;
};

/* In the order of the names; of a folder all that lie below it and are named as pictures are; "-" is a path a line on stdin. */
bool pictures_find(char *const *names, size_t count, struct pictures *pictures, struct failure *failure);

/* Puts a black one in the place of one that is at fault; the answer to it is not looked at. */
bool pictures_put_black(struct network_run *run, uint32_t index, struct failure *failure);
void pictures_free(struct pictures *pictures);

#endif
