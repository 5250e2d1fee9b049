/* SPDX-License-Identifier: MIT */
/*
 * Puts rules, labels and metadata into a blob, in the place of those that it has. Records are written anew in the order of write.c, so that
 * equal networks with equal extras are equal bytes. Constants stay as they are, and move as a whole.
 */
#include "core/answer.h"
#include "core/kind.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include "tools/net/blob/blob.h"
#include "tools/net/blob/pieces.h"
#include <stdlib.h>
#include <string.h>

bool blob_dresses(const struct blob_extras *extras) {
    return extras->picture || extras->label_count || extras->text || extras->answer || extras->metadata_count;
}

/* --- Records --- */

static void *records_of(const struct piece *p, const struct morsel_blob_section *section) {
    return (void *)(uintptr_t)morsel_blob_at(p->from, section->offset);
}

static uint32_t put_again(struct strings *strings, const struct piece *p, uint32_t name) {
    return strings_put(strings, morsel_blob_string(p->from, name));
}

static void put_tensors(struct out *out, const struct piece *p, struct strings *strings) {
    for (uint32_t i = 0; i < p->header.tensors.count; i++) {
        struct morsel_blob_tensor t = *morsel_blob_tensor(p->from, i);
        t.name = put_again(strings, p, t.name);
        out_put(out, &t, sizeof t);
    }
}

static void put_steps(struct out *out, const struct piece *p, struct strings *strings) {
    for (uint32_t i = 0; i < p->header.steps.count; i++) {
        struct morsel_blob_step step = *morsel_blob_step(p->from, i);
        step.name = put_again(strings, p, step.name);
        out_put(out, &step, sizeof step);
    }
}

static void put_io(struct out *out, const struct piece *p, const struct morsel_blob_section *section, struct strings *strings) {
    const struct morsel_blob_io *list = records_of(p, section);
    for (uint32_t i = 0; i < section->count; i++) {
        struct morsel_blob_io io = list[i];
        io.name = put_again(strings, p, io.name);
        out_put(out, &io, sizeof io);
    }
}

/* Parameters, and where each step finds its own. */
static void put_parameters(struct out *out, struct piece *p) {
    const struct morsel_blob_header *old = morsel_blob_header(p->from);
    out_put(out, records_of(p, &old->parameters), old->parameters.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < old->steps.count && !out->failed; i++) {
        struct morsel_blob_step *step = (struct morsel_blob_step *)(void *)(out->data + p->base + p->header.steps.offset) + i;
        step->parameters += p->header.parameters.offset - old->parameters.offset;
    }
}

/* Where constants lie is known when all records are written: of tensors, and of steps. */
static void set_tensors(struct out *out, const struct piece *p) {
    struct morsel_blob_tensor *tensors = (void *)(out->data + p->base + p->header.tensors.offset);
    for (uint32_t i = 0; i < p->header.tensors.count; i++)
        if (tensors[i].place) tensors[i].offset += p->moved;
}

static void set_constants(struct out *out, const struct piece *p) {
    for (uint32_t i = 0; i < p->header.steps.count; i++) {
        const struct morsel_blob_step *old = morsel_blob_step(p->from, i);
        const struct morsel_blob_step *step = (struct morsel_blob_step *)(void *)(out->data + p->base + p->header.steps.offset) + i;
        size_t fields[BLOB_CONSTANTS];
        for (uint32_t k = blob_constants(old->kind, fields); k--;) {
            uint32_t at;
            memcpy(&at, p->from->blob + old->parameters + fields[k], sizeof at);
            if (at) at += p->moved;
            memcpy(out->data + p->base + step->parameters + fields[k], &at, sizeof at);
        }
    }
}

static bool moves(const size_t *fields, uint32_t count, size_t field) {
    while (count && fields[count - 1] != field) count--;
    return count;
}

/* Whether each step has the parameters that it had, but for constants that moved: records of a hostile blob may overlap. */
static bool parameters_stay(const struct out *out, const struct piece *p) {
    for (uint32_t i = 0; i < p->header.steps.count; i++) {
        const struct morsel_blob_step *old = morsel_blob_step(p->from, i);
        const struct morsel_blob_step *step = (struct morsel_blob_step *)(void *)(out->data + p->base + p->header.steps.offset) + i;
        const struct morsel_kind *kind = morsel_kinds[old->kind];
        const uint32_t *a = morsel_blob_at(p->from, old->parameters);
        const uint32_t *b = (const uint32_t *)(const void *)(out->data + p->base + step->parameters);
        size_t fields[BLOB_CONSTANTS], bytes = kind->record + kind->record_input * (size_t)old->input_count;
        uint32_t count = blob_constants(old->kind, fields);
        for (size_t w = 0; w < bytes / 4; w++)
            if (b[w] != a[w] + (a[w] && moves(fields, count, 4 * w) ? p->moved : 0)) return false;
    }
    return true;
}

/* Whether step i writes over a tensor that ends with it, line by line. */
static bool writes_over(const struct morsel_model *model, uint32_t i) {
    const struct morsel_blob_step *step = morsel_blob_step(model, i);
    const struct morsel_blob_tensor *y = morsel_blob_output(model, step);
    if (!morsel_kinds[step->kind]->by_line) return false;
    for (uint32_t k = 0; k < morsel_blob_header(model)->tensors.count; k++) {
        const struct morsel_blob_tensor *t = morsel_blob_tensor(model, k);
        if (!t->place && t != y && t->last_step == i && t->offset == y->offset) return true;
    }
    return false;
}

/* The oldest version that has all steps of the network: net_format() of a blob. */
static uint32_t format_of(const struct morsel_model *model) {
    for (uint32_t i = 0; i < morsel_blob_header(model)->steps.count; i++) {
        const struct morsel_blob_step *step = morsel_blob_step(model, i);
        if (step->kind >= MORSEL_STEP_SINCE_2 || writes_over(model, i)) return 2;
        const struct morsel_blob_binary *binary = morsel_blob_at(model, step->parameters);
        if (step->kind == MORSEL_STEP_BINARY && binary->op >= MORSEL_BINARY_SINCE_2) return 2;
    }
    return 1;
}

/* The oldest version that can say what the network needs. Text rule and metadata are those of `first`, whatever variants say. */
static uint32_t version_of(const struct morsel_model *model, const struct blob_extras *own, const struct blob_extras *first) {
    bool newer = first->text || own->answer || first->metadata_count || (own->picture && own->picture->resize > MORSEL_RESIZE_SHORT_SIDE);
    return newer || morsel_fast_bytes(morsel_blob_header(model)) ? 2 : format_of(model);
}

/* Header and records of one network. */
static void put_records(struct out *out, struct piece *p, const struct blob_extras *extras, struct strings *strings) {
    const struct morsel_blob_header *old = morsel_blob_header(p->from);
    struct morsel_blob_header *h = &p->header;
    *h = (struct morsel_blob_header){.format_version = h->format_version,
                                     .arena_bytes = old->arena_bytes,
                                     .macs_low = old->macs_low,
                                     .macs_high = old->macs_high,
                                     .parameter_count = old->parameter_count,
                                     .fast_bytes = morsel_fast_bytes(old)};
    p->base = out_align(out);
    out_put(out, NULL, piece_header_bytes(h));
    h->tensors = out_section(out, p->base, old->tensors.count);
    put_tensors(out, p, strings);
    h->operands = out_section(out, p->base, old->operands.count);
    out_put(out, records_of(p, &old->operands), old->operands.count * sizeof(uint32_t));
    h->steps = out_section(out, p->base, old->steps.count);
    put_steps(out, p, strings);
    h->groups = out_section(out, p->base, old->groups.count);
    out_put(out, records_of(p, &old->groups), old->groups.count * sizeof(struct morsel_blob_group));
    h->parameters = out_section(out, p->base, old->parameters.count);
    put_parameters(out, p);
    h->inputs = out_section(out, p->base, old->inputs.count);
    put_io(out, p, &old->inputs, strings);
    h->outputs = out_section(out, p->base, old->outputs.count);
    put_io(out, p, &old->outputs, strings);
    h->picture = out_section(out, p->base, extras->picture != NULL);
    out_put(out, extras->picture, extras->picture ? sizeof *extras->picture : 0);
    if (extras->answer) h->answer = out_section(out, p->base, (uint32_t)extras->answer_words);
    if (extras->answer) out_put(out, extras->answer, extras->answer_words * sizeof *extras->answer);
}

/* --- What all networks share --- */

static uint32_t put_text(struct strings *strings, const char *text) {
    return text[0] ? out_put(&strings->text, text, strlen(text) + 1) : 0; /* labels are many, and hardly ever equal */
}

static void put_labels(struct out *out, const struct blob_extras *extras, struct strings *strings) {
    for (uint32_t i = 0; i < extras->label_count; i++) {
        uint32_t label = put_text(strings, extras->labels[i]);
        out_put(out, &label, sizeof label);
    }
}

static void put_metadata(struct out *out, const struct blob_extras *extras, struct strings *strings) {
    for (uint32_t i = 0; i < extras->metadata_count; i++) {
        struct morsel_blob_pair pair = {.key = put_text(strings, extras->metadata[i].key)};
        pair.value = put_text(strings, extras->metadata[i].value);
        out_put(out, &pair, sizeof pair);
    }
}

/* Where a section of a network begins in the whole blob. */
static size_t begin_of(const struct piece *pieces, const struct piece *p, const struct morsel_blob_section *section) {
    return (size_t)(p->from->blob - pieces->from->blob) + section->offset;
}

/* By how much constants move, as each network counts: the data of all are those of the first. */
static bool find_moves(struct piece *pieces, uint32_t count, uint32_t data) {
    const struct morsel_blob_section *first = &morsel_blob_header(pieces->from)->data;
    for (uint32_t i = 0; i < count; i++) {
        const struct morsel_blob_section *own = &morsel_blob_header(pieces[i].from)->data;
        if (begin_of(pieces, &pieces[i], own) != begin_of(pieces, pieces, first) || own->count != first->count) return false;
        pieces[i].moved = data - pieces[i].base - own->offset;
    }
    return true;
}

#define SHARE(name, section) pieces_share(pieces, count, offsetof(struct morsel_blob_header, name), section)

static bool put_all(struct out *out, struct piece *pieces, uint32_t count, const struct blob_extras *extras, struct strings *strings) {
    const struct morsel_blob_section *old = &morsel_blob_header(pieces->from)->data;
    for (uint32_t i = 0; i < count; i++) put_records(out, &pieces[i], &extras[i], strings);
    if (count > 1) pieces->header.variants = out_section(out, 0, count);
    for (uint32_t i = 0; count > 1 && i < count; i++) out_put(out, &pieces[i].base, sizeof pieces[i].base);
    SHARE(labels, out_section(out, 0, extras->label_count));
    put_labels(out, extras, strings);
    if (extras->metadata_count) SHARE(metadata, out_section(out, 0, extras->metadata_count));
    put_metadata(out, extras, strings);
    for (uint32_t i = 0; i < count; i++) pieces[i].header.name = put_again(strings, &pieces[i], morsel_blob_header(pieces[i].from)->name);
    SHARE(strings, out_section(out, 0, (uint32_t)strings->text.size));
    out_put(out, strings->text.data, strings->text.size);
    uint32_t data = out_align(out);
    out_put(out, morsel_blob_at(pieces->from, old->offset), old->count);
    SHARE(data, ((struct morsel_blob_section){data, old->count}));
    out_align(out);
    if (extras->text) SHARE(text, out_section(out, 0, (uint32_t)extras->text_words));
    if (extras->text) out_put(out, extras->text, extras->text_words * sizeof *extras->text);
    out_align(out);
    if (out->failed || strings->text.failed || !find_moves(pieces, count, data)) return false;
    for (uint32_t i = 0; i < count; i++) {
        set_tensors(out, &pieces[i]);
        set_constants(out, &pieces[i]);
        if (!parameters_stay(out, &pieces[i])) return false;
    }
    pieces_put_headers(out, pieces, count);
    return true;
}

/* Bytes that put_records() takes of a network. */
static uint64_t records_in(const struct morsel_blob_header *h) {
    return h->tensors.count * sizeof(struct morsel_blob_tensor) + h->operands.count * (uint64_t)4 +
           h->steps.count * sizeof(struct morsel_blob_step) + h->groups.count * sizeof(struct morsel_blob_group) +
           h->parameters.count * (uint64_t)4 + (morsel_has_answer(h) ? h->answer.count * (uint64_t)4 : 0) +
           (h->inputs.count + h->outputs.count) * sizeof(struct morsel_blob_io);
}

static uint32_t names_of(const struct morsel_blob_header *h) {
    return h->tensors.count + h->steps.count + h->inputs.count + h->outputs.count + 1;
}

uint8_t *blob_dress(const uint8_t *blob, size_t blob_bytes, uint32_t count, const struct blob_extras *extras, size_t *bytes) {
    struct out out = {0};
    struct strings strings = {0};
    struct piece *pieces = must_calloc(count, sizeof *pieces);
    struct morsel_model *models = must_calloc(count, sizeof *models);
    const uint32_t *list =
        (const uint32_t *)(const void *)(blob + ((const struct morsel_blob_header *)(const void *)blob)->variants.offset);
    uint64_t records = 0;
    uint32_t names = 0;
    for (uint32_t i = 0; i < count; i++) {
        models[i].blob = blob + (i ? list[i] : 0);
        models[i].blob_bytes = (uint32_t)blob_bytes - (i ? list[i] : 0);
        pieces[i].from = &models[i];
        pieces[i].header.format_version = version_of(&models[i], &extras[i], extras);
        names += names_of(morsel_blob_header(&models[i]));
        records += records_in(morsel_blob_header(&models[i]));
    }
    if (count > 1) pieces->header.format_version = 2;
    strings_start(&strings, names);
    bool good = records <= blob_bytes && put_all(&out, pieces, count, extras, &strings); /* those of a hostile blob may be one another's */
    strings_free(&strings);
    free(models);
    free(pieces);
    *bytes = out.size;
    if (good) return out.data;
    free(out.data);
    return NULL;
}

/* --- What a blob has --- */

/* Whether the text rule, which open does not look at, lies in the blob. */
static bool get_text(const struct morsel_model *m, struct blob_extras *extras) {
    const struct morsel_blob_header *h = morsel_blob_header(m);
    if (h->format_version < 2 || h->blob_bytes < sizeof *h || !h->text.count) return true;
    if (h->text.offset % MORSEL_FORMAT_ALIGN || h->text.offset > h->blob_bytes || h->text.count > (h->blob_bytes - h->text.offset) / 4)
        return false;
    extras->text = morsel_blob_at(m, h->text.offset);
    extras->text_words = h->text.count;
    return true;
}

/* Takes the bytes of a string from what is left; false: that is less. */
static bool take(uint64_t *left, const char *text) {
    size_t bytes = strnlen(text, *left);
    *left -= bytes;
    return *left > 0;
}

/* Bytes of strings for each of the blob. Those of a hostile one may be one another's ends, and whoever tells them writes each at length.
 * Variants share the room of names. */
enum { NAMES_MOST = 64 };

static bool names_are_short(const struct morsel_model *m, uint32_t variants) {
    const struct morsel_blob_header *h = morsel_blob_header(m);
    uint64_t left = (uint64_t)h->blob_bytes * NAMES_MOST / variants;
    const struct morsel_blob_io *io = morsel_blob_at(m, h->inputs.offset);
    bool good = true;
    for (uint32_t i = 0; good && i < h->tensors.count; i++) good = take(&left, morsel_blob_string(m, morsel_blob_tensor(m, i)->name));
    for (uint32_t i = 0; good && i < h->steps.count; i++) good = take(&left, morsel_blob_string(m, morsel_blob_step(m, i)->name));
    for (uint32_t i = 0; good && i < h->inputs.count; i++) good = take(&left, morsel_blob_string(m, io[i].name));
    io = morsel_blob_at(m, h->outputs.offset);
    for (uint32_t i = 0; good && i < h->outputs.count; i++) good = take(&left, morsel_blob_string(m, io[i].name));
    return good;
}

static bool labels_are_short(const struct morsel_model *m) {
    uint64_t left = (uint64_t)morsel_blob_header(m)->blob_bytes * NAMES_MOST;
    const struct morsel_blob_header *h = morsel_blob_header(m);
    const uint32_t *labels = morsel_blob_at(m, h->labels.offset);
    const struct morsel_blob_pair *pairs = morsel_has_metadata(h) ? morsel_blob_at(m, h->metadata.offset) : NULL;
    bool good = true;
    for (uint32_t i = 0; good && i < h->labels.count; i++) {
        const char *label = morsel_blob_string(m, labels[i]);
        good = strnlen(label, TEXT_LABEL_MOST + 1) <= TEXT_LABEL_MOST && take(&left, label);
    }
    for (uint32_t i = 0; good && pairs && i < h->metadata.count; i++)
        good = take(&left, morsel_blob_string(m, pairs[i].key)) && take(&left, morsel_blob_string(m, pairs[i].value));
    return good;
}

bool blob_strings_fit(const struct morsel_model *variant, uint32_t variants) {
    return names_are_short(variant, variants) && labels_are_short(variant);
}

/* Labels and metadata, which do not share bytes. */
static bool get_strings(const struct morsel_model *m, struct blob_extras *extras) {
    struct blob_word *words = must_calloc(morsel_metadata_count(m) + 1, sizeof *words);
    char **labels = must_calloc(morsel_label_count(m) + 1, sizeof *labels);
    uint64_t left = morsel_blob_header(m)->strings.count;
    bool good = true;
    extras->labels = labels;
    extras->metadata = words;
    for (uint32_t i = 0; good && i < morsel_label_count(m); i++) {
        labels[i] = (char *)(uintptr_t)morsel_label(m, i);
        good = take(&left, labels[i]);
        extras->label_count++;
    }
    for (uint32_t i = 0; good && i < morsel_metadata_count(m); i++) {
        words[i].key = morsel_metadata_at(m, i, &words[i].value);
        good = take(&left, words[i].key) && take(&left, words[i].value);
        extras->metadata_count++;
    }
    return good;
}

bool blob_extras_of(const struct morsel_model *variant, uint32_t variants, struct blob_extras *extras) {
    const struct morsel_blob_header *h = morsel_blob_header(variant);
    *extras = (struct blob_extras){0};
    if (h->picture.count) extras->picture = morsel_blob_at(variant, h->picture.offset);
    if (morsel_has_answer(h)) {
        extras->answer = morsel_blob_at(variant, h->answer.offset);
        extras->answer_words = h->answer.count;
    }
    return get_text(variant, extras) && blob_strings_fit(variant, variants) && get_strings(variant, extras);
}
