/* SPDX-License-Identifier: MIT */
/* Caches that hold line numbers alone: least recently used lines leave, L3 takes what L2 has no room for. */
#include "tests/a76/caches.h"

#include <stdlib.h>
#include <string.h>

static bool cache_open(struct cache *cache, uint32_t bytes, uint32_t ways) {
    cache->ways = ways;
    cache->sets = bytes / LINE_BYTES / ways;
    cache->entries = calloc((size_t)cache->sets * ways, sizeof *cache->entries);
    return cache->entries != NULL;
}

bool caches_open(struct caches *caches) {
    memset(caches, 0, sizeof *caches);
    return cache_open(&caches->l1, 64 << 10, 4) && cache_open(&caches->l2, 512 << 10, 8) && cache_open(&caches->l3, 2 << 20, 16);
}

void caches_close(struct caches *caches) {
    free(caches->l1.entries);
    free(caches->l2.entries);
    free(caches->l3.entries);
}

static uint64_t *set_of(const struct cache *cache, uint64_t line) {
    return cache->entries + (size_t)(line & (cache->sets - 1)) * cache->ways;
}

/* Entries 0 .. at - 1 move one place down, `entry` becomes the most recent. */
static void to_front(uint64_t *set, uint32_t at, uint64_t entry) {
    memmove(set + 1, set, at * sizeof *set);
    set[0] = entry;
}

/* The line's place in its set, or `ways`. */
static uint32_t find(const struct cache *cache, const uint64_t *set, uint64_t line) {
    uint32_t at = 0;
    while (at < cache->ways && set[at] >> 1 != line) at++;
    return at;
}

/* Uses the line where it is there. */
static bool use(const struct cache *cache, uint64_t line, bool change) {
    uint64_t *set = set_of(cache, line);
    uint32_t at = find(cache, set, line);
    if (at == cache->ways) return false;
    to_front(set, at, set[at] | change);
    return true;
}

/* Takes the line out: its entry, or 0. */
static uint64_t take(const struct cache *cache, uint64_t line) {
    uint64_t *set = set_of(cache, line), entry;
    uint32_t at = find(cache, set, line);
    if (at == cache->ways) return 0;
    entry = set[at];
    memmove(set + at, set + at + 1, (cache->ways - 1 - at) * sizeof *set);
    set[cache->ways - 1] = 0;
    return entry;
}

/* Puts in an entry that is not there: the entry that has to leave, or 0. */
static uint64_t put(const struct cache *cache, uint64_t entry) {
    uint64_t *set = set_of(cache, entry >> 1), leaves = set[cache->ways - 1];
    to_front(set, cache->ways - 1, entry);
    return leaves;
}

/* L3 holds what L2 had no room for, changed or not; only changed lines cost a transfer. */
static void put_l2(struct caches *caches, uint64_t entry, struct traffic *traffic) {
    uint64_t leaves = put(&caches->l2, entry);
    if (!leaves) return;
    traffic->backs[LEVEL_L3] += leaves & 1;
    take(&caches->l3, leaves >> 1);
    leaves = put(&caches->l3, leaves);
    traffic->backs[LEVEL_DRAM] += leaves & 1;
}

/* Brings a line into L2, if need be, and says where it was. */
static enum level fetch(struct caches *caches, uint64_t line, struct traffic *traffic) {
    if (use(&caches->l2, line, false)) return LEVEL_L2;
    uint64_t entry = take(&caches->l3, line);
    put_l2(caches, entry ? entry : line << 1, traffic);
    return entry ? LEVEL_L3 : LEVEL_DRAM;
}

/* Whether a line that L1 misses continues a stream; it does from now on. */
static bool streams_on(struct caches *caches, uint64_t line) {
    uint32_t at = 0;
    while (at < STREAMS && caches->streams[at] + STREAM_REACH - line > 2 * STREAM_REACH) at++;
    to_front(caches->streams, at < STREAMS ? at : STREAMS - 1, line);
    return at < STREAMS;
}

/* Whether anything moved. */
static bool access_line(struct caches *caches, uint64_t line, bool store, struct traffic *traffic) {
    if (use(&caches->l1, line, store)) return false;
    enum level from = fetch(caches, line, traffic);
    ++*(store ? &traffic->stores[from] : &traffic->loads[from]);
    if (!streams_on(caches, line) && !store && from != LEVEL_L2) traffic->strays++;
    uint64_t leaves = put(&caches->l1, line << 1 | store);
    if (!(leaves & 1)) return true;
    traffic->backs[LEVEL_L2]++;
    if (!use(&caches->l2, leaves >> 1, true)) put_l2(caches, leaves, traffic);
    return true;
}

bool caches_access(struct caches *caches, uint64_t address, uint32_t bytes, bool store, struct traffic *traffic) {
    uint64_t first = address / LINE_BYTES, last = (address + bytes - 1) / LINE_BYTES;
    bool moved = access_line(caches, first, store, traffic);
    return (last != first && access_line(caches, last, store, traffic)) || moved;
}
