/* SPDX-License-Identifier: MIT */
/* The answer rule of a network that runs in float. */
#ifndef MORSEL_TOOLS_NETWORK_HOST_FLOAT_ANSWER_H
#define MORSEL_TOOLS_NETWORK_HOST_FLOAT_ANSWER_H

#include "tools/float/executor.h"
#include "tools/network/network.h"
#include "tools/samples/rules/answer_rule.h"

struct float_answer {
    struct answer_rule rule;
    uint32_t *words; /* as a blob would hold it */
};

/* Finds the outputs that the rule speaks of, and tells the network. Pictures go in by `picture`; NULL: none do. */
bool float_answer_fit(struct float_answer *answer, struct network *network, const struct morsel_blob_picture *picture, size_t labels,
                      struct failure *failure);

/* network_detect(), after a run. */
bool float_answer_detect(const struct network *network, const struct executor_run *run, const struct morsel_blob_picture *picture,
                         const struct network_boxes *boxes, struct failure *failure);

void float_answer_free(struct float_answer *answer);

#endif
