/* SPDX-License-Identifier: MIT */
/* The frame of a blob: header, checksum, sections; then the parts in turn. */
#include "check.h"

#include "checksum.h"
#include "way.h"

#include <string.h>

static int little_endian(void) {
    uint32_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static enum morsel_error check_identity(const struct morsel_blob_header *h, size_t bytes) {
    if (bytes < MORSEL_FORMAT_HEADER_1) return MORSEL_ERR_TRUNCATED;
    if (memcmp(h->magic, MORSEL_MAGIC, sizeof h->magic)) return MORSEL_ERR_MAGIC;
    if (h->format_version < MORSEL_FORMAT_OLDEST || h->format_version > MORSEL_FORMAT_VERSION) return MORSEL_ERR_VERSION;
    if (h->blob_bytes > bytes) return MORSEL_ERR_TRUNCATED;
    if (h->blob_bytes < MORSEL_FORMAT_HEADER_1 || h->blob_bytes > MORSEL_SIZE_LIMIT) return MORSEL_ERR_HEADER;
    return MORSEL_OK;
}

static enum morsel_error check_counts(const struct morsel_blob_header *h) {
    if (h->tensors.count < 1 || h->tensors.count > MORSEL_FORMAT_MAX_TENSORS) return MORSEL_ERR_HEADER;
    if (h->steps.count > MORSEL_FORMAT_MAX_STEPS) return MORSEL_ERR_HEADER;
    if (h->groups.count > h->steps.count) return MORSEL_ERR_HEADER;
    if (h->inputs.count > MORSEL_FORMAT_MAX_IO) return MORSEL_ERR_HEADER;
    if (h->outputs.count < 1 || h->outputs.count > MORSEL_FORMAT_MAX_IO) return MORSEL_ERR_HEADER;
    if (h->picture.count > 1 || h->strings.count < 1) return MORSEL_ERR_HEADER;
    if (h->arena_bytes > MORSEL_SIZE_LIMIT || h->arena_bytes % MORSEL_FORMAT_ALIGN) return MORSEL_ERR_HEADER;
    if (h->arena_bytes < h->steps.count * MORSEL_FORMAT_STEP_SLOT) return MORSEL_ERR_HEADER;
    uint32_t fast = morsel_fast_bytes(h);
    if (fast % MORSEL_FORMAT_ALIGN || fast > h->arena_bytes - h->steps.count * MORSEL_FORMAT_STEP_SLOT) return MORSEL_ERR_HEADER;
    return MORSEL_OK;
}

/* An empty section may stand anywhere in the blob, or at 0. */
static int section_fits(const struct morsel_blob_header *h, const struct morsel_blob_section *s, uint32_t record) {
    if (s->offset % MORSEL_FORMAT_ALIGN || s->offset > h->blob_bytes) return 0;
    if (s->count && s->offset < MORSEL_FORMAT_HEADER_1) return 0;
    return (uint64_t)s->count * record <= h->blob_bytes - s->offset;
}

static enum morsel_error check_sections(const struct morsel_blob_header *h) {
    int fit = section_fits(h, &h->tensors, sizeof(struct morsel_blob_tensor)) && section_fits(h, &h->operands, 4) &&
              section_fits(h, &h->steps, sizeof(struct morsel_blob_step)) &&
              section_fits(h, &h->groups, sizeof(struct morsel_blob_group)) && section_fits(h, &h->parameters, 4) &&
              section_fits(h, &h->inputs, sizeof(struct morsel_blob_io)) && section_fits(h, &h->outputs, sizeof(struct morsel_blob_io)) &&
              section_fits(h, &h->picture, sizeof(struct morsel_blob_picture)) && section_fits(h, &h->labels, 4) &&
              section_fits(h, &h->strings, 1) && section_fits(h, &h->data, 1) &&
              (!morsel_has_answer(h) || section_fits(h, &h->answer, 4)) &&
              (!morsel_has_metadata(h) || section_fits(h, &h->metadata, sizeof(struct morsel_blob_pair)));
    return fit ? MORSEL_OK : MORSEL_ERR_SECTION;
}

enum morsel_error morsel_check_each(const struct morsel_check *c, enum morsel_part part, uint32_t count,
                                    enum morsel_error (*check)(const struct morsel_check *c, uint32_t index)) {
    c->report->error_part = part;
    for (uint32_t i = 0; i < count; i++) {
        enum morsel_error error = check(c, c->report->error_index = i);
        if (error) return error;
    }
    c->report->error_part = MORSEL_PART_BLOB;
    c->report->error_index = 0;
    return MORSEL_OK;
}

static enum morsel_error check_rules(const struct morsel_check *c) {
    if (!c->header->picture.count && !morsel_has_answer(c->header)) return MORSEL_OK;
    if (!morsel_ways[MORSEL_WAY_RULES]) return MORSEL_ERR_STEP; /* a program that has none, as of steps of other kinds */
    return morsel_ways[MORSEL_WAY_RULES]->check(c, 0);
}

static enum morsel_error check_parts(struct morsel_model *report, const struct morsel_blob_header *h, int verify) {
    struct morsel_model model = {.blob = (const uint8_t *)h, .blob_bytes = h->blob_bytes};
    uint64_t read = 0;
    uint16_t checked[MORSEL_CHECKED] = {0};
    struct morsel_check c = {
        report, &model,  h,     morsel_blob_tensor(&model, 0), morsel_blob_step(&model, 0), morsel_blob_group(&model, 0),
        &read,  checked, verify};
    enum morsel_error error = morsel_check_records(&c);
    if (!error) error = morsel_check_steps(&c);
    if (!error) error = morsel_check_groups(&c);
    if (!error) error = morsel_check_plan(&c);
    if (!error) error = check_rules(&c);
    return error;
}

enum morsel_error morsel_check_blob(struct morsel_model *report, const void *blob, size_t bytes, uint32_t flags) {
    const struct morsel_blob_header *h = blob;
    if ((uintptr_t)blob % MORSEL_FORMAT_ALIGN) return MORSEL_ERR_ALIGNMENT;
    if (!little_endian()) return MORSEL_ERR_ENDIAN;
    enum morsel_error error = check_identity(h, bytes);
    if (error) return error;
    int verify = !(flags & MORSEL_SKIP_CHECKSUM);
    if (!flags && morsel_checksum(blob, h->blob_bytes) != h->checksum) return MORSEL_ERR_CHECKSUM;
    error = check_counts(h);
    if (!error) error = check_sections(h);
    if (!error) error = check_parts(report, h, verify);
    return error;
}
