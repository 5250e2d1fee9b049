/* SPDX-License-Identifier: MIT */
/*
 * Blobs damaged field by field: a field of a record takes a limit, a neighbour, or what another record has there. Or the constants of a
 * step go to extremes. Then, mostly, what the blob states of its weights is made true again, and the checksum: so it gets past all that a
 * byte more or less would be found by. Included once, by the fuzzer.
 */
#ifndef MORSEL_TEST_BLOB_FIELDS_H
#define MORSEL_TEST_BLOB_FIELDS_H

#include "core/checksum.h"
#include "core/kind.h"
#include "fuzz.h"
#include "tests/unit/support/honest.h"

#include <string.h>

enum { FIELDS_MOST = 1 << 19 }; /* bytes of a blob that are damaged with understanding */

/* A copy at a multiple of 64, as records are read in place. */
static _Alignas(MORSEL_ALIGNMENT) uint8_t fields_blob[FIELDS_MOST];

struct fields {
    uint64_t *state;
    uint8_t *blob;
    uint32_t size;
};

/* A section as words: `count` records of so many. */
struct fields_table {
    uint32_t offset, count, words;
};

static uint32_t fields_below(struct fields *f, uint32_t most) {
    return most ? fuzz_below(f->state, most) : 0;
}

/* Inside the blob, whatever it says; NULL: not so many. */
static uint32_t *fields_at(struct fields *f, uint32_t offset, uint64_t words) {
    if (offset % 4 || offset > f->size || words * 4 > f->size - offset) return NULL;
    return (uint32_t *)(void *)(f->blob + offset);
}

/* Words of a record of each section but strings and data, in the header's order; then of the text rule, the answer rule and metadata. */
static const uint8_t fields_words[] = {sizeof(struct morsel_blob_tensor) / 4,
                                       1,
                                       sizeof(struct morsel_blob_step) / 4,
                                       sizeof(struct morsel_blob_group) / 4,
                                       1,
                                       sizeof(struct morsel_blob_io) / 4,
                                       sizeof(struct morsel_blob_io) / 4,
                                       sizeof(struct morsel_blob_picture) / 4,
                                       1,
                                       1,
                                       1,
                                       sizeof(struct morsel_blob_pair) / 4};
enum { FIELDS_METADATA = sizeof fields_words - 1, FIELDS_ANSWER = FIELDS_METADATA - 1, FIELDS_TEXT = FIELDS_ANSWER - 1 };

static const struct morsel_blob_section *fields_place(const uint8_t *blob, uint32_t index) {
    const struct morsel_blob_header *h = (const void *)blob;
    return index == FIELDS_METADATA ? &h->metadata
           : index == FIELDS_ANSWER ? &h->answer
           : index == FIELDS_TEXT   ? &h->text
                                    : &h->tensors + index;
}

/* Section `index` of the header, cut to what is there. */
static struct fields_table fields_section(struct fields *f, uint32_t index) {
    const struct morsel_blob_section *s = fields_place(f->blob, index);
    struct fields_table table = {s->offset, s->count, fields_words[index]};
    uint32_t room = s->offset % 4 || s->offset > f->size ? 0 : (f->size - s->offset) / 4 / table.words;
    if (table.count > room) table.count = room;
    return table;
}

/* Some section with records, or the header. Records of tensors, steps and parameters are looked at most. */
static struct fields_table fields_table(struct fields *f) {
    static const uint8_t order[] = {
        0, 0, 0, 1, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 6, 7, 8, FIELDS_TEXT, FIELDS_TEXT, FIELDS_ANSWER, FIELDS_ANSWER, FIELDS_METADATA};
    struct fields_table header = {24, 1, (uint32_t)(sizeof(struct morsel_blob_header) - 24) / 4};
    for (uint32_t tries = 0; tries < 8; tries++) {
        struct fields_table table = fields_section(f, order[fields_below(f, sizeof order)]);
        if (table.count) return table;
    }
    return header;
}

static uint32_t *fields_word(struct fields *f, const struct fields_table *table, uint32_t record, uint32_t word) {
    return (uint32_t *)(void *)(f->blob + table->offset) + (size_t)record * table->words + word;
}

static uint32_t fields_float(struct fields *f) {
    static const float values[] = {0,       -0.0F,  1e-45F, -1e-45F, 1.17549435e-38F, 1e-30F,  1e-9F, 0.003F, 0.5F,
                                   1,       1.001F, 127.5F, 255,     32000,           4194304, 1e9F,  1e20F,  1.2676e30F,
                                   3.4e38F, -1,     -0.5F,  -32000,  -1e9F,           -3.4e38F};
    float value = values[fields_below(f, sizeof values / sizeof values[0])];
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* --- Records --------------------------------------------------------------------------------------------------------- */

static void fields_change(struct fields *f) {
    struct fields_table t = fields_table(f);
    uint32_t *word = fields_word(f, &t, fields_below(f, t.count), fields_below(f, t.words));
    *word = fields_below(f, 5) ? fuzz_word(f->state, *word, f->size) : fields_float(f);
}

/* What another record has in that field. */
static void fields_copy(struct fields *f) {
    struct fields_table t = fields_table(f);
    uint32_t word = fields_below(f, t.words);
    *fields_word(f, &t, fields_below(f, t.count), word) = *fields_word(f, &t, fields_below(f, t.count), word);
}

/* What stands in any other field. */
static void fields_cross(struct fields *f) {
    struct fields_table to = fields_table(f), from = fields_table(f);
    *fields_word(f, &to, fields_below(f, to.count), fields_below(f, to.words)) =
        *fields_word(f, &from, fields_below(f, from.count), fields_below(f, from.words));
}

/* Two records change places; or one takes the other's. */
static void fields_swap(struct fields *f) {
    struct fields_table t = fields_table(f);
    uint32_t *a = fields_word(f, &t, fields_below(f, t.count), 0), *b = fields_word(f, &t, fields_below(f, t.count), 0);
    int swaps = fields_below(f, 2) == 0;
    for (uint32_t k = 0; k < t.words; k++) {
        uint32_t old = a[k];
        a[k] = b[k];
        if (swaps) b[k] = old;
    }
}

/* --- What stays a network -------------------------------------------------------------------------------------------- */

/* The other type of bytes, with the same zero point; or another scale or zero point. */
static void fields_tensor(struct fields *f) {
    struct fields_table t = fields_section(f, 0);
    if (!t.count) return;
    struct morsel_blob_tensor *tensor = (void *)fields_word(f, &t, fields_below(f, t.count), 0);
    uint32_t bits = fields_float(f), low = tensor->type == MORSEL_INT8 ? 0u - 128u : 0;
    switch (fields_below(f, 4)) {
    case 0: memcpy(&tensor->scale, &bits, 4); break;
    case 1: tensor->zero_point = (int32_t)(low + (fields_below(f, 2) ? 255 : 0)); break;
    case 2: tensor->zero_point = (int32_t)(low + fields_below(f, 256)); break;
    default:
        if (tensor->type > MORSEL_INT8) break;
        tensor->zero_point = (int32_t)((uint32_t)tensor->zero_point + (tensor->type == MORSEL_INT8 ? 128u : 0u - 128u));
        tensor->type ^= 1;
    }
}

/* A step's sums, or NULL: it has none, or they lie outside. */
static struct morsel_blob_sums *fields_sums(struct fields *f, uint32_t *kind) {
    struct fields_table t = fields_section(f, 2);
    if (!t.count) return NULL;
    const struct morsel_blob_step *step = (const void *)fields_word(f, &t, fields_below(f, t.count), 0);
    if (step->kind - 1 >= MORSEL_STEP_KIND_COUNT - 1 || !morsel_kinds[step->kind]->sums) return NULL;
    *kind = step->kind;
    return (void *)fields_at(f, step->parameters + morsel_kinds[step->kind]->sums, sizeof(struct morsel_blob_sums) / 4);
}

/* Some constants by channel: one, or the sixteen of a block, become `value`. */
static void fields_set(struct fields *f, uint32_t offset, uint32_t value) {
    uint32_t first = 16 * fields_below(f, fields_below(f, 4) + 1), *block = offset ? fields_at(f, offset + 4 * first, 16) : NULL;
    uint32_t only = fields_below(f, 32);
    for (uint32_t k = 0; block && k < 16; k++)
        if (only >= 16 || only == k) block[k] = value;
}

/* Weights of a stretch become all the same: the largest sums there are. */
static void fields_weights(struct fields *f, uint32_t offset) {
    static const uint32_t values[] = {0x80808080, 0x7f7f7f7f, 0, 0x81818181, 0x7f807f80};
    uint32_t *words = fields_at(f, offset + 64 * fields_below(f, 8), 16), value = values[fields_below(f, 5)],
             step = fields_below(f, 2) ? 16 : 1;
    uint32_t room = words ? (uint32_t)((f->blob + f->size - (uint8_t *)words) / 4) : 0, count = fuzz_between(f->state, 1, 128);
    for (uint32_t k = fields_below(f, 16); k < room && count; k += step, count--) words[k] = value;
}

static void fields_extremes(struct fields *f) {
    static const uint32_t biases[] = {0, 0x7fffffff, 0x80000000, 0x40000000, 0xc0000000, 4194303, 4194304, 0u - 4194304u, 16777217, 65535};
    uint32_t kind, low;
    struct morsel_blob_sums *s = fields_sums(f, &kind);
    if (!s) return;
    switch (fields_below(f, 9)) {
    case 0: fields_set(f, s->bias, biases[fields_below(f, 10)]); break;
    case 1: fields_set(f, s->multiplier, fields_float(f)); break;
    case 2: fields_set(f, s->float_bias, fields_float(f)); break;
    case 3: fields_set(f, s->weight_zero, fields_below(f, 256) - 128); break;
    case 4: fields_weights(f, s->weights); break;
    case 5: *(&s->weight_sum + fuzz_between(f->state, 1, 2)) = 0; break; /* weight_zero or float_bias */
    case 6: s->proofs = fields_below(f, 2) ? 0 : s->weights; break;
    case 7:
        low = (uint32_t)s->out_min;
        s->out_min = (int32_t)(low + fields_below(f, 200));
        s->out_max = (int32_t)((uint32_t)s->out_min + fields_below(f, 56));
        break;
    default: low = fields_float(f), memcpy(fields_below(f, 2) ? &s->float_min : &s->float_max, &low, 4);
    }
}

/* --- The whole ------------------------------------------------------------------------------------------------------- */

/* Whether what is made true of weights can hit no record: constants lie behind all of them. */
static int fields_data_apart(const uint8_t *blob) {
    const struct morsel_blob_header *h = (const void *)blob;
    for (uint32_t i = 0; i < sizeof fields_words; i++) {
        const struct morsel_blob_section *s = fields_place(blob, i);
        if (s->count && s->offset + 4 * (uint64_t)fields_words[i] * s->count > h->data.offset) return 0;
    }
    return 1;
}

/* The checksum; and where the rest is in order and `truly`, sums, padding and proofs before it. */
static void fields_settle(uint8_t *blob, uint32_t size, int truly) {
    struct morsel_blob_header *h = (void *)blob;
    struct morsel_model model;
    if (truly && !morsel_open(&model, blob, size, MORSEL_SKIP_CHECKSUM) && fields_data_apart(blob)) honest_make(blob);
    else if (h->blob_bytes <= size && h->blob_bytes >= sizeof *h) h->checksum = morsel_checksum(blob, h->blob_bytes);
}

static void fields_damage(struct fields *f) {
    switch (fields_below(f, 16)) {
    case 0: fields_copy(f); break;
    case 1: fields_cross(f); break;
    case 2: fields_swap(f); break;
    case 3:
    case 4: fields_tensor(f); break;
    case 5: f->blob[fields_below(f, f->size)] ^= (uint8_t)(1u << fields_below(f, 8)); break;
    case 6:
    case 7:
    case 8:
    case 9:
    case 10: fields_extremes(f); break;
    default: fields_change(f);
    }
}

/* One in eight stays as the damage left it, and one gets a checksum alone: if it lies, that is found at open. */
static size_t fields_mutate(uint8_t *bytes, size_t size, uint64_t *state) {
    struct fields f = {state, fields_blob, (uint32_t)size};
    if (size < sizeof(struct morsel_blob_header) || size > FIELDS_MOST) return size;
    memcpy(fields_blob, bytes, size);
    for (uint32_t times = fuzz_between(state, 1, 1u << fuzz_below(state, 4)); times; times--) fields_damage(&f);
    uint32_t way = fuzz_below(state, 8);
    if (way) fields_settle(fields_blob, (uint32_t)size, way > 1);
    memcpy(bytes, fields_blob, size);
    return size;
}

#endif
