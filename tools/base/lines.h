/* SPDX-License-Identifier: MIT */
/* The lines of a text file, which stays in memory. */
#ifndef MORSEL_TOOLS_BASE_LINES_H
#define MORSEL_TOOLS_BASE_LINES_H

#include "tools/base/file.h"

struct lines {
    struct file_bytes file;
    struct line {
        const char *text; /* in the file, without its end, \n or \r\n */
        size_t bytes;
    } * list;
    size_t count;
};

/* Of a file of at most `most` bytes; an empty line counts. False: it cannot be read, has no line, or has over 2^28. Goes with lines_free()
 * in either case. */
bool lines_read(struct lines *lines, const char *path, size_t most, struct failure *failure);
void lines_free(struct lines *lines);

#endif
