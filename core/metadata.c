/* SPDX-License-Identifier: MIT */
/* What a blob says of itself, in pairs of key and value that open has checked. */
#include "blob.h"

uint32_t morsel_metadata_count(const struct morsel_model *model) {
    if (!model || model->opened != MORSEL_OPENED || !morsel_has_metadata(morsel_blob_header(model))) return 0;
    return morsel_blob_header(model)->metadata.count;
}

const char *morsel_metadata_at(const struct morsel_model *model, uint32_t index, const char **value) {
    if (value) *value = NULL;
    if (index >= morsel_metadata_count(model)) return NULL;
    const struct morsel_blob_pair *pairs = morsel_blob_at(model, morsel_blob_header(model)->metadata.offset);
    if (value) *value = morsel_blob_string(model, pairs[index].value);
    return morsel_blob_string(model, pairs[index].key);
}

/* Ends with the shorter one: keys of a hostile blob may be as long as the blob. */
static int same_text(const char *a, const char *b) {
    for (; *a && *a == *b; a++) b++;
    return *a == *b;
}

const char *morsel_metadata(const struct morsel_model *model, const char *key) {
    const char *value;
    for (uint32_t i = 0; key && i < morsel_metadata_count(model); i++)
        if (same_text(morsel_metadata_at(model, i, &value), key)) return value;
    return NULL;
}
