/* SPDX-License-Identifier: MIT */
/* A classifier's output: probabilities and the best classes. */
#ifndef MORSEL_TOOLS_NETWORK_SCORES_H
#define MORSEL_TOOLS_NETWORK_SCORES_H

#include "tools/network/network.h"
#include <stdbool.h>
#include <stddef.h>

/* Whether the network itself ends this output with a softmax, so that its values are probabilities already. */
bool scores_are_probabilities(const struct morsel_model *network, uint32_t output);

/* Whether an output is a list of scores for each image, [N, classes] or [classes], other dimensions being 1. */
bool scores_are_classes(const struct network_tensor *output);

/* exp(x) / sum(exp(x)), in place. */
void scores_softmax(float *scores, size_t count);

/* The indices of the `top` largest scores, largest first; equal ones in the order of their index, NaN last. Returns how many:
 * min(top, count). */
size_t scores_top(const float *scores, size_t count, size_t top, uint32_t *indices);

/* How many scores stand before index `truth` in that order: 0 is the first place. */
size_t scores_rank(const float *scores, size_t count, size_t truth);

#endif
