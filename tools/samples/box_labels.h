/* SPDX-License-Identifier: MIT */
/*
 * Where things stand in a picture, as YOLO's data sets say it: NAME.txt for NAME.jpg, with a line for each thing, "class x y width height".
 * Class is a number from 0 on; x and y are the box's centre. All four are shares of the picture's sides.
 */
#ifndef MORSEL_TOOLS_SAMPLES_BOX_LABELS_H
#define MORSEL_TOOLS_SAMPLES_BOX_LABELS_H

#include "tools/base/failure.h"
#include <stddef.h>
#include <stdint.h>

struct box_label {
    uint32_t class;
    double x0, y0, x1, y1; /* within 0..1 */
};

struct box_labels {
    struct box_label *list;
    size_t count;
    bool there; /* there is a file: one that is empty says that the picture shows nothing */
};

/* The file lies beside the picture, in a folder `labels` beside it, or where the path has `labels` for its last folder `images`. What does
 * not lie anywhere has no boxes. Goes with box_labels_free() in any case. */
bool box_labels_read(struct box_labels *labels, const char *picture, uint32_t classes, struct failure *failure);
void box_labels_free(struct box_labels *labels);

/* Of a text, which ends with 0; `path` is for what is said of it. */
bool box_labels_parse(struct box_labels *labels, const char *text, size_t bytes, const char *path, uint32_t classes,
                      struct failure *failure);

#endif
