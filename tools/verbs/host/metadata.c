/* SPDX-License-Identifier: MIT */
/* Pairs of key and value, as the command line gives them. */
#include "tools/verbs/host/metadata.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include <stdlib.h>
#include <string.h>

static void drop(struct blob_word *word) {
    free((char *)(uintptr_t)word->key);
    free((char *)(uintptr_t)word->value);
}

static char *copy_of(const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(must_calloc(bytes, 1), text, bytes);
}

void metadata_put(struct metadata *m, const char *key, const char *value) {
    uint32_t at = 0;
    while (at < m->count && strcmp(m->list[at].key, key) < 0) at++;
    bool there = at < m->count && !strcmp(m->list[at].key, key);
    if (there) {
        drop(&m->list[at]);
        memmove(&m->list[at], &m->list[at + 1], (--m->count - at) * sizeof *m->list);
    }
    if (!*value) return;
    size_t bytes = (m->count + 1) * sizeof *m->list;
    m->list = must_have(realloc(m->list, bytes), bytes);
    memmove(&m->list[at + 1], &m->list[at], (m->count++ - at) * sizeof *m->list);
    m->list[at] = (struct blob_word){copy_of(key), copy_of(value)};
}

/* UTF-8, and of a key no character that steers. */
static bool is_text(const char *text, bool key) {
    const unsigned char *s = (const unsigned char *)text;
    for (unsigned n; *s; s += n)
        if (!(n = text_utf8_length(s)) || (key && text_steers(text_character(s, n)))) return false;
    return true;
}

bool metadata_set(struct metadata *m, const struct option_texts *set, struct failure *failure) {
    for (int i = 0; i < set->count; i++) {
        const char *text = set->values[i], *equals = strchr(text, '=');
        if (!equals || equals == text)
            return failure_set(failure, STATUS_CALL, "--set %s: a key and a value are wanted, as --set version=3", text);
        char *key = copy_of(text);
        key[equals - text] = 0;
        bool good = is_text(key, true) && is_text(equals + 1, false);
        if (good) metadata_put(m, key, equals + 1);
        free(key);
        if (!good) return failure_set(failure, STATUS_CALL, "--set %s: it is no UTF-8, or its key holds a control character", text);
    }
    return true;
}

void metadata_free(struct metadata *m) {
    for (uint32_t i = 0; i < m->count; i++) drop(&m->list[i]);
    free(m->list);
    *m = (struct metadata){0};
}
