/* SPDX-License-Identifier: MIT */
/*
 * A file on its way: it grows beside the one that it will replace, as NAME.morsel-PID-XXXXXX, and then takes its name.
 *
 * A process that is killed leaves such a file behind. The next one that writes the same output removes it, where all of this holds: the
 * name is of that form to the letter, the process PID lives no more, it is a regular file of the same owner with no other name, and nobody
 * holds the lock that its writer has on it. The lock tells of writers on other machines and in other containers, where PID says nothing.
 */
#ifndef MORSEL_TOOLS_BASE_TEMPORARY_H
#define MORSEL_TOOLS_BASE_TEMPORARY_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct temporary {
    char target[PATH_MAX], path[PATH_MAX + 40]; /* path: empty where there is no such file */
    int fd;
};

/* Removes what others left of the target, then makes a file, locks it and writes the bytes to the disk. `old`: the file that it replaces,
 * whose mode it gets, or NULL. 0 or an errno; temporary_drop() comes after either. `target` is set. */
int temporary_write(struct temporary *temporary, const struct stat *old, const void *data, size_t size);

/* Gives it the target's name; 0 or an errno. */
int temporary_take_name(struct temporary *temporary);

/* Sees to it that the names in the target's folder lie on the disk: 0 or an errno. */
int temporary_sync_folder(const struct temporary *temporary);

/* Lets go of it; what did not take its name is removed. */
void temporary_drop(struct temporary *temporary);

/* All of it to a file; 0 or an errno. */
int temporary_put(int fd, const uint8_t *data, size_t size);

#endif
