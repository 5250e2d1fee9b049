/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once: pieces of any size, zeroed, aligned for any type, which live as long as their arena. */
#ifndef MORSEL_TOOLS_BASE_ARENA_H
#define MORSEL_TOOLS_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

/* Zeroed, it is empty. */
struct arena {
    struct arena_block *blocks;
    size_t taken; /* bytes in all: the work, for a test */
};

/* Ends the process with exit status 3 where there is no memory. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* NULL where there is no memory. */
void *arena_try(struct arena *arena, size_t bytes);

char *arena_text(struct arena *arena, const char *format, va_list list);

void arena_free(struct arena *arena);

/*
 * Memory for the tool's own books. Without it nothing else can be done either: the process ends with exit status 3. What files ask for
 * (their bytes, pictures, arenas of networks) fails by struct failure.
 */
void *must_have(void *memory, size_t bytes);  /* the memory */
void *must_calloc(size_t count, size_t size); /* zeroed, for free() */

#endif
