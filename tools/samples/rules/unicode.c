/* SPDX-License-Identifier: MIT */
/* Reads unicode.txt, which is compiled in, and puts what becomes of all code points into ranges. */
#include "tools/samples/rules/unicode.h"
#include "core/format.h"
#include "tools/base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { POINTS = 0x110000, HANGUL_FIRST = 0xac00, HANGUL_LAST = 0xd7a3, LISTS_MOST = 8192, LIST_MOST = 4, POINTS_MOST = 512 };

/* The sections of the file: marks of code points, then what they become. */
enum section { OTHER, SPACE, WHITE, ALONE, IDEOGRAPH, MARK, START, LOWER, BASE, ORDER, SECTIONS };
static const char *const names[SECTIONS] = {"other", "space", "white", "alone", "ideograph", "mark", "start", "lower", "base", "order"};

#include "unicode.inc" /* text */

struct list {
    uint32_t count, points[LIST_MOST];
};

struct unicode {
    uint8_t marks[POINTS], order[POINTS];
    uint16_t lower[POINTS], base[POINTS]; /* numbers of lists; 0: it stays */
    struct list lists[LISTS_MOST];        /* from 1 on */
    uint32_t list_count;
    uint32_t actions[POINTS];
};

/* --- Reading -------------------------------------------------------------------------------------------------------- */

static uint32_t number(const char **at) {
    char *end;
    uint32_t value = (uint32_t)strtoul(*at, &end, 16);
    *at = end;
    return value;
}

static bool follows(const char **at, char mark) {
    if (**at != mark) return false;
    ++*at;
    return true;
}

static void become(struct unicode *u, enum section section, uint32_t c, const struct list *list) {
    u->lists[++u->list_count] = *list;
    (section == BASE ? u->base : u->lower)[c] = (uint16_t)u->list_count;
}

static struct list read_list(const char **at) {
    struct list list = {0};
    do list.points[list.count++] = number(at);
    while (follows(at, '+'));
    return list;
}

/* "41-5a:61" and "100-12e/2:101" are shifted alike; "c0:41,41" are two that follow each other. */
static void read_mapping(struct unicode *u, enum section section, uint32_t first, uint32_t last, uint32_t step, const char **at) {
    struct list list = read_list(at);
    for (uint32_t c = first; c <= last; c += step, list.points[0] += step) become(u, section, c, &list);
    for (uint32_t c = first + 1; follows(at, ','); c++) {
        list = read_list(at);
        become(u, section, c, &list);
    }
}

static void read_word(struct unicode *u, enum section section, const char **at) {
    uint32_t first = number(at), last = follows(at, '-') ? number(at) : first, step = follows(at, '/') ? number(at) : 1;
    if (follows(at, ':')) {
        read_mapping(u, section, first, last, step, at);
        return;
    }
    uint32_t order = follows(at, '=') ? number(at) : 0;
    for (uint32_t c = first; c <= last; c++) {
        if (section == ORDER) u->order[c] = (uint8_t)order;
        else u->marks[c] |= (uint8_t)(1u << section);
    }
}

static struct unicode *read_file(void) {
    struct unicode *u = must_calloc(1, sizeof *u);
    enum section section = OTHER;
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        for (uint32_t i = 0; i < SECTIONS; i++)
            if (strlen(names[i]) == length && !memcmp(at, names[i], length)) section = (enum section)i;
        if (strlen(names[section]) == length && !memcmp(at, names[section], length)) at += length;
        else read_word(u, section, &at);
    }
    return u;
}

/* --- What becomes of a code point ------------------------------------------------------------------------------------- */

static bool marked(const struct unicode *u, uint32_t c, enum section section) {
    return u->marks[c] >> section & 1;
}

static struct list mapped(const struct unicode *u, enum section section, uint32_t c) {
    uint32_t index = (section == BASE ? u->base : u->lower)[c];
    return index ? u->lists[index] : (struct list){1, {c}};
}

/* The base, and each of its code points in lower case. */
static struct list result_of(const struct unicode *u, const struct unicode_options *o, uint32_t c) {
    struct list base = o->strip ? mapped(u, BASE, c) : (struct list){1, {c}}, result = {0};
    for (uint32_t i = 0; i < base.count; i++) {
        struct list lower = o->lower ? mapped(u, LOWER, base.points[i]) : (struct list){1, {base.points[i]}};
        for (uint32_t k = 0; k < lower.count; k++) result.points[result.count++] = lower.points[k];
    }
    return result;
}

static uint32_t put_list(const struct unicode *u, const struct list *list, bool ordered, struct unicode_table *out) {
    uint32_t at = out->point_count;
    out->point_count += list->count;
    for (uint32_t i = 0; i < list->count; i++)
        out->points[at + i] = list->points[i] | (ordered ? (uint32_t)u->order[list->points[i]] << 24 : 0);
    return MORSEL_TEXT_LIST | (list->count << 16 | at) << 8;
}

static uint32_t action_of(const struct unicode *u, const struct unicode_options *o, uint32_t c, struct unicode_table *out) {
    if (o->clean && marked(u, c, OTHER)) return MORSEL_TEXT_DROP;
    if (marked(u, c, WHITE) || (o->clean && marked(u, c, SPACE))) return MORSEL_TEXT_SPACE;
    if (o->strip && marked(u, c, MARK)) return MORSEL_TEXT_DROP | (marked(u, c, START) ? 1u << 8 : 0);
    if (o->strip && c >= HANGUL_FIRST && c <= HANGUL_LAST) return MORSEL_TEXT_HANGUL;
    struct list result = result_of(u, o, c);
    bool alone = marked(u, result.points[0], ALONE) || (o->ideographs && marked(u, c, IDEOGRAPH));
    uint32_t flag = alone ? MORSEL_TEXT_ALONE : 0, order = o->strip ? u->order[result.points[0]] : 0;
    if (result.count > 1 || (order && result.points[0] != c)) return put_list(u, &result, o->strip, out) | flag;
    if (result.points[0] == c) return MORSEL_TEXT_KEEP | flag | order << 8;
    return MORSEL_TEXT_SHIFT | flag | (result.points[0] - c) << 8;
}

/* --- Ranges ----------------------------------------------------------------------------------------------------------- */

/* From c on, how many code points are capitals and their small letters in turn. */
static uint32_t pairs_from(const struct unicode *u, uint32_t c) {
    uint32_t n = 0;
    while (c + n + 1 < POINTS && u->actions[c + n] == (MORSEL_TEXT_SHIFT | 1u << 8) && u->actions[c + n + 1] == MORSEL_TEXT_KEEP) n += 2;
    return n;
}

static void put_ranges(struct unicode *u, struct unicode_table *out) {
    for (uint32_t c = 0; c < POINTS; c++) {
        uint32_t pairs = pairs_from(u, c);
        if (pairs < 4) continue; /* two ranges, as many as this is made of */
        for (uint32_t i = 0; i < pairs; i++) u->actions[c + i] = MORSEL_TEXT_NEXT | (~c & 1) << 8;
        c += pairs - 1;
    }
    for (uint32_t c = 0; c < POINTS; c++) {
        if (c && u->actions[c] == u->actions[c - 1]) continue;
        out->starts[out->ranges] = c;
        out->actions[out->ranges++] = u->actions[c];
    }
}

void unicode_table(const struct unicode_options *options, struct unicode_table *out) {
    struct unicode *u = read_file();
    out->ranges = out->point_count = 0;
    out->starts = must_calloc(POINTS, sizeof *out->starts);
    out->actions = must_calloc(POINTS, sizeof *out->actions);
    out->points = must_calloc(POINTS_MOST, sizeof *out->points);
    for (uint32_t c = 0; c < POINTS; c++) u->actions[c] = action_of(u, options, c, out);
    put_ranges(u, out);
    free(u);
}

void unicode_free(struct unicode_table *table) {
    free(table->starts);
    free(table->actions);
    free(table->points);
    *table = (struct unicode_table){0};
}
