/* SPDX-License-Identifier: MIT */
/*
 * answers [--work MOST] [--cpu NAME]... [--threads] BLOB...
 *
 * Runs each blob on inputs by seed, with every kernel set that this CPU has (or those that are named), in 1 to 8 tasks.
 * A line a run: "NETWORK KERNELS TASKS CRC", the CRC-32 of all outputs. A network whose work is above MOST: "NETWORK large".
 * Tasks run one after the other, the last first; with --threads in a pool of eight threads, and every other time with a barrier.
 * Before them the library tests itself, by the same kernel sets.
 * Exit status 1: a blob that does not open or run, a self-test that fails.
 */
#include "core/morsel.h"
#include "tools/network/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS_MOST = 8, INPUTS = 3 };

static const struct kernels {
    const char *name;
    uint32_t bit, mask; /* what the CPU must have; what is allowed */
} all_kernels[] = {
    {"c", 0, MORSEL_CPU_C},
    {"neon", MORSEL_CPU_NEON, MORSEL_CPU_NEON},
    {"dotprod", MORSEL_CPU_DOTPROD, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD},
    {"i8mm", MORSEL_CPU_I8MM, MORSEL_CPU_NEON | MORSEL_CPU_DOTPROD | MORSEL_CPU_I8MM},
    {"avx2", MORSEL_CPU_AVX2, MORSEL_CPU_AVX2},
    {"avxvnni", MORSEL_CPU_AVXVNNI, MORSEL_CPU_AVX2 | MORSEL_CPU_AVXVNNI},
    {"avx512vnni", MORSEL_CPU_AVX512VNNI, MORSEL_CPU_AVX2 | MORSEL_CPU_AVX512VNNI | MORSEL_CPU_AVX512VBMI},
};

enum { KERNELS = sizeof all_kernels / sizeof all_kernels[0] };

static struct call {
    unsigned long long work;
    uint32_t named; /* a bit for each row above; 0: all */
    struct pool *pool;
} call = {.work = UINT64_MAX};

struct network {
    const char *name;
    int name_length;
    void *blob;
    size_t bytes;
    struct morsel_model model;
};

static void fail(const char *network, const char *what) {
    fprintf(stderr, "answers: %s: %s\n", network, what);
    exit(1);
}

static void *aligned(const char *network, size_t bytes) {
    void *memory = aligned_alloc(MORSEL_ALIGNMENT, (bytes + MORSEL_ALIGNMENT) / MORSEL_ALIGNMENT * MORSEL_ALIGNMENT);
    if (!memory) fail(network, "no memory");
    return memory;
}

/* --- Inputs and outputs --- */

/* xorshift: the same everywhere */
static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Bytes of their whole range; in the second input few of them are far from the middle. Floats from -4 to 4, and in the last one any bits:
 * infinities, NaNs and denormals are among them. */
static void fill(const struct morsel_view *view, uint32_t input, uint32_t *state) {
    uint8_t *bytes = view->data;
    for (uint32_t i = 0; i < view->bytes; i++) {
        bytes[i] = (uint8_t)(next_random(state) >> 24);
        if (input == 1) bytes[i] = (uint8_t)(view->zero_point + (int8_t)bytes[i] / 8);
    }
    if (view->type != MORSEL_FLOAT32 || input == INPUTS - 1) return;
    for (uint32_t i = 0; i < view->bytes; i += 4) {
        float value = (float)(next_random(state) >> 8) / (1 << 21) - 4;
        memcpy(bytes + i, &value, 4);
    }
}

/* CRC-32, a bit at a time: outputs are short. */
static uint32_t crc(uint32_t sum, const uint8_t *bytes, uint32_t count) {
    sum = ~sum;
    for (uint32_t i = 0; i < count; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

/* --- Runs --- */

static void backwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    while (n-- > 0) fn(arg, n);
}

static struct morsel_options options_of(uint32_t mask, uint32_t tasks) {
    struct morsel_options options = {.size = sizeof options, .cpu_mask = mask, .tasks = tasks, .parallel_for = backwards};
    if (call.pool) {
        options.parallel_for = pool_run;
        options.parallel_ctx = call.pool;
        options.barrier = tasks % 2 ? NULL : pool_barrier;
    }
    return options;
}

/* What the arena held before differs from run to run: nobody may read it. The memory sanitizer sees who does. */
static void spoil(uint8_t *arena, uint32_t bytes, int value) {
#if defined(__clang__)
#if __has_feature(memory_sanitizer)
    value = 0, bytes = 0;
#endif
#endif
    memset(arena, value, bytes);
}

static uint32_t answer(const struct network *network, uint32_t mask, uint32_t tasks) {
    const struct morsel_options options = options_of(mask, tasks);
    struct morsel_session session;
    struct morsel_view view;
    uint32_t bytes = morsel_arena_bytes_for(&network->model, tasks), sum = 0, state = 2463534242u;
    uint8_t *arena = aligned(network->name, bytes);
    spoil(arena, bytes, (int)(37 * tasks + mask % 251));
    enum morsel_error error = morsel_session_open(&session, &network->model, arena, bytes, &options);
    for (uint32_t input = 0; !error && input < INPUTS; input++) {
        for (uint32_t i = 0; !morsel_input(&session, i, &view); i++) fill(&view, input, &state);
        error = morsel_run(&session);
        for (uint32_t i = 0; !error && !morsel_output(&session, i, &view); i++) sum = crc(sum, view.data, view.bytes);
    }
    if (error) fail(network->name, morsel_error_text(error));
    free(arena);
    return sum;
}

/* Of each kernel set that is to run: in builds of any kind. */
static void test_kernels(void) {
    for (int k = 0; k < KERNELS; k++) {
        const struct kernels *kernels = &all_kernels[k];
        if (kernels->bit & ~morsel_cpu_features() || (call.named && !(call.named >> k & 1))) continue;
        if (!morsel_selftest(kernels->mask)) continue;
        fprintf(stderr, "answers: the self-test finds %s wrong, by %s\n", morsel_selftest(kernels->mask), kernels->name);
        exit(1);
    }
}

static void answers(const struct network *network) {
    if (morsel_work(&network->model) > call.work) {
        printf("%.*s large\n", network->name_length, network->name);
        return;
    }
    for (uint32_t k = 0; k < KERNELS; k++) {
        const struct kernels *kernels = &all_kernels[k];
        if (kernels->bit & ~morsel_cpu_features() || (call.named && !(call.named >> k & 1))) continue;
        for (uint32_t tasks = 1; tasks <= TASKS_MOST; tasks++)
            printf("%.*s %s %u %08x\n", network->name_length, network->name, kernels->name, (unsigned)tasks,
                   (unsigned)answer(network, kernels->mask, tasks));
    }
}

/* --- The command line --- */

static void read_blob(struct network *network, const char *path) {
    FILE *file = fopen(path, "rb");
    const char *slash = strrchr(path, '/'), *dot;
    network->name = slash ? slash + 1 : path;
    dot = strrchr(network->name, '.');
    network->name_length = dot ? (int)(dot - network->name) : (int)strlen(network->name);
    if (!file || fseek(file, 0, SEEK_END)) fail(path, "cannot be read");
    network->bytes = (size_t)ftell(file);
    network->blob = aligned(path, network->bytes);
    rewind(file);
    if (fread(network->blob, 1, network->bytes, file) != network->bytes) fail(path, "cannot be read");
    fclose(file);
}

static void name_kernels(const char *name) {
    for (uint32_t k = 0; k < KERNELS; k++)
        if (!strcmp(all_kernels[k].name, name)) {
            call.named |= 1u << k;
            if (all_kernels[k].bit & ~morsel_cpu_features()) fail(name, "this CPU has no such kernels");
            return;
        }
    fail(name, "no such kernels");
}

static int read_options(int argc, char **argv) {
    int i = 1;
    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        if (!strcmp(argv[i], "--threads")) call.pool = pool_open(TASKS_MOST);
        else if (!strcmp(argv[i], "--work") && i + 1 < argc) call.work = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--cpu") && i + 1 < argc) name_kernels(argv[++i]);
        else fail(argv[i], "no such option");
    }
    if (i == argc) fail("usage", "answers [--work MOST] [--cpu NAME]... [--threads] BLOB...");
    return i;
}

int main(int argc, char **argv) {
    int first = read_options(argc, argv);
    test_kernels();
    for (int i = first; i < argc; i++) {
        struct network network;
        read_blob(&network, argv[i]);
        enum morsel_error error = morsel_open(&network.model, network.blob, network.bytes, 0);
        if (error) fail(argv[i], morsel_error_text(error));
        answers(&network);
        free(network.blob);
    }
    pool_close(call.pool);
    return 0;
}
