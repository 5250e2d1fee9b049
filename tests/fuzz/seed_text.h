/* SPDX-License-Identifier: MIT */
/* Sound text rules by chance: a few ranges of code points with any action, tokens of a few letters. Included once, by the fuzzer. */
#ifndef MORSEL_TEST_SEED_TEXT_H
#define MORSEL_TEST_SEED_TEXT_H

#include "core/format.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { SEED_TOKENS = 24, SEED_TOKEN = 8, SEED_RANGES = 12, SEED_POINTS = 6, SEED_TEXT_WORDS = 400 };

struct seed_text {
    struct morsel_blob_text record;
    uint32_t starts[SEED_RANGES], actions[SEED_RANGES], points[SEED_POINTS];
    char tokens[3][SEED_TOKENS][SEED_TOKEN];
    uint32_t ids[3][SEED_TOKENS];
};

static int seed_by_bytes(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Tokens of one group, each once and in order. */
static uint32_t seed_group(struct seed_text *t, int group, uint64_t *state) {
    static const char *const letters[] = {"a", "b", "ab", "c", "\xc3\xa9", "[", "]", "\xe6\xbc\xa2"};
    uint32_t count = fuzz_below(state, group ? SEED_TOKENS : 4), kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        char *token = t->tokens[group][i];
        do strcat(token, letters[fuzz_below(state, 8)]);
        while (strlen(token) < SEED_TOKEN - 4 && fuzz_below(state, 3));
    }
    qsort(t->tokens[group], count, SEED_TOKEN, seed_by_bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && !strcmp(t->tokens[group][kept - 1], t->tokens[group][i])) continue;
        memmove(t->tokens[group][kept], t->tokens[group][i], SEED_TOKEN);
        t->ids[group][kept++] = fuzz_below(state, t->record.id_count);
    }
    return kept;
}

static void seed_ranges(struct seed_text *t, uint64_t *state) {
    static const uint32_t starts[SEED_RANGES] = {0, 0x21, 0x30, 0x41, 0x5b, 0x61, 0x7b, 0xe9, 0x300, 0xac00, 0x4e00, 0x1f600};
    uint32_t at = 0;
    for (uint32_t i = 0; i < SEED_RANGES; i++) {
        if (i && !fuzz_below(state, 3)) continue;
        t->starts[at] = starts[i];
        t->actions[at] = fuzz_below(state, 7) | (fuzz_below(state, 4) ? 0 : MORSEL_TEXT_ALONE);
        if (fuzz_below(state, 2)) t->actions[at] = MORSEL_TEXT_KEEP;
        if (t->actions[at] == MORSEL_TEXT_SHIFT) t->actions[at] |= fuzz_below(state, 64) << 8;
        if (t->actions[at] == MORSEL_TEXT_LIST) t->actions[at] |= (fuzz_below(state, 4) << 16 | fuzz_below(state, SEED_POINTS)) << 8;
        if (t->actions[at] == MORSEL_TEXT_KEEP && starts[i] == 0x300) t->actions[at] |= fuzz_below(state, 4) << 8;
        at++;
    }
    t->record.ranges = at;
    t->record.points = SEED_POINTS;
    for (uint32_t i = 0; i < SEED_POINTS; i++) t->points[i] = 0x61 + fuzz_below(state, 26) + (fuzz_below(state, 4) << 24);
}

static uint32_t *seed_put(uint32_t *to, const void *words, uint32_t count) {
    memcpy(to, words, 4 * (size_t)count);
    return to + count;
}

static uint32_t seed_strings(const struct seed_text *t, uint32_t *begins, uint8_t *strings) {
    const uint32_t counts[] = {t->record.special, t->record.first, t->record.next};
    uint32_t at = 0;
    for (int g = 0; g < 3; g++) {
        for (uint32_t i = 0; i < counts[g]; i++) {
            *begins++ = at;
            memcpy(strings + at, t->tokens[g][i], strlen(t->tokens[g][i]));
            at += (uint32_t)strlen(t->tokens[g][i]);
        }
    }
    *begins = at;
    return at;
}

/* How many words, at most SEED_TEXT_WORDS. */
static uint32_t seed_text(uint64_t *state, uint32_t *words) {
    struct seed_text t = {
        .record = {.inputs = {0, 1, 2}, .id_count = 40, .unknown = 1, .padding = 0, .front = 1, .back = 1, .around = {2, 3}}};
    uint32_t begins[3 * SEED_TOKENS + 1], strings[3 * SEED_TOKENS * SEED_TOKEN / 4] = {0};
    struct morsel_blob_text *r = &t.record;
    r->max_length = fuzz_between(state, 2, 40);
    r->word_points = fuzz_between(state, 1, MORSEL_TEXT_WORD_MOST);
    seed_ranges(&t, state);
    r->special = seed_group(&t, 0, state);
    r->first = seed_group(&t, 1, state);
    r->next = seed_group(&t, 2, state);
    r->strings = seed_strings(&t, begins, (uint8_t *)strings);
    uint32_t *at = seed_put(words, r, sizeof *r / 4);
    at = seed_put(at, t.starts, r->ranges);
    at = seed_put(at, t.actions, r->ranges);
    at = seed_put(at, t.points, r->points);
    at = seed_put(at, begins, r->special + r->first + r->next + 1);
    at = seed_put(at, t.ids[0], r->special);
    at = seed_put(at, t.ids[1], r->first);
    at = seed_put(at, t.ids[2], r->next);
    at = seed_put(at, strings, (r->strings + 3) / 4);
    return (uint32_t)(at - words);
}

#endif
