/* SPDX-License-Identifier: MIT */
/*
 * soak SECONDS BLOB BLOB...
 *
 * Models take one arena in turns: each is opened, gets a session, runs, and leaves the arena to the next as it is. Kernels, tasks, inputs,
 * threads and barrier change from turn to turn; from time to time the pool of threads is closed and another opened. All answers are those
 * of the first time, and the process's resident memory stays what it was after the first 512 turns, measured while no pool is open.
 * Prints a line a minute.
 * Exit status 1 where an answer or the memory is another one.
 */
#include "core/morsel.h"
#include "tools/network/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MODELS_MOST = 8,
    INPUTS = 8,
    TASKS_MOST = 4,
    ROUND = 512,     /* turns in which all that varies has varied: then memory is constant */
    POOL_TURNS = 64, /* of one pool */
    PAGES_MORE = 16  /* 64 KB that the C library may take late; a leak of one byte a run would be more in an hour */
};

static const uint32_t masks[] = {MORSEL_CPU_ALL, MORSEL_CPU_C, MORSEL_CPU_AVX2, MORSEL_CPU_NEON};

static struct {
    uint8_t *blob;
    size_t bytes;
    uint32_t sums[INPUTS];
    unsigned known; /* a bit for each of the sums */
} models[MODELS_MOST];

static uint8_t *arena;
static size_t arena_bytes;
static unsigned long long runs, differ;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "soak: %s: %s\n", what, why);
    exit(1);
}

static uint8_t *aligned(size_t bytes) {
    uint8_t *memory = aligned_alloc(MORSEL_ALIGNMENT, (bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT);
    if (!memory) fail("memory", "there is none");
    return memory;
}

static void check(enum morsel_error error) {
    if (error) fail("a call", morsel_error_text(error));
}

/* Pages that the process holds. */
static long resident_pages(void) {
    char text[256] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;
    if (!file || !fgets(text, sizeof text, file) || sscanf(text, "%ld %ld", &size, &resident) != 2)
        fail("/proc/self/statm", "cannot be read");
    fclose(file);
    return resident;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint32_t mix(uint32_t sum, const uint8_t *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

/* --- A turn --- */

static void run_once(const struct morsel_session *session, uint32_t model, uint32_t input) {
    struct morsel_view view;
    uint32_t state = 2463534242u + input, sum = 2166136261u;
    for (uint32_t i = 0; !morsel_input(session, i, &view); i++)
        for (uint32_t k = 0; k < view.bytes; k++) {
            state = state * 1664525u + 1013904223u;
            ((uint8_t *)view.data)[k] = (uint8_t)(state >> 24);
        }
    check(morsel_run(session));
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) sum = mix(sum, view.data, view.bytes);
    runs++;
    if (!(models[model].known >> input & 1)) {
        models[model].known |= 1u << input;
        models[model].sums[input] = sum;
    }
    if (models[model].sums[input] == sum) return;
    differ++;
    printf("model %u, input %u: another answer, %08x, not %08x\n", (unsigned)model, (unsigned)input, (unsigned)sum,
           (unsigned)models[model].sums[input]);
}

static void take_turn(uint32_t index, uint32_t random, struct pool *pool) {
    struct morsel_model model;
    struct morsel_session session;
    uint32_t tasks = 1 + (random >> 8) % TASKS_MOST;
    struct morsel_options options = {.size = sizeof options, .cpu_mask = masks[(random >> 12) % 4], .tasks = tasks};
    if (tasks > 1) {
        options.parallel_for = pool_run;
        options.parallel_ctx = pool;
        options.barrier = random >> 16 & 1 ? pool_barrier : NULL;
    }
    check(morsel_open(&model, models[index].blob, models[index].bytes, random >> 17 & 1 ? MORSEL_SKIP_CHECKSUM : 0));
    check(morsel_session_open(&session, &model, arena, arena_bytes, &options));
    for (uint32_t i = 0; i < 3; i++) run_once(&session, index, ((random >> 20) + i) % INPUTS);
}

/* --- All turns --- */

static void read_blob(uint32_t index, const char *path) {
    struct morsel_model model;
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail(path, "cannot be read");
    models[index].bytes = (size_t)ftell(file);
    models[index].blob = aligned(models[index].bytes);
    rewind(file);
    if (fread(models[index].blob, 1, models[index].bytes, file) != models[index].bytes) fail(path, "cannot be read");
    fclose(file);
    enum morsel_error error = morsel_open(&model, models[index].blob, models[index].bytes, 0);
    if (error) fail(path, morsel_error_text(error));
    size_t needs = morsel_arena_bytes_for(&model, TASKS_MOST);
    if (needs > arena_bytes) arena_bytes = needs;
}

static struct pool *open_pool(void) {
    struct pool *pool = pool_open(TASKS_MOST);
    if (!pool) fail("threads", "there are none");
    return pool;
}

static int say(double since, unsigned long long turns, long first_pages, long pages) {
    long kb = sysconf(_SC_PAGESIZE) / 1024;
    printf("%4.0f s: %llu turns, %llu runs, %llu answers differ, %ld KB resident, %ld KB after the first %d turns\n", seconds() - since,
           turns, runs, differ, pages * kb, first_pages * kb, ROUND);
    fflush(stdout);
    if (differ) return 1;
    if (pages <= first_pages + PAGES_MORE) return 0;
    puts("the memory has grown");
    return 1;
}

/* The pool is closed: no thread holds a stack. */
static struct pool *renew(struct pool *pool, long *pages) {
    pool_close(pool);
    *pages = resident_pages();
    return open_pool();
}

static int soak(uint32_t count, double limit) {
    double start = seconds(), told = start;
    long first_pages = 0, pages = 0;
    uint32_t random = 1;
    struct pool *pool = open_pool();
    for (unsigned long long turns = 1;; turns++) {
        random = random * 1664525u + 1013904223u;
        take_turn((uint32_t)(turns % count), random ^ random >> 16, pool);
        if (turns % POOL_TURNS) continue;
        pool = renew(pool, &pages);
        double now = seconds();
        if (turns == ROUND) {
            say(start, turns, pages, pages); /* what the first line takes of the C library is there from now on */
            pool = renew(pool, &first_pages);
        }
        if (turns <= ROUND || (now - start < limit && now - told < 60)) continue;
        told = now;
        int status = say(start, turns, first_pages, pages);
        if (!status && now - start < limit) continue;
        pool_close(pool);
        return status;
    }
}

int main(int argc, char **argv) {
    if (argc < 4 || argc > 2 + MODELS_MOST) {
        fputs("usage: soak SECONDS BLOB BLOB...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) read_blob((uint32_t)i - 2, argv[i]);
    arena = aligned(arena_bytes);
    return soak((uint32_t)argc - 2, strtod(argv[1], NULL));
}
