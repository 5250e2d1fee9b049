/* SPDX-License-Identifier: MIT */
/* Which variant is long enough for a text. */
#include "blob.h"
#include "text.h"
#include "variant.h"

/* How many ids a line of an input of a variant has room for: as morsel_text_put() finds it. The variant may not have been checked: 0 where
 * its header leads outside, and a wrong number where it is damaged otherwise. */
static uint64_t line_length(const struct morsel_model *model, uint32_t index, uint32_t input) {
    uint32_t bytes;
    uint64_t length = 1;
    const struct morsel_blob_header *h = morsel_variant_header(model, index, &bytes);
    if (!h || h->inputs.offset % MORSEL_FORMAT_ALIGN || h->inputs.offset > bytes ||
        input >= (bytes - h->inputs.offset) / sizeof(struct morsel_blob_io) || input >= h->inputs.count)
        return 0;
    const struct morsel_blob_io *io = (const struct morsel_blob_io *)(const void *)((const uint8_t *)h + h->inputs.offset) + input;
    for (uint32_t k = io->onnx_rank > 1; k < io->onnx_rank && k < MORSEL_MAX_RANK; k++)
        length = (uint32_t)length * (uint64_t)io->onnx_dims[k];
    return length;
}

enum morsel_error morsel_text_variant(const struct morsel_model *model, const char *utf8, size_t bytes, uint32_t *index) {
    struct morsel_text_rule rule;
    uint32_t count;
    uint64_t best = 0;
    if (!index) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_text_find(&rule, model);
    if (!error) error = morsel_text_by_rule(&rule, utf8, bytes, NULL, MORSEL_TEXT_LENGTH_MOST, &count);
    if (error) return error;
    *index = 0;
    for (uint32_t i = 0; i < morsel_variant_count(model); i++) {
        uint64_t length = line_length(model, i, rule.record->inputs[0]);
        int better = best < count ? length > best : length >= count && length < best;
        if (!better) continue;
        best = length;
        *index = i;
    }
    return MORSEL_OK;
}
