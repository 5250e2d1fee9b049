/* SPDX-License-Identifier: MIT */
/* morsel_text(): what each action does, lengths and capacities, rules at their limits, rules that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/text.h"
#include "tests/unit/support/damaged.h"

enum { RANGES = 15, POINTS = 2, SPECIAL = 2, FIRST = 10, NEXT = 6, TOKENS = SPECIAL + FIRST + NEXT };
enum { PAD, UNK, CLS, SEP, A, AB, ABCD, E_ACUTE, HAN, GA, DOT, MARKS, N_B, N_C, N_CD, N_MARK, N_E, N_LATE, S_CLS, S_CL, TWO, IDS };

#define AT(kind, value) (MORSEL_TEXT_##kind | (uint32_t)(value) << 8)
#define ALONE(kind, value) (AT(kind, value) | MORSEL_TEXT_ALONE)
/* Two marks of other orders: 0x301 comes before 0x302, and 0x303 goes without letting any pass. */
static const uint32_t ranges[RANGES][2] = {
    {0, AT(DROP, 0)},           {' ', AT(SPACE, 0)},        {'.', ALONE(KEEP, 0)},          {'0', AT(NEXT, 0)},
    {'A', AT(SHIFT, 32)},       {'[', AT(KEEP, 0)},         {0xc9, AT(SHIFT, 0xe9 - 0xc9)}, {0xe9, AT(KEEP, 0)},
    {0x301, AT(KEEP, 1)},       {0x302, AT(KEEP, 2)},       {0x303, AT(DROP, 1)},           {0x304, AT(DROP, 0)},
    {0x305, AT(LIST, 2 << 16)}, {0x4e00, ALONE(SHIFT, -1)}, {0xac00, AT(HANGUL, 0)}};
static const struct {
    const char *text;
    uint32_t id;
} tokens[TOKENS] = {{"[CL", S_CL},
                    {"[CLS]", S_CLS},
                    {".", DOT},
                    {"2", TWO},
                    {"a", A},
                    {"ab", AB},
                    {"abcd", ABCD},
                    {"ab\xe1", UNK},
                    {"\xc3\xa9", E_ACUTE},
                    {"\xcc\x81", MARKS},
                    {"\xe1\x84\x80\xe1\x85\xa1", GA},
                    {"\xe4\xb9\x8b", HAN},
                    {"b", N_B},
                    {"c", N_C},
                    {"cd", N_CD},
                    {"e", N_E},
                    {"\xcc\x81", N_MARK},
                    {"\xcc\x82", N_LATE}};

struct text {
    struct morsel_blob_text r;
    uint32_t starts[RANGES], actions[RANGES], points[POINTS], begins[TOKENS + 1], ids[TOKENS];
    uint8_t strings[44];
};
#define WORDS (sizeof(struct text) / 4)

static struct text sample_text(void) {
    struct text t = {.r = {.max_length = 8,
                           .id_count = IDS,
                           .unknown = UNK,
                           .padding = PAD,
                           .word_points = 5,
                           .front = 1,
                           .back = 1,
                           .around = {CLS, SEP},
                           .ranges = RANGES,
                           .points = POINTS,
                           .special = SPECIAL,
                           .first = FIRST,
                           .next = NEXT},
                     .points = {'a', 'e'}};
    for (int i = 0; i < RANGES; i++) t.starts[i] = ranges[i][0], t.actions[i] = ranges[i][1];
    for (int i = 0; i < TOKENS; i++) {
        t.begins[i] = t.r.strings;
        t.ids[i] = tokens[i].id;
        memcpy(t.strings + t.r.strings, tokens[i].text, strlen(tokens[i].text));
        t.r.strings += (uint32_t)strlen(tokens[i].text);
    }
    t.begins[TOKENS] = t.r.strings;
    assert_true(t.r.strings <= sizeof t.strings && t.r.strings > sizeof t.strings - 4);
    return t;
}

static enum morsel_error open_text(const struct text *t, struct morsel_text_rule *rule) {
    return morsel_text_open(rule, (const uint32_t *)(const void *)t, WORDS);
}

#define ENDS (-1)
static void gives(const char *text, const int32_t *wanted) {
    struct text t = sample_text();
    struct morsel_text_rule rule;
    int32_t ids[8];
    uint32_t count, at = 0;
    assert_int_equal(open_text(&t, &rule), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, text, strlen(text), ids, 8, &count), MORSEL_OK);
    assert_int_equal(ids[0], CLS);
    for (; wanted[at] != ENDS; at++)
        if (at + 2 >= count || ids[at + 1] != wanted[at]) fail_msg("'%s': id %u of %u differs", text, at, count - 2);
    if (count != at + 2) fail_msg("'%s': %u ids, not %u", text, count - 2, at);
    assert_int_equal(ids[count - 1], SEP);
    for (; count < 8; count++) assert_int_equal(ids[count], PAD);
}
#define GIVES(text, ...) gives(text, (const int32_t[]){__VA_ARGS__, ENDS})

static void each_action_does_what_it_says(void **state) {
    (void)state;
    gives("", (const int32_t[]){ENDS});
    gives(" \x01 ", (const int32_t[]){ENDS});
    GIVES("a a", A, A);
    GIVES("A\x01"
          "B",
          AB);                           /* dropped; shifted */
    GIVES("a.a..", A, DOT, A, DOT, DOT); /* alone */
    GIVES("a\xe4\xb9\x8c"
          "a",
          A, HAN, A); /* shifted down, and alone */
    GIVES("\xc3\x89", E_ACUTE);
    GIVES("\xcc\x85", A, N_E);            /* a list of two */
    GIVES("\xea\xb0\x80", GA);            /* a syllable of two parts */
    GIVES("\xea\xb0\x81", UNK);           /* and of three */
    GIVES("0 1 2 3", UNK, TWO, TWO, UNK); /* odd ones become the next */
}

static void the_longest_token_comes_first(void **state) {
    (void)state;
    GIVES("abcd", ABCD);
    GIVES("abc", AB, N_C);
    GIVES("abccd", AB, N_C, N_CD);
    GIVES("abb", AB, N_B);
    GIVES("abx", UNK); /* known pieces are taken back */
    GIVES("b", UNK);
    GIVES("aaaaa", UNK);
    GIVES("abbbb", AB, N_B, N_B, N_B);
    GIVES("abbbbb", UNK); /* longer than 5 */
    GIVES("a abbbbbbbb a", A, UNK, A);
}

static void special_tokens_are_found_in_the_text_as_it_stands(void **state) {
    (void)state;
    GIVES("ab[CLS]ab", AB, S_CLS, AB);
    GIVES("a[CL[CLS]", A, S_CL, S_CLS);
    GIVES("a[CLS", A, S_CL, UNK);
    GIVES("[cls]", UNK);
}

/* A rule of one special token of so many bytes, and a text that is the token: how many ids it makes. */
static uint32_t ids_of_a_token(uint32_t bytes) {
    enum { RECORD = sizeof(struct morsel_blob_text) / 4, LARGEST = 2 * MORSEL_TEXT_TOKEN_MOST };
    static uint32_t words[RECORD + 3 + LARGEST / 4];
    struct morsel_blob_text r = {.max_length = 8, .id_count = 4, .unknown = 1, .word_points = 5, .special = 1, .strings = bytes};
    struct morsel_text_rule rule;
    char text[LARGEST];
    int32_t ids[8];
    uint32_t count;
    memcpy(words, &r, sizeof r);
    words[RECORD + 1] = bytes;
    words[RECORD + 2] = 3; /* its id */
    memset(words + RECORD + 3, 'a', LARGEST);
    memset(text, 'a', sizeof text);
    assert_int_equal(morsel_text_open(&rule, words, sizeof words / 4), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, text, 2 * bytes < LARGEST ? 2 * bytes : LARGEST, ids, 8, &count), MORSEL_OK);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(ids[i], count == 1 ? 1 : 3);
    return count;
}

/* A text would take time by the square of its length, where at each of its bytes a token may begin that is as long. */
static void special_tokens_have_a_most(void **state) {
    (void)state;
    assert_int_equal(ids_of_a_token(7), 2);
    assert_int_equal(ids_of_a_token(MORSEL_TEXT_TOKEN_MOST), 2);
    assert_int_equal(ids_of_a_token(MORSEL_TEXT_TOKEN_MOST + 1), 1);
}

/* The ids of a text by a rule that makes `points` letters a of each code point from `from` on. A token is a; another begins with 100 of
 * them and is never there, so that at each letter all the rest of the word is looked at. */
static uint32_t ids_of_a_list(const char *text, uint32_t points, uint32_t from, uint32_t kind) {
    enum { RECORD = sizeof(struct morsel_blob_text) / 4, LETTERS = 100 };
    static uint32_t words[RECORD + 4 + LETTERS + 5 + 4 + (LETTERS + 2) / 2 + 1];
    const uint32_t begins[5] = {0, 1, LETTERS + 2, LETTERS + 3, 2 * LETTERS + 4}, ids[4] = {2, 3, 2, 3};
    struct morsel_blob_text r = {.max_length = 200, .id_count = 4, .word_points = LETTERS, .ranges = 2, .points = points};
    uint32_t *at = words + RECORD, count;
    int32_t got[200];
    struct morsel_text_rule rule;
    r.first = r.next = 2, r.unknown = 1, r.strings = begins[4];
    memcpy(words, &r, sizeof r);
    at[0] = 0, at[1] = from, at[2] = AT(SPACE, 0), at[3] = kind | points << 24;
    for (at += 4; points; points--) *at++ = 'a';
    memcpy(at, begins, sizeof begins);
    memcpy(at + 5, ids, sizeof ids);
    memset(at + 9, 'a', begins[4]);
    ((char *)(at + 9))[begins[2] - 1] = ((char *)(at + 9))[begins[4] - 1] = 'b';
    assert_int_equal(morsel_text_open(&rule, words, sizeof words / 4), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, text, strlen(text), got, 200, &count), MORSEL_OK);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(got[i], count == 1 ? 1 : 2);
    return count;
}

/* Of n letters n * (n + 1) / 2 bytes of tokens are looked at. A byte of text is worth 400, whatever it becomes. */
static void a_byte_of_text_has_a_most(void **state) {
    (void)state;
    assert_int_equal(ids_of_a_list("+", 27, '+', ALONE(LIST, 0)), 27);
    assert_int_equal(ids_of_a_list("+", 28, '+', ALONE(LIST, 0)), 1);
    assert_int_equal(ids_of_a_list("\xc3\xa9", 39, '+', ALONE(LIST, 0)), 39);
    assert_int_equal(ids_of_a_list("\xc3\xa9", 40, '+', ALONE(LIST, 0)), 1);
    assert_int_equal(ids_of_a_list("\xf0\x9f\x90\xb1", 56, '+', ALONE(LIST, 0)), 56);
    assert_int_equal(ids_of_a_list("\xf0\x9f\x90\xb1", 57, '+', ALONE(LIST, 0)), 1);
    assert_int_equal(ids_of_a_list("++", 19, '+', AT(LIST, 0)), 38); /* a word of two bytes */
    assert_int_equal(ids_of_a_list("++", 20, '+', AT(LIST, 0)), 1);
    assert_int_equal(ids_of_a_list("   +", 28, '+', AT(LIST, 0)), 1); /* those in front are not its own */
    char word[101] = {0};
    memset(word, 'a', 100);
    assert_int_equal(ids_of_a_list(word, 0, 'a', AT(KEEP, 0)), 100);
}

static void marks_are_put_in_order(void **state) {
    (void)state;
    GIVES("a\xcc\x81\xcc\x82", A, N_MARK, N_LATE);
    GIVES("a\xcc\x82\xcc\x81", A, N_MARK, N_LATE);
    GIVES("a\xcc\x82\xcc\x84\xcc\x81", A, N_MARK, N_LATE);
    GIVES("a\xcc\x82\xcc\x83\xcc\x81", A, N_LATE, N_MARK); /* not across what combining characters do not pass */
    GIVES("a\xcc\x82"
          "b\xcc\x81",
          A, N_LATE, N_B, N_MARK);
    GIVES("\xcc\x82\xcc\x81", MARKS, N_LATE);
    GIVES("a\xcc\x82 \xcc\x81", A, N_LATE, MARKS); /* nor across words */
}

/* U+FFFD for each part that begins like a code point, as Python's decode(errors="replace"). */
static void what_is_no_utf8_is_replaced(void **state) {
    (void)state;
    struct text t = sample_text();
    struct morsel_text_rule rule;
    static const char *const broken[] = {
        "\xff",     "\xc3",         "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf",
        "\xe1\x80", "\xf1\x80\x80", "\x80"};
    static const uint32_t replaced[] = {1, 1, 2, 3, 3, 4, 4, 1, 1, 1};
    uint32_t count;
    int32_t ids[8];
    t.starts[RANGES - 1] = 0xfffd, t.actions[RANGES - 1] = ALONE(KEEP, 0); /* each counts */
    assert_int_equal(open_text(&t, &rule), MORSEL_OK);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char *text = malloc(strlen(broken[i]));
        assert_non_null(text);
        memcpy(text, broken[i], strlen(broken[i]));
        assert_int_equal(morsel_text_by_rule(&rule, text, strlen(broken[i]), ids, 8, &count), MORSEL_OK);
        if (count != 2 + replaced[i]) fail_msg("text %zu: %u code points", i, count - 2);
        free(text);
    }
}

static void a_long_text_is_cut(void **state) {
    (void)state;
    struct text t = sample_text();
    struct morsel_text_rule rule;
    int32_t ids[12];
    uint32_t count;
    assert_int_equal(open_text(&t, &rule), MORSEL_OK);
    for (size_t capacity = 0; capacity < 12; capacity++) {
        size_t most = capacity < 8 ? capacity : 8;
        memset(ids, 0xff, sizeof ids);
        enum morsel_error error = morsel_text_by_rule(&rule, "a a a a a abbbb", 15, ids, capacity, &count);
        assert_int_equal(error, capacity < 2 ? MORSEL_ERR_CAPACITY : MORSEL_OK);
        if (error) continue;
        assert_int_equal(count, most);
        assert_int_equal(ids[most - 1], SEP);
        for (size_t i = most; i < 12; i++) assert_int_equal(ids[i], i < capacity ? PAD : -1);
    }
    assert_int_equal(morsel_text_by_rule(&rule, "a a a a abbb", 12, ids, 8, &count), MORSEL_OK); /* within a word */
    assert_int_equal(ids[6], N_B);
    assert_int_equal(ids[7], SEP);
    assert_int_equal(morsel_text_by_rule(&rule, "a a a a a abxx", 14, ids, 8, &count), MORSEL_OK);
    assert_int_equal(ids[6], UNK); /* it is not known before its end */
}

#define LIMIT(error, ...) \
    do { \
        struct text t = sample_text(); \
        struct morsel_text_rule rule; \
        __VA_ARGS__; \
        if (open_text(&t, &rule) != (error)) fail_msg("%s", #__VA_ARGS__); \
    } while (0)

static void counts_and_ids_are_checked(void **state) {
    (void)state;
    struct text t = sample_text();
    struct morsel_text_rule rule;
    const uint32_t *words = (const uint32_t *)(const void *)&t;
    for (size_t count = 0; count < WORDS; count++) assert_int_equal(morsel_text_open(&rule, words, count), MORSEL_ERR_TEXT);
    assert_int_equal(morsel_text_open(&rule, words, WORDS), MORSEL_OK);
    assert_int_equal(morsel_text_open(&rule, words, WORDS + 1), MORSEL_OK);
    for (uint32_t *count = &t.r.ranges; count <= &t.r.next; count++) {
        uint32_t old = *count;
        *count += count == &t.r.strings ? 4 : 1;
        assert_int_equal(open_text(&t, &rule), MORSEL_ERR_TEXT);
        *count = 0xffffffff;
        assert_int_equal(open_text(&t, &rule), MORSEL_ERR_TEXT);
        *count = old;
    }
    LIMIT(MORSEL_OK, t.r.word_points = 100);
    LIMIT(MORSEL_ERR_TEXT, t.r.word_points = 101);
    LIMIT(MORSEL_OK, t.r.max_length = 65536);
    LIMIT(MORSEL_ERR_TEXT, t.r.max_length = 65537);
    LIMIT(MORSEL_OK, t.r.max_length = 2);
    LIMIT(MORSEL_ERR_TEXT, t.r.max_length = 1);
    LIMIT(MORSEL_OK, t.r.id_count = INT32_MAX);
    LIMIT(MORSEL_ERR_TEXT, t.r.id_count = INT32_MAX + 1u);
    LIMIT(MORSEL_OK, t.r.unknown = IDS - 1);
    LIMIT(MORSEL_ERR_TEXT, t.r.unknown = IDS);
    LIMIT(MORSEL_OK, t.r.padding = IDS - 1);
    LIMIT(MORSEL_ERR_TEXT, t.r.padding = IDS);
    LIMIT(MORSEL_OK, t.r.front = 7);
    LIMIT(MORSEL_ERR_TEXT, t.r.front = 8);
    LIMIT(MORSEL_ERR_TEXT, t.r.front = 9, t.r.back = 0, t.r.max_length = 100);
    LIMIT(MORSEL_OK, t.r.front = 0, t.r.back = 8);
    LIMIT(MORSEL_ERR_TEXT, t.r.front = 0, t.r.back = 9);
    LIMIT(MORSEL_ERR_TEXT, t.r.front = 2, t.r.back = 0xffffffff);
    LIMIT(MORSEL_ERR_TEXT, t.r.around[0] = IDS);
    LIMIT(MORSEL_ERR_TEXT, t.r.around[1] = IDS);
    LIMIT(MORSEL_OK, t.r.around[2] = IDS);
}

/* Any words behind the record: ids are ids. What is read outside, sanitizers see. */
static void damaged_rules_give_ids(void **state) {
    (void)state;
    static const char text[] = "ab[CLS]A\xcc\x82\xcc\x81 abcd.\xe4\xb9\x8c\xea\xb0\x81\xcc\x85 0\xff";
    uint32_t random = 1;
    for (int times = 0; times < 20000; times++) {
        struct text t = sample_text();
        struct morsel_text_rule rule;
        int32_t ids[8];
        uint32_t count, *words = malloc(sizeof t);
        assert_non_null(words);
        memcpy(words, &t, sizeof t);
        for (uint32_t n = builder_between(&random, 1, 12); n; n--) {
            uint32_t at = builder_between(&random, sizeof t.r / 4, WORDS - 1), bits = builder_random(&random);
            words[at] = bits % 3 ? bits : bits % 5 ? words[at] + bits % 7 : words[builder_between(&random, sizeof t.r / 4, WORDS - 1)];
        }
        assert_int_equal(morsel_text_open(&rule, words, WORDS), MORSEL_OK);
        assert_int_equal(morsel_text_by_rule(&rule, text, sizeof text - 1, ids, 8, &count), MORSEL_OK);
        for (int i = 0; i < 8; i++) assert_true(ids[i] >= 0 && ids[i] < IDS);
        free(words);
    }
}

static void calls_without_what_they_need_are_refused(void **state) {
    (void)state;
    struct text t = sample_text();
    struct morsel_text_rule rule;
    int32_t ids[8];
    uint32_t count;
    assert_int_equal(open_text(&t, &rule), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, NULL, 0, ids, 8, &count), MORSEL_OK);
    assert_int_equal(morsel_text_by_rule(&rule, NULL, 1, ids, 8, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_by_rule(&rule, "a ab", 4, NULL, 8, &count), MORSEL_OK); /* counted alone */
    assert_int_equal(count, 4);
    assert_int_equal(morsel_text_by_rule(&rule, "a", 1, ids, 8, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text(NULL, "a", 1, ids, 8, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_length(NULL), 0);
    assert_int_equal(morsel_text_ids(NULL), 0);
}

/* The section of a blob, which open does not look at. */
static enum morsel_error in_blob(uint32_t version, uint32_t shift, uint32_t offset, uint32_t more, uint32_t *length) {
    struct text t = sample_text();
    struct blob b = sample();
    struct morsel_model model;
    int32_t ids[8];
    uint32_t count;
    memcpy(b.bytes + b.spare + shift, &t, sizeof t);
    b.header->format_version = version;
    b.header->text = (struct morsel_blob_section){offset ? offset : b.spare + shift, (uint32_t)WORDS + more};
    builder_seal(b.bytes);
    assert_int_equal(morsel_open(&model, b.bytes, b.count, 0), MORSEL_OK);
    enum morsel_error error = morsel_text(&model, "a", 1, ids, 8, &count);
    *length = morsel_text_length(&model);
    assert_int_equal(morsel_text(&model, "a", 1, NULL, 8, &count), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_ids(&model), error ? 0 : IDS);
    if (!error) assert_memory_equal(ids, ((int32_t[]){CLS, A, SEP, PAD, PAD, PAD, PAD, PAD}), sizeof ids);
    free(b.bytes);
    return error;
}

static void a_rule_in_a_blob_lies_inside_it(void **state) {
    (void)state;
    uint32_t length;
    assert_int_equal(in_blob(2, 0, 0, 0, &length), MORSEL_OK);
    assert_int_equal(length, 8);
    assert_int_equal(in_blob(1, 0, 0, 0, &length), MORSEL_ERR_TEXT);
    assert_int_equal(length, 0);
    assert_int_equal(in_blob(2, 0, 0, 0x7fffffff, &length), MORSEL_ERR_TEXT);
    assert_int_equal(in_blob(2, 0, 0, 0xffffffff - (uint32_t)WORDS, &length), MORSEL_ERR_TEXT);
    assert_int_equal(in_blob(2, 0, 0x7fffffc0, 0, &length), MORSEL_ERR_TEXT);
    assert_int_equal(in_blob(2, 0, 0xffffffc0, 0, &length), MORSEL_ERR_TEXT);
    for (uint32_t shift = 1; shift < 64; shift++) assert_int_equal(in_blob(2, shift, 0, 0, &length), MORSEL_ERR_TEXT);
}

/* Two texts of up to 5 ids, with a mask and types, into a network that looks the ids up. */
static void a_text_fills_the_inputs_of_its_place(void **state) {
    (void)state;
    static const uint8_t table[IDS];
    struct text t = sample_text();
    struct builder b;
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view views[3];
    uint32_t bytes, dims[2] = {2, 5};
    builder_start(&b);
    for (int i = 0; i < 5; i++) builder_tensor(&b, i < 3 ? MORSEL_INT32 : MORSEL_UINT8, 2, dims, 1, 0);
    struct morsel_blob_lookup p = {IDS, 1, builder_data(&b, table, IDS)};
    builder_step(&b, MORSEL_STEP_LOOKUP, (uint32_t[]){1}, 1, 3, &p, sizeof p, 0);
    static const char *const names[] = {"mask", "ids", "types"};
    for (uint32_t i = 0; i < 3; i++) builder_input(&b, i, names[i]);
    builder_input(&b, 4, "bytes");
    builder_output(&b, 3, "y");
    t.r.inputs[0] = 1, t.r.inputs[1] = 0, t.r.inputs[2] = 2;
    uint32_t at = builder_data(&b, &t, sizeof t);
    uint8_t *blob = builder_finish(&b, &bytes), *arena = builder_aligned(4096);
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_blob_text *r = (void *)(blob + at);
    h->text = (struct morsel_blob_section){at, WORDS};
    builder_seal(blob);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_int_equal(morsel_session_open(&s, &model, arena, 4096, NULL), MORSEL_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(morsel_input(&s, i, &views[i]), MORSEL_OK);
        memset(views[i].data, 0xff, views[i].bytes);
    }
    assert_int_equal(morsel_text_put(&s, "a ab", 4, 1), MORSEL_OK);
    assert_memory_equal(views[1].data, ((int32_t[]){-1, -1, -1, -1, -1, CLS, A, AB, SEP, PAD}), 40);
    assert_memory_equal(views[0].data, ((int32_t[]){-1, -1, -1, -1, -1, 1, 1, 1, 1, 0}), 40);
    assert_memory_equal(views[2].data, ((int32_t[]){-1, -1, -1, -1, -1, 0, 0, 0, 0, 0}), 40);
    assert_int_equal(morsel_text_put(&s, "a a a a a", 9, 0), MORSEL_OK); /* cut to the network's length */
    assert_memory_equal(views[1].data, ((int32_t[]){CLS, A, A, A, SEP, CLS, A, AB, SEP, PAD}), 40);
    assert_int_equal(morsel_text_put(&s, "a", 1, 2), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_put(NULL, "a", 1, 0), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_text_put(&s, NULL, 1, 0), MORSEL_ERR_ARGUMENT);
    r->inputs[1] = r->inputs[2] = MORSEL_TEXT_NO_INPUT;
    memset(views[0].data, 0xff, views[0].bytes);
    assert_int_equal(morsel_text_put(&s, "a", 1, 0), MORSEL_OK);
    assert_int_equal(*(int32_t *)views[0].data, -1);
    for (r->inputs[0] = 3; r->inputs[0] < 5; r->inputs[0]++) /* of bytes; none */
        assert_int_equal(morsel_text_put(&s, "a", 1, 0), MORSEL_ERR_TEXT);
    free(arena);
    free(blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_action_does_what_it_says),
        cmocka_unit_test(the_longest_token_comes_first),
        cmocka_unit_test(special_tokens_are_found_in_the_text_as_it_stands),
        cmocka_unit_test(special_tokens_have_a_most),
        cmocka_unit_test(a_byte_of_text_has_a_most),
        cmocka_unit_test(marks_are_put_in_order),
        cmocka_unit_test(what_is_no_utf8_is_replaced),
        cmocka_unit_test(a_long_text_is_cut),
        cmocka_unit_test(counts_and_ids_are_checked),
        cmocka_unit_test(damaged_rules_give_ids),
        cmocka_unit_test(calls_without_what_they_need_are_refused),
        cmocka_unit_test(a_rule_in_a_blob_lies_inside_it),
        cmocka_unit_test(a_text_fills_the_inputs_of_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
