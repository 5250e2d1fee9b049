/* SPDX-License-Identifier: MIT */
/* Finds the lines of a text file. */
#include "tools/base/lines.h"
#include <stdlib.h>
#include <string.h>

enum { LINES_MOST = 1 << 28 };

bool lines_read(struct lines *lines, const char *path, size_t most, struct failure *failure) {
    *lines = (struct lines){0};
    if (!file_read(path, most, &lines->file, failure)) return false;
    const char *at = (const char *)lines->file.data, *end = at + lines->file.size;
    size_t room = 1;
    for (size_t i = 0; i < lines->file.size; i++) room += at[i] == '\n';
    if (!(lines->list = calloc(room, sizeof *lines->list))) return failure_memory(failure, room * sizeof *lines->list);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        lines->list[lines->count++] = (struct line){at, length - (length && at[length - 1] == '\r')};
        at += length + 1;
    }
    if (!lines->count || lines->count > LINES_MOST)
        return failure_set(failure, STATUS_INPUT, "%s holds %s", path, lines->count ? "over 2^28 lines" : "no line");
    return true;
}

void lines_free(struct lines *lines) {
    free(lines->list);
    file_free(&lines->file);
}
