/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a tokenizer.json or a vocab.txt. Links the tool's files and libcjson.
 *
 *     fuzz_tokenizer [--runs N] [--seconds N] [--seed N] [FILE...]        (driver.c has the rest of the command line)
 *
 * What is taken becomes a rule that the library takes, too, as often as there is time for all code points.
 */
#include "as_file.h"
#include "core/text.h"
#include "fuzz.h"
#include "tools/samples/rules/text_rule.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned long long taken;

int fuzz_report(unsigned long long runs) {
    printf("   %llu tokenizers were taken\n", taken);
    return runs < 1000 || taken > runs / 50;
}

static size_t seed_vocabulary(uint64_t *state, char *text, size_t capacity) {
    static const char *const tokens[] = {"[MASK]", "a", "##a", "the", "##ing", "\xc3\xa9", "", "##", "\xff", "b\r"};
    int at = snprintf(text, capacity, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
    for (uint32_t n = fuzz_below(state, 8); n; n--) at += snprintf(text + at, capacity - (size_t)at, "%s\n", tokens[fuzz_below(state, 10)]);
    return (size_t)at;
}

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const cuts[] = {"null", "{\"max_length\": 20, \"direction\": \"Right\"}", "{\"max_length\": 1e9}", "[]"};
    static const char *const pads[] = {"null", "{\"pad_id\": 2}", "{\"pad_id\": 99}", "{\"direction\": \"Left\"}"};
    static const char *const ends[] = {"null", "{\"type\": \"BertProcessing\", \"cls\": [\"c\", 1], \"sep\": [\"s\", 2]}",
                                       "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"s\", \"type_id\": "
                                       "0}}, {\"Sequence\": {\"id\": \"A\", "
                                       "\"type_id\": 0}}], \"special_tokens\": {\"s\": {\"ids\": [2]}}}",
                                       "{\"type\": \"ByteLevel\"}"};
    uint64_t state = seed;
    if (!fuzz_below(&state, 4)) return seed_vocabulary(&state, (char *)bytes, capacity);
    int length =
        snprintf((char *)bytes, capacity,
                 "{\"truncation\": %s, \"padding\": %s, \"added_tokens\": [{\"id\": %u, \"content\": \"[%c]\", \"normalized\": %s}], "
                 "\"normalizer\": {\"type\": \"BertNormalizer\", \"lowercase\": %s}, \"pre_tokenizer\": {\"type\": "
                 "\"BertPreTokenizer\"}, \"post_processor\": %s, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"u\", "
                 "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": %u, \"vocab\": {\"u\": 0, \"a\": 1, "
                 "\"##%c\": %u, \"\\u00e9\": 3}}}",
                 cuts[fuzz_below(&state, 4)], pads[fuzz_below(&state, 4)], fuzz_below(&state, 9), 'x' + (int)fuzz_below(&state, 3),
                 fuzz_below(&state, 8) ? "false" : "true", fuzz_below(&state, 4) ? "true" : "false", ends[fuzz_below(&state, 4)],
                 fuzz_between(&state, 1, 101), 'a' + (int)fuzz_below(&state, 3), fuzz_below(&state, 100000));
    return length < 0 ? 0 : (size_t)length;
}

static void use(const struct tokenizer *tokenizer) {
    static const char text[] = "a aa [x] \xc3\x89\xff bc";
    struct failure failure = {0};
    struct text_rule out = {0};
    struct morsel_text_rule rule;
    int32_t ids[32];
    uint32_t count;
    if (!text_rule_lay_out(tokenizer, 24, &out, &failure)) exit(3);
    if (morsel_text_open(&rule, out.words, out.word_count)) abort();
    if (morsel_text_by_rule(&rule, text, sizeof text - 1, ids, 32, &count) || count > 24) abort();
    for (int i = 0; i < 32; i++)
        if ((uint32_t)ids[i] >= rule.record->id_count) abort();
    text_rule_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct tokenizer tokenizer;
    struct failure failure = {0};
    bool good = tokenizer_read(as_file(bytes, size), &tokenizer, &failure);
    if (!good && !*failure.text) abort();
    if (good && ++taken % 16 == 0) use(&tokenizer);
    tokenizer_free(&tokenizer);
    return 0;
}
