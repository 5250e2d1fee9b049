/* SPDX-License-Identifier: MIT */
/* What the parts of answer_rule_fit() have in common. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_ANSWER_FIT_H
#define MORSEL_TOOLS_SAMPLES_RULES_ANSWER_FIT_H

#include "tools/samples/rules/answer_rule.h"

/* What is found out about a network. */
struct answer_fit {
    const struct answer_rule *rule;
    const struct answer_network *network;
    struct morsel_blob_answer record;
    struct failure *failure;
};

/* "[1, 3, 32, 32]", in `text`. */
const char *answer_fit_shape(const struct answer_output *output, char *text, size_t size);

/* An output by its name, else by its number. */
bool answer_fit_output(const struct answer_fit *fit, const char *name, uint32_t *index);

/* Whether there are at most so many labels. */
bool answer_fit_labels(const struct answer_fit *fit, uint32_t output, const char *what, uint32_t most);

/* Of coordinates that are parts of the input's sides: what makes pixels of them. */
bool answer_fit_unit(struct answer_fit *fit);

/* All but detections (answer_fit_others.c). */
bool answer_fit_others(struct answer_fit *fit);

#endif
