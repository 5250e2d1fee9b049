/* SPDX-License-Identifier: MIT */
/* An interrupt's handler, which calls nothing but what is safe in one, and ends the process as if there were none. */
#include "tools/base/stop.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static atomic_size_t done_so_far, all;
static atomic_bool written;

/* The text at `at`, or the number where there is none; the end of it. */
static char *put(char *at, const char *text, size_t number) {
    char digits[24];
    size_t count = text ? strlen(text) : 0;
    if (!text) {
        char *digit = digits + sizeof digits;
        do *--digit = (char)('0' + number % 10), count++;
        while (number /= 10);
        text = digit;
    }
    memcpy(at, text, count);
    return at + count;
}

static void say(int number) {
    char line[160], *end = line;
    const size_t total = atomic_load(&all);
    if (isatty(STDERR_FILENO)) end = put(end, "\r\033[K", 0); /* over the progress */
    end = put(end, "morsel: stopped", 0);
    if (total) {
        end = put(put(end, " after ", 0), NULL, atomic_load(&done_so_far));
        end = put(put(put(end, " of ", 0), NULL, total), "; the same call goes on", 0);
    } else if (!atomic_load(&written)) {
        end = put(end, "; nothing was written", 0);
    }
    end = put(end, "\n", 0);
    if (write(STDERR_FILENO, line, (size_t)(end - line)) < 0) number = SIGINT; /* there is nobody to tell */
    signal(number, SIG_DFL);
    raise(number);
}

void stop_start(void) {
    struct sigaction old;
    if (sigaction(SIGINT, NULL, &old) || old.sa_handler != SIG_DFL) return;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = say}, NULL);
}

void stop_written(void) {
    atomic_store(&written, true);
}

void stop_goes_on(size_t done, size_t total) {
    atomic_store(&done_so_far, done);
    atomic_store(&all, total);
}
