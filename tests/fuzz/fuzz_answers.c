/* SPDX-License-Identifier: MIT */
/*
 * One blob, one answer: blobs damaged field by field, made honest (sums, padding, proofs, checksum) and opened. What opens is run with
 * every set of kernels that this CPU has, plain C among them, in 1, 2, 3, 8 and now and then another number of tasks, in arenas that fit
 * and in longer ones: the bytes of the outputs are the same. So are those of each variant by itself. Links the library, the tool's files
 * and tests/unit/support.
 *
 *     fuzz_answers [--runs N] [--seconds N] [--seed N] [BLOB...]        (driver.c has the rest of the command line)
 *
 * NaNs count as one: which of two operands' bits they keep is left to the CPU. Of blobs that lie about their weights no more is asked
 * than that nothing outside the arena is touched, and that a run takes no more turns than morsel_work() says.
 */
#include "blob_fields.h"
#include "core/blob.h"
#include "fuzz.h"
#include "seed_stream.h"

#include <stdio.h>
#include <stdlib.h>

/* Some thirty runs of an input are to take less than a tenth of a second. */
enum { ARENA_MOST = 1 << 20, WORK_MOST = 1 << 18, GUARD = 4096, NOBODYS = 0x55, CAPS = 16, OUTPUT_MOST = 1 << 16 };

static unsigned long long honest, lying; /* blobs that were run */
static unsigned long long parted;        /* runs in two blocks */
static unsigned long long variants;      /* of these blobs, beside the first */

size_t fuzz_seed(uint64_t seed, uint8_t *bytes, size_t capacity) {
    return seed_any_blob(seed, bytes, capacity);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned int seed) {
    uint64_t state = seed;
    size_t fresh = fuzz_below(&state, 64) ? 0 : seed_any_blob(fuzz_random(&state), fields_blob, sizeof fields_blob);
    if (!fresh || fresh > most) return fields_mutate(bytes, size, &state);
    memcpy(bytes, fields_blob, fresh);
    return fields_mutate(bytes, fresh, &state);
}

int fuzz_report(unsigned long long runs) {
    printf("   %llu honest blobs and %llu others were run; in two blocks %llu times; %llu variants\n", honest, lying, parted, variants);
    return runs < 1000 || (honest > runs / 20 && lying && parted && variants);
}

/* --- The arena between two guards ------------------------------------------------------------------------------------ */

/* The address sanitizer's, where the program is built with it. */
void __asan_poison_memory_region(void const volatile *start, size_t bytes) __attribute__((weak));
void __asan_unpoison_memory_region(void const volatile *start, size_t bytes) __attribute__((weak));

static _Alignas(MORSEL_ALIGNMENT) uint8_t memory[GUARD + ARENA_MOST + GUARD], fast[GUARD + ARENA_MOST + GUARD];
static uint8_t *const arena = memory + GUARD;
static uint8_t untouched[GUARD];

static void guard(uint32_t bytes) {
    memset(untouched, NOBODYS, GUARD);
    memset(memory, NOBODYS, GUARD);
    memset(arena + bytes, NOBODYS, GUARD);
    if (!__asan_poison_memory_region) return;
    __asan_poison_memory_region(memory, GUARD);
    __asan_poison_memory_region(arena + bytes, GUARD);
}

static void check_guards(uint32_t bytes) {
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(memory, sizeof memory);
    if (!memcmp(memory, untouched, GUARD) && !memcmp(arena + bytes, untouched, GUARD)) return;
    for (uint32_t i = 0; i < GUARD; i++) {
        if (memory[i] == NOBODYS && arena[bytes + i] == NOBODYS) continue;
        fprintf(stderr, "a run wrote outside its arena, %u bytes from its end\n", i);
        abort();
    }
}

/* --- Runs ------------------------------------------------------------------------------------------------------------ */

struct answer {
    uint32_t bytes;
    uint8_t outputs[OUTPUT_MOST];
};

static void backwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    while (n--) fn(arg, n);
}

static void count_turn(void *turns, const struct morsel_step *step) {
    (void)step;
    ++*(uint64_t *)turns;
}

static void fill(const struct morsel_session *session) {
    struct morsel_view view;
    for (uint32_t i = 0; !morsel_input(session, i, &view); i++) fuzz_fill(view.data, view.bytes, 7 + i);
}

static void one_nan(uint8_t *bytes, uint32_t size) {
    for (uint32_t k = 0; k + 4 <= size; k += 4) {
        float value, one = 1;
        memcpy(&value, bytes + k, 4);
        if (value != value) memcpy(bytes + k, &one, 4);
    }
}

/* The outputs behind each other, as far as there is room. */
static void take(struct answer *answer, const struct morsel_session *session) {
    struct morsel_view view;
    answer->bytes = 0;
    for (uint32_t i = 0; !morsel_output(session, i, &view); i++) {
        uint32_t room = OUTPUT_MOST - answer->bytes, bytes = view.bytes < room ? view.bytes : room;
        memcpy(answer->outputs + answer->bytes, view.data, bytes);
        if (view.type == MORSEL_FLOAT32) one_nan(answer->outputs + answer->bytes, bytes);
        answer->bytes += bytes;
    }
}

/* What the plan has in fast memory is a block of its own where there are tasks, and nothing writes beside that. */
static void lend_fast(struct morsel_options *options, uint32_t bytes) {
    if (!bytes || options->tasks < 2) return;
    memset(fast, NOBODYS, GUARD);
    memset(fast + GUARD + bytes, NOBODYS, GUARD);
    options->fast = fast + GUARD;
    options->fast_bytes = bytes;
    parted++;
}

static void check_fast(const struct morsel_options *options) {
    if (!options->fast || (!memcmp(fast, untouched, GUARD) && !memcmp(fast + GUARD + options->fast_bytes, untouched, GUARD))) return;
    fprintf(stderr, "a run wrote beside its fast memory\n");
    abort();
}

/* The arena is `longer` than the plan says, where that has room. `turns`: NULL, or counts those of a watched run. */
static void run(struct answer *answer, const struct morsel_model *model, uint32_t cpu, uint32_t tasks, uint32_t longer, uint64_t *turns) {
    struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu, .tasks = tasks, .parallel_for = backwards};
    struct morsel_session session;
    uint32_t bytes = morsel_arena_bytes_for(model, tasks);
    if (!bytes || bytes > ARENA_MOST) bytes = morsel_arena_bytes(model);
    lend_fast(&options, morsel_arena_fast_bytes(model));
    bytes -= (uint32_t)options.fast_bytes;
    bytes += longer <= ARENA_MOST - bytes ? longer : 0;
    guard(bytes);
    if (morsel_session_open(&session, model, arena, bytes, &options)) abort();
    if (turns && morsel_session_watch(&session, count_turn, turns)) abort();
    fill(&session);
    if (morsel_run(&session)) abort();
    take(answer, &session);
    check_guards(bytes);
    check_fast(&options);
}

static void same(const struct answer *a, const struct answer *b, uint32_t cpu, uint32_t tasks) {
    if (a->bytes == b->bytes && !memcmp(a->outputs, b->outputs, a->bytes)) return;
    uint32_t i = 0;
    while (i < a->bytes && a->outputs[i] == b->outputs[i]) i++;
    fprintf(stderr, "the outputs of plain C in one task and of CPU features %#x in %u tasks differ from byte %u on\n", (unsigned)cpu,
            (unsigned)tasks, (unsigned)i);
    abort();
}

/* Plain C; then the CPU's features, one more each time. */
static uint32_t list_caps(uint32_t caps[CAPS]) {
    uint32_t count = 1, features = morsel_cpu_features();
    caps[0] = MORSEL_CPU_C;
    for (uint32_t k = 0, mask = 0; k < 30 && count < CAPS; k++)
        if (features >> k & 1) caps[count++] = mask |= 1u << k;
    return count;
}

static void run_all(const struct morsel_model *model, int compare) {
    static struct answer first, other;
    uint32_t caps[CAPS], count = list_caps(caps);
    uint64_t turns = 0;
    run(&first, model, MORSEL_CPU_C, 1, 0, &turns);
    if (turns > morsel_work(model)) {
        fprintf(stderr, "%llu turns, beyond what morsel_work() says\n", (unsigned long long)turns);
        abort();
    }
    for (uint32_t c = 0; c < count; c++) {
        const uint32_t tasks[] = {1, 2, 3, 8, 4 + (c + first.bytes) % 4};
        for (uint32_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
            const uint32_t longer = (c + t) % 2 ? 64 + first.bytes * (c + t) % 100000 : 0;
            run(&other, model, caps[c], tasks[t], longer, NULL);
            if (compare) same(&first, &other, caps[c], tasks[t]);
        }
    }
}

/* Gives the work that is left for others. */
static uint64_t run_within(const struct morsel_model *model, int honest_one, uint64_t most) {
    const uint64_t work = morsel_work(model);
    if (!work || work > most || morsel_arena_bytes(model) > ARENA_MOST) return most;
    fuzz_taken++;
    honest += honest_one != 0;
    lying += !honest_one;
    run_all(model, honest_one);
    return most - work;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct morsel_model model;
    void *blob = NULL;
    if (posix_memalign(&blob, MORSEL_ALIGNMENT, size ? size : 1)) exit(3);
    if (size) memcpy(blob, bytes, size);
    int whole = !morsel_open(&model, blob, size, 0);
    if (!whole && morsel_open(&model, blob, size, MORSEL_SKIP_CHECKSUM)) morsel_open(&model, NULL, 0, 0); /* leaves it closed */
    uint64_t left = run_within(&model, whole, WORK_MOST);
    for (uint32_t i = 1; i < morsel_variant_count(&model); i++) {
        struct morsel_model variant;
        if (morsel_open_variant(&variant, &model, i, whole ? 0 : MORSEL_SKIP_CHECKSUM)) continue;
        uint64_t before = left;
        left = run_within(&variant, whole, left);
        variants += left < before;
    }
    free(blob);
    return 0;
}
