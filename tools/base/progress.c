/* SPDX-License-Identifier: MIT */
/* Draws a line of progress anew at most a few times a second. */
#include "tools/base/progress.h"
#include "tools/base/clock.h"
#include "tools/base/message.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { BAR = 40 };

void progress_start(struct progress *progress, const char *what, size_t total) {
    progress->what = what;
    progress->total = total;
    progress->start = clock_seconds();
    progress->shown = progress->start;
    progress->terminal = isatty(STDERR_FILENO) && total;
}

void progress_show(struct progress *progress, size_t done) {
    char bar[BAR + 1];
    double now;
    if (!progress->terminal || ((now = clock_seconds()) - progress->shown < 0.1 && done < progress->total)) return;
    progress->shown = now;
    for (size_t i = 0; i < BAR; i++) bar[i] = (double)i < (double)BAR * (double)done / (double)progress->total ? '#' : '.';
    bar[BAR] = 0;
    double rate = (double)done / (now - progress->start + 1e-9);
    double left = rate > 0 ? (double)(progress->total - done) / rate : 0;
    fprintf(stderr, "\r[%s] %zu of %zu %s, %.0f/s, %.0f s left \033[K", bar, done, progress->total, progress->what, rate, left);
    fflush(stderr);
}

void progress_end(struct progress *progress) {
    if (progress->terminal) fputs("\r\033[K", stderr);
    progress->terminal = false;
}

void progress_say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    message_line("morsel: ", format, list);
    va_end(list);
}
