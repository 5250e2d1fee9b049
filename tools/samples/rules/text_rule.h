/* SPDX-License-Identifier: MIT */
/* The text rule, which `morsel convert` takes beside the network: a tokenizer, and what becomes of its tokens' vectors. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_TEXT_RULE_H
#define MORSEL_TOOLS_SAMPLES_RULES_TEXT_RULE_H

#include "core/format.h"
#include "tools/base/failure.h"
#include "tools/samples/rules/tokenizer.h"
#include <stdbool.h>
#include <stddef.h>

enum text_pooling { TEXT_POOLING_NONE, TEXT_POOLING_MEAN, TEXT_POOLING_FIRST };

struct text_rule {
    uint32_t *words; /* struct morsel_blob_text and what stands behind it; its inputs are all MORSEL_TEXT_NO_INPUT */
    size_t word_count;
    enum text_pooling pooling;
    bool pooling_said; /* whatever it is */
    bool normalize;
    char *tokenizer; /* its path */
};

/* Reads RULE.json and the tokenizer beside it. Goes with text_rule_free() in either case. */
bool text_rule_read(const char *path, struct text_rule *out, struct failure *failure);
/* The words alone, of a tokenizer and so many tokens at most. */
bool text_rule_lay_out(const struct tokenizer *tokenizer, uint32_t max_length, struct text_rule *out, struct failure *failure);
void text_rule_free(struct text_rule *rule);

#endif
