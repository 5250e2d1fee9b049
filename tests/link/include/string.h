/* SPDX-License-Identifier: MIT */
/* All that the library may want from a C library; stands in for <string.h> where it is built without one. */
#ifndef MORSEL_TEST_STRING_H
#define MORSEL_TEST_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#endif
