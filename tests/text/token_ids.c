/* SPDX-License-Identifier: MIT */
/*
 * Texts to token ids by a text rule, in numbers of 32 bits: stdin holds the length of each text and its bytes, stdout gets how many ids
 * there are, and these. Links the tool's files.
 *
 *     token_ids RULE.json < texts > ids
 */
#include "core/text.h"
#include "tools/base/message.h"
#include "tools/samples/rules/text_rule.h"

#include <stdio.h>
#include <stdlib.h>

static bool next_text(char **text, uint32_t *bytes, size_t *room) {
    if (fread(bytes, sizeof *bytes, 1, stdin) != 1) return false;
    if (*bytes > *room) {
        free(*text);
        *room = *bytes;
        if (!(*text = malloc(*room))) exit(3);
    }
    return !*bytes || fread(*text, *bytes, 1, stdin) == 1;
}

int main(int argc, char **argv) {
    struct failure failure = {0};
    struct text_rule file;
    struct morsel_text_rule rule;
    if (argc != 2) return fprintf(stderr, "token_ids RULE.json < texts > ids\n"), 2;
    if (!text_rule_read(argv[1], &file, &failure)) return message_failure(&failure);
    if (morsel_text_open(&rule, file.words, file.word_count)) return 1;
    int32_t *ids = calloc(rule.record->max_length, sizeof *ids);
    char *text = NULL;
    size_t room = 0;
    uint32_t bytes, count;
    while (ids && next_text(&text, &bytes, &room)) {
        if (morsel_text_by_rule(&rule, text, bytes, ids, rule.record->max_length, &count)) return 1;
        fwrite(&count, sizeof count, 1, stdout);
        fwrite(ids, sizeof *ids, count, stdout);
    }
    free(text);
    free(ids);
    text_rule_free(&file);
    return 0;
}
