/* SPDX-License-Identifier: MIT */
/* Blocks of an arena: pieces are cut from the newest, and all blocks go at once. */
#include "tools/base/arena.h"
#include "tools/base/message.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Small pieces share a block. Under AddressSanitizer each has its own, so that it sees where one ends. */
#ifdef __SANITIZE_ADDRESS__
enum { BLOCK_BYTES = 0 };
#else
enum { BLOCK_BYTES = 65536 };
#endif

struct arena_block {
    struct arena_block *next;
    size_t used, room;
    _Alignas(16) unsigned char bytes[];
};

static struct arena_block *new_block(size_t room, struct arena_block *next) {
    struct arena_block *block = room > SIZE_MAX - sizeof *block ? NULL : calloc(1, sizeof *block + room);
    if (!block) return NULL;
    block->room = room;
    block->next = next;
    return block;
}

/* A large piece stands behind the first block, which stays the one that small pieces are cut from. */
void *arena_try(struct arena *arena, size_t bytes) {
    struct arena_block *block = arena->blocks;
    size_t size = bytes > SIZE_MAX - 16 ? SIZE_MAX : bytes ? (bytes + 15) / 16 * 16 : 16;
    arena->taken += size;
    if (size > BLOCK_BYTES / 4) {
        struct arena_block *own = new_block(size, block ? block->next : NULL);
        if (!own) return NULL;
        own->used = size;
        *(block ? &block->next : &arena->blocks) = own;
        return own->bytes;
    }
    if (!block || block->room - block->used < size) {
        if (!(block = new_block(BLOCK_BYTES, block))) return NULL;
        arena->blocks = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

void *must_have(void *memory, size_t bytes) {
    if (memory) return memory;
    message_error("out of memory: %zu bytes are needed", bytes);
    exit(STATUS_SYSTEM);
}

void *must_calloc(size_t count, size_t size) {
    return must_have(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *arena_alloc(struct arena *arena, size_t bytes) {
    return must_have(arena_try(arena, bytes), bytes);
}

char *arena_text(struct arena *arena, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int length = format ? vsnprintf(NULL, 0, format, list) : 0; /* the question is for gcc under UBSan, which sees a null otherwise */
    char *text = arena_alloc(arena, length < 0 ? 1 : (size_t)length + 1);
    if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void arena_free(struct arena *arena) {
    for (struct arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}
