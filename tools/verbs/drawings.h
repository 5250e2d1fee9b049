/* SPDX-License-Identifier: MIT */
/* Where pictures with what was found in them go: one to a file, or any number to a folder, by their names. */
#ifndef MORSEL_TOOLS_VERBS_DRAWINGS_H
#define MORSEL_TOOLS_VERBS_DRAWINGS_H

#include "tools/network/network.h"
#include "tools/verbs/pictures.h"

/* Zeroed at first; goes with drawings_free(). */
struct drawings {
    const char *folder; /* NULL: there is one picture, which goes to a file */
    char **paths;       /* [count], of each picture */
    size_t count;
};

/* `draw` is a folder where it ends in a slash or is one: OUT/street.png is of street.jpg. Below it are the folders that lie below the one
 * whose pictures are taken. No two pictures go to one file. */
bool drawings_plan(struct drawings *drawings, const char *draw, const struct pictures *pictures, struct failure *failure);

/* Whether they can be written, and none goes where a picture or the network is read from. */
bool drawings_can_write(const struct drawings *drawings, const struct pictures *pictures, const struct network *network,
                        struct failure *failure);
void drawings_free(struct drawings *drawings);

#endif
