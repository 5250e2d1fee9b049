/* SPDX-License-Identifier: MIT */
/* A failure's words: put together once, where it happens, and safe to print. */
#include "tools/base/failure.h"
#include "tools/base/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool failure_set(struct failure *failure, int status, const char *format, ...) {
    va_list list;
    failure->status = status;
    va_start(list, format);
    vsnprintf(failure->text, sizeof failure->text, format, list);
    va_end(list);
    text_tame(failure->text);
    return false;
}

int failure_status(int code) {
    static const int of_system[] = {EIO, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT, EROFS};
    for (size_t i = 0; i < sizeof of_system / sizeof *of_system; i++)
        if (code == of_system[i]) return STATUS_SYSTEM;
    return STATUS_INPUT;
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
