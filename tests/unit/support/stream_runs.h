/* SPDX-License-Identifier: MIT */
/* What the tests of streaming share: random networks by seed, and their runs. */
#ifndef STREAM_RUNS_H
#define STREAM_RUNS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/morsel.h"
#include "tests/unit/support/blob_builder.h"
#include "tests/unit/support/random_net.h"
#include "tools/net/blob/blob.h"
#include "tools/net/plan/plan_groups.h"
#include "tools/net/plan/plan.h"

static uint32_t first = 1; /* of the seeds: the program's argument */
static uint32_t state;

static inline uint32_t between(uint32_t low, uint32_t high) {
    return builder_between(&state, low, high);
}

static uint32_t current; /* the seed that is tried */

static inline struct net *make_random(uint32_t seed, uint32_t images) {
    static const struct random_net_limits limits = {40, 24, 20, 40, 6};
    state = current = seed;
    return random_net(seed, images, &limits);
}

/* --- Runs --- */

/* Tasks one after the other, the last first: no task may rely on another one. */
static void backwards(void *context, uint32_t n, morsel_task *fn, void *arg) {
    (void)context;
    while (n-- > 0) fn(arg, n);
}

/* All outputs one behind the other, for free(). */
static uint8_t *run(const uint8_t *blob, size_t bytes, uint32_t tasks, uint32_t cpu, uint32_t *out_bytes) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu, .tasks = tasks, .parallel_for = tasks > 1 ? backwards : NULL};
    assert_int_equal(morsel_open(&model, blob, bytes, MORSEL_SKIP_CHECKSUM), MORSEL_OK);
    uint32_t arena_bytes = morsel_arena_bytes_for(&model, tasks);
    uint8_t *arena = builder_aligned(arena_bytes);
    memset(arena, 0xee, arena_bytes);
    assert_int_equal(morsel_session_open(&s, &model, arena, arena_bytes, &options), MORSEL_OK);
    uint32_t fill = 7, at = 0;
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)builder_random(&fill);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    uint8_t *out = NULL;
    for (uint32_t i = 0; morsel_output(&s, i, &v) == MORSEL_OK; i++) {
        out = realloc(out, at + v.bytes);
        memcpy(out + at, v.data, v.bytes);
        at += v.bytes;
    }
    free(arena);
    *out_bytes = at;
    return out;
}

static uint8_t *blob_of(struct net *net, size_t *bytes) {
    struct blob_extras none = {0};
    assert_true(plan_arena(net));
    uint8_t *blob = blob_write(net, &none, bytes);
    assert_non_null(blob);
    return blob;
}

static inline void compare(const uint8_t *blob, size_t bytes, uint32_t tasks, uint32_t cpu, const uint8_t *want, uint32_t want_bytes) {
    uint32_t got_bytes;
    uint8_t *got = run(blob, bytes, tasks, cpu, &got_bytes);
    assert_int_equal(got_bytes, want_bytes);
    assert_memory_equal(got, want, want_bytes);
    free(got);
}

/* After a failure: what to call this with to see it first. */
static inline int say_seed(void **unused) {
    (void)unused;
    if (current) print_message("# at seed %u\n", current);
    current = 0;
    return 0;
}

/* The program's argument is the first seed. */
static inline void read_seed(int argc, char **argv) {
    first = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : first;
    print_message("# seeds from %u on\n", first);
}

/* What a network makes of floats: its one output, of `count` floats, for free(). */
static inline float *run_floats(struct net *net, uint32_t cpu, const float *x, size_t count) {
    struct morsel_model model;
    struct morsel_session s;
    struct morsel_view v;
    size_t bytes;
    const struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu};
    uint8_t *blob = blob_of(net, &bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint8_t *arena = builder_aligned(morsel_arena_bytes(&model));
    assert_int_equal(morsel_session_open(&s, &model, arena, morsel_arena_bytes(&model), &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    memcpy(v.data, x, v.bytes);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
    assert_int_equal(v.bytes, count * sizeof(float));
    float *y = malloc(v.bytes);
    assert_non_null(y);
    memcpy(y, v.data, v.bytes);
    free(arena);
    free(blob);
    return y;
}

/* The fastest kernels and plain C give the same floats, within `step` of what is wanted, but for how floats are rounded on the way. */
static inline void check_floats(struct net *net, const char *text, const float *x, const float *want, size_t count, float step) {
    float *fast = run_floats(net, MORSEL_CPU_ALL, x, count), *plain = run_floats(net, MORSEL_CPU_C, x, count), most = 0;
    assert_memory_equal(fast, plain, count * sizeof *fast);
    for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(want[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(fast[i] - want[i]) <= 1.001F * step + 2e-6F * most))
            fail_msg("%s: element %zu is %g, not %g", text, i, (double)fast[i], (double)want[i]);
    free(fast);
    free(plain);
}

#endif
