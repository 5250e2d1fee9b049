/* SPDX-License-Identifier: MIT */
/* Opening a blob: the one trust boundary. The checks stand in check_*.c, in the order in which they build on each other. */
#include "blob.h"
#include "check.h"
#include "plan.h"

#include <string.h>

enum morsel_error morsel_open(struct morsel_model *model, const void *blob, size_t bytes, uint32_t flags) {
    if (!model) return MORSEL_ERR_ARGUMENT;
    memset(model, 0, sizeof *model);
    if (!blob || (flags & ~MORSEL_SKIP_CHECKSUM)) return MORSEL_ERR_ARGUMENT;
    enum morsel_error error = morsel_check_blob(model, blob, bytes, flags);
    if (error) return error;
    model->blob = blob;
    model->blob_bytes = (uint32_t)((const struct morsel_blob_header *)blob)->blob_bytes;
    model->opened = MORSEL_OPENED;
    return MORSEL_OK;
}

static int is_open(const struct morsel_model *model) {
    return model && model->opened == MORSEL_OPENED;
}

enum morsel_part morsel_open_part(const struct morsel_model *model, uint32_t *index) {
    if (index) *index = model ? model->error_index : 0;
    return model ? (enum morsel_part)model->error_part : MORSEL_PART_BLOB;
}

uint32_t morsel_arena_bytes(const struct morsel_model *model) {
    return is_open(model) ? morsel_blob_header(model)->arena_bytes : 0;
}

uint32_t morsel_arena_fast_bytes(const struct morsel_model *model) {
    return is_open(model) ? morsel_fast_bytes(morsel_blob_header(model)) : 0;
}

uint32_t morsel_arena_bytes_for(const struct morsel_model *model, uint32_t tasks) {
    uint32_t bytes = morsel_arena_bytes(model), band = bytes && tasks > 1 ? morsel_band_bytes(model) : 0;
    if (!band) return bytes;
    uint32_t room = MORSEL_SIZE_LIMIT - bytes, spare = morsel_spare_bytes(model);
    if (spare > room || tasks - 1 > (room - spare) / band) return 0;
    return bytes + spare + (tasks - 1) * band;
}

uint32_t morsel_input_count(const struct morsel_model *model) {
    return is_open(model) ? morsel_blob_header(model)->inputs.count : 0;
}

uint32_t morsel_output_count(const struct morsel_model *model) {
    return is_open(model) ? morsel_blob_header(model)->outputs.count : 0;
}

const char *morsel_network_name(const struct morsel_model *model) {
    return is_open(model) ? morsel_blob_string(model, morsel_blob_header(model)->name) : "";
}

uint32_t morsel_label_count(const struct morsel_model *model) {
    return is_open(model) ? morsel_blob_header(model)->labels.count : 0;
}

const char *morsel_label(const struct morsel_model *model, uint32_t index) {
    if (!is_open(model) || index >= morsel_label_count(model)) return NULL;
    const uint32_t *labels = morsel_blob_at(model, morsel_blob_header(model)->labels.offset);
    return morsel_blob_string(model, labels[index]);
}
