/* SPDX-License-Identifier: MIT */
/* Files as wholes: read into memory, written completely or not at all. */
#ifndef MORSEL_TOOLS_BASE_FILE_H
#define MORSEL_TOOLS_BASE_FILE_H

#include "tools/base/failure.h"
#include <stddef.h>
#include <stdint.h>

struct file_bytes {
    uint8_t *data; /* aligned to 64 bytes, one 0 byte behind the last; NULL where nothing was read */
    size_t size;
};

/* Reads a file of at most `most` bytes. */
bool file_read(const char *path, size_t most, struct file_bytes *out, struct failure *failure);
void file_free(struct file_bytes *bytes);

/* Reads up to `size` bytes from byte `from` on; `got` says how many there were, `whole` (may be NULL) how many the file has. */
bool file_read_part(const char *path, uint64_t from, void *out, size_t size, size_t *got, uint64_t *whole, struct failure *failure);

/* For a path that stands in a file: false where it names a pipe or a device, which may make whoever opens it wait. */
bool file_is_plain(const char *path, struct failure *failure);

/* Whether two paths name one regular file, by whatever links, or one that is not there yet, or are one text; false where one is NULL. */
bool file_same(const char *a, const char *b);

/*
 * Writes a temporary file in the same folder, which then takes the name (temporary.h). So a reader sees the old file or the whole new one,
 * a loss of power leaves one of them, and a failure or a stop leaves nothing else. A path that is a device or a pipe is written to
 * directly.
 */
bool file_write(const char *path, const void *data, size_t size, struct failure *failure);

/* Whether a folder for it is there and may be written to, asked before long work; file_write() has the last word. NULL: there is none. */
bool file_can_write(const char *path, struct failure *failure);

/* Several files, the first of which takes its name only when all of them lie on the disk. */
struct file_new {
    const char *path;
    const void *data;
    size_t size;
};
bool file_write_all(const struct file_new *files, size_t count, struct failure *failure);

#endif
