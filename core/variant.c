/* SPDX-License-Identifier: MIT */
/*
 * Variants: blobs within a blob. morsel_open() has nothing to do with their list, and a program with one size has none of this. Whoever
 * asks for one has it checked as a blob that begins at its header.
 */
#include "variant.h"

#include "blob.h"
#include "check.h"

#include <string.h>

/* The list, which open did not look at; NULL: there is none, or it does not lie in the blob. */
static const uint32_t *list_of(const struct morsel_model *model) {
    const struct morsel_blob_header *h = morsel_blob_header(model);
    const struct morsel_blob_section *list = &h->variants;
    if (h->format_version < 2 || h->blob_bytes < sizeof *h || list->offset % MORSEL_FORMAT_ALIGN || list->offset > h->blob_bytes ||
        list->count < 1 || list->count > MORSEL_FORMAT_MAX_VARIANTS || list->count > (h->blob_bytes - list->offset) / 4)
        return NULL;
    return morsel_blob_at(model, list->offset);
}

uint32_t morsel_variant_count(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED) return 0;
    return list_of(model) ? morsel_blob_header(model)->variants.count : 1;
}

const struct morsel_blob_header *morsel_variant_header(const struct morsel_model *model, uint32_t index, uint32_t *bytes) {
    if (index >= morsel_variant_count(model)) return NULL;
    uint32_t at = index ? list_of(model)[index] : 0;
    if (at % MORSEL_FORMAT_ALIGN || at > model->blob_bytes - MORSEL_FORMAT_HEADER_1) return NULL;
    *bytes = model->blob_bytes - at;
    return morsel_blob_at(model, at);
}

enum morsel_error morsel_open_variant(struct morsel_model *variant, const struct morsel_model *model, uint32_t index, uint32_t flags) {
    uint32_t bytes;
    if (!variant || (flags & ~MORSEL_SKIP_CHECKSUM) || index >= morsel_variant_count(model)) return MORSEL_ERR_ARGUMENT;
    const struct morsel_blob_header *h = morsel_variant_header(model, index, &bytes);
    const struct morsel_blob_header *whole = morsel_blob_header(model); /* the variant may take the model's place */
    uint32_t slow = morsel_fast_from(whole), fast = morsel_fast_bytes(whole);
    memset(variant, 0, sizeof *variant);
    if (!h) return MORSEL_ERR_SECTION;
    enum morsel_error error = morsel_check_blob(variant, h, bytes, flags ? flags : MORSEL_SKIP_COMPARED);
    if (error) return error;
    if (morsel_fast_from(h) > slow || morsel_fast_bytes(h) > fast) return MORSEL_ERR_HEADER;
    variant->blob = (const uint8_t *)h;
    variant->blob_bytes = h->blob_bytes;
    variant->opened = MORSEL_OPENED;
    return MORSEL_OK;
}
