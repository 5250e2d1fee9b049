/* SPDX-License-Identifier: MIT */
/* One vector of a text, made of those of its tokens, as a part of the network. */
#ifndef MORSEL_TOOLS_OPTIMIZE_SENTENCE_H
#define MORSEL_TOOLS_OPTIMIZE_SENTENCE_H

#include "tools/onnx/graph.h"

enum sentence_pooling { SENTENCE_MEAN /* of the tokens that attention_mask says are there */, SENTENCE_FIRST /* token's vector */ };

#define SENTENCE_OUTPUT "sentence_embedding"

/* The first output [batch, tokens, width] becomes SENTENCE_OUTPUT [batch, 1, width]; with `normalize` of length 1. A graph that has that
 * output already stays. False: `failure` says what does not fit. */
bool sentence_pool(struct onnx_graph *g, enum sentence_pooling pooling, bool normalize, struct failure *failure);

#endif
