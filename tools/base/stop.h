/* SPDX-License-Identifier: MIT */
/* The line that Ctrl-C gets before it ends the process. */
#ifndef MORSEL_TOOLS_BASE_STOP_H
#define MORSEL_TOOLS_BASE_STOP_H

#include <stddef.h>

/* From now on "stopped; nothing was written". Where interrupts are ignored, as under nohup, they stay so. */
void stop_start(void);

/* "stopped": something was written. */
void stop_written(void);

/* "stopped after DONE of TOTAL; the same call goes on". From any thread. */
void stop_goes_on(size_t done, size_t total);

#endif
