/* SPDX-License-Identifier: MIT */
/*
 * Bytes as a text rule and a text: token ids in memory of exactly the size that was asked for. Links core/text.c.
 *
 *     fuzz_text [--runs N] [--seconds N] [--seed N]        (driver.c has the rest of the command line)
 *
 * Besides what sanitizers see: every id is below the rule's count and all of the room is written. What a shorter room gets is the
 * beginning of what a longer one gets, but for the ids behind the text.
 */
#include "core/text.h"
#include "seed_text.h"

#include <stdio.h>

enum { TEXT_MOST = 64, LENGTH_MOST = 300 };

static unsigned long long taken, known; /* rules, and ids of tokens */

int fuzz_report(unsigned long long runs) {
    printf("   %llu rules were taken, %llu words were known\n", taken, known);
    return runs < 1000 || (taken > runs / 4 && known > runs / 4);
}

/* The length of the text in a byte, the text, then the rule. */
size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    static const char *const pieces[] = {"a",    "b", "ab", " ", "c", "\xc3\xa9", "[", "A", "\xe6\xbc\xa2", "\xcc\x81", "\xea\xb0\x81",
                                         "\xff", "["};
    uint32_t words[SEED_TEXT_WORDS];
    uint64_t state = seed;
    size_t length = 0, count = seed_text(&state, words);
    if (capacity < 1 + TEXT_MOST + 4 * count) return 0;
    for (uint32_t n = fuzz_below(&state, 30); n && length < TEXT_MOST - 4; n--) {
        const char *piece = pieces[fuzz_below(&state, 13)];
        memcpy(bytes + 1 + length, piece, strlen(piece));
        length += strlen(piece);
    }
    bytes[0] = (uint8_t)length;
    memcpy(bytes + 1 + length, words, 4 * count);
    return 1 + length + 4 * count;
}

static void *exactly(const void *bytes, size_t size) {
    void *copy = malloc(size ? size : 1);
    if (!copy) exit(3);
    if (size) memcpy(copy, bytes, size);
    return copy;
}

/* The ids in `room` elements, which are all written. */
static int32_t *ids_in(const struct morsel_text_rule *rule, const char *text, size_t bytes, size_t room, uint32_t *count) {
    int32_t *ids = malloc(4 * room + 1);
    if (!ids) exit(3);
    memset(ids, 0xff, 4 * room);
    enum morsel_error error = morsel_text_by_rule(rule, text, bytes, ids, room, count), wanted = MORSEL_OK;
    if (room < rule->record->front + rule->record->back) wanted = MORSEL_ERR_CAPACITY;
    if (error != wanted || (!error && (*count > room || *count > rule->record->max_length))) abort();
    for (size_t i = 0; !error && i < room; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= rule->record->id_count) abort();
    if (!error) return ids;
    free(ids);
    return NULL;
}

static void compare_rooms(const struct morsel_text_rule *rule, const char *text, size_t bytes, size_t less) {
    uint32_t count, fewer;
    int32_t *ids = ids_in(rule, text, bytes, LENGTH_MOST, &count), *first = ids_in(rule, text, bytes, less, &fewer);
    if (ids && first && fewer < count && memcmp(ids, first, 4 * (size_t)(fewer - rule->record->back))) abort();
    for (uint32_t i = 0; ids && i < count; i++) known += (uint32_t)ids[i] != rule->record->unknown;
    free(ids);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct morsel_text_rule rule;
    size_t length = size ? bytes[0] : 0, count;
    if (size < 1 + length) return 0;
    count = (size - 1 - length) / 4;
    char *text = exactly(bytes + 1, length);
    uint32_t *words = exactly(bytes + 1 + length, 4 * count);
    if (!morsel_text_open(&rule, words, count)) {
        taken++;
        compare_rooms(&rule, text, length, size % 20);
    }
    free(words);
    free(text);
    return 0;
}
