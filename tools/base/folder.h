/* SPDX-License-Identifier: MIT */
/* All files below a folder, at any depth. */
#ifndef MORSEL_TOOLS_BASE_FOLDER_H
#define MORSEL_TOOLS_BASE_FOLDER_H

#include "tools/base/failure.h"
#include <stdint.h>

struct folder_file {
    char *path;
    uint32_t folder; /* which folder it lies in, counted as they are met */
};

struct folder_files {
    struct folder_file *list; /* in an order that depends on the names alone: a folder's own files, then its subfolders */
    size_t count, room;
    uint32_t folders;
};

typedef bool folder_wanted(const char *name);

/* Adds the files whose names are wanted. What begins with a dot is left out. A folder that has several names, by links, counts once, by the
 * first in that order. */
bool folder_walk(const char *path, folder_wanted *wanted, struct folder_files *files, struct failure *failure);
void folder_free(struct folder_files *files);

size_t folder_length(const char *path); /* without slashes behind it: one stands in front of each name */
bool folder_is(const char *path);

/* Whether files can be written below it, asked before long work: it is there, or can be made. */
bool folder_can_make(const char *path, struct failure *failure);
/* Makes those that a file is to lie in and that are not there. */
bool folder_make_for(const char *path, struct failure *failure);

bool folder_ends(const char *name, const char *ending); /* whatever the case */

#endif
