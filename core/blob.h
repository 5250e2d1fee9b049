/* SPDX-License-Identifier: MIT */
/*
 * Reading a blob in place. These trust it: morsel_open() has checked every index and offset before anything here is called
 * on an open model. The blob is raw memory aligned to 64; records are read through pointers to their structs.
 */
#ifndef MORSEL_BLOB_H
#define MORSEL_BLOB_H

#include "format.h"
#include "morsel.h"

#include <stddef.h>

_Static_assert(MORSEL_FORMAT_MAX_RANK == MORSEL_MAX_RANK, "one limit of the rank");
_Static_assert(MORSEL_FORMAT_ALIGN == MORSEL_ALIGNMENT, "one alignment");
_Static_assert(MORSEL_FORMAT_VERSION == MORSEL_FORMAT_NEWEST, "one version of the format");

#define MORSEL_OPENED 0x4e45504fu /* "OPEN" */

static inline const struct morsel_blob_header *morsel_blob_header(const struct morsel_model *m) {
    return (const struct morsel_blob_header *)(const void *)m->blob;
}

static inline const void *morsel_blob_at(const struct morsel_model *m, uint32_t offset) {
    return m->blob + offset;
}

/* A constant that may be absent: NULL where its offset is 0. */
static inline const void *morsel_blob_optional(const struct morsel_model *m, uint32_t offset) {
    return offset ? m->blob + offset : NULL;
}

static inline const struct morsel_blob_tensor *morsel_blob_tensor(const struct morsel_model *m, uint32_t index) {
    return (const struct morsel_blob_tensor *)morsel_blob_at(m, morsel_blob_header(m)->tensors.offset) + index;
}

static inline const struct morsel_blob_step *morsel_blob_step(const struct morsel_model *m, uint32_t index) {
    return (const struct morsel_blob_step *)morsel_blob_at(m, morsel_blob_header(m)->steps.offset) + index;
}

static inline const struct morsel_blob_group *morsel_blob_group(const struct morsel_model *m, uint32_t index) {
    return (const struct morsel_blob_group *)morsel_blob_at(m, morsel_blob_header(m)->groups.offset) + index;
}

/* The first and the last step of the group that step `index` stands in: itself where it is in none, or no step at all. */
static inline uint32_t morsel_group_first(const struct morsel_model *m, uint32_t index) {
    uint32_t group = index < morsel_blob_header(m)->steps.count ? morsel_blob_step(m, index)->group : 0;
    return group ? morsel_blob_group(m, group - 1)->first_step : index;
}

static inline uint32_t morsel_group_last(const struct morsel_model *m, uint32_t index) {
    uint32_t group = index < morsel_blob_header(m)->steps.count ? morsel_blob_step(m, index)->group : 0;
    return group ? morsel_blob_group(m, group - 1)->first_step + morsel_blob_group(m, group - 1)->step_count - 1 : index;
}

/* The tensor index of operand `n` of a step: inputs first, then outputs. */
static inline uint32_t morsel_blob_operand(const struct morsel_model *m, const struct morsel_blob_step *step, uint32_t n) {
    return ((const uint32_t *)morsel_blob_at(m, morsel_blob_header(m)->operands.offset))[step->first_operand + n];
}

static inline const struct morsel_blob_tensor *morsel_blob_input(const struct morsel_model *m, const struct morsel_blob_step *step,
                                                                 uint32_t n) {
    return morsel_blob_tensor(m, morsel_blob_operand(m, step, n));
}

static inline const struct morsel_blob_tensor *morsel_blob_output(const struct morsel_model *m, const struct morsel_blob_step *step) {
    return morsel_blob_tensor(m, morsel_blob_operand(m, step, step->input_count));
}

static inline const char *morsel_blob_string(const struct morsel_model *m, uint32_t offset) {
    return (const char *)morsel_blob_at(m, morsel_blob_header(m)->strings.offset) + offset;
}

static inline uint64_t morsel_step_macs(const struct morsel_blob_step *step) {
    return (uint64_t)step->macs_high << 32 | step->macs_low;
}

static inline uint32_t morsel_type_bytes(uint32_t type) {
    return type == MORSEL_UINT8 || type == MORSEL_INT8 ? 1 : 4;
}

static inline int morsel_is_byte(const struct morsel_blob_tensor *t) {
    return t->type == MORSEL_UINT8 || t->type == MORSEL_INT8;
}

static inline uint32_t morsel_elements(const struct morsel_blob_tensor *t) {
    return t->bytes / morsel_type_bytes(t->type);
}

/* Bytes of a row of a tensor N H W C. */
static inline uint32_t morsel_row_bytes(const struct morsel_blob_tensor *t) {
    return t->dims[2] * t->dims[3] * morsel_type_bytes(t->type);
}

/* Whether two slices of the arena share a byte. Both end below 2^31: no sum wraps. Proven: tests/prove, overlap. */
static inline int morsel_overlap(uint32_t a, uint32_t a_bytes, uint32_t b, uint32_t b_bytes) {
    return (a < b + b_bytes) & (b < a + a_bytes);
}

/* What a tensor takes of the arena. */
static inline uint32_t morsel_slice_bytes(const struct morsel_blob_tensor *t) {
    return t->ring_rows ? t->ring_rows * morsel_row_bytes(t) : t->bytes;
}

/* The first whole input of steps first .. last, but `known` and what they write themselves, that y lies over in the arena; NULL: none. */
const struct morsel_blob_tensor *morsel_covered_input(const struct morsel_model *m, uint32_t first, uint32_t last,
                                                      const struct morsel_blob_tensor *y, const struct morsel_blob_tensor *known);

/* Whether there is an answer rule, and whether there are pairs of metadata. Headers of version 1 end before both. */
static inline int morsel_has_answer(const struct morsel_blob_header *h) {
    return h->format_version > 1 && h->blob_bytes >= offsetof(struct morsel_blob_header, answer) + sizeof h->answer && h->answer.count;
}

static inline int morsel_has_metadata(const struct morsel_blob_header *h) {
    return h->format_version > 1 && h->blob_bytes >= offsetof(struct morsel_blob_header, metadata) + sizeof h->metadata &&
           h->metadata.count;
}

/* How many bytes at the end of the arena are for fast memory, and where they begin. Headers of version 1 end before that. */
static inline uint32_t morsel_fast_bytes(const struct morsel_blob_header *h) {
    int has = h->format_version > 1 && h->blob_bytes >= offsetof(struct morsel_blob_header, fast_bytes) + sizeof h->fast_bytes;
    return has ? h->fast_bytes : 0;
}

static inline uint32_t morsel_fast_from(const struct morsel_blob_header *h) {
    return h->arena_bytes - morsel_fast_bytes(h);
}

/* Whether a slice lies in one of the two parts; it ends below 2^31. */
static inline int morsel_in_one_part(const struct morsel_blob_header *h, uint32_t offset, uint32_t bytes) {
    return offset >= morsel_fast_from(h) || offset + bytes <= morsel_fast_from(h);
}

/* What the field `resize` of a picture rule is made of. */
static inline uint32_t morsel_resize_mode(const struct morsel_blob_picture *rule) {
    return rule->resize & 15;
}

static inline uint32_t morsel_resize_filter(const struct morsel_blob_picture *rule) {
    return rule->resize >> MORSEL_RESIZE_FILTER_SHIFT & 7;
}

static inline uint32_t morsel_resize_fill(const struct morsel_blob_picture *rule, uint32_t channel) {
    return rule->resize >> (MORSEL_RESIZE_FILL_SHIFT + 8 * channel) & 255;
}

#endif
