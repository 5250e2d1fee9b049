/* SPDX-License-Identifier: MIT */
/* Which pictures a call names: files, folders of such, and lists on stdin. */
#ifndef MORSEL_TOOLS_VERBS_PICTURES_H
#define MORSEL_TOOLS_VERBS_PICTURES_H

#include "tools/base/failure.h"

struct pictures {
    char **list;
    size_t count, room;
};

/* In the order of the names; of a folder all that lie below it and are named as pictures are; "-" is a path a line on stdin. */
bool pictures_find(char *const *names, size_t count, struct pictures *pictures, struct failure *failure);
void pictures_free(struct pictures *pictures);

#endif
