/* SPDX-License-Identifier: MIT */
/* A program that is brought to a device: are the bytes right there, and how long do runs take? main.c says how it is called. */
#ifndef MORSEL_TESTS_DEVICE_H
#define MORSEL_TESTS_DEVICE_H

#include "core/morsel.h"
#include "tools/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORES_MOST = 256, KINDS_MOST = 8 };

/* ---- cores.c: which cores there are ---- */

/* Cores that are alike. */
struct kind {
    char name[64];     /* "Cortex-A76"; what /proc/cpuinfo says where that tells more */
    uint32_t capacity; /* of the strongest one: 1024; 0: not stated */
    uint32_t mhz;      /* the highest clock, as stated; 0: it is not */
    uint32_t midr;     /* implementer << 24 | part; 0: no Arm core */
    unsigned count, cores[CORES_MOST];
    char governor[24]; /* "" where there is none */
};

/* The kinds of cores below `root` ("" but for tests), the strongest first; `ours`: only those that this process may run on. */
unsigned cores_find(const char *root, bool ours, struct kind kinds[KINDS_MOST]);
void cores_json(struct json *json, const struct kind *kinds, unsigned count);

/* From now on this thread, and those that it makes, run on the first `count` of these cores. */
bool cores_pin(const struct kind *kind, unsigned count);

/* Reads the first line of a file; "" where it cannot be read. A whole number from one; 0 then. */
const char *read_line(const char *path, char *text, size_t size);
uint64_t read_number(const char *path);

/* ---- clock.c: how fast a core runs, and how hot it is ---- */

struct condition {
    double mhz;        /* measured, by instructions that depend on each other */
    double stated_mhz; /* as the system says; 0: it does not */
    double celsius;    /* of the hottest thermal zone; 0: there is none */
    bool capped;       /* the system allows less than the core can */
};

struct condition condition_now(unsigned core);

/* ---- emulated.c ---- */

/* Why times mean nothing here, in words; NULL: nothing says so. */
const char *emulated_why(void);

/* ---- network.c: a network, its answers and its times ---- */

struct subject {
    const char *name;
    const void *blob;
    size_t bytes;
    struct morsel_model model;
    void *arena;
    size_t arena_bytes; /* for as many tasks as any row has */
};

/* One row of the table: a network on some cores. */
struct row {
    const char *isa;
    unsigned kind, threads; /* which kind of cores */
    uint32_t runs;
    double min_ms, p50_ms, p95_ms, p99_ms;
    double drift; /* the fastest tenth of the last quarter of the runs beside that of the first */
    struct condition before, after;
};

bool subject_open(struct subject *subject, const char *name, const void *blob, size_t bytes, unsigned tasks);
void subject_close(struct subject *subject);

/* Whether every kernel set gives plain C's bytes, in one task and in three; `crc` is of those. Says on stderr what differs. */
bool subject_same(const struct subject *subject, uint32_t *crc);

/* Measures for some seconds, and 20 runs at least. */
bool subject_time(const struct subject *subject, const struct kind *kind, unsigned threads, double seconds, struct row *row);

/* Why the row is no figure of the core at its best; NULL: nothing was noticed. */
const char *row_throttled(const struct row *row);

/* The kernel sets that this CPU has, by their caps: `mask` of struct morsel_options; NULL ends. */
const char *kernel_set(unsigned index, uint32_t *mask);

/* ---- golden.c, kernels.c: are the bytes right ---- */

struct tally {
    uint32_t compared, failed;
};

extern const uint8_t device_network[], device_network_end[];

/* The shipped pictures with the shipped network: what ONNX Runtime answered. `few`: three of them. */
struct tally golden_compare(const struct subject *shipped, bool few);

/* Every kernel against plain C's: tests/check_kernels with so many random cases each. */
struct tally kernels_compare(unsigned cases, bool random_only);

#endif
