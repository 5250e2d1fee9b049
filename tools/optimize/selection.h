/* SPDX-License-Identifier: MIT */
/* A detector that sorts its boxes out itself, by TopK or NonMaxSuppression, ends in front of that: an answer rule does the same. */
#ifndef MORSEL_TOOLS_OPTIMIZE_SELECTION_H
#define MORSEL_TOOLS_OPTIMIZE_SELECTION_H

#include "tools/onnx/graph.h"

enum selection {
    SELECTION_NONE,      /* nothing is changed, but that float16 and double become float */
    SELECTION_BEST,      /* the network took the best */
    SELECTION_SUPPRESSED /* it suppressed boxes that overlap */
};

/*
 * The first output tells lines of box, score, class and, in some networks, other numbers. Where these are only picked from lines of all
 * candidates, it becomes "boxes" [images, candidates, 4], "scores" [images, candidates, classes] and "others". Nodes behind may have been
 * refused, and are gone. What is computed behind the choice, or told in another order, is left as it is.
 */
enum selection selection_cut(struct onnx_graph *g);

/*
 * The first output becomes "boxes", "scores" and "others", where it has more numbers of a candidate than four and so many scores: the
 * points or the mask of each. Numbers are the shorter of its last two dimensions. False: it has no more, or another output is of the same
 * candidates; nothing is changed.
 */
bool selection_split(struct onnx_graph *g, int64_t scores);

#endif
