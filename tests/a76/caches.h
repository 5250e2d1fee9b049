/* SPDX-License-Identifier: MIT */
/* The data caches of a Raspberry Pi 5 (one core of its four): who gives a line, and who gets it back. */
#ifndef MORSEL_TESTS_A76_CACHES_H
#define MORSEL_TESTS_A76_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_BYTES 64u

/* What lies beyond L1. */
enum level { LEVEL_L2, LEVEL_L3, LEVEL_DRAM, LEVELS };

/* Lines that moved. */
struct traffic {
    uint32_t loads[LEVELS];  /* given by that level to a load */
    uint32_t stores[LEVELS]; /* given by that level to a store; from DRAM nothing need come, the line may be written whole */
    uint32_t backs[LEVELS];  /* changed lines written back to that level */
    uint32_t strays;         /* loads from L3 and DRAM that no prefetcher foresees: far from each of the last streams of L1 misses */
};

enum { TRAFFIC_COUNTS = sizeof(struct traffic) / sizeof(uint32_t), STREAMS = 16, STREAM_REACH = 2 };

/* One cache of `sets` (a power of two) times `ways` lines, the least recently used one leaves. An entry is line number * 2 + changed;
 * within a set the entries go from the most recently used to the least. 0 stands for none: nothing lies at address 0. */
struct cache {
    uint32_t sets, ways;
    uint64_t *entries;
};

struct caches {
    struct cache l1, l2, l3;
    uint64_t streams[STREAMS]; /* the last line of each, the most recently used one first */
};

bool caches_open(struct caches *caches);
void caches_close(struct caches *caches);

/* An access of 1 to 64 bytes at an address; adds to `traffic` the lines that it moved, and says whether there were any. */
bool caches_access(struct caches *caches, uint64_t address, uint32_t bytes, bool store, struct traffic *traffic);

#endif
