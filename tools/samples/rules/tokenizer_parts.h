/* SPDX-License-Identifier: MIT */
/* What the two readers of tokenizers share. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_TOKENIZER_PARTS_H
#define MORSEL_TOOLS_SAMPLES_RULES_TOKENIZER_PARTS_H

#include "tools/samples/rules/tokenizer.h"

bool tokens_add(struct tokenizer_tokens *tokens, const char *text, size_t bytes, uint32_t id, struct failure *failure);

/* A token of the vocabulary, with ## where it goes on in a word. */
bool tokenizer_add(struct tokenizer *t, const char *text, size_t bytes, uint32_t id, struct failure *failure);

/* The file as tokenizer.json. */
bool tokenizer_json(struct tokenizer *t, struct failure *failure);

#endif
