/* SPDX-License-Identifier: MIT */
/* What writers of blobs have in common: a buffer that grows by sections, strings, headers. A part of write.c and dress.c. */
#ifndef MORSEL_TOOLS_NET_BLOB_PIECES_H
#define MORSEL_TOOLS_NET_BLOB_PIECES_H

#include "core/format.h"
#include "core/morsel.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

/* Zeros where `data` is NULL. Returns where they stand. */
uint32_t out_put(struct out *out, const void *data, size_t bytes);
uint32_t out_align(struct out *out);

/* A section whose records follow; offsets count from `base`. */
struct morsel_blob_section out_section(struct out *out, uint32_t base, uint32_t count);

struct strings {
    struct out text;
    uint32_t *known, room; /* where those so far begin, by their hashes; 0: none. The room is a power of 2, and half of it stays free */
};

/* For so many strings that are put at most. */
void strings_start(struct strings *s, uint32_t names);
uint32_t strings_put(struct strings *s, const char *text);
void strings_free(struct strings *s);

/* A network on its way into the blob. Its header stands at `base`, from which its offsets count. */
struct piece {
    uint32_t base;
    struct morsel_blob_header header;
    /* Of write.c. */
    const struct net *net;
    uint32_t *index, *parameters; /* of each buffer: its tensor; of each step: where its parameters stand in all */
    uint32_t slow_more;           /* bytes of slow memory beyond its own, for others: fast memory begins so much later */
    /* Of dress.c. */
    const struct morsel_model *from;
    uint32_t moved; /* add it to the offset of a constant; modulo 2^32 */
};

size_t piece_header_bytes(const struct morsel_blob_header *h);

/* All networks name the section that was written for them; `field`: its offset in the header. */
void pieces_share(struct piece *pieces, uint32_t count, size_t field, struct morsel_blob_section section);

/* All else is in place. */
void pieces_put_headers(struct out *out, struct piece *pieces, uint32_t count);

/* Where in the record of a kind offsets of constants stand: up to BLOB_CONSTANTS of them. Returns how many. */
enum { BLOB_CONSTANTS = 7 };
uint32_t blob_constants(uint32_t kind, size_t fields[BLOB_CONSTANTS]);

#endif
