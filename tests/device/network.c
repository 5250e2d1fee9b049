/* SPDX-License-Identifier: MIT */
/* A network on this device: the same bytes by each kernel set, and the times of runs on chosen cores. */
#include "device.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/base/options.h"
#include "tools/network/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_LEAST = 20, RUNS_MOST = 20000, WARM_UP = 3 };

/* ---- open, fill, run ---- */

bool subject_open(struct subject *subject, const char *name, const void *blob, size_t bytes, unsigned tasks) {
    *subject = (struct subject){.name = name, .blob = blob, .bytes = bytes};
    enum morsel_error error = morsel_open(&subject->model, blob, bytes, 0);
    if (error) {
        fprintf(stderr, "FAIL %s: %s\n", name, morsel_error_text(error));
        return false;
    }
    subject->arena_bytes = morsel_arena_bytes_for(&subject->model, tasks);
    subject->arena = must_have(aligned_alloc(MORSEL_ALIGNMENT, (subject->arena_bytes + 63) / 64 * 64), subject->arena_bytes);
    return true;
}

void subject_close(struct subject *subject) {
    free(subject->arena);
}

/* The same on every machine: bytes of any value, floats from 0 to 1. */
static void fill(const struct morsel_session *session) {
    uint32_t state = 2463534242u;
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_input(session, i, &view); i++) {
        uint8_t *bytes = view.data;
        for (uint32_t k = 0; k < view.bytes; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            bytes[k] = (uint8_t)(state >> 24);
        }
        for (uint32_t k = 0; view.type == MORSEL_FLOAT32 && k < view.bytes; k += 4) {
            float value = (float)bytes[k] / 255;
            memcpy(bytes + k, &value, sizeof value);
        }
    }
}

/* ---- bytes ---- */

const char *kernel_set(unsigned index, uint32_t *mask) {
    const char *name;
    uint32_t bit;
    for (unsigned i = 0; (name = options_cpu_cap(i, &bit, mask)); i++)
        if (!(bit & ~morsel_cpu_features()) && !index--) return name;
    return NULL;
}

static void backwards(void *ctx, uint32_t n, morsel_task *task, void *arg) {
    (void)ctx;
    while (n-- > 0) task(arg, n);
}

/* CRC-32 of all outputs. */
static uint32_t crc_of(const struct morsel_session *session) {
    uint32_t sum = ~0u;
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) {
            sum ^= ((const uint8_t *)view.data)[k];
            for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        }
    return ~sum;
}

static bool answer(const struct subject *subject, uint32_t mask, uint32_t tasks, uint32_t *crc) {
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = mask, .tasks = tasks, .parallel_for = backwards};
    struct morsel_session session;
    enum morsel_error error = morsel_session_open(&session, &subject->model, subject->arena, subject->arena_bytes, &options);
    if (!error) {
        fill(&session);
        error = morsel_run(&session);
    }
    if (error) fprintf(stderr, "FAIL %s: %s\n", subject->name, morsel_error_text(error));
    else *crc = crc_of(&session);
    return !error;
}

bool subject_same(const struct subject *subject, uint32_t *crc) {
    static const uint32_t tasks[] = {1, 3};
    bool same = true;
    const char *name;
    uint32_t mask;
    for (unsigned s = 0; (name = kernel_set(s, &mask)); s++)
        for (unsigned t = 0; t < 2; t++) {
            uint32_t got;
            if (!answer(subject, mask, tasks[t], &got)) return false;
            if (!s && !t) *crc = got;
            if (got == *crc) continue;
            fprintf(stderr, "FAIL %s: %s kernels in %u tasks give %08x, plain C %08x\n", subject->name, name, (unsigned)tasks[t],
                    (unsigned)got, (unsigned)*crc);
            same = false;
        }
    return same;
}

/* ---- times ---- */

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, the one that a share of p does not exceed. */
static double percentile(const double *sorted, uint32_t count, double p) {
    uint32_t at = (uint32_t)(p * count);
    return sorted[at < count ? at : count - 1];
}

/* The fastest tenth of the last quarter beside that of the first: what else runs there slows down some runs, heat all. Sorts both. */
static double drift_of(double *ms, uint32_t count) {
    uint32_t quarter = count / 4;
    double *last = ms + count - quarter;
    qsort(ms, quarter, sizeof *ms, compare);
    qsort(last, quarter, sizeof *ms, compare);
    return percentile(last, quarter, 0.1) / percentile(ms, quarter, 0.1);
}

static void time_runs(const struct morsel_session *session, double seconds, struct row *row, double *ms) {
    double end = clock_seconds() + seconds;
    for (uint32_t i = 0; i < WARM_UP; i++) {
        fill(session);
        morsel_run(session);
    }
    for (row->runs = 0; row->runs < RUNS_MOST && (row->runs < RUNS_LEAST || clock_seconds() < end); row->runs++) {
        fill(session);
        double start = clock_seconds();
        morsel_run(session);
        ms[row->runs] = (clock_seconds() - start) * 1e3;
    }
}

static bool time_session(const struct subject *subject, struct pool *pool, double seconds, struct row *row) {
    struct morsel_options options = {.size = sizeof options, .tasks = row->threads};
    struct morsel_session session;
    if (pool) options.parallel_for = pool_run, options.parallel_ctx = pool, options.barrier = pool_barrier;
    enum morsel_error error = morsel_session_open(&session, &subject->model, subject->arena, subject->arena_bytes, &options);
    if (error) {
        fprintf(stderr, "FAIL %s: %s\n", subject->name, morsel_error_text(error));
        return false;
    }
    double *ms = must_calloc(RUNS_MOST, sizeof *ms);
    time_runs(&session, seconds, row, ms);
    row->drift = drift_of(ms, row->runs);
    qsort(ms, row->runs, sizeof *ms, compare);
    row->min_ms = ms[0];
    row->p50_ms = percentile(ms, row->runs, 0.5);
    row->p95_ms = percentile(ms, row->runs, 0.95);
    row->p99_ms = percentile(ms, row->runs, 0.99);
    free(ms);
    return true;
}

bool subject_time(const struct subject *subject, const struct kind *kind, unsigned threads, double seconds, struct row *row) {
    row->threads = threads;
    if (!cores_pin(kind, 1)) return false;
    row->before = condition_now(kind->cores[0]);
    cores_pin(kind, threads);
    struct pool *pool = threads > 1 ? pool_open(threads) : NULL;
    bool good = (threads == 1 || pool) && time_session(subject, pool, seconds, row);
    pool_close(pool);
    cores_pin(kind, 1);
    row->after = condition_now(kind->cores[0]);
    return good;
}

const char *row_throttled(const struct row *row) {
    static char text[160];
    double kept = row->after.mhz / row->before.mhz;
    if (kept < 0.95) snprintf(text, sizeof text, "the clock fell from %.0f to %.0f MHz", row->before.mhz, row->after.mhz);
    else if (row->drift > 1.05) snprintf(text, sizeof text, "the last runs took %.0f %% longer than the first", 100 * (row->drift - 1));
    else if (row->after.capped) snprintf(text, sizeof text, "the system allows less than the highest clock");
    else return NULL;
    return text;
}
