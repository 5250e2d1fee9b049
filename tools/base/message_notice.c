/* SPDX-License-Identifier: MIT */
/* Notices: said at once, and kept for the JSON that comes last. */
#include "tools/base/message.h"

#include "tools/base/arena.h"
#include <stdlib.h>

static struct arena room; /* it lives as long as the process */
static const char **notices;
static size_t count;

void message_notice(const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    message_line("morsel: notice: ", format, list);
    if (!(count & (count - 1))) { /* the room doubles */
        size_t bytes = (count ? 2 * count : 1) * sizeof *notices;
        notices = must_have(realloc(notices, bytes), bytes);
    }
    notices[count++] = arena_text(&room, format, again);
    va_end(again);
    va_end(list);
}

void message_notices_json(struct json *json) {
    for (size_t i = 0; i < count; i++) json_text(json, NULL, notices[i]);
}
