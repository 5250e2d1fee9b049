/* SPDX-License-Identifier: MIT */
/* Reads a tokenizer: Hugging Face's tokenizer.json of the BERT kind, or a vocab.txt. */
#ifndef MORSEL_TOOLS_SAMPLES_RULES_TOKENIZER_H
#define MORSEL_TOOLS_SAMPLES_RULES_TOKENIZER_H

#include "core/format.h"
#include "tools/base/failure.h"
#include "tools/base/file.h"
#include "tools/samples/rules/unicode.h"
#include <stddef.h>
#include <stdint.h>

struct cJSON;

struct tokenizer_token {
    const char *text; /* `bytes` of UTF-8, no 0 behind them */
    uint32_t bytes, id;
};

/* Tokens in the order of their bytes, each once. */
struct tokenizer_tokens {
    struct tokenizer_token *list;
    uint32_t count;
};

struct tokenizer {
    struct unicode_options normal;
    struct tokenizer_tokens special, first, next; /* as struct morsel_blob_text has them */
    uint32_t id_count, unknown, padding, word_points;
    uint32_t max_length; /* 0: it states none */
    uint32_t front, back, around[MORSEL_TEXT_AROUND_MOST];
    /* What the tokens point into. */
    struct file_bytes file;
    struct cJSON *root;
};

/* False: `failure` says what is not taken, and what to do. Goes with tokenizer_free() in either case. */
bool tokenizer_read(const char *path, struct tokenizer *out, struct failure *failure);
void tokenizer_free(struct tokenizer *tokenizer);

#endif
