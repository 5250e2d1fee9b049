/* SPDX-License-Identifier: MIT */
/* Structs of the caller's that state their own size first, so that they can grow at their end. */
#ifndef MORSEL_SIZED_H
#define MORSEL_SIZED_H

#include <stddef.h>

/* Of `given`, which may be of another size, what both sides know: the rest is 0 in `own`, and has to be 0 in `given`.
 * Returns 0 where it is not, or where `given` has no size that a struct has. */
int morsel_copy_sized(void *own, size_t own_bytes, const void *given);

#endif
