/* SPDX-License-Identifier: MIT */
/* The blob from a planned net (core/format.h), and the same bytes as a C array. */
#ifndef MORSEL_TOOLS_NET_BLOB_BLOB_H
#define MORSEL_TOOLS_NET_BLOB_BLOB_H

#include "tools/net/net.h"

struct blob_extras {
    const struct morsel_blob_picture *picture; /* NULL: none */
    uint32_t label_count;
    char *const *labels;
    const uint32_t *text; /* struct morsel_blob_text and what stands behind it, so many words; NULL: none */
    size_t text_words;
    bool strip; /* drop the names of network, tensors, steps, inputs and outputs */
};

/* The blob's bytes, from malloc, aligned to 64; NULL where it would pass 2^31 - 1 bytes or memory ran out. */
uint8_t *blob_write(const struct net *net, const struct blob_extras *extras, size_t *bytes);

/* The same network for several sizes of its inputs, the largest first (core/format.h: variants). Each has extras, which differ in the
 * picture rule alone. The arena of the first is stated as large as the largest of all. */
uint8_t *blob_write_variants(const struct net *const *nets, uint32_t count, const struct blob_extras *extras, size_t *bytes);

/* C source (C++ too) that defines the blob as `NAME_blob[]`, with NAME_BYTES, NAME_ARENA_BYTES and NAME_ARENA_BYTES_FOR(tasks) in capitals.
 * MODEL_BLOB, MODEL_BLOB_BYTES, MODEL_ARENA_BYTES and MODEL_ARENA_BYTES_FOR(tasks) stand for the same. A header has all of that but the
 * bytes. The name is that of the source's file, letters and digits. From malloc; NULL where memory ran out. */
char *blob_c_source(const uint8_t *blob, size_t bytes, const char *path, size_t *length);
char *blob_c_header(const uint8_t *blob, size_t bytes, const char *path, size_t *length);

/* "out/net.c" -> "out/net.h", from malloc */
char *blob_c_header_path(const char *path);

/* How both files start: what may be written over. */
#define BLOB_C_MARK "/* A Morsel network."

#endif
