/* SPDX-License-Identifier: MIT */
/*
 * A text becomes token ids: special tokens are found in it as it stands; between them each code point stays, goes, becomes others, ends a
 * word or is one (the rule's table); a word becomes the longest token that it begins with, then the longest that goes on, and so on.
 *
 * Only the counts of a rule are checked, at each call and in constant time. All else is read through functions that stay inside whatever
 * they find: morsel_open() has nothing to do with it, and a program without text has none of it.
 *
 * A text takes time in proportion to its bytes, until as many ids stand there as may. A byte of a token that is looked for is a step: two
 * binary searches. Special tokens take up to 400 steps at each byte of the text. A word has up to 100 code points and so 400 bytes. At each
 * of those a token may be looked for as far as the word goes: 400 * 400 / 2 steps. One byte of text may be such a word, where a rule makes
 * lists of it. So a word may take 400 steps for each byte of text that it is made of, and is unknown beyond. That is as many as tokens of
 * 400 bytes need, where the rule does not lengthen the word, and as tokens of 133 bytes need where it makes it three times as long.
 */
#include "text.h"

#include "blob.h"

#include <string.h>

#define NO_TOKEN 0xffffffffu
#define REPLACEMENT 0xfffdu
#define WORD_BYTES (4 * MORSEL_TEXT_WORD_MOST)
_Static_assert(WORD_BYTES <= MORSEL_TEXT_TOKEN_MOST, "no word is longer than a token may be");

struct job {
    const struct morsel_text_rule *rule;
    int32_t *ids;                           /* NULL: they are only counted */
    uint32_t written, limit;                /* ids; more than the limit are counted and not written */
    uint32_t length;                        /* code points of the word so far; beyond the most there may be they are only counted */
    uint32_t sorted_from;                   /* combining characters are put in order from here on */
    uint64_t steps;                         /* that the word may take */
    uint32_t points[MORSEL_TEXT_WORD_MOST]; /* code point | order << 24 */
};

/* --- The rule ------------------------------------------------------------------------------------------------------- */

enum morsel_error morsel_text_open(struct morsel_text_rule *rule, const uint32_t *words, size_t count) {
    const struct morsel_blob_text *r = (const struct morsel_blob_text *)(const void *)words;
    if (count < sizeof *r / 4) return MORSEL_ERR_TEXT;
    uint64_t tokens = (uint64_t)r->special + r->first + r->next;
    uint64_t need = sizeof *r / 4 + 2 * (uint64_t)r->ranges + r->points + tokens + 1 + tokens + ((uint64_t)r->strings + 3) / 4;
    if (need > count || r->front > MORSEL_TEXT_AROUND_MOST || r->back > MORSEL_TEXT_AROUND_MOST - r->front) return MORSEL_ERR_TEXT;
    if (r->max_length > MORSEL_TEXT_LENGTH_MOST || r->max_length < r->front + r->back || r->word_points > MORSEL_TEXT_WORD_MOST)
        return MORSEL_ERR_TEXT;
    if (r->id_count > INT32_MAX || r->unknown >= r->id_count || r->padding >= r->id_count) return MORSEL_ERR_TEXT;
    for (uint32_t i = 0; i < r->front + r->back; i++)
        if (r->around[i] >= r->id_count) return MORSEL_ERR_TEXT;
    rule->record = r;
    rule->starts = words + sizeof *r / 4;
    rule->actions = rule->starts + r->ranges;
    rule->points = rule->actions + r->ranges;
    rule->begins = rule->points + r->points;
    rule->ids = rule->begins + tokens + 1;
    rule->strings = (const uint8_t *)(rule->ids + tokens);
    return MORSEL_OK;
}

/* A section that open did not look at. */
enum morsel_error morsel_text_find(struct morsel_text_rule *rule, const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED) return MORSEL_ERR_ARGUMENT;
    const struct morsel_blob_header *h = morsel_blob_header(model);
    if (h->format_version < 2 || h->blob_bytes < sizeof *h || h->text.offset % MORSEL_FORMAT_ALIGN || h->text.offset > h->blob_bytes ||
        h->text.count > (h->blob_bytes - h->text.offset) / 4)
        return MORSEL_ERR_TEXT;
    return morsel_text_open(rule, (const uint32_t *)morsel_blob_at(model, h->text.offset), h->text.count);
}

/* --- Tokens --------------------------------------------------------------------------------------------------------- */

/* Byte `depth` of a token; -1 behind its end. */
static int32_t token_byte(const struct morsel_text_rule *rule, uint32_t token, uint32_t depth) {
    uint32_t begin = rule->begins[token], end = rule->begins[token + 1];
    if (end > rule->record->strings || begin >= end || depth >= end - begin) return -1;
    return rule->strings[begin + depth];
}

/* The first of tokens low .. high - 1 whose byte `depth` is `least` or more. */
static uint32_t token_bound(const struct morsel_text_rule *rule, uint32_t low, uint32_t high, uint32_t depth, int32_t least) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (token_byte(rule, middle, depth) < least) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The longest of tokens low .. high - 1 that the text begins with, which is never empty. They are narrowed down byte by byte to those that
 * share all bytes so far. The one that ends there stands in front of all others. None where it takes more steps than there are. */
static uint32_t longest_token(const struct morsel_text_rule *rule, uint32_t low, uint32_t high, const uint8_t *text, size_t bytes,
                              uint32_t *length, uint64_t *steps) {
    uint32_t found = NO_TOKEN;
    for (uint32_t depth = 0; depth < bytes; depth++) {
        if (!(*steps)--) return NO_TOKEN;
        low = token_bound(rule, low, high, depth, text[depth]);
        high = token_bound(rule, low, high, depth, text[depth] + 1);
        if (low == high) break;
        if (token_byte(rule, low, depth + 1) >= 0) continue;
        found = low;
        *length = depth + 1;
    }
    return found;
}

static void put_id(struct job *job, uint32_t id) {
    if (job->ids && job->written < job->limit) job->ids[job->written] = (int32_t)id;
    job->written++;
}

static void put_token(struct job *job, uint32_t token) {
    uint32_t id = job->rule->ids[token];
    put_id(job, id < job->rule->record->id_count ? id : job->rule->record->unknown);
}

/* --- Words ---------------------------------------------------------------------------------------------------------- */

/* Up to four bytes: 21 bits of a code point count. */
static uint32_t encode(uint32_t point, uint8_t *to) {
    uint32_t c = point & 0x1fffff, more = (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
    to[0] = (uint8_t)((more ? 0xff00u >> (more + 1) : 0) | c >> 6 * more);
    for (uint32_t i = 1; i <= more; i++) to[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Whether tokens make up the whole word. */
static int put_pieces(struct job *job) {
    const struct morsel_blob_text *r = job->rule->record;
    uint8_t word[WORD_BYTES];
    uint32_t bytes = 0, low = r->special, high = low + r->first, length = 0;
    for (uint32_t i = 0; i < job->length; i++) bytes += encode(job->points[i], word + bytes);
    for (uint32_t at = 0; at < bytes; at += length) {
        uint32_t token = longest_token(job->rule, low, high, word + at, bytes - at, &length, &job->steps);
        if (token == NO_TOKEN) return 0;
        put_token(job, token);
        low = r->special + r->first;
        high = low + r->next;
    }
    return 1;
}

static void end_word(struct job *job) {
    uint32_t written = job->written;
    if (job->length && (job->length > job->rule->record->word_points || !put_pieces(job))) {
        job->written = written;
        put_id(job, job->rule->record->unknown);
    }
    job->length = job->sorted_from = 0;
    job->steps = 0;
}

/* A code point and its order: combining characters in a row are sorted by that, those of the same order as they came. */
static void add_point(struct job *job, uint32_t point) {
    if (job->length >= job->rule->record->word_points) {
        job->length = job->rule->record->word_points + 1;
        return;
    }
    uint32_t at = job->length++, order = point >> 24;
    if (!order) job->sorted_from = job->length;
    else
        for (; at > job->sorted_from && job->points[at - 1] >> 24 > order; at--) job->points[at] = job->points[at - 1];
    job->points[at] = point;
}

static void add_syllable(struct job *job, uint32_t c) {
    uint32_t index = c - 0xac00, last = index % 28;
    add_point(job, 0x1100 + index / 588 % 19);
    add_point(job, 0x1161 + index / 28 % 21);
    if (last) add_point(job, 0x11a7 + last);
}

static void add_list(struct job *job, uint32_t value) {
    uint32_t first = value & 0xffff, count = value >> 16;
    for (uint32_t i = first; i < first + count && i < job->rule->record->points && job->length <= job->rule->record->word_points; i++)
        add_point(job, job->rule->points[i]);
}

/* What the rule has for a code point. */
static uint32_t find_action(const struct morsel_text_rule *rule, uint32_t c) {
    uint32_t low = 0, high = rule->record->ranges;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rule->starts[middle] <= c) low = middle + 1;
        else high = middle;
    }
    return low ? rule->actions[low - 1] : MORSEL_TEXT_KEEP;
}

static void add_result(struct job *job, uint32_t c, uint32_t action) {
    uint32_t value = action >> 8;
    switch (action % MORSEL_TEXT_ALONE) {
    case MORSEL_TEXT_DROP:
        if (value) job->sorted_from = job->length;
        break;
    case MORSEL_TEXT_SPACE: end_word(job); break;
    case MORSEL_TEXT_SHIFT: add_point(job, (c + value) & 0x1fffff); break; /* 21 bits of it: a sign needs no more */
    case MORSEL_TEXT_NEXT: add_point(job, c + ((c ^ value) & 1)); break;
    case MORSEL_TEXT_LIST: add_list(job, value); break;
    case MORSEL_TEXT_HANGUL: add_syllable(job, c); break;
    default: add_point(job, c | value << 24);
    }
}

/* A code point of so many bytes. */
static void take_point(struct job *job, uint32_t c, uint32_t bytes) {
    uint32_t action = find_action(job->rule, c), alone = action & MORSEL_TEXT_ALONE;
    if (alone) end_word(job);
    job->steps += (uint64_t)MORSEL_TEXT_STEPS_MOST * bytes;
    add_result(job, c, action);
    if (alone) end_word(job);
}

/* --- The text ------------------------------------------------------------------------------------------------------- */

/* A code point and its bytes. Of what is not UTF-8 those that could begin a code point are one U+FFFD together, each other byte is one: as
 * Unicode recommends it and Python replaces. */
static uint32_t decode(const uint8_t *text, size_t bytes, uint32_t *length) {
    uint32_t c = text[0], more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    uint32_t low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80, high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    *length = 1;
    if (c < 0x80) return c;
    if (c < 0xc2 || c > 0xf4) return REPLACEMENT;
    c &= 0x3fu >> more;
    for (; more; more--, low = 0x80, high = 0xbf) {
        if (*length == bytes || text[*length] < low || text[*length] > high) return REPLACEMENT;
        c = c << 6 | (text[(*length)++] & 0x3f);
    }
    return c;
}

static void take_text(struct job *job, const uint8_t *text, size_t bytes) {
    uint32_t length = 0;
    for (size_t at = 0; at < bytes && job->written < job->limit; at += length) {
        size_t rest = bytes - at, far = rest < MORSEL_TEXT_TOKEN_MOST ? rest : MORSEL_TEXT_TOKEN_MOST;
        uint64_t steps = MORSEL_TEXT_TOKEN_MOST;
        uint32_t token = longest_token(job->rule, 0, job->rule->record->special, text + at, far, &length, &steps);
        if (token == NO_TOKEN) {
            uint32_t c = decode(text + at, rest, &length);
            take_point(job, c, length);
        } else {
            end_word(job);
            put_token(job, token);
        }
    }
    end_word(job);
    if (job->written > job->limit) job->written = job->limit;
}

enum morsel_error morsel_text_by_rule(const struct morsel_text_rule *rule, const char *utf8, size_t bytes, int32_t *ids, size_t capacity,
                                      uint32_t *count) {
    const struct morsel_blob_text *r = rule->record;
    struct job job = {.rule = rule, .ids = ids};
    uint32_t room = capacity < r->max_length ? (uint32_t)capacity : r->max_length;
    if ((!utf8 && bytes) || !count) return MORSEL_ERR_ARGUMENT;
    if (room < r->front + r->back) return MORSEL_ERR_CAPACITY;
    job.limit = room;
    for (uint32_t i = 0; i < r->front; i++) put_id(&job, r->around[i]);
    job.limit = room - r->back;
    take_text(&job, (const uint8_t *)utf8, bytes);
    job.limit = room;
    for (uint32_t i = 0; i < r->back; i++) put_id(&job, r->around[r->front + i]);
    *count = job.written;
    for (size_t i = job.written; ids && i < capacity; i++) ids[i] = (int32_t)r->padding;
    return MORSEL_OK;
}

enum morsel_error morsel_text(const struct morsel_model *model, const char *utf8, size_t bytes, int32_t *ids, size_t capacity,
                              uint32_t *count) {
    struct morsel_text_rule rule;
    enum morsel_error error = ids ? morsel_text_find(&rule, model) : MORSEL_ERR_ARGUMENT;
    return error ? error : morsel_text_by_rule(&rule, utf8, bytes, ids, capacity, count);
}

/* Line `index` of an input of the rule, and its length; NULL: there is none. */
static int32_t *line_of(const struct morsel_session *session, uint32_t input, uint32_t index, uint32_t *length) {
    struct morsel_view view;
    if (morsel_input(session, input, &view) || view.type != MORSEL_INT32) return NULL;
    uint32_t lines = view.rank > 1 ? view.dims[0] : 1;
    *length = view.bytes / 4 / lines;
    return index < lines ? (int32_t *)view.data + (size_t)index * *length : NULL;
}

static void fill(int32_t *line, uint32_t ones, uint32_t length) {
    for (uint32_t i = 0; line && i < length; i++) line[i] = i < ones;
}

enum morsel_error morsel_text_put(const struct morsel_session *session, const char *utf8, size_t bytes, uint32_t index) {
    struct morsel_text_rule rule;
    uint32_t length, count, other = 0;
    enum morsel_error error = session ? morsel_text_find(&rule, session->model) : MORSEL_ERR_ARGUMENT;
    if (error) return error;
    int32_t *ids = line_of(session, rule.record->inputs[0], index, &length);
    if (!ids) return index ? MORSEL_ERR_ARGUMENT : MORSEL_ERR_TEXT;
    error = morsel_text_by_rule(&rule, utf8, bytes, ids, length, &count);
    if (error) return error;
    int32_t *mask = line_of(session, rule.record->inputs[1], index, &other);
    fill(mask, count, other);
    int32_t *types = line_of(session, rule.record->inputs[2], index, &other);
    fill(types, 0, other);
    return MORSEL_OK;
}

uint32_t morsel_text_length(const struct morsel_model *model) {
    struct morsel_text_rule rule;
    return morsel_text_find(&rule, model) ? 0 : rule.record->max_length;
}

uint32_t morsel_text_ids(const struct morsel_model *model) {
    struct morsel_text_rule rule;
    return morsel_text_find(&rule, model) ? 0 : rule.record->id_count;
}
