/* SPDX-License-Identifier: MIT */
/* One output for all levels of a detector's feature pyramid, where each level has outputs of its own. */
#ifndef MORSEL_TOOLS_OPTIMIZE_LEVELS_H
#define MORSEL_TOOLS_OPTIMIZE_LEVELS_H

#include "tools/onnx/graph.h"

/* Sides of the cells, in pixels of the input: 8, 16, 32 and so on. A level has as many cells as fit, and one where a part is left. */
enum { LEVELS_FINEST = 8, LEVELS_MOST = 5, LEVELS_BINS_MOST = 64 };
static inline int64_t levels_cells(int64_t pixels, int level) {
    return (pixels + (LEVELS_FINEST << level) - 1) / (LEVELS_FINEST << level);
}

/* What a level's outputs tell of a candidate: the box, in the last output of that many numbers, and scores, in the first other one. */
struct levels_head {
    /* 0, or 2 to LEVELS_BINS_MOST: each number of a box is the mean of 0, 1, 2 .. by a softmax of so many (generalized focal loss, 2020) */
    int bins;
    bool product; /* scores are square roots of products of two outputs (YuNet, 2023) */
};

/*
 * The outputs become "boxes" [images, candidates, 4] and "scores" [images, candidates, classes], then "points", if there is a third, and
 * those of no level. Candidates are in the order of levels, in each row by row, of a cell one for each anchor. What a level has of them is
 * [candidates, numbers], [images, candidates, numbers] or a map [images, anchors * numbers, height, width]. With bins or products outputs
 * may have all levels, and with bins one output scores in front of boxes. False: they are no such, and nothing is changed, but that
 * float16 and double become float. Shapes have to be known.
 */
bool levels_join(struct onnx_graph *g, const struct levels_head *head);

#endif
