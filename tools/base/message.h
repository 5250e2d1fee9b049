/* SPDX-License-Identifier: MIT */
/* What the tool says on stderr, and the one way its functions report that something failed. */
#ifndef MORSEL_TOOLS_BASE_MESSAGE_H
#define MORSEL_TOOLS_BASE_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_CALL = 2, STATUS_SYSTEM = 3 };

/* Filled by a function that returns false: the exit status, and one line that says what, where and what to do. */
struct failure {
    int status;
    char text[768];
};

/* Always returns false, so that a function can end with `return failure_set(...)`. */
bool failure_set(struct failure *failure, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "out of memory", status 3. */
bool failure_memory(struct failure *failure, size_t bytes);

/* Puts "CONTEXT: " in front of the text. */
bool failure_prefix(struct failure *failure, const char *context);

/* Prints the failure and returns its status: `return message_failure(&failure);` at the end of a verb. */
int message_failure(const struct failure *failure);

/* One line on stderr, "morsel: " in front. */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sees to it that stdout was written: 0, or 3 with a line on stderr (a full disk, a closed pipe). */
int message_flush(void);

/* The name of the list (ended by NULL) that a user may have meant, or NULL where none is close. */
const char *message_nearest(const char *word, const char *const *names);

#endif
