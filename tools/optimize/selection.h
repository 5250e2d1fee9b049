/* SPDX-License-Identifier: MIT */
/* A detector that sorts its boxes out itself, by TopK or NonMaxSuppression, ends in front of that: an answer rule does the same. */
#ifndef MORSEL_TOOLS_OPTIMIZE_SELECTION_H
#define MORSEL_TOOLS_OPTIMIZE_SELECTION_H

#include "tools/onnx/graph.h"

/* What is left of such a detector. */
enum selection_form {
    SELECTION_APART, /* "boxes" [images, candidates, 4], "scores" [images, candidates, classes], then what else there is of candidates */
    SELECTION_JOINED /* "candidates": all of it in one output, [images, candidates, numbers] or [images, numbers, candidates] */
};

/* What the network does with boxes behind the cut. */
struct selection_kind {
    bool suppresses; /* by NonMaxSuppression; else TopK is all */
    bool centres;    /* boxes are centre and size there, and not two corners; known where it suppresses */
    bool activates;  /* a Sigmoid or Softmax is behind the choice: of scores, or of other numbers */
};

/*
 * Outputs that stand behind a TopK or NonMaxSuppression are replaced by what these chose from, in front of all that only they read. The
 * shapes of that have to be known; nodes behind it may be refused, and are gone. False: there is no such thing, or a layer stands behind a
 * choice, as in a transformer that picks its queries; nothing is changed, but that float16 and double become float.
 */
bool selection_cut(struct onnx_graph *g, enum selection_form form, struct selection_kind *kind);

/*
 * The first output becomes "boxes", "scores" and "others", where it has more numbers of a candidate than four and so many scores: the
 * points or the mask of each. Numbers are the shorter of its last two dimensions. False: it has no more, and nothing is changed.
 */
bool selection_split(struct onnx_graph *g, int64_t scores);

#endif
