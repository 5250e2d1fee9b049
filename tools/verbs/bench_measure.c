/* SPDX-License-Identifier: MIT */
/* Opens a network, fills its inputs with fixed random values, and times its runs, and each step of some more. */
#include "tools/verbs/bench.h"
#include "tools/base/arena.h"
#include "tools/base/clock.h"
#include "tools/network/each.h"
#include <stdlib.h>
#include <string.h>

static uint32_t random_next(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The same values on every machine; floats are 0..1. */
static void fill(const struct morsel_view *view, uint8_t *to, uint32_t *state) {
    for (uint32_t i = 0; view->type != MORSEL_FLOAT32 && i < view->bytes; i++) to[i] = (uint8_t)(random_next(state) >> 24);
    for (uint32_t i = 0; view->type == MORSEL_FLOAT32 && i < view->bytes / 4; i++) {
        float value = (float)(random_next(state) >> 8) / 16777216.0f;
        memcpy(to + 4 * (size_t)i, &value, 4);
    }
}

static void make_inputs(struct bench *bench) {
    uint32_t count = bench->network.input_count, state = 2463534242u;
    bench->inputs = must_calloc(count, sizeof *bench->inputs);
    bench->input_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct morsel_view view;
        morsel_input(&bench->run->session, i, &view);
        uint32_t runs = bench->images ? bench->images : 1;
        bench->inputs[i] = must_calloc(runs, view.bytes);
        for (uint32_t k = 0; k < runs; k++) fill(&view, bench->inputs[i] + (size_t)k * view.bytes, &state);
    }
}

/* Inputs are spent by a run. */
static void put_image(const struct bench *bench, const struct network_run *run, size_t image) {
    for (uint32_t i = 0; i < bench->input_count; i++) {
        struct morsel_view view;
        morsel_input(&run->session, i, &view);
        memcpy(view.data, bench->inputs[i] + image * view.bytes, view.bytes);
    }
}

static bool run_image(void *context, unsigned worker, size_t image, struct failure *failure) {
    const struct bench *bench = context;
    put_image(bench, bench->crowd[worker], image);
    return network_compute(bench->crowd[worker], NULL, NULL, failure);
}

/* A batch that threads share by images includes that each image is copied into an arena. */
static bool time_run(struct bench *bench, double *ms, struct failure *failure) {
    if (!bench->images) put_image(bench, bench->run, 0);
    double start = clock_seconds();
    bool good = bench->images ? each_in(bench->pool, bench->images, (unsigned)bench->threads, NULL, run_image, bench, failure)
                              : network_compute(bench->run, NULL, NULL, failure);
    *ms = (clock_seconds() - start) * 1e3;
    return good;
}

/* As many runs as asked for, or for so many seconds. */
static bool measure_runs(struct bench *bench, struct failure *failure) {
    double end = clock_seconds() + (double)bench->seconds;
    size_t room = 0, count = 0, wanted = bench->seconds ? 0 : (size_t)bench->runs;
    double **ms = &bench->latency.ms;
    while (count < wanted || (!wanted && (!count || clock_seconds() < end))) {
        if (count == room) {
            room = wanted ? wanted : room * 2 + 1024;
            *ms = must_have(realloc(*ms, room * sizeof **ms), room * sizeof **ms);
        }
        if (!time_run(bench, &(*ms)[count++], failure)) return false;
    }
    bench->latency.count = count;
    bench->runs = (long)count;
    return true;
}

static bool measure(struct bench *bench, struct failure *failure) {
    double ms;
    if (!time_run(bench, &bench->first_ms, failure)) return false;
    for (long i = 0; i < bench->warmup; i++)
        if (!time_run(bench, &ms, failure)) return false;
    if (!measure_runs(bench, failure)) return false;
    latency_sort(&bench->latency);
    return true;
}

/* What each step of a run took so far. */
struct times {
    double before;
    double *ms; /* [step] */
};

static void add_time(void *context, const struct morsel_step *step) {
    struct times *times = context;
    double now = clock_seconds();
    times->ms[step->index] += (now - times->before) * 1e3;
    times->before = now;
}

/* Runs of their own, so that looking at the clock between steps does not lengthen the others. */
static void measure_steps(struct bench *bench) {
    struct morsel_session *session = &bench->run->session;
    size_t steps = session->step_count, runs = bench->seconds && bench->runs > 1000 ? 1000 : (size_t)bench->runs;
    double *all = must_calloc(steps * (runs + 1), sizeof *all); /* [step][run], then those of one run */
    bench->step_ms = must_calloc(steps, sizeof *bench->step_ms);
    struct times times = {0, all + steps * runs};
    morsel_session_watch(session, add_time, &times);
    for (size_t run = 0; run < runs; run++) {
        double *ms = times.ms;
        memset(ms, 0, steps * sizeof *ms);
        put_image(bench, bench->run, 0);
        times.before = clock_seconds();
        morsel_run(session);
        for (size_t i = 0; i < steps; i++) all[i * runs + run] = ms[i];
    }
    for (size_t i = 0; i < steps; i++) {
        bench->step_ms[i] = latency_median_of(all + i * runs, runs);
    }
    morsel_session_watch(session, NULL, NULL);
    free(all);
}

struct morsel_step bench_step(const struct bench *bench, uint32_t index) {
    struct morsel_step step = {0};
    morsel_session_step(&bench->run->session, index, &step);
    return step;
}

double bench_all_steps_ms(const struct bench *bench) {
    double total = 0;
    for (uint32_t i = 0; i < bench->run->session.step_count; i++) total += bench->step_ms[i];
    return total;
}

size_t bench_arena_bytes(const struct bench *bench) {
    return bench->run->arena_bytes * (bench->images ? (size_t)bench->threads : 1);
}

size_t bench_lent_bytes(const struct bench *bench) {
    return bench->run->lent_bytes * (bench->images ? (size_t)bench->threads : 1);
}

double bench_open_us(const struct bench *bench) {
    return (bench->network.open_seconds + bench->run->open_seconds) * 1e6;
}

/* The network's own batch, or several of them. */
static bool check_batch(struct bench *bench, struct failure *failure) {
    const struct network_tensor *input = bench->network.inputs;
    long batch = bench->network.input_count && input->rank > 1 ? (long)input->dims[0] : 1;
    if (bench->batch > batch && bench->batch % batch == 0) {
        bench->images = (uint32_t)(bench->batch / batch);
        return true;
    }
    if (bench->batch && bench->batch != batch)
        return failure_set(failure, STATUS_CALL,
                           "%s is made for a batch of %ld, or several of those; for another convert again: morsel convert --batch %ld",
                           bench->call.path, batch, bench->batch);
    bench->batch = batch;
    return true;
}

/* A run whose steps the threads share, or one for each thread; the first tells of the steps. */
static bool open_runs(struct bench *bench, struct failure *failure) {
    bench->network.call.threads = bench->images ? 1 : (unsigned)bench->threads;
    if (!(bench->run = network_run_open(&bench->network, failure))) return false;
    if (bench->images && !(bench->pool = each_pool((unsigned)bench->threads, failure))) return false;
    for (long i = 0; bench->images && i < bench->threads; i++)
        if (!(bench->crowd[i] = network_run_open(&bench->network, failure))) return false;
    return true;
}

bool bench_run(struct bench *bench, struct failure *failure) {
    if (!network_open(&bench->network, &bench->call, failure) || !check_batch(bench, failure) || !open_runs(bench, failure)) return false;
    make_inputs(bench);
    if (!measure(bench, failure)) return false;
    if (bench->layers) measure_steps(bench);
    return true;
}

void bench_free(struct bench *bench) {
    for (uint32_t i = 0; i < bench->input_count; i++) free(bench->inputs[i]);
    free(bench->inputs);
    latency_free(&bench->latency);
    free(bench->step_ms);
    for (long i = 0; i < bench->threads; i++) network_run_close(bench->crowd[i]);
    pool_close(bench->pool);
    network_run_close(bench->run);
    network_close(&bench->network);
}
