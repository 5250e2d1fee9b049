/* SPDX-License-Identifier: MIT */
/* The clock that runs are timed by. */
#ifndef MORSEL_TOOLS_BASE_CLOCK_H
#define MORSEL_TOOLS_BASE_CLOCK_H

#include <time.h>

/* Seconds on a clock that only goes forward. */
static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
