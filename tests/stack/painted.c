/* SPDX-License-Identifier: MIT */
/*
 * painted BLOB...: how deep the stack gets when public functions run, measured. They run on a thread whose stack holds a pattern, by every
 * instruction set of this CPU; what a thread takes that does nothing is subtracted.
 * A line for each set: the deepest of all blobs. FAIL and exit status 1 where that is more than core/morsel.h states.
 */
#define _GNU_SOURCE
#include "core/morsel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 1 << 20, PATTERN = 0xa5 };

static const struct {
    const char *name;
    uint32_t needs, mask, stated;
} sets[] = {
    {"c", 0, MORSEL_CPU_C, MORSEL_STACK_BYTES},
    {"neon", MORSEL_CPU_NEON, MORSEL_CPU_NEON, MORSEL_STACK_ARM64},
    {"dotprod", MORSEL_CPU_DOTPROD, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD, MORSEL_STACK_ARM64},
    {"i8mm", MORSEL_CPU_I8MM, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD | MORSEL_CPU_I8MM, MORSEL_STACK_ARM64},
    {"avx2", MORSEL_CPU_AVX2, MORSEL_CPU_AVX2, MORSEL_STACK_X86},
    {"avxvnni", MORSEL_CPU_AVXVNNI, MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI, MORSEL_STACK_X86},
    {"avx512vnni", MORSEL_CPU_AVX512VNNI, MORSEL_CPU_ALL, MORSEL_STACK_X86},
};

enum { FUNCTIONS = 5 };
static const char *const functions[FUNCTIONS] = {"open", "session_open", "run", "picture", "frame"};

static struct run {
    const void *blob;
    size_t bytes;
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_options options;
    uint8_t *arena;
    enum morsel_error error;
} now;

static _Alignas(4096) uint8_t stack[STACK], rgb[64 * 64 * 3], scratch[1 << 20];

static void *do_nothing(void *unused) {
    return unused;
}

static void *do_open(void *unused) {
    now.error = morsel_open(&now.model, now.blob, now.bytes, 0);
    return unused;
}

static void *do_session_open(void *unused) {
    now.error = morsel_session_open(&now.session, &now.model, now.arena, morsel_arena_bytes(&now.model), &now.options);
    return unused;
}

static void *do_run(void *unused) {
    now.error = morsel_run(&now.session);
    return unused;
}

/* A network without a picture rule refuses: that is no error here. */
static void *do_picture(void *unused) {
    struct morsel_view in;
    now.error = morsel_input(&now.session, 0, &in);
    if (morsel_picture_bytes(&now.model, 64, 64) > 0)
        now.error = morsel_picture(&now.model, rgb, sizeof rgb, 64, 64, 0, scratch, sizeof scratch, &in, 0);
    return unused;
}

/* On its side, of three planes. */
static void *do_frame(void *unused) {
    struct morsel_view in;
    const struct morsel_frame frame = {.size = sizeof frame,
                                       .pixels = MORSEL_I420,
                                       .width = 64,
                                       .height = 64,
                                       .turn = 90,
                                       .planes = {{rgb, sizeof rgb, 0}, {rgb, sizeof rgb, 0}, {rgb, sizeof rgb, 0}}};
    now.error = morsel_input(&now.session, 0, &in);
    if (morsel_frame_bytes(&now.model, &frame) > 0) now.error = morsel_frame(&now.model, &frame, scratch, sizeof scratch, &in, 0);
    return unused;
}

/* Bytes of its stack that a thread wrote. */
static size_t used_by(void *(*function)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    memset(stack, PATTERN, sizeof stack);
    if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, sizeof stack) ||
        pthread_create(&thread, &attributes, function, NULL) || pthread_join(thread, NULL) || pthread_attr_destroy(&attributes))
        exit((fputs("painted: no thread\n", stderr), 2));
    size_t untouched = 0;
    while (untouched < sizeof stack && stack[untouched] == PATTERN) untouched++;
    return sizeof stack - untouched;
}

static void *load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) exit((perror(path), 2));
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *blob = aligned_alloc(MORSEL_ALIGNMENT, (*bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT);
    if (!blob || fread(blob, 1, *bytes, file) != *bytes) exit((perror(path), 2));
    fclose(file);
    return blob;
}

/* Raises the deepest of each function; what takes much work is left out. */
static void measure(const char *path, uint32_t mask, size_t nothing, size_t *deepest) {
    static void *(*const calls[FUNCTIONS])(void *) = {do_open, do_session_open, do_run, do_picture, do_frame};
    now = (struct run){.options = {.size = sizeof(struct morsel_options), .cpu_mask = mask}};
    now.blob = load(path, &now.bytes);
    for (int f = 0; f < FUNCTIONS && !(f && morsel_work(&now.model) > 100000000); f++) {
        if (f == 1) now.arena = aligned_alloc(MORSEL_ALIGNMENT, (morsel_arena_bytes(&now.model) + 63) / 64 * 64);
        if (f == 1 && now.arena) memset(now.arena, 1, morsel_arena_bytes(&now.model));
        size_t used = used_by(calls[f]);
        if (now.error) exit((fprintf(stderr, "painted: %s: %s\n", path, morsel_error_text(now.error)), 2));
        used = used > nothing ? used - nothing : 0;
        if (used > deepest[f]) deepest[f] = used;
    }
    free(now.arena);
    free((void *)(uintptr_t)now.blob);
}

int main(int count, char **blobs) {
    int status = 0;
    const size_t nothing = used_by(do_nothing);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        size_t deepest[FUNCTIONS] = {0}, most = 0;
        if (sets[i].needs & ~morsel_cpu_features()) continue;
        for (int b = 1; b < count; b++) measure(blobs[b], sets[i].mask, nothing, deepest);
        for (int f = 0; f < FUNCTIONS; f++) most = deepest[f] > most ? deepest[f] : most;
        printf("%s painted %s:", most > sets[i].stated ? "FAIL" : "ok", sets[i].name);
        for (int f = 0; f < FUNCTIONS; f++) printf(" %s %zu", functions[f], deepest[f]);
        printf(" of %u\n", (unsigned)sets[i].stated);
        status |= most > sets[i].stated;
    }
    return status;
}
