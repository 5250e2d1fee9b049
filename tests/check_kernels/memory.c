/* SPDX-License-Identifier: MIT */
/* Memory with pages before and behind it that cannot be touched, and a pattern in the rest of its own pages. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATTERN 0xa5
#define ZONE ((size_t)512) /* bytes around the room that hold the pattern, at most */

static struct region {
    uint8_t *base; /* MEMORY_MOST bytes between two guards */
    uint8_t *room;
    size_t bytes;
} regions[MEMORY_SLOTS];

static size_t page(void) {
    static size_t size;
    if (!size) size = (size_t)sysconf(_SC_PAGESIZE);
    return size;
}

static void need(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "check_kernels: %s\n", what);
    exit(3);
}

static void open_region(struct region *r) {
    size_t guard = page();
    uint8_t *all = mmap(NULL, MEMORY_MOST + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(all != MAP_FAILED, "no memory: mmap()");
    r->base = all + guard;
    need(!mprotect(r->base, MEMORY_MOST, PROT_READ | PROT_WRITE), "mprotect()");
}

static size_t before(const struct region *r) {
    size_t n = (size_t)(r->room - r->base);
    return n < ZONE ? n : ZONE;
}

static size_t behind(const struct region *r) {
    size_t n = (size_t)(r->base + MEMORY_MOST - r->room) - r->bytes;
    return n < ZONE ? n : ZONE;
}

void *memory_place(unsigned slot, size_t bytes, size_t align, bool high) {
    need(slot < MEMORY_SLOTS && bytes <= MEMORY_MOST, "a case needs more memory than there is");
    struct region *r = &regions[slot];
    if (!r->base) open_region(r);
    memory_protect(slot, true);
    r->room = high ? r->base + (MEMORY_MOST - bytes) / align * align : r->base;
    r->bytes = bytes;
    memset(r->room - before(r), PATTERN, before(r));
    memset(r->room + bytes, PATTERN, behind(r));
    return r->room;
}

static bool all_pattern(const uint8_t *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (at[i] != PATTERN) return false;
    return true;
}

bool memory_intact(unsigned slot) {
    const struct region *r = &regions[slot];
    return all_pattern(r->room - before(r), before(r)) && all_pattern(r->room + r->bytes, behind(r));
}

/* The pages that hold the room. */
void memory_protect(unsigned slot, bool writable) {
    struct region *r = &regions[slot];
    if (!r->room) return;
    size_t first = (size_t)(r->room - r->base) / page() * page();
    size_t last = ((size_t)(r->room - r->base) + r->bytes + page() - 1) / page() * page();
    if (last > first) need(!mprotect(r->base + first, last - first, writable ? PROT_READ | PROT_WRITE : PROT_READ), "mprotect()");
}
