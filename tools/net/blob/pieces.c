/* SPDX-License-Identifier: MIT */
/* What writers of blobs have in common. */
#include "tools/net/blob/pieces.h"
#include "core/checksum.h"
#include "tools/base/arena.h"
#include "tools/base/text.h"
#include <stdlib.h>
#include <string.h>

/* --- A buffer that grows, in sections that start at multiples of 64 --- */

static void out_reserve(struct out *out, size_t bytes) {
    if (out->failed || bytes > INT32_MAX - out->size) {
        out->failed = true;
        return;
    }
    if (out->size + bytes <= out->room) return;
    size_t room = (out->size + bytes) * 2 + 4096;
    room = (room + MORSEL_FORMAT_ALIGN - 1) / MORSEL_FORMAT_ALIGN * MORSEL_FORMAT_ALIGN;
    uint8_t *more = must_have(aligned_alloc(MORSEL_FORMAT_ALIGN, room), room);
    if (out->size) memcpy(more, out->data, out->size);
    free(out->data);
    out->data = more;
    out->room = room;
}

uint32_t out_put(struct out *out, const void *data, size_t bytes) {
    uint32_t at = (uint32_t)out->size;
    out_reserve(out, bytes);
    if (out->failed || !bytes) return at;
    if (data) memcpy(out->data + out->size, data, bytes);
    else memset(out->data + out->size, 0, bytes);
    out->size += bytes;
    return at;
}

uint32_t out_align(struct out *out) {
    out_put(out, NULL, (MORSEL_FORMAT_ALIGN - out->size % MORSEL_FORMAT_ALIGN) % MORSEL_FORMAT_ALIGN);
    return (uint32_t)out->size;
}

struct morsel_blob_section out_section(struct out *out, uint32_t base, uint32_t count) {
    return (struct morsel_blob_section){out_align(out) - base, count};
}

/* --- Strings: each once --- */

void strings_start(struct strings *s, uint32_t names) {
    for (s->room = 2; s->room < 2 * (uint64_t)names;) s->room *= 2;
    s->known = must_calloc(s->room, sizeof *s->known);
    out_put(&s->text, "", 1);
}

void strings_free(struct strings *s) {
    free(s->text.data);
    free(s->known);
}

static uint32_t *slot_of_string(const struct strings *s, const char *text) {
    uint32_t slot = (uint32_t)text_hash(text) & (s->room - 1);
    for (; s->known[slot] && strcmp((const char *)s->text.data + s->known[slot], text); slot = (slot + 1) & (s->room - 1)) {}
    return &s->known[slot];
}

uint32_t strings_put(struct strings *s, const char *text) {
    if (!text || !text[0] || s->text.failed) return 0;
    uint32_t *slot = slot_of_string(s, text);
    if (!*slot) *slot = out_put(&s->text, text, strlen(text) + 1);
    return *slot;
}

/* --- Networks --- */

size_t piece_header_bytes(const struct morsel_blob_header *h) {
    return h->format_version == 1 ? MORSEL_FORMAT_HEADER_1 : sizeof *h;
}

/* All networks name the section that was written for them. */
void pieces_share(struct piece *pieces, uint32_t count, size_t field, struct morsel_blob_section section) {
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_blob_section seen = {section.offset - pieces[i].base, section.count};
        memcpy((uint8_t *)&pieces[i].header + field, &seen, sizeof seen);
    }
}

/* From the last on, as the checksum of one covers the headers behind it. */
void pieces_put_headers(struct out *out, struct piece *pieces, uint32_t count) {
    while (count--) {
        struct morsel_blob_header *h = &pieces[count].header;
        uint8_t *to = out->data + pieces[count].base;
        memcpy(h->magic, MORSEL_MAGIC, sizeof h->magic);
        h->blob_bytes = (uint32_t)out->size - pieces[count].base;
        memcpy(to, h, piece_header_bytes(h));
        h->checksum = morsel_checksum(to, h->blob_bytes);
        memcpy(to, h, piece_header_bytes(h));
    }
}
