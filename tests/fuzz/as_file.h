/* SPDX-License-Identifier: MIT */
/* Bytes as a file that has a path but no place on a disk, for readers that take a path. One at a time. */
#ifndef MORSEL_TEST_AS_FILE_H
#define MORSEL_TEST_AS_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *as_file(const uint8_t *bytes, size_t size) {
    static int file = -1;
    static char path[64];
    if (file < 0) file = memfd_create("fuzz", 0);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size) {
        perror("memfd");
        exit(3);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

#endif
