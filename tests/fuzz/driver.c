/* SPDX-License-Identifier: MIT */
/*
 * A main() for the fuzzers where libFuzzer is not at hand, with inputs of its own: sound ones from fuzz_seed() (and from files), damaged.
 *
 *     cc -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -I. -Itests/fuzz tests/fuzz/fuzz_X.c tests/fuzz/driver.c ... -o
 * fuzz_X
 *
 *     fuzz_X [--runs N] [--seconds N] [--seed N] [FILE...]   damage, by default 1000 runs
 *     fuzz_X --only N [--seed N] [--save OUT] [FILE...]      run N of a seed again, and keep its input
 *     fuzz_X --replay FILE...                                files as they are
 *     fuzz_X --write FOLDER --runs N                         N sound inputs, as a first corpus for libFuzzer
 *
 * Run N of a seed is always the same input (given the same files). A run that takes more than ten seconds counts as a crash.
 * With libFuzzer leave this file out: clang -fsanitize=fuzzer,address,undefined ...
 */
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 4 << 20, RUN_SECONDS = 10 };

struct corpus {
    const char *const *paths;
    int count;
};

static volatile unsigned long long current_run, current_seed;

/* Sanitizers leave through here; a fallback for programs without them is below. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_where(void) {
    fprintf(stderr, "at run %llu of seed %llu: --only %llu --seed %llu --save FILE keeps its input\n", current_run, current_seed,
            current_run, current_seed);
}

static void on_signal(int number) {
    fprintf(stderr, "%s ", number == SIGALRM ? "hangs" : "crashes");
    say_where();
    signal(number, SIG_DFL);
    if (number == SIGALRM) _exit(70);
    raise(number);
}

static size_t read_file(const char *path, uint8_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    size_t size = fread(bytes, 1, CAPACITY, file);
    fclose(file);
    return size;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(2);
    }
}

/* Mostly near the front, where headers and records are. */
static size_t pick_place(uint64_t *state, size_t size) {
    uint64_t place = fuzz_below(state, (uint32_t)size);
    if (fuzz_below(state, 4)) place = place * fuzz_below(state, (uint32_t)size) / size;
    return (size_t)place;
}

static void damage_field(uint64_t *state, uint8_t *bytes, size_t size) {
    uint32_t value;
    size_t place = pick_place(state, size - 3) & ~(size_t)3;
    memcpy(&value, bytes + place, 4);
    value = fuzz_word(state, value, size);
    memcpy(bytes + place, &value, 4);
}

/* A field takes the value of another: offsets that overlap, indices that cross. */
static void copy_field(uint64_t *state, uint8_t *bytes, size_t size) {
    size_t to = pick_place(state, size - 3) & ~(size_t)3, from = pick_place(state, size - 3) & ~(size_t)3;
    memmove(bytes + to, bytes + from, 4);
}

static void move_piece(uint64_t *state, uint8_t *bytes, size_t size) {
    size_t to = pick_place(state, size), from = pick_place(state, size);
    size_t most = size - (to > from ? to : from);
    memmove(bytes + to, bytes + from, most < 64 ? most : fuzz_between(state, 1, 64));
}

static size_t cut(uint64_t *state, size_t size) {
    return fuzz_below(state, 2) ? fuzz_below(state, (uint32_t)size + 1) : size - fuzz_below(state, size < 64 ? (uint32_t)size : 64);
}

static size_t damage_once(uint64_t *state, uint8_t *bytes, size_t size) {
    if (size < 4) return size;
    switch (fuzz_below(state, 12)) {
    case 0: return cut(state, size);
    case 1: move_piece(state, bytes, size); return size;
    case 2: copy_field(state, bytes, size); return size;
    case 3:
    case 4: bytes[pick_place(state, size)] ^= (uint8_t)(1u << fuzz_below(state, 8)); return size;
    case 5: bytes[pick_place(state, size)] = (uint8_t)fuzz_random(state); return size;
    default: damage_field(state, bytes, size); return size;
    }
}

static size_t damage(uint64_t *state, uint8_t *bytes, size_t size) {
    if (LLVMFuzzerCustomMutator && fuzz_below(state, 8))
        return LLVMFuzzerCustomMutator(bytes, size, CAPACITY, (uint32_t)fuzz_random(state));
    for (uint32_t times = fuzz_between(state, 1, 1u << fuzz_below(state, 4)); times; times--) size = damage_once(state, bytes, size);
    return size;
}

/* Run `index` of `seed`: every eighth stays sound. */
static size_t make_input(const struct corpus *corpus, uint64_t seed, uint64_t index, uint8_t *bytes) {
    uint64_t state = seed * 0x100000001b3u + index;
    uint32_t file = fuzz_below(&state, (uint32_t)corpus->count + 1);
    size_t size = file < (uint32_t)corpus->count ? read_file(corpus->paths[file], bytes) : fuzz_seed(fuzz_random(&state), bytes, CAPACITY);
    return index % 8 == 0 ? size : damage(&state, bytes, size);
}

/* In memory of its own, so that a sanitizer sees a step beyond its end. */
static void try_input(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) exit(3);
    memcpy(copy, bytes, size);
    alarm(RUN_SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
}

struct call {
    uint64_t runs, seconds, seed, only;
    const char *save, *folder;
    int has_only, replay;
    struct corpus corpus;
};

static int usage(const char *name) {
    fprintf(stderr, "usage: %s [--runs N] [--seconds N] [--seed N] [--only N] [--save FILE] [--write FOLDER] [--replay] [FILE...]\n", name);
    return 2;
}

/* The place behind a flag that takes a number, or NULL. */
static uint64_t *number_of(struct call *call, const char *flag) {
    if (!strcmp(flag, "--runs")) return &call->runs;
    if (!strcmp(flag, "--seconds")) return &call->seconds;
    if (!strcmp(flag, "--seed")) return &call->seed;
    if (strcmp(flag, "--only")) return NULL;
    call->has_only = 1;
    return &call->only;
}

static int read_call(struct call *call, int argc, char **argv) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        uint64_t *number = number_of(call, argv[i]);
        const char **text = !strcmp(argv[i], "--save") ? &call->save : !strcmp(argv[i], "--write") ? &call->folder : NULL;
        if (!strcmp(argv[i], "--replay")) {
            call->replay = 1;
            continue;
        }
        if ((!number && !text) || i + 1 == argc) return 0;
        i++;
        if (number) *number = strtoull(argv[i], NULL, 10);
        if (text) *text = argv[i];
    }
    call->corpus.paths = (const char *const *)argv + i;
    call->corpus.count = argc - i;
    return 1;
}

static uint64_t run_many(const struct call *call, uint8_t *bytes) {
    time_t start = time(NULL);
    uint64_t run = 0;
    for (; call->seconds ? (uint64_t)(time(NULL) - start) < call->seconds : run < call->runs; run++) {
        current_run = run;
        try_input(bytes, make_input(&call->corpus, call->seed, run, bytes));
    }
    return run;
}

static void write_many(const struct call *call, uint8_t *bytes) {
    char path[4096];
    for (uint64_t i = 0; i < call->runs; i++) {
        snprintf(path, sizeof path, "%s/%06llu", call->folder, (unsigned long long)i);
        write_file(path, bytes, fuzz_seed(call->seed * 0x100000001b3u + i, bytes, CAPACITY));
    }
}

static uint64_t run_call(const struct call *call, uint8_t *bytes) {
    if (call->folder) {
        write_many(call, bytes);
        return call->runs;
    }
    if (call->replay) {
        for (int i = 0; i < call->corpus.count; i++) try_input(bytes, read_file(call->corpus.paths[i], bytes));
        return (uint64_t)call->corpus.count;
    }
    if (!call->has_only) return run_many(call, bytes);
    size_t size = make_input(&call->corpus, call->seed, call->only, bytes);
    current_run = call->only;
    if (call->save) write_file(call->save, bytes, size);
    try_input(bytes, size);
    return 1;
}

int main(int argc, char **argv) {
    struct call call = {.runs = 1000, .seed = 1};
    if (!read_call(&call, argc, argv)) return usage(argv[0]);
    uint8_t *bytes = malloc(CAPACITY);
    if (!bytes) return 3;
    current_seed = call.seed;
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
    else signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    unsigned long long runs = run_call(&call, bytes);
    int good = !fuzz_report || call.folder || call.replay || call.has_only || fuzz_report(runs);
    printf("%s %s: %llu runs, seed %llu%s\n", good ? "ok" : "FAIL", name, runs, (unsigned long long)call.seed,
           good ? "" : ", which reach too little");
    free(bytes);
    return !good;
}
