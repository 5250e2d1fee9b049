/* SPDX-License-Identifier: MIT */
/* Lines on stderr, and the nearest of names to one that is unknown. */
#include "tools/base/message.h"
#include "tools/base/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int message_failure(const struct failure *failure) {
    message_error("%s", failure->text);
    return failure->status;
}

/* Where there is no memory for a long line its beginning is said: that there is none is itself a message. */
void message_line(const char *start, const char *format, va_list list) {
    char part[2048], *whole = NULL;
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(part, sizeof part, format, list);
    if (length >= (int)sizeof part && vasprintf(&whole, format, again) < 0) whole = NULL;
    va_end(again);
    fprintf(stderr, "%s%s\n", start, length < 0 ? "?" : text_tame(whole ? whole : part));
    free(whole);
}

void message_error(const char *format, ...) {
    va_list list;
    fflush(stdout);
    va_start(list, format);
    message_line("morsel: ", format, list);
    va_end(list);
}

int message_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return STATUS_DONE;
    message_error("cannot write to standard output: %s", errno ? strerror(errno) : "an earlier write failed");
    return STATUS_SYSTEM;
}

/* Letters to insert, delete or replace on the way from a to b (Levenshtein), for words of up to 63 letters. */
static unsigned distance(const char *a, const char *b) {
    unsigned row[64];
    size_t n = strlen(b);
    if (n > 63 || strlen(a) > 63) return 64;
    for (size_t j = 0; j <= n; j++) row[j] = (unsigned)j;
    for (size_t i = 0; a[i]; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < n; j++) {
            unsigned best = diagonal + (a[i] != b[j]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *message_nearest(const char *word, const char *const *names) {
    const char *found = NULL;
    unsigned best = (unsigned)strlen(word) / 3 + 2; /* more changes than that and it is another word */
    for (; *names; names++) {
        unsigned d = distance(word, *names);
        if (d < best) {
            best = d;
            found = *names;
        }
    }
    return found;
}
