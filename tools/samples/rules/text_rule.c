/* SPDX-License-Identifier: MIT */
/* Reads the text rule, and lays a tokenizer out as the blob has it. */
#include "tools/samples/rules/text_rule.h"
#include "tools/samples/rules/rule_json.h"
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

/* --- The record --- */

/* Words that are filled from the front. */
struct words {
    uint32_t *at;
};

static void put_words(struct words *w, const uint32_t *words, size_t count) {
    if (count) memcpy(w->at, words, count * sizeof *words);
    w->at += count;
}

static const struct tokenizer_tokens *group(const struct tokenizer *t, int index) {
    return index == 0 ? &t->special : index == 1 ? &t->first : &t->next;
}

static uint64_t string_bytes(const struct tokenizer *t) {
    uint64_t bytes = 0;
    for (int g = 0; g < 3; g++)
        for (uint32_t i = 0; i < group(t, g)->count; i++) bytes += group(t, g)->list[i].bytes;
    return bytes;
}

static void put_tokens(struct words *w, const struct tokenizer *t, uint32_t tokens) {
    uint32_t *begins = w->at, *ids = begins + tokens + 1, at = 0;
    uint8_t *strings = (uint8_t *)(ids + tokens);
    for (int g = 0; g < 3; g++) {
        for (uint32_t i = 0; i < group(t, g)->count; i++) {
            const struct tokenizer_token *token = &group(t, g)->list[i];
            *begins++ = at;
            *ids++ = token->id;
            memcpy(strings + at, token->text, token->bytes);
            at += token->bytes;
        }
    }
    *begins = at;
}

static struct morsel_blob_text record_of(const struct tokenizer *t, const struct unicode_table *table, uint32_t max_length) {
    struct morsel_blob_text r = {.inputs = {MORSEL_TEXT_NO_INPUT, MORSEL_TEXT_NO_INPUT, MORSEL_TEXT_NO_INPUT},
                                 .max_length = max_length,
                                 .id_count = t->id_count,
                                 .unknown = t->unknown,
                                 .padding = t->padding,
                                 .word_points = t->word_points,
                                 .front = t->front,
                                 .back = t->back,
                                 .ranges = table->ranges,
                                 .points = table->point_count,
                                 .strings = (uint32_t)string_bytes(t),
                                 .special = t->special.count,
                                 .first = t->first.count,
                                 .next = t->next.count};
    memcpy(r.around, t->around, sizeof r.around);
    return r;
}

bool text_rule_lay_out(const struct tokenizer *t, uint32_t max_length, struct text_rule *out, struct failure *failure) {
    struct unicode_table table;
    uint32_t tokens = t->special.count + t->first.count + t->next.count;
    unicode_table(&t->normal, &table);
    const struct morsel_blob_text record = record_of(t, &table, max_length);
    out->word_count = sizeof record / 4 + 2 * (size_t)table.ranges + table.point_count + 2 * (size_t)tokens + 1 + (record.strings + 3) / 4;
    out->words = calloc(out->word_count, sizeof *out->words);
    if (out->words) {
        struct words w = {out->words};
        put_words(&w, (const uint32_t *)(const void *)&record, sizeof record / 4);
        put_words(&w, table.starts, table.ranges);
        put_words(&w, table.actions, table.ranges);
        put_words(&w, table.points, table.point_count);
        put_tokens(&w, t, tokens);
    }
    unicode_free(&table);
    return out->words || failure_memory(failure, out->word_count * 4);
}

/* --- The rule --- */

static bool read_pooling(const cJSON *root, struct text_rule *out, struct failure *failure) {
    static const char *const names[] = {[TEXT_POOLING_NONE] = "none", [TEXT_POOLING_MEAN] = "mean", [TEXT_POOLING_FIRST] = "first"};
    const cJSON *pooling = cJSON_GetObjectItemCaseSensitive(root, "pooling"),
                *normalize = cJSON_GetObjectItemCaseSensitive(root, "normalize");
    bool good = !pooling;
    out->pooling_said = pooling != NULL;
    for (int i = 0; cJSON_IsString(pooling) && i < 3; i++) {
        if (strcmp(pooling->valuestring, names[i])) continue;
        out->pooling = (enum text_pooling)i;
        good = true;
    }
    if (!good) return rule_wrong(failure, "\"pooling\" is none of \"none\", \"mean\", \"first\"");
    out->normalize = cJSON_IsTrue(normalize);
    return !normalize || cJSON_IsBool(normalize) || rule_wrong(failure, "\"normalize\" is neither true nor false");
}

/* As it stands, or in the folder of the rule. */
static char *beside(const char *rule, const char *name) {
    const char *slash = *name == '/' ? NULL : strrchr(rule, '/');
    size_t folder = slash ? (size_t)(slash - rule) + 1 : 0;
    char *path = malloc(folder + strlen(name) + 1);
    if (!path) return NULL;
    memcpy(path, rule, folder);
    strcpy(path + folder, name);
    return path;
}

static bool read_length(const cJSON *root, const struct tokenizer *t, uint32_t *out, struct failure *failure) {
    const cJSON *length = cJSON_GetObjectItemCaseSensitive(root, "max_length");
    *out = t->max_length;
    if (!length && !t->max_length)
        return rule_wrong(failure, "key \"max_length\" is missing, and the tokenizer states none: how many tokens may a text have? 128");
    if (length && !rule_whole(length, 1, MORSEL_TEXT_LENGTH_MOST, out))
        return rule_wrong(failure, "\"max_length\" is no whole number from 1 to 65536");
    return *out >= t->front + t->back ||
           failure_set(failure, STATUS_INPUT, "\"max_length\" %u leaves no room for the %u special tokens", *out, t->front + t->back);
}

static bool read_rule(const char *path, const cJSON *root, struct text_rule *out, struct failure *failure) {
    static const char *const keys[] = {"tokenizer", "max_length", "pooling", "normalize", NULL};
    if (!cJSON_IsObject(root)) return rule_wrong(failure, "it is not a JSON object");
    if (!rule_keys(root, keys, failure)) return false;
    const cJSON *name = rule_member(root, "tokenizer", failure);
    if (!name) return false;
    if (!cJSON_IsString(name) || !*name->valuestring)
        return rule_wrong(failure, "\"tokenizer\" wants the name of a tokenizer.json or a vocab.txt");
    if (!(out->tokenizer = beside(path, name->valuestring))) return failure_memory(failure, strlen(path));
    struct tokenizer tokenizer = {0};
    uint32_t length;
    bool good =
        read_pooling(root, out, failure) && file_is_plain(out->tokenizer, failure) && tokenizer_read(out->tokenizer, &tokenizer, failure);
    if (good) good = read_length(root, &tokenizer, &length, failure) && text_rule_lay_out(&tokenizer, length, out, failure);
    tokenizer_free(&tokenizer);
    return good;
}

/* A tokenizer.json, or lines of words, in the place of the rule that names it. */
static bool is_tokenizer(const char *path, const cJSON *root) {
    const size_t n = strlen(path);
    if (!root) return n > 4 && !strcmp(path + n - 4, ".txt");
    return cJSON_IsObject(root) && cJSON_HasObjectItem(root, "model") && !cJSON_HasObjectItem(root, "tokenizer");
}

static bool rule_missing(const char *path, struct failure *failure) {
    const char *slash = strrchr(path, '/');
    return failure_set(failure, STATUS_INPUT,
                       "it is a tokenizer; a rule names it, in a file of its own: {\"tokenizer\": \"%s\", \"pooling\": \"mean\", "
                       "\"normalize\": true}",
                       slash ? slash + 1 : path);
}

bool text_rule_read(const char *path, struct text_rule *out, struct failure *failure) {
    struct file_bytes file;
    *out = (struct text_rule){0};
    if (!file_read(path, FILE_MOST, &file, failure)) return false;
    cJSON *root = rule_parse(&file, failure);
    bool good = is_tokenizer(path, root) ? rule_missing(path, failure) : root && read_rule(path, root, out, failure);
    if (!good) {
        failure_prefix(failure, path);
        failure_prefix(failure, "text rule");
    }
    cJSON_Delete(root);
    file_free(&file);
    return good;
}

void text_rule_free(struct text_rule *rule) {
    free(rule->words);
    free(rule->tokenizer);
    *rule = (struct text_rule){0};
}
