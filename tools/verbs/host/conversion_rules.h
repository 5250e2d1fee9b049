/* SPDX-License-Identifier: MIT */
/* The rules and labels of a conversion beside the network, and the blob that is made of both: a part of conversion.h. */
#ifndef MORSEL_TOOLS_VERBS_HOST_CONVERSION_RULES_H
#define MORSEL_TOOLS_VERBS_HOST_CONVERSION_RULES_H

#include "tools/verbs/host/conversion.h"

/* Rules, labels and metadata that the call names; what it does not name stays as it is. */
bool rules_read(const struct conversion_call *call, struct conversion *c, struct failure *failure);

/* Which inputs of c->net take token ids, mask and token types: those of these names. */
bool rules_text_inputs(const struct conversion_call *call, struct conversion *c, struct failure *failure);
/* Whether the table that the network looks token ids up in has a line for each of the tokenizer's; fewer are noticed. */
bool rules_text_table(const struct morsel_model *model, struct conversion *c, struct failure *failure);

/* Whether labels and answer rule go with the graph: asked before there is a net. */
bool rules_fit(const struct conversion_call *call, struct conversion *c, struct failure *failure);

/* The answer rule for the outputs of the graph, as a blob holds it: `count` words, for free(). NULL: `failure` says which does not fit. */
uint32_t *rules_answer(const struct conversion_call *call, const struct conversion *c, size_t *count, struct failure *failure);

/* Extras of each size, for blob_write_variants() or blob_dress(); zeroed at first. Picture rules and answer rules follow the sizes of
 * pictures and outputs. Goes with rules_sizes_free(), whatever came of it. */
struct rules_sizes {
    struct blob_extras *extras;
    struct morsel_blob_picture *pictures;
    uint32_t **answers;
};
bool rules_of_sizes(const struct conversion *c, struct rules_sizes *sizes, struct failure *failure);
void rules_sizes_free(const struct conversion *c, struct rules_sizes *sizes);

/* The blob of all nets, with the rules that fit each. */
bool rules_write(struct conversion *c, struct failure *failure);

#endif
