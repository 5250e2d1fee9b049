/* SPDX-License-Identifier: MIT */
/* Token ids of lines by small tokenizers, as Hugging Face's `tokenizers` gave them: tests/text/record.py wrote what is read here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/text.h"
#include "tools/samples/rules/rule_json.h"
#include "tools/samples/rules/text_rule.h"

#define CASES "tests/text/cases/"

static struct text_rule open_rule(const cJSON *tokenizer, const char *folder) {
    struct failure failure = {0};
    struct text_rule rule;
    char path[] = "/tmp/morsel_text_XXXXXX", text[512];
    int file = mkstemp(path);
    assert_true(file >= 0 && !close(file));
    snprintf(text, sizeof text, "{\"tokenizer\": \"%s/" CASES "%s\", \"max_length\": %d}", folder,
             cJSON_GetObjectItemCaseSensitive(tokenizer, "tokenizer")->valuestring,
             cJSON_GetObjectItemCaseSensitive(tokenizer, "max_length")->valueint);
    assert_true(file_write(path, text, strlen(text), &failure));
    if (!text_rule_read(path, &rule, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(unlink(path), 0);
    return rule;
}

/* Bytes of a text that ends where memory does, so that sanitizers see who reads on. */
static char *exactly(const char *text, size_t bytes) {
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    if (bytes) memcpy(copy, text, bytes);
    return copy;
}

static size_t from_hex(char *hex) {
    size_t bytes = strlen(hex) / 2;
    for (size_t i = 0; i < bytes; i++) {
        char digits[] = {hex[2 * i], hex[2 * i + 1], 0};
        hex[i] = (char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

static void check_line(const struct text_rule *file, const char *tokenizer, const cJSON *line, bool hex) {
    struct morsel_text_rule rule;
    char *shown = line->child->valuestring;
    size_t bytes = hex ? from_hex(shown) : strlen(shown);
    char *text = exactly(shown, bytes);
    assert_int_equal(morsel_text_open(&rule, file->words, file->word_count), MORSEL_OK);
    uint32_t most = rule.record->max_length, count = 0, at = 0;
    int32_t *ids = calloc(most, sizeof *ids);
    assert_non_null(ids);
    assert_int_equal(morsel_text_by_rule(&rule, text, bytes, ids, most, &count), MORSEL_OK);
    for (const cJSON *id = line->child->next->child; id; id = id->next, at++)
        if (at >= count || ids[at] != id->valueint) fail_msg("%s: '%s': id %u of %u differs", tokenizer, shown, at, count);
    if (at != count) fail_msg("%s: '%s': %u ids, not %u", tokenizer, shown, count, at);
    for (; at < most; at++) assert_int_equal(ids[at], rule.record->padding);
    free(ids);
    free(text);
}

static void all_lines_have_the_recorded_ids(void **state) {
    (void)state;
    struct failure failure;
    struct file_bytes file;
    char folder[256];
    uint32_t lines = 0;
    assert_non_null(getcwd(folder, sizeof folder));
    assert_true(file_read(CASES "cases.json", 1 << 20, &file, &failure));
    cJSON *root = rule_parse(&file, &failure);
    assert_non_null(root);
    for (const cJSON *tokenizer = root->child; tokenizer; tokenizer = tokenizer->next) {
        struct text_rule rule = open_rule(tokenizer, folder);
        for (int hex = 0; hex < 2; hex++) {
            const cJSON *list = cJSON_GetObjectItemCaseSensitive(tokenizer, hex ? "damaged" : "lines");
            for (const cJSON *line = list->child; line; line = line->next, lines++) check_line(&rule, tokenizer->string, line, hex);
        }
        text_rule_free(&rule);
    }
    assert_true(lines > 500);
    cJSON_Delete(root);
    file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_lines_have_the_recorded_ids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
