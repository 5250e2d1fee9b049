/* SPDX-License-Identifier: MIT */
/* One blob of several. */
#include "tests/unit/support/joined.h"

#include "core/format.h"
#include "tests/unit/support/blob_builder.h"

#include <string.h>

static uint32_t bytes_of(const uint8_t *blob) {
    return ((const struct morsel_blob_header *)(const void *)blob)->blob_bytes;
}

static uint32_t room_of(const uint8_t *blob) {
    return (bytes_of(blob) + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
}

uint8_t *joined(uint8_t *const *blobs, uint32_t count, uint32_t *bytes, uint32_t *list) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) at += room_of(blobs[i]);
    *list = at;
    *bytes = at + 4 * count;
    uint8_t *all = builder_aligned(*bytes);
    struct morsel_blob_header *h = (struct morsel_blob_header *)(void *)all;
    memset(all, 0, *bytes);
    at = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(all + at, blobs[i], bytes_of(blobs[i]));
        memcpy(all + *list + 4 * i, &at, 4);
        at += room_of(blobs[i]);
    }
    h->variants = (struct morsel_blob_section){*list, count};
    h->blob_bytes = *bytes;
    builder_seal(all);
    return all;
}
