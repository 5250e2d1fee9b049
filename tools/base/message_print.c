/* SPDX-License-Identifier: MIT */
/* Text for stdout: names from files steer no terminal. */
#include "tools/base/message.h"

#include "tools/base/arena.h"
#include "tools/base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Line ends of the format travel as marks. Where names hold marks of their own, all of them are tamed but the last line end. */
int message_print(const char *format, ...) {
    enum { MARK = '\v' };
    va_list list;
    size_t length = strlen(format), marks = 0;
    char *marked = must_have(strdup(format), length), *text = NULL;
    for (char *c = marked; (c = strchr(c, '\n'));) *c = MARK, marks++;
    va_start(list, format);
    int count = vasprintf(&text, marked, list);
    va_end(list);
    text = must_have(count < 0 ? NULL : text, length);
    for (const char *c = text; (c = strchr(c, MARK)); c++) marks--;
    for (char *line = text, *end; line; line = end) {
        end = marks ? NULL : strchr(line, MARK);
        if (end) *end = 0;
        text_tame(line);
        if (end) *end++ = '\n';
    }
    if (length && format[length - 1] == '\n') text[count - 1] = '\n';
    fwrite(text, 1, (size_t)count, stdout);
    free(marked);
    free(text);
    return count;
}
