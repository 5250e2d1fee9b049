/* SPDX-License-Identifier: MIT */
/* What the tool says: text on stdout, lines on stderr. */
#ifndef MORSEL_TOOLS_BASE_MESSAGE_H
#define MORSEL_TOOLS_BASE_MESSAGE_H

#include "tools/base/failure.h"
#include "tools/base/json.h"
#include <stdarg.h>

/* Prints the failure and returns its status: `return message_failure(&failure);` at the end of a verb. */
int message_failure(const struct failure *failure);

/* One line on stderr, "morsel: " in front. Names in it are tamed (text.h). */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All notices of the process so far, as elements of an array that is open. One thread gives them. */
void message_notices_json(struct json *json);

void message_line(const char *start, const char *format, va_list list) __attribute__((format(printf, 2, 0))); /* what they have in common */

/* printf() for all text on stdout that holds what a file says: only line ends of the format end lines, and nothing steers a terminal.
 * Returns the characters written. */
int message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sees to it that stdout was written: 0, or 3 with a line on stderr (a full disk, a closed pipe). */
int message_flush(void);

/* The name of the list (ended by NULL) that a user may have meant, or NULL where none is close. */
const char *message_nearest(const char *word, const char *const *names);

#endif
