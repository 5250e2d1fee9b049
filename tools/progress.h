/* SPDX-License-Identifier: MIT */
/* A line on stderr that says how far a long job is; nothing where stderr is no terminal. */
#ifndef MORSEL_TOOLS_PROGRESS_H
#define MORSEL_TOOLS_PROGRESS_H

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

#endif
