/* SPDX-License-Identifier: MIT */
/* Boxes of a detector beside those of its float network: how many agree, and by how much scores differ. */
#ifndef MORSEL_TOOLS_QUANT_BOXES_H
#define MORSEL_TOOLS_QUANT_BOXES_H

#include "tools/network/network.h"
#include "tools/onnx/graph.h"

/* The answer rule for the outputs of a graph, and of each network that gives them. */
struct boxes_rule {
    uint32_t *words; /* struct morsel_blob_answer and its anchors, of a threshold so low that boxes appear and go unseen */
    uint32_t *every; /* the same, and no box takes another one's place */
    float threshold; /* the rule's own */
    uint32_t images; /* of a run */
    size_t outputs;  /* of the graph */
    struct network_tensor *tensors;
};

/* The words of a rule that fits the graph, which are freed with the rule. */
struct boxes_rule *boxes_rule_open(uint32_t *words, size_t count, const struct onnx_graph *graph);
void boxes_rule_close(struct boxes_rule *rule); /* NULL is legal */

/* What was found in the images of one run, the most certain ones of an image first. */
struct boxes {
    struct morsel_box *list; /* [images][most] */
    uint32_t *counts;        /* [images] */
    uint32_t most;
};
bool boxes_find(const struct boxes_rule *rule, const struct network_run *run, struct boxes *boxes, struct failure *failure);

/* Without non-maximum suppression: every candidate. */
bool boxes_find_every(const struct boxes_rule *rule, const struct network_run *run, struct boxes *boxes, struct failure *failure);
void boxes_free(struct boxes *boxes);

/* So many of at least this p, in all images. */
size_t boxes_count(const struct boxes_rule *rule, const struct boxes *boxes, float least);

/* Pairs of one class that share half of their union, each box in one of them at most, among those. */
size_t boxes_both(const struct boxes_rule *rule, const struct boxes *found, const struct boxes *wanted, float least);

/*
 * Thresholds about the rule's, from 0.6 to 1.4 of it, the rule's own in the middle. Few boxes are so near to one threshold that they come
 * or go: added up over several, of a few hundred boxes it is told how many do.
 */
enum { BOXES_THRESHOLDS = 9 };
float boxes_threshold(const struct boxes_rule *rule, int index);

/* The sum of squares of what p of each wanted box is off in the candidate that it was, among every one that is found. Which of two that are
 * nearly alike is told is a matter of chance, and no noise. Those of half the threshold count, too: each may be one that appears or goes.
 * `every` may be NULL: there are none. */
double boxes_noise(const struct boxes_rule *rule, const struct boxes *every, const struct boxes *wanted);

#endif
