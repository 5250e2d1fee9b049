/* SPDX-License-Identifier: MIT */
/*
 * A detector over pictures whose boxes are known, by labels or by another network: what it finds of them, and what it finds besides. Two
 * boxes of a class are the same where they share half of their union. AP is COCO's at that IoU: 101 recalls, boxes of any p that counts.
 */
#ifndef MORSEL_TOOLS_VERBS_JUDGE_BOXES_H
#define MORSEL_TOOLS_VERBS_JUDGE_BOXES_H

#include "core/morsel.h"
#include "tools/base/json.h"
#include "tools/network/network.h"

#define JUDGE_IOU 0.5

struct judge;
struct judge_call;

/* Boxes that are wanted, found at the rule's threshold, and both. */
struct judge_counts {
    size_t wanted, found, both;
    double ap; /* NAN where none is wanted */
};

struct judge_boxes_picture {
    struct morsel_box *wanted, *found; /* the best first; of those found all that AP counts */
    uint32_t wanted_count, found_count;
    struct judge_counts counts;
};

struct judge_boxes {
    float threshold; /* the rule's */
    uint32_t classes;
    const char *against; /* the network whose boxes are wanted; NULL: labels say so */
    size_t unlabelled;   /* pictures without a file of labels */
    struct judge_boxes_picture *pictures;
    struct judge_counts *of, all; /* [classes]; of all AP is the mean */
    size_t *worst, worst_count;   /* pictures with something wrong, most first */
};

/* The network is open; the judge gets pictures and boxes. */
bool judge_boxes_open(struct judge *judge, const struct judge_call *call, struct failure *failure);
bool judge_boxes_run(struct judge *judge, struct failure *failure);
void judge_boxes_free(struct judge *judge);

/* NAN where there is nothing to be right about. */
double judge_boxes_precision(const struct judge_counts *counts);
double judge_boxes_recall(const struct judge_counts *counts);
double judge_boxes_f1(const struct judge_counts *counts);

/* A share in hundredths, or a figure, as text; NAN is "-". */
const char *judge_boxes_share(double value, char text[16]);
const char *judge_boxes_figure(double value, char text[16]);

/* AP of one class from boxes in order, the best first: right[i] of `found`, while `wanted` there are. */
double judge_boxes_ap(const bool *right, size_t found, size_t wanted);

/* The line of the whole; classes, and so many of the worst pictures; the same as keys of an object that is open. */
void judge_boxes_print(const struct judge *judge, size_t worst);
void judge_boxes_json(const struct judge *judge, size_t worst, struct json *json);

#endif
