/* SPDX-License-Identifier: MIT */
/* What the answer rule makes of a run's outputs, picture by picture; and a picture with what was found in it. */
#ifndef MORSEL_TOOLS_VERBS_ANSWERS_H
#define MORSEL_TOOLS_VERBS_ANSWERS_H

#include "tools/network/found.h"
#include "tools/verbs/results.h"

/* Zeroed at first; goes with answers_free(). */
struct answers {
    const struct network *network;
    uint32_t kind;            /* of the answer rule */
    uint32_t images;          /* of a run */
    uint32_t *sides;          /* [images][2]: width and height of what was put; 0: no picture */
    float *values;            /* scores, or vectors */
    struct morsel_box *boxes; /* of one picture */
    uint32_t room;
    struct morsel_point *points;
    struct morsel_class *classes; /* [top of results] */
    uint8_t *pixels;              /* classes of those of the last picture */
    size_t pixel_room;
};

/* How many classes are shown, where `top` is not given, and so on. The network is open. */
void answers_open(struct answers *answers, const struct network *network, struct results *results, uint32_t top);

/* After a run: reads what the answers are made of, then adds that of one image to the results. */
bool answers_read(struct answers *answers, const struct network_run *run, struct failure *failure);
bool answers_add(struct answers *answers, const struct network_run *run, struct results *results, const struct result *of,
                 struct failure *failure);
void answers_free(struct answers *answers);

/* Room that no detector needs more of: it is as fast with it as with any. */
uint32_t answers_room(const struct network *network);

/* Whether there is something to draw; draws what was added last into its picture. */
bool answers_can_draw(const struct answers *answers);
void answers_draw(const struct answers *answers, const struct results *results, struct image *image);
/* The classes of the pixels of the first picture as uint8 [height, width], as npy_pack() gives them. */
uint8_t *answers_pack_mask(const struct answers *answers, const struct results *results, size_t *size, struct failure *failure);

#endif
