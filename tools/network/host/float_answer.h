/* SPDX-License-Identifier: MIT */
/* The answer rule of a network that runs in float. */
#ifndef MORSEL_TOOLS_NETWORK_HOST_FLOAT_ANSWER_H
#define MORSEL_TOOLS_NETWORK_HOST_FLOAT_ANSWER_H

#include "tools/network/network.h"
#include "tools/samples/rules/answer_rule.h"

struct float_answer {
    struct answer_rule rule;
    uint32_t *words; /* as a blob would hold it */
};

/* Finds the outputs that the rule speaks of, and tells the network. Pictures go in by `picture`; NULL: none do. */
bool float_answer_fit(struct float_answer *answer, struct network *network, const struct morsel_blob_picture *picture, size_t labels,
                      struct failure *failure);

/* An output of a run, as a view that is read alone. */
struct morsel_view float_answer_view(const struct network_tensor *tensor, const float *values, size_t count);

void float_answer_free(struct float_answer *answer);

#endif
