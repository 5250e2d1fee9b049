/* SPDX-License-Identifier: MIT */
/* What the answer rule makes of a run's outputs, of a blob and of a network in float alike. */
#ifndef MORSEL_TOOLS_NETWORK_FOUND_H
#define MORSEL_TOOLS_NETWORK_FOUND_H

#include "tools/network/network.h"

/* Which image of a run, and the size of the picture that it was. Width 0: there was none, and what is found is told of the input. */
struct found_in {
    uint32_t image, width, height;
};

/* The kind of the answer rule: enum morsel_answer. */
uint32_t found_kind(const struct network *network);

/* Boxes, at most `room`. */
bool found_boxes(const struct network_run *run, const struct found_in *in, struct morsel_box *boxes, uint32_t room, uint32_t *count,
                 struct failure *failure);

/* The part of their union that two boxes share. */
double found_overlap(const struct morsel_box *a, const struct morsel_box *b);

/* The class of each pixel; where there is no picture, of each cell of the output. */
void found_map_sides(const struct network *network, const struct found_in *in, uint32_t *width, uint32_t *height);
bool found_classes_of_pixels(const struct network_run *run, const struct found_in *in, uint8_t *classes, size_t room,
                             struct failure *failure);

/* Points; there is room for as many as the rule has. */
bool found_points(const struct network_run *run, const struct found_in *in, struct morsel_point *points, uint32_t *count,
                  struct failure *failure);

/* The best classes of an image, `top` at most, whatever the rule says. */
bool found_classes(const struct network_run *run, uint32_t image, uint32_t top, struct morsel_class *classes, uint32_t *count,
                   struct failure *failure);

/* The vector of an image, and how many numbers it has. */
size_t found_width(const struct network *network);
bool found_vector(const struct network_run *run, uint32_t image, float *values, struct failure *failure);

#endif
