/* SPDX-License-Identifier: MIT */
/*
 * cold BLOB [--checksum] [--warm] [--populate] [--dropped] [--runs N]: the first answer of a process, in parts: mmap, open, session,
 * filling the input, first run; then N steady runs and the peak of resident memory. One line of JSON, times in microseconds.
 * --checksum verifies it; --warm touches every page of blob and arena before they are used; --populate has mmap() map all pages at
 * once; --dropped asks the system to forget its copy of the file, so that the blob comes from the disk. Knows the public header alone.
 */
#include "core/morsel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct moment {
    double us;
    long faults;
};

static struct moment now(void) {
    struct timespec t;
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (struct moment){(double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3, use.ru_minflt + use.ru_majflt};
}

static void print_part(const char *name, const struct moment *from, const struct moment *to) {
    printf("\"%s_us\": %.1f, \"%s_faults\": %ld, ", name, to->us - from->us, name, to->faults - from->faults);
}

/* The peak of this program alone: ru_maxrss would count that of whoever started it. */
static long peak_kilobytes(void) {
    char line[256];
    long peak = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
    if (f) fclose(f);
    return peak;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned touch(const volatile uint8_t *p, size_t bytes) {
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i += 4096) sum += p[i];
    return sum;
}

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "cold: %s\n", what);
    exit(1);
}

/* A picture: every input is filled, as an app would. */
static void fill(const struct morsel_session *session, const struct morsel_model *model) {
    struct morsel_view view;
    for (uint32_t i = 0; i < morsel_input_count(model); i++)
        if (!morsel_input(session, i, &view)) memset(view.data, 100, view.bytes);
}

static double steady(const struct morsel_session *session, const struct morsel_model *model, long runs) {
    double *us = malloc((size_t)runs * sizeof *us);
    if (!us) fail("no memory");
    for (long i = 0; i < runs; i++) {
        fill(session, model);
        struct moment start = now();
        morsel_run(session);
        us[i] = now().us - start.us;
    }
    qsort(us, (size_t)runs, sizeof *us, compare);
    double median = us[runs / 2];
    free(us);
    return median;
}

/* --- The call --- */

struct call {
    const char *path;
    uint32_t flags;
    long runs;
    int warm, dropped, populate;
};

static _Noreturn void usage(const char *what, const char *word) {
    fprintf(stderr, "cold: %s%s; cold BLOB [--checksum] [--warm] [--populate] [--dropped] [--runs N]\n", what, word);
    exit(2);
}

static long read_runs(const char *text) {
    char *end;
    if (!text) usage("--runs wants a number", "");
    long runs = strtol(text, &end, 10);
    if (end == text || *end || runs < 0 || runs > 1000000) usage("--runs wants a number up to 1000000, not ", text);
    return runs;
}

static struct call read_call(int argc, char **argv) {
    struct call call = {.flags = MORSEL_SKIP_CHECKSUM};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--checksum")) call.flags = 0;
        else if (!strcmp(argv[i], "--warm")) call.warm = 1;
        else if (!strcmp(argv[i], "--dropped")) call.dropped = 1;
        else if (!strcmp(argv[i], "--populate")) call.populate = MAP_POPULATE;
        else if (!strcmp(argv[i], "--runs")) call.runs = read_runs(argv[++i]);
        else if (argv[i][0] == '-') usage("there is no option ", argv[i]);
        else if (call.path) usage("one blob is wanted, and there is also ", argv[i]);
        else call.path = argv[i];
    }
    if (!call.path) usage("a blob is wanted", "");
    return call;
}

/* --- The run --- */

static int open_file(const struct call *call, size_t *bytes) {
    struct stat info;
    int file = open(call->path, O_RDONLY);
    if (file < 0 || fstat(file, &info)) fail("no such blob");
    *bytes = (size_t)info.st_size;
    if (call->dropped && (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))) fail("the system keeps its copy of the blob");
    return file;
}

/* Zeroed, like a static one. */
static uint8_t *make_arena(const struct call *call, size_t bytes) {
    uint8_t *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | call->populate, -1, 0);
    if (arena == MAP_FAILED) fail("no memory for the arena");
    if (call->warm) memset(arena, 0, bytes);
    return arena;
}

int main(int argc, char **argv) {
    static struct morsel_model model;
    static struct morsel_session session;
    const struct call call = read_call(argc, argv);
    size_t bytes;
    int file = open_file(&call, &bytes);
    long before = peak_kilobytes();
    struct moment start = now();
    const uint8_t *blob = mmap(NULL, bytes, PROT_READ, MAP_SHARED | call.populate, file, 0);
    struct moment mapped = now();
    if (blob == MAP_FAILED) fail("the blob cannot be mapped");
    if (call.warm && touch(blob, bytes) == 1) puts("");
    struct moment opening = now();
    if (morsel_open(&model, blob, bytes, call.flags)) fail("the blob cannot be opened");
    struct moment opened = now();
    size_t arena_bytes = morsel_arena_bytes(&model);
    uint8_t *arena = make_arena(&call, arena_bytes);
    struct moment preparing = now();
    if (morsel_session_open(&session, &model, arena, arena_bytes, NULL)) fail("no session");
    struct moment prepared = now();
    fill(&session, &model);
    struct moment running = now();
    if (morsel_run(&session)) fail("the run");
    struct moment answered = now();
    long peak = peak_kilobytes();
    printf("{");
    print_part("map", &start, &mapped);
    print_part("open", &opening, &opened);
    print_part("session", &preparing, &prepared);
    print_part("fill", &prepared, &running);
    print_part("first", &running, &answered);
    printf("\"all_us\": %.1f, ", answered.us - start.us);
    if (call.runs > 0) printf("\"steady_us\": %.1f, ", steady(&session, &model, call.runs));
    printf("\"peak_kb\": %ld, \"peak_before_kb\": %ld, \"arena_bytes\": %zu, \"blob_bytes\": %zu}\n", peak, before, arena_bytes, bytes);
    return 0;
}
