/* SPDX-License-Identifier: MIT */
/* The tokens of a vocabulary in the groups and the order in which the runtime looks for them; a vocab.txt. */
#include "tools/samples/rules/tokenizer_parts.h"
#include "tools/base/text.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 256 << 20, FIRST_ROOM = 1024 };

/* --- Tokens --- */

bool tokens_add(struct tokenizer_tokens *tokens, const char *text, size_t bytes, uint32_t id, struct failure *failure) {
    size_t count = tokens->count;
    if (count >= FIRST_ROOM ? !(count & (count - 1)) : !count) {
        size_t room = (count ? 2 * count : FIRST_ROOM) * sizeof *tokens->list;
        struct tokenizer_token *list = realloc(tokens->list, room);
        if (!list) return failure_memory(failure, room);
        tokens->list = list;
    }
    tokens->list[tokens->count++] = (struct tokenizer_token){text, (uint32_t)bytes, id};
    return true;
}

static int compare(const void *a, const void *b) {
    const struct tokenizer_token *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool sort(struct tokenizer_tokens *tokens, struct failure *failure) {
    if (tokens->count) qsort(tokens->list, tokens->count, sizeof *tokens->list, compare);
    for (uint32_t i = 1; i < tokens->count; i++)
        if (!compare(&tokens->list[i - 1], &tokens->list[i]))
            return failure_set(failure, STATUS_INPUT, "token \"%.*s\" stands twice", (int)tokens->list[i].bytes, tokens->list[i].text);
    return true;
}

static bool is_utf8(const char *text, size_t bytes) {
    for (unsigned length = 1; bytes && length; text += length, bytes -= length) length = text_utf8_length((const unsigned char *)text);
    return !bytes;
}

bool tokenizer_add(struct tokenizer *t, const char *text, size_t bytes, uint32_t id, struct failure *failure) {
    bool next = bytes >= 2 && !memcmp(text, "##", 2);
    if (id >= t->id_count) t->id_count = id + 1;
    if (!is_utf8(text, bytes)) return failure_set(failure, STATUS_INPUT, "the token of id %u is not UTF-8", id);
    if (bytes == (next ? 2 : 0)) return true; /* no word has it */
    return tokens_add(next ? &t->next : &t->first, text + 2 * next, bytes - 2 * (size_t)next, id, failure);
}

/* Among tokens that are sorted; NULL: it is none of them. */
static const struct tokenizer_token *find(const struct tokenizer_tokens *tokens, const char *text) {
    const struct tokenizer_token key = {.text = text, .bytes = (uint32_t)strlen(text)};
    return tokens->count ? bsearch(&key, tokens->list, tokens->count, sizeof key, compare) : NULL;
}

/* --- vocab.txt: the tokenizer of BERT, uncased --- */

static bool add_lines(struct tokenizer *t, struct failure *failure) {
    const char *at = (const char *)t->file.data, *end = at + t->file.size;
    at += text_mark(at);
    for (uint32_t id = 0; at < end; id++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (!tokenizer_add(t, at, length - (length && at[length - 1] == '\r'), id, failure)) return false;
        at += length + 1;
    }
    return true;
}

static bool add_special(struct tokenizer *t, const char *name, bool wanted, uint32_t *id, struct failure *failure) {
    const struct tokenizer_token *token = find(&t->first, name);
    if (!token) {
        return !wanted || failure_set(failure, STATUS_INPUT, "it holds no %s: neither a tokenizer.json nor the vocab.txt of a BERT", name);
    }
    *id = token->id;
    return tokens_add(&t->special, token->text, token->bytes, token->id, failure);
}

static bool read_lines(struct tokenizer *t, struct failure *failure) {
    uint32_t mask;
    t->normal = (struct unicode_options){true, true, true, true};
    t->word_points = MORSEL_TEXT_WORD_MOST;
    t->front = t->back = 1;
    return add_lines(t, failure) && sort(&t->first, failure) && add_special(t, "[UNK]", true, &t->unknown, failure) &&
           add_special(t, "[CLS]", true, &t->around[0], failure) && add_special(t, "[SEP]", true, &t->around[1], failure) &&
           add_special(t, "[PAD]", false, &t->padding, failure) && add_special(t, "[MASK]", false, &mask, failure);
}

/* --- Either --- */

/* { and then a key, which no line of a vocabulary begins with. */
static bool is_json(const struct file_bytes *file) {
    const char *text = (const char *)file->data + text_mark((const char *)file->data), *brace = text + strspn(text, " \t\r\n");
    return *brace == '{' && brace[1 + strspn(brace + 1, " \t\r\n")] == '"';
}

bool tokenizer_read(const char *path, struct tokenizer *out, struct failure *failure) {
    *out = (struct tokenizer){0};
    if (!file_read(path, FILE_MOST, &out->file, failure)) return false;
    bool good = is_json(&out->file) ? tokenizer_json(out, failure) : read_lines(out, failure);
    good = good && sort(&out->special, failure) && sort(&out->first, failure) && sort(&out->next, failure);
    return good || failure_prefix(failure, path);
}

void tokenizer_free(struct tokenizer *t) {
    free(t->special.list);
    free(t->first.list);
    free(t->next.list);
    cJSON_Delete(t->root);
    file_free(&t->file);
    *t = (struct tokenizer){0};
}
