/* SPDX-License-Identifier: MIT */
/* How right a float network is on labelled samples, and a blob made of it beside it; of a detector, how many boxes agree. */
#ifndef MORSEL_TOOLS_QUANT_ACCURACY_H
#define MORSEL_TOOLS_QUANT_ACCURACY_H

#include "tools/float/executor.h"
#include "tools/base/failure.h"
#include "tools/quant/boxes.h"
#include "tools/samples/data/data.h"

/* What the float network gave: its first output, sample by sample. */
struct reference {
    const struct quant_data *data;
    size_t samples, width;         /* numbers of the first output in one sample */
    bool labelled;                 /* the data have classes */
    float *outputs;                /* [kept][width] */
    size_t kept;                   /* samples whose outputs are kept: all, or of a detector as many as 256 MB hold */
    size_t right;                  /* first answers that are the class */
    const struct boxes_rule *rule; /* of a detector; NULL: it is none */
    struct boxes *boxes;           /* [samples], of a detector */
    size_t box_counts[BOXES_THRESHOLDS];
};

struct accuracy {
    size_t right, changed;                                  /* first answers that are the class, that are not the float network's */
    size_t found[BOXES_THRESHOLDS], both[BOXES_THRESHOLDS]; /* boxes of a detector, and those that are the float network's, too */
    double sqnr_db;                                         /* of the first output of those that are kept; INFINITY where nothing differs */
    double run_ms;                                          /* the shortest of some runs in one thread */
};

/* What is measured, and by what. */
struct accuracy_wish {
    const struct onnx_graph *graph;
    const struct executor *executor; /* of the float network */
    const struct quant_data *data;
    bool labelled;                 /* the data have classes */
    const struct boxes_rule *rule; /* of a detector, which outlives the reference; NULL: it is none */
    unsigned threads;
};

/* All samples through the float network. reference_free() lets go of it. */
bool accuracy_of_float(struct reference *reference, const struct accuracy_wish *wish, struct failure *failure);
void reference_free(struct reference *reference);

/* The same samples through a blob. */
bool accuracy_of_blob(struct accuracy *accuracy, const struct reference *reference, const void *blob, size_t blob_bytes, unsigned threads,
                      struct failure *failure);

/* The share of boxes that agree, at the rule's threshold: twice those in both, by all; 1 where there are none. And over all thresholds
 * about it, which is less a matter of chance. */
double accuracy_f1(const struct accuracy *accuracy, const struct reference *reference);
double accuracy_f1_about(const struct accuracy *accuracy, const struct reference *reference);

#endif
