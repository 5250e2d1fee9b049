/* SPDX-License-Identifier: MIT */
/* Text rules and tokenizers: what is taken, and what each mistake is told. */
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
#include "tools/base/file.h"
#include "tools/samples/rules/text_rule.h"
#include "tools/samples/rules/tokenizer.h"

static char folder[] = "/tmp/morsel_text_XXXXXX", rule_path[64], tokenizer_path[64];
static struct failure failure;

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(rule_path, sizeof rule_path, "%s/rule.json", folder);
    snprintf(tokenizer_path, sizeof tokenizer_path, "%s/tokenizer", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(rule_path);
    unlink(tokenizer_path);
    return rmdir(folder);
}

static void put(const char *path, const char *text) {
    struct failure failed;
    assert_true(file_write(path, text, strlen(text), &failed));
}

/* Both files; then the rule must be refused, and the text say so. */
static void told(const char *rule, const char *tokenizer, const char *words) {
    struct text_rule out;
    put(rule_path, rule);
    put(tokenizer_path, tokenizer);
    if (text_rule_read(rule_path, &out, &failure)) fail_msg("taken: %s, %s", rule, tokenizer);
    if (!strstr(failure.text, words)) fail_msg("'%s' does not say '%s'", failure.text, words);
    assert_int_equal(failure.status, STATUS_INPUT);
    text_rule_free(&out);
}

#define RULE "{\"tokenizer\": \"tokenizer\", \"max_length\": 8}"
#define VOCABULARY "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n"

static void a_rule_stands_beside_its_vocabulary(void **state) {
    (void)state;
    struct text_rule out;
    struct morsel_text_rule rule;
    int32_t ids[8];
    uint32_t count;
    put(rule_path, "{\"tokenizer\": \"tokenizer\", \"max_length\": 8, \"pooling\": \"mean\", \"normalize\": true}");
    put(tokenizer_path, VOCABULARY "\n\r\nc\r\n##");
    assert_true(text_rule_read(rule_path, &out, &failure));
    assert_int_equal(out.pooling, TEXT_POOLING_MEAN);
    assert_true(out.normalize);
    assert_string_equal(out.tokenizer, tokenizer_path);
    assert_int_equal(morsel_text_open(&rule, out.words, out.word_count), MORSEL_OK);
    assert_int_equal(rule.record->id_count, 10);
    assert_int_equal(morsel_text_by_rule(&rule, "AbB C ?", 7, ids, 8, &count), MORSEL_OK);
    assert_memory_equal(ids, ((int32_t[]){2, 4, 5, 5, 8, 1, 3, 0}), sizeof ids);
    text_rule_free(&out);
    put(tokenizer_path, "\xEF\xBB\xBF[UNK]\n[CLS]\n[SEP]\na\n"); /* as editors of some systems write it */
    assert_true(text_rule_read(rule_path, &out, &failure));
    assert_int_equal(morsel_text_open(&rule, out.words, out.word_count), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, "a", 1, ids, 8, &count), MORSEL_OK);
    assert_memory_equal(ids, ((int32_t[]){1, 3, 2, 0}), 4 * sizeof *ids);
    text_rule_free(&out);
    put(rule_path, "{\"tokenizer\": \"tokenizer\", \"max_length\": 2, \"pooling\": \"first\"}");
    assert_true(text_rule_read(rule_path, &out, &failure));
    assert_int_equal(out.pooling, TEXT_POOLING_FIRST);
    assert_false(out.normalize);
    text_rule_free(&out);
}

static void each_mistake_in_a_rule_is_told(void **state) {
    (void)state;
    told("", VOCABULARY, "is not JSON");
    told("[]", VOCABULARY, "not a JSON object");
    told("{}", VOCABULARY, "key \"tokenizer\" is missing");
    told("{\"tokeniser\": \"x\"}", VOCABULARY, "did you mean \"tokenizer\"?");
    told("{\"version\": \"1.0\", \"model\": {}}", VOCABULARY, "a rule names it");
    told("{\"tokenizer\": 5}", VOCABULARY, "wants the name of");
    told("{\"tokenizer\": \"\"}", VOCABULARY, "wants the name of");
    told("{\"tokenizer\": \"no such file\", \"max_length\": 8}", VOCABULARY, "no such file");
    told("{\"tokenizer\": \"tokenizer\"}", VOCABULARY, "the tokenizer states none");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 0}", VOCABULARY, "no whole number from 1 to 65536");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 65537}", VOCABULARY, "no whole number from 1 to 65536");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 1}", VOCABULARY, "leaves no room for the 2 special tokens");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 8, \"pooling\": \"max\"}", VOCABULARY, "none of \"none\"");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 8, \"pooling\": 1}", VOCABULARY, "none of \"none\"");
    told("{\"tokenizer\": \"tokenizer\", \"max_length\": 8, \"normalize\": 1}", VOCABULARY, "neither true nor false");
}

static void each_mistake_in_a_vocabulary_is_told(void **state) {
    (void)state;
    told(RULE, "", "holds no [UNK]");
    told(RULE, "[UNK]\n[SEP]\n", "holds no [CLS]");
    told(RULE, "[UNK]\n[CLS]\n", "holds no [SEP]");
    told(RULE, VOCABULARY "a\n", "token \"a\" stands twice");
    told(RULE, VOCABULARY "##b\n", "token \"b\" stands twice");
    told(RULE, VOCABULARY "\xc3\n", "the token of id 6 is not UTF-8");
}

/* A tokenizer.json in parts, each of which may be another. */
#define NORMALIZER "\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": true, \"strip_accents\": null}, "
#define SPLIT "\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, "
#define MODEL_OF(prefix, longest, vocabulary) \
    "\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", \"continuing_subword_prefix\": \"" prefix \
    "\", \"max_input_chars_per_word\": " longest ", \"vocab\": " vocabulary "}"
#define MODEL MODEL_OF("##", "100", "{\"u\": 1, \"a\": 7}")
#define AROUND "\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"[CLS]\", 2], \"sep\": [\"[SEP]\", 3]}, "
#define SEQUENCE "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"
#define SPECIAL "{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}}"
#define TEMPLATE(single, specials) \
    "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single "], \"special_tokens\": {" specials "}}, "
#define ADDED(more) "\"added_tokens\": [{\"id\": 5, \"content\": \"[X]\"" more "}], "

static void what_is_not_of_the_bert_kind_is_refused(void **state) {
    (void)state;
    told(RULE, "{\"model\": 5,}", "line 1 is not JSON");
    told(RULE, "{\"modell\": 5}", "did you mean \"model\"?");
    told(RULE, "\xEF\xBB\xBF{\"modell\": 5}", "did you mean \"model\"?");
    told(RULE, "{" SPLIT MODEL "}", "its normalizer is not there");
    told(RULE, "{\"normalizer\": {\"type\": \"NFC\"}, " SPLIT MODEL "}", "its normalizer is NFC; morsel takes a BertNormalizer");
    told(RULE, "{\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": 1}, " SPLIT MODEL "}", "\"lowercase\" is neither");
    told(RULE, "{" NORMALIZER "\"pre_tokenizer\": {\"type\": \"Metaspace\"}, " MODEL "}", "its pre-tokenizer is Metaspace");
    told(RULE, "{" NORMALIZER SPLIT "\"decoder\": null}", "key \"model\" is missing");
    told(RULE, "{" NORMALIZER SPLIT "\"model\": {\"type\": \"BPE\", \"vocab\": {}}}", "its model is BPE");
    told(RULE, "{\"normalizer\": null, \"model\": {\"type\": \"BPE\"}}", "puts the ids of its own tokenizer into the inputs");
    told(RULE, "{" NORMALIZER SPLIT "\"model\": {\"vocab\": []}}", "its model is of no type");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("", "100", "{}") "}", "morsel takes \"##\"");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("##", "101", "{}") "}", "no whole number from 1 to 100");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("##", "100", "{\"a\": 1}") "}", "\"u\", is no token");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("##", "100", "{\"u\": 1.5}") "}", "token \"u\" has no whole number");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("##", "100", "{\"u\": 2147483647}") "}", "token \"u\" has no whole number");
    told(RULE, "{" NORMALIZER SPLIT MODEL_OF("##", "100", "{\"u\": 1, \"u\": 2}") "}", "token \"u\" stands twice");
    told(RULE, "{" NORMALIZER SPLIT MODEL ", \"added_tokens\": {}}", "is no array");
    told(RULE, "{" ADDED("") NORMALIZER SPLIT MODEL ", \"added_tokens\": []}", "stands twice");
    told(RULE, "{" ADDED(", \"normalized\": true") NORMALIZER SPLIT MODEL "}", "\"[X]\" is \"normalized\"");
    told(RULE, "{" ADDED(", \"single_word\": true") NORMALIZER SPLIT MODEL "}", "\"[X]\" is \"single_word\"");
    told(RULE, "{\"added_tokens\": [{\"content\": \"x\"}], " NORMALIZER SPLIT MODEL "}", "has no \"content\" or no \"id\"");
    told(RULE, "{\"post_processor\": {\"type\": \"ByteLevel\"}, " NORMALIZER SPLIT MODEL "}", "its post-processor is ByteLevel");
    told(RULE, "{\"truncation\": {\"direction\": \"Left\"}, " NORMALIZER SPLIT MODEL "}", "on the left");
    told(RULE, "{\"padding\": {\"direction\": \"Left\"}, " NORMALIZER SPLIT MODEL "}", "on the left");
    told(RULE, "{\"truncation\": {\"max_length\": 0}, " NORMALIZER SPLIT MODEL "}", "\"max_length\" of \"truncation\"");
    told(RULE, "{\"padding\": {\"pad_id\": -1}, " NORMALIZER SPLIT MODEL "}", "\"pad_id\" of \"padding\"");
    told(RULE, "{\"padding\": {\"pad_id\": 8}, " NORMALIZER SPLIT MODEL "}", "\"pad_id\" 8 is no token's");
}

/* A rule's reader looks no further than the most, so that a text takes time in proportion to its bytes. */
static void special_tokens_are_not_too_long(void **state) {
    (void)state;
    char token[MORSEL_TEXT_TOKEN_MOST + 2] = {0}, text[1000];
    struct tokenizer t;
    memset(token, 'x', MORSEL_TEXT_TOKEN_MOST + 1);
    for (uint32_t less = 0; less < 2; less++) {
        token[MORSEL_TEXT_TOKEN_MOST + 1 - less] = 0;
        snprintf(text, sizeof text, "{\"added_tokens\": [{\"id\": 5, \"content\": \"%s\"}], " NORMALIZER SPLIT MODEL "}", token);
        if (!less) told(RULE, text, "has 401 bytes; 400 are the most");
        put(tokenizer_path, text);
        assert_int_equal(tokenizer_read(tokenizer_path, &t, &failure), less);
        tokenizer_free(&t);
    }
}

static void what_stands_around_a_text_is_checked(void **state) {
    (void)state;
    told(RULE, "{" TEMPLATE("", "") NORMALIZER SPLIT MODEL "}", "does not hold it");
    told(RULE, "{" TEMPLATE(SEQUENCE ", " SEQUENCE, "") NORMALIZER SPLIT MODEL "}", "holds it twice");
    told(RULE, "{" TEMPLATE("{\"Sequence\": {\"id\": \"A\", \"type_id\": 1}}", "") NORMALIZER SPLIT MODEL "}", "that is not 0");
    told(RULE, "{" TEMPLATE(SPECIAL ", " SEQUENCE, "") NORMALIZER SPLIT MODEL "}", "\"[CLS]\" has no ids");
    told(RULE, "{" TEMPLATE(SPECIAL ", " SEQUENCE, "\"[CLS]\": {\"ids\": [\"x\"]}") NORMALIZER SPLIT MODEL "}", "has no id");
    told(RULE, "{" TEMPLATE(SPECIAL ", " SEQUENCE, "\"[CLS]\": {\"ids\": [8]}") NORMALIZER SPLIT MODEL "}", "id 8 around a text");
    told(RULE, "{" TEMPLATE(SPECIAL ", " SEQUENCE, "\"[CLS]\": {\"ids\": [1, 1, 1, 1, 1, 1, 1, 1, 1]}") NORMALIZER SPLIT MODEL "}",
         "more than 8 special tokens");
#define EIGHT(x) x ", " x ", " x ", " x ", " x ", " x ", " x ", " x
    told(RULE, "{" TEMPLATE(EIGHT(SPECIAL) ", " SPECIAL ", " SEQUENCE, "\"[CLS]\": {\"ids\": []}") NORMALIZER SPLIT MODEL "}",
         "more than 8 special tokens");
    told(RULE, "{" TEMPLATE(EIGHT(SPECIAL), "\"[CLS]\": {\"ids\": []}") NORMALIZER SPLIT MODEL "}", "does not hold it");
    told(RULE, "{\"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"x\", 1]}, " NORMALIZER SPLIT MODEL "}", "has no id");
}

static void a_tokenizer_states_its_length_and_padding(void **state) {
    (void)state;
    struct tokenizer t;
    put(tokenizer_path,
        "{\"version\": \"1.0\", \"truncation\": {\"direction\": \"Right\", \"max_length\": 77}, \"padding\": {\"pad_id\": 7}, " ADDED(
            ", \"special\": true, \"normalized\": false, \"single_word\": false") NORMALIZER SPLIT AROUND MODEL "}");
    if (!tokenizer_read(tokenizer_path, &t, &failure)) fail_msg("%s", failure.text);
    assert_int_equal(t.max_length, 77);
    assert_int_equal(t.padding, 7);
    assert_int_equal(t.unknown, 1);
    assert_int_equal(t.id_count, 8);
    assert_int_equal(t.special.count, 1);
    assert_int_equal(t.first.count, 2);
    assert_int_equal(t.front, 1);
    assert_int_equal(t.back, 1);
    assert_int_equal(t.around[1], 3);
    assert_true(t.normal.clean && t.normal.ideographs && t.normal.lower && t.normal.strip);
    tokenizer_free(&t);
    put(tokenizer_path, "{\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": false, \"handle_chinese_chars\": false, "
                        "\"lowercase\": false}, " SPLIT MODEL "}");
    assert_true(tokenizer_read(tokenizer_path, &t, &failure));
    assert_true(!t.normal.clean && !t.normal.ideographs && !t.normal.lower && !t.normal.strip);
    assert_int_equal(t.max_length + t.front + t.back + t.special.count, 0);
    tokenizer_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_stands_beside_its_vocabulary),       cmocka_unit_test(each_mistake_in_a_rule_is_told),
        cmocka_unit_test(each_mistake_in_a_vocabulary_is_told),      cmocka_unit_test(what_is_not_of_the_bert_kind_is_refused),
        cmocka_unit_test(special_tokens_are_not_too_long),           cmocka_unit_test(what_stands_around_a_text_is_checked),
        cmocka_unit_test(a_tokenizer_states_its_length_and_padding),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
