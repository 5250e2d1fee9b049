/* SPDX-License-Identifier: MIT */
/* The one way in which functions of the tool report that something failed. */
#ifndef MORSEL_TOOLS_BASE_FAILURE_H
#define MORSEL_TOOLS_BASE_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

enum status { STATUS_DONE = 0, STATUS_INPUT = 1, STATUS_CALL = 2, STATUS_SYSTEM = 3 };

/* Filled by a function that returns false: the exit status, and one line that says what, where and what to do. */
struct failure {
    int status;
    char text[768];
};

/* Always returns false, so that a function can end with `return failure_set(...)`. Names in the text are tamed (text.h). */
bool failure_set(struct failure *failure, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The status of a system call that failed with this errno: whether what it was asked for is at fault, or the system. */
int failure_status(int code);

/* "out of memory", status 3. */
bool failure_memory(struct failure *failure, size_t bytes);

/* Puts "CONTEXT: " in front of the text. */
bool failure_prefix(struct failure *failure, const char *context);

#endif
