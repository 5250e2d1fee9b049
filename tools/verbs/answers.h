/* SPDX-License-Identifier: MIT */
/* What the answer rule makes of a run's outputs, picture by picture; and a picture with what was found in it. */
#ifndef MORSEL_TOOLS_VERBS_ANSWERS_H
#define MORSEL_TOOLS_VERBS_ANSWERS_H

#include "tools/verbs/results.h"

/* Zeroed at first; goes with answers_free(). */
struct answers {
    const struct network *network;
    uint32_t images;          /* of a run */
    uint32_t *sides;          /* [images][2]: width and height of what was put; 0: no picture */
    float *values;            /* scores, or vectors */
    struct morsel_box *boxes; /* of one picture */
    uint32_t room;
};

/* How many classes are shown, where `top` is not given, and so on. The network is open. */
bool answers_open(struct answers *answers, const struct network *network, struct results *results, uint32_t top, struct failure *failure);

/* After a run: reads what the answers are made of, then adds that of one image to the results. */
bool answers_read(struct answers *answers, const struct network_run *run, struct failure *failure);
bool answers_add(struct answers *answers, const struct network_run *run, struct results *results, const struct result *of,
                 struct failure *failure);
void answers_free(struct answers *answers);

/* The boxes of one picture found by a network, at most `room`. */
bool answers_find(const struct network_run *run, uint32_t image, const uint32_t *sides, struct morsel_box *boxes, uint32_t room,
                  uint32_t *count, struct failure *failure);

/* Room that no detector needs more of: it is as fast with it as with any. */
uint32_t answers_room(const struct network *network);

/* Writes the picture with the boxes of its result. */
bool answers_draw(const struct results *results, const char *picture, const char *path, struct failure *failure);

#endif
