/* SPDX-License-Identifier: MIT */
/* How far a long job is, on stderr: a line that is drawn again and again, where that is a terminal; and lines that stay, anywhere. */
#ifndef MORSEL_TOOLS_BASE_PROGRESS_H
#define MORSEL_TOOLS_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    const char *what; /* "pictures" */
    size_t total;
    double start, shown; /* seconds */
    bool terminal;
};

void progress_start(struct progress *progress, const char *what, size_t total);
void progress_show(struct progress *progress, size_t done); /* cheap: draws ten times a second at most */
void progress_end(struct progress *progress);               /* wipes the line */

/* A line that stays, "morsel: " in front: which part of the job begins, or what came out of it. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
