/* SPDX-License-Identifier: MIT */
/* A failure's words: put together once, where it happens, and safe to print. */
#include "tools/base/failure.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* C0, DEL, and C1 in UTF-8. */
char *failure_tame(char *text) {
    for (char *c = text; *c; c++) {
        unsigned char one = (unsigned char)*c, two = (unsigned char)c[1];
        if (one == 0xC2 && two >= 0x80 && two < 0xA0) *c++ = '?';
        else if (one >= 32 && one != 127) continue;
        *c = '?';
    }
    return text;
}

bool failure_set(struct failure *failure, int status, const char *format, ...) {
    va_list list;
    failure->status = status;
    va_start(list, format);
    vsnprintf(failure->text, sizeof failure->text, format, list);
    va_end(list);
    failure_tame(failure->text);
    return false;
}

bool failure_memory(struct failure *failure, size_t bytes) {
    return failure_set(failure, STATUS_SYSTEM, "out of memory: %zu bytes are needed", bytes);
}

bool failure_prefix(struct failure *failure, const char *context) {
    char text[2 * sizeof failure->text];
    snprintf(text, sizeof text, "%.700s: %s", context, failure->text);
    text[sizeof failure->text - 1] = 0;
    memcpy(failure->text, text, sizeof failure->text);
    return false;
}
