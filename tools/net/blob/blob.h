/* SPDX-License-Identifier: MIT */
/* The blob from a planned net (core/format.h), what goes into it beside the network, and the same bytes as a part of a program. */
#ifndef MORSEL_TOOLS_NET_BLOB_BLOB_H
#define MORSEL_TOOLS_NET_BLOB_BLOB_H

#include "tools/net/net.h"

struct blob_word {
    const char *key, *value;
};

struct blob_extras {
    const struct morsel_blob_picture *picture; /* NULL: none */
    uint32_t label_count;
    char *const *labels;
    const uint32_t *text; /* struct morsel_blob_text and what stands behind it, so many words; NULL: none */
    size_t text_words;
    const uint32_t *answer; /* struct morsel_blob_answer and its anchors, so many words; NULL: none */
    size_t answer_words;
    uint32_t metadata_count;
    const struct blob_word *metadata;
    bool strip; /* drop the names of network, tensors, steps, inputs and outputs */
};

/* The blob's bytes, from malloc, aligned to 64; NULL where it would pass 2^31 - 1 bytes or memory ran out. */
uint8_t *blob_write(const struct net *net, const struct blob_extras *extras, size_t *bytes);

/* The same network for several sizes of its inputs, the largest first (core/format.h: variants). Each has extras, which differ in
 * the picture rule and the answer rule alone; and all have a text rule, labels and metadata, or none has. The arena of the first is
 * stated as large as the largest of all. */
uint8_t *blob_write_variants(const struct net *const *nets, uint32_t count, const struct blob_extras *extras, size_t *bytes);

/* Whether there is anything but `strip`. */
bool blob_dresses(const struct blob_extras *extras);

/* The same networks, of a blob that opens, with these extras in the place of those that it has. Bytes are those that blob_write_variants()
 * gives with them. NULL: as there, or the variants do not share their constants, or records overlap. */
uint8_t *blob_dress(const uint8_t *blob, size_t blob_bytes, uint32_t count, const struct blob_extras *extras, size_t *bytes);

/* Whether the strings of an open variant, of so many, come to no more than some times the blob when each is told at length,
 * and no label is longer than TEXT_LABEL_MOST. */
bool blob_strings_fit(const struct morsel_model *variant, uint32_t variants);

/* What an open variant, of so many, of a blob has, which must stay as long; labels and metadata are for free(), and `strip` is not set.
 * False: names or rules lie as no writer puts them. */
bool blob_extras_of(const struct morsel_model *variant, uint32_t variants, struct blob_extras *extras);

/* The files of `--c out/net.c`. All are C and C++. Of `--c out/net.S` the first is assembly for GNU as and clang, by the preprocessor. */
enum blob_c {
    /* net.c defines the blob, whose bytes are `net_blob[]`, with NET_BYTES, NET_ARENA_BYTES and NET_ARENA_BYTES_FOR(tasks). MODEL_BLOB,
     * MODEL_BLOB_BYTES, MODEL_ARENA_BYTES and MODEL_ARENA_BYTES_FOR(tasks) stand for the same; NET_ARENA_FAST_BYTES and
     * NET_ARENA_SLOW_BYTES are there with fast memory. The name is that of the file, letters and digits. */
    BLOB_C_SOURCE,
    BLOB_C_HEADER,     /* net.h: all of that but the bytes */
    BLOB_C_USE_HEADER, /* net_use.h: the kinds of its steps, as macros */
    BLOB_C_USE_SOURCE, /* net_use.c: the table of those kinds (core/kind.h), for programs that have no others */
    BLOB_C_COUNT
};

bool blob_c_assembly(const char *source);

/* Path and text of one, from malloc; NULL where memory ran out. `source` is the path of the first, `blob_path` that of the blob. */
char *blob_c_path(enum blob_c file, const char *source);
char *blob_c_text(enum blob_c file, const uint8_t *blob, size_t bytes, const char *source, const char *blob_path, size_t *length);

/* How each of them starts: what may be written over. */
#define BLOB_C_MARK "/* A Morsel network."

#endif
