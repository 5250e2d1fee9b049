/* SPDX-License-Identifier: MIT */
/* Sessions of one model may run on many threads. Also run under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/support/blob_builder.h"
#include "core/plan.h"
#include "core/run.h"
#include "tools/net/blob/blob.h"
#include "tools/net/nets_build.h"
#include "tools/net/plan/plan.h"
#include "tools/network/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__ /* which sees a race whether or not it strikes, and takes forty times as long */
enum { RUNS = 12 };
#else
enum { RUNS = 50 };
#endif
enum { CHANNELS = 5, PIXELS = 64, CALLERS = 8 };

/* The network as a blob; it is used up. */
static uint8_t *written(struct net *net, uint32_t *bytes) {
    const struct blob_extras none = {0};
    size_t size;
    uint8_t *blob = blob_write(net, &none, &size);
    assert_non_null(blob);
    net_free(net);
    *bytes = (uint32_t)size;
    return blob;
}

/* A 3x3 maximum over a picture: a step that is cut by rows. */
static uint8_t *make_blob(uint32_t *bytes) {
    struct builder b;
    const uint32_t dims[] = {1, PIXELS, PIXELS, CHANNELS};
    const struct morsel_blob_pool pool = {.window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, .out_max = 255};
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0), y = builder_tensor(&b, MORSEL_UINT8, 4, dims, 1, 0);
    builder_step(&b, MORSEL_STEP_MAX_POOL, &x, 1, y, &pool, sizeof pool, 0);
    builder_input(&b, x, "x");
    builder_output(&b, y, "y");
    return builder_finish(&b, bytes);
}

/* Inverted residuals, which stream their rows. */
static uint8_t *make_streaming_blob(uint32_t *bytes) {
    struct maker m;
    make_start(&m, "threads");
    struct net_buffer *x = make_conv(&m, make_picture(&m, 40, 24, 3), 16, 3, 3, 2, RELU);
    for (uint32_t stride = 1; stride <= 2; stride++) {
        struct net_buffer *y = make_depthwise(&m, make_conv(&m, x, 64, 1, 1, 1, RELU), 3, stride, RELU);
        y = make_conv(&m, y, 16, 1, 1, 1, PLAIN);
        x = stride == 1 ? make_sum(&m, x, y, PLAIN) : y;
    }
    make_end(&m, make_fc(&m, make_mean(&m, make_conv(&m, x, 80, 1, 1, 1, RELU)), 70, PLAIN));
    m.net->arena_room = 1;
    assert_true(plan_arena(m.net));
    assert_true(m.net->group_count > 0);
    return written(m.net, bytes);
}

/* Many weights for small pictures: convolutions cut by channels, steps that go on without waiting. */
static uint8_t *make_weighty_blob(uint32_t *bytes) {
    struct maker m;
    make_start(&m, "threads");
    struct net_buffer *x = make_conv(&m, make_picture(&m, 12, 10, 3), 24, 3, 3, 2, RELU);
    for (uint32_t i = 0; i < 3; i++) {
        struct net_buffer *y = make_depthwise(&m, make_conv(&m, x, 184, 3, 3, 1, RELU), 3, 1, RELU);
        x = make_sum(&m, x, make_conv(&m, y, 24, 1, 1, 1, PLAIN), PLAIN);
    }
    make_end(&m, make_fc(&m, make_mean(&m, make_conv(&m, x, 80, 1, 1, 1, RELU)), 70, PLAIN));
    m.net->no_streaming = true;
    assert_true(plan_arena(m.net));
    return written(m.net, bytes);
}

/* Inverted residuals on small pictures, which tasks go through without waiting; each sum lies over what the next block is made from. */
static uint8_t *make_chained_blob(uint32_t *bytes) {
    struct maker m;
    make_start(&m, "threads");
    struct net_buffer *x = make_conv(&m, make_picture(&m, 28, 28, 3), 32, 3, 3, 2, RELU);
    for (uint32_t i = 0; i < 5; i++) {
        struct net_buffer *y = make_depthwise(&m, make_conv(&m, x, 192, 1, 1, 1, RELU), 3, 1 + (i == 2), RELU);
        y = make_conv(&m, y, 32, 1, 1, 1, PLAIN);
        x = i == 2 ? y : make_sum(&m, x, y, PLAIN);
    }
    make_end(&m, make_fc(&m, make_mean(&m, make_conv(&m, x, 80, 1, 1, 1, RELU)), 70, PLAIN));
    assert_true(plan_arena(m.net));
    return written(m.net, bytes);
}

/* Chained steps, one with more rows of padding than its window has: tasks with the first and the last rows need none of the step before. */
static uint8_t *make_padded_blob(uint32_t *bytes) {
    enum { MORE = 9 };
    struct maker m;
    make_start(&m, "threads");
    struct net_buffer *x = make_conv(&m, make_picture(&m, 28, 28, 3), 32, 3, 3, 2, RELU);
    struct net_buffer *y = make_depthwise(&m, make_conv(&m, x, 96, 1, 1, 1, RELU), 3, 1, RELU);
    struct morsel_blob_window *p = &m.net->steps[m.net->step_count - 1]->parameters.window;
    p->pad_top += MORE;
    p->pad_bottom += MORE;
    y->bytes += 2 * MORE * y->bytes / y->dims[1];
    y->dims[1] += 2 * MORE;
    y = make_conv(&m, y, 32, 1, 1, 1, PLAIN);
    make_end(&m, make_fc(&m, make_mean(&m, y), 70, PLAIN));
    assert_true(plan_arena(m.net));
    return written(m.net, bytes);
}

/* A convolution and the sum of its picture with the same picture transposed: rows of that are not made of the same rows alone. */
static uint8_t *make_transposing_blob(uint32_t *bytes) {
    enum { SIDE = 12, DEPTH = 16 };
    struct maker m;
    make_start(&m, "threads");
    struct net_buffer *picture = make_picture(&m, SIDE, SIDE, DEPTH), *x = make_conv(&m, picture, DEPTH, 1, 1, 1, RELU);
    struct net_buffer *y = make_sum(&m, x, x, PLAIN);
    struct morsel_blob_binary *p = &m.net->steps[m.net->step_count - 1]->parameters.binary;
    const uint32_t dims[3] = {SIDE, SIDE, DEPTH}, plain[3] = {SIDE * DEPTH, DEPTH, 1}, turned[3] = {DEPTH, SIDE * DEPTH, 1};
    p->rank = 3;
    memcpy(p->dims, dims, sizeof dims);
    memcpy(p->a_stride, plain, sizeof plain);
    memcpy(p->b_stride, turned, sizeof turned);
    make_end(&m, make_sum(&m, y, picture, PLAIN)); /* nothing else may lie where the picture does */
    m.net->no_streaming = true;
    assert_true(plan_arena(m.net));
    return written(m.net, bytes);
}

/* One task after the other, to the end of all its steps: what one overwrites too soon is gone when the next one wants it. */
static void run_upwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    for (uint32_t i = 0; i < n; i++) fn(arg, i);
}

static void run_downwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx;
    while (n--) fn(arg, n);
}

static void check_order(const struct morsel_model *model, uint32_t tasks, morsel_parallel_for *order, const uint8_t *x,
                        const uint8_t *wanted) {
    struct morsel_options options = {.size = sizeof options, .tasks = tasks, .parallel_for = order};
    struct morsel_session session;
    struct morsel_view in, out;
    uint32_t bytes = morsel_arena_bytes_for(model, tasks);
    uint8_t *arena = builder_aligned(bytes);
    memset(arena, 0xee, bytes); /* or a freed one may hold what a step before would still have to write */
    assert_int_equal(morsel_session_open(&session, model, arena, bytes, &options), MORSEL_OK);
    morsel_input(&session, 0, &in);
    morsel_output(&session, 0, &out);
    memcpy(in.data, x, in.bytes);
    assert_int_equal(morsel_run(&session), MORSEL_OK);
    assert_memory_equal(out.data, wanted, out.bytes);
    free(arena);
}

/* Ways in which steps run. */
static int by_blocks(const struct morsel_call *call) {
    return call->mode == MORSEL_MODE_STEPS && call->split == MORSEL_SPLIT_BLOCKS;
}
static int goes_on(const struct morsel_call *call) { /* of an entry of several steps */
    return call->mode == MORSEL_MODE_STEPS && call->count > 1;
}
static int is_chained(const struct morsel_call *call) {
    return call->mode == MORSEL_MODE_CHAIN;
}
static int is_moved(const struct morsel_call *call) {
    return call->moved;
}

/* How many steps of a network run in a way, of two tasks with room for `bands` of them. */
static uint32_t count_ways(uint8_t *(*make)(uint32_t *), uint32_t bands, int (*is)(const struct morsel_call *)) {
    uint32_t bytes, count = 0;
    uint8_t *blob = make(&bytes);
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_options options = {.size = sizeof options, .cpu_mask = MORSEL_CPU_C, .tasks = 2, .parallel_for = run_upwards};
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint32_t arena_bytes = morsel_arena_bytes_for(&model, bands);
    uint8_t *arena = builder_aligned(arena_bytes);
    assert_int_equal(morsel_session_open(&session, &model, arena, arena_bytes, &options), MORSEL_OK);
    for (uint32_t i = 0; i < session.step_count; i++) count += is(morsel_call_at(&session, i)) != 0;
    free(arena);
    free(blob);
    return count;
}

/* The networks above run in every way that there is. */
static void every_way_to_run_is_taken(void **state) {
    (void)state;
    assert_true(count_ways(make_weighty_blob, 2, by_blocks) >= 6); /* three convolutions, and the depthwise ones behind them */
    assert_true(count_ways(make_weighty_blob, 1, goes_on) >= 3);
    assert_true(count_ways(make_weighty_blob, 2, goes_on) >= 1);
    assert_true(count_ways(make_weighty_blob, 2, is_chained) >= 2);
    assert_true(count_ways(make_streaming_blob, 2, is_moved) >= 1);
    assert_true(count_ways(make_chained_blob, 2, is_chained) >= 12);
    assert_true(count_ways(make_chained_blob, 2, is_moved) >= 3);
    assert_true(count_ways(make_padded_blob, 2, is_chained) >= 2);
    assert_int_equal(count_ways(make_chained_blob, 1, is_chained), 0); /* an arena for one task has no room for that */
    assert_int_equal(count_ways(make_chained_blob, 1, is_moved), 0);
}

static void tasks_in_any_order_give_the_same_bytes(void **state) {
    (void)state;
    uint8_t *(*const makers[])(uint32_t *) = {make_weighty_blob, make_transposing_blob, make_streaming_blob, make_chained_blob,
                                              make_padded_blob};
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++) {
        uint32_t bytes, seed = 9;
        struct morsel_model model;
        static uint8_t x[PIXELS * PIXELS * CHANNELS];
        for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)builder_random(&seed);
        uint8_t *blob = makers[k](&bytes), *wanted = builder_run(blob, bytes, x, NULL);
        blob = makers[k](&bytes);
        assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
        for (uint32_t tasks = 1; tasks <= 16; tasks++) {
            check_order(&model, tasks, run_upwards, x, wanted);
            check_order(&model, tasks, run_downwards, x, wanted);
        }
        free(blob);
        free(wanted);
    }
}

struct caller {
    const struct morsel_model *model;
    const uint8_t *x, *wanted;
    struct pool *pool;
    unsigned threads;
    int with_barrier, jobs, barriers, wrong;
    pthread_t thread;
};

static void run_counted(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    struct caller *caller = ctx;
    caller->jobs++;
    pool_run(caller->pool, n, fn, arg);
}

static void barrier_counted(void *ctx, uint32_t n, uint32_t index) {
    struct caller *caller = ctx;
    if (index == 0) caller->barriers++;
    pool_barrier(caller->pool, n, index);
}

/* Runs a session of its own, again and again. */
static void *call(void *arg) {
    struct caller *caller = arg;
    struct morsel_options options = {.size = sizeof options,
                                     .tasks = caller->threads,
                                     .parallel_for = run_counted,
                                     .parallel_ctx = caller,
                                     .barrier = caller->with_barrier ? barrier_counted : NULL};
    struct morsel_session session;
    struct morsel_view in, out;
    uint32_t bytes = morsel_arena_bytes_for(caller->model, caller->threads); /* streaming steps run in as many tasks, too */
    uint8_t *arena = builder_aligned(bytes);
    caller->pool = pool_open(caller->threads);
    caller->wrong = !caller->pool || morsel_session_open(&session, caller->model, arena, bytes, &options) != MORSEL_OK;
    caller->wrong |= session.bands != (morsel_band_bytes(caller->model) ? caller->threads : 1);
    for (int run = 0; run < RUNS && !caller->wrong; run++) {
        morsel_input(&session, 0, &in);
        morsel_output(&session, 0, &out);
        memcpy(in.data, caller->x, in.bytes);
        caller->wrong = morsel_run(&session) != MORSEL_OK || memcmp(out.data, caller->wanted, out.bytes) != 0;
    }
    if (caller->with_barrier && caller->threads > 1) /* one job a run; tasks wait for each other between steps where there are several */
        caller->wrong |= caller->jobs != RUNS || (caller->barriers >= RUNS) != (session.step_count > 1);
    else caller->wrong |= caller->barriers != 0;
    free(arena);
    pool_close(caller->pool);
    return NULL;
}

/* Many callers with a session each, all on one model, half of them with tasks that wait at a barrier; `make` gives its blob twice. */
static void run_callers(uint8_t *(*make)(uint32_t *bytes)) {
    uint32_t bytes, seed = 7;
    struct morsel_model model;
    struct caller callers[CALLERS];
    static uint8_t x[PIXELS * PIXELS * CHANNELS];
    for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)builder_random(&seed);
    uint8_t *blob = make(&bytes);
    uint8_t *wanted = builder_run(blob, bytes, x, NULL); /* in one thread; frees the blob */
    blob = make(&bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.model = &model, .x = x, .wanted = wanted, .threads = 1 + i / 2, .with_barrier = i % 2};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_false(callers[i].wrong);
    }
    free(blob);
    free(wanted);
}

static void sessions_run_side_by_side(void **state) {
    (void)state;
    run_callers(make_blob);
}

static void sessions_that_stream_run_side_by_side(void **state) {
    (void)state;
    run_callers(make_streaming_blob);
}

static void sessions_of_chains_run_side_by_side(void **state) {
    (void)state;
    run_callers(make_chained_blob);
}

static void sessions_of_large_weights_run_side_by_side(void **state) {
    (void)state;
    run_callers(make_weighty_blob);
}

/* In the caller's thread, each step once. */
struct watched {
    pthread_t thread;
    uint32_t done, wrong;
};

static void watch(void *ctx, const struct morsel_step *step) {
    struct watched *watched = ctx;
    watched->wrong += !pthread_equal(pthread_self(), watched->thread) || (step->done && step->index != watched->done);
    watched->done += step->done;
}

/* A session with a barrier, watched in every other run: only the other ones use it, and all give the same bytes. */
static void watch_network(uint8_t *(*make)(uint32_t *bytes)) {
    uint32_t bytes, seed = 7;
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_view in, out;
    struct caller caller = {.pool = pool_open(3)};
    struct watched watched = {.thread = pthread_self()};
    struct morsel_options options = {
        .size = sizeof options, .tasks = 3, .parallel_for = run_counted, .parallel_ctx = &caller, .barrier = barrier_counted};
    static uint8_t x[PIXELS * PIXELS * CHANNELS];
    for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)builder_random(&seed);
    uint8_t *blob = make(&bytes), *wanted = builder_run(blob, bytes, x, NULL);
    blob = make(&bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    uint32_t room = morsel_arena_bytes_for(&model, 3);
    uint8_t *arena = builder_aligned(room);
    assert_int_equal(morsel_session_open(&session, &model, arena, room, &options), MORSEL_OK);
    for (uint32_t run = 0; run < 6; run++) {
        int before = caller.barriers;
        assert_int_equal(morsel_session_watch(&session, run % 2 ? watch : NULL, &watched), MORSEL_OK);
        morsel_input(&session, 0, &in);
        morsel_output(&session, 0, &out);
        memcpy(in.data, x, in.bytes);
        watched.done = 0;
        assert_int_equal(morsel_run(&session), MORSEL_OK);
        assert_memory_equal(out.data, wanted, out.bytes);
        assert_int_equal(caller.barriers == before, run % 2);
        assert_int_equal(watched.done, run % 2 ? session.step_count : 0);
    }
    assert_int_equal(watched.wrong, 0);
    pool_close(caller.pool);
    free(arena);
    free(blob);
    free(wanted);
}

static void a_watch_comes_and_goes(void **state) {
    (void)state;
    watch_network(make_weighty_blob);
    watch_network(make_streaming_blob);
    watch_network(make_chained_blob);
    watch_network(make_padded_blob);
}

/* A blob may have the weights of a product begin among those of the convolution before it. Blocks behind that place do not count from
 * themselves to it: that would be 4 GB away. */
static void nothing_is_fetched_from_behind(void **state) {
    (void)state;
    static int8_t weights[4096];
    static _Alignas(64) uint8_t slots[2 * MORSEL_FORMAT_STEP_SLOT];
    struct morsel_session session = {.steps = slots, .step_count = 2};
    struct morsel_call *conv = morsel_call_at(&session, 0), *fc = morsel_call_at(&session, 1);
    *conv = (struct morsel_call){.kind = MORSEL_STEP_CONV, .split = MORSEL_SPLIT_BLOCKS, .tasks = 2, .fetch = 1, .count = 1};
    *fc = (struct morsel_call){.kind = MORSEL_STEP_FC, .tasks = 2, .units = 4, .count = 1};
    conv->args.conv.weights = weights;
    conv->args.conv.prefetch = 64;
    conv->args.conv.prefetch_bytes = 4096;
    fc->args.fc.weights = weights + 64;
    fc->args.fc.inputs = 4;
    struct morsel_conv_args part = {.weights = weights};
    morsel_fetch_share(&session, 0, &part, 1);
    assert_int_equal(part.prefetch, 64 + 2 * 64);
    assert_int_equal(part.prefetch_bytes, 2 * 64);
    part = (struct morsel_conv_args){.weights = weights + 2048};
    morsel_fetch_share(&session, 0, &part, 1);
    assert_int_equal(part.prefetch_bytes, 0);
}

static void barrier_never(void *ctx, uint32_t n, uint32_t index) {
    (void)ctx, (void)n, (void)index;
    fail();
}

/* There is no barrier where there is one task, or where the arena has no room for all of them. */
static void no_barrier_where_there_is_one_task_or_no_room(void **state) {
    (void)state;
    uint32_t bytes;
    static uint8_t x[PIXELS * PIXELS * CHANNELS];
    uint8_t *blob = make_streaming_blob(&bytes), *wanted = builder_run(blob, bytes, x, NULL);
    struct morsel_model model;
    blob = make_streaming_blob(&bytes);
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    for (uint32_t tasks = 0; tasks <= 3; tasks++) {
        struct morsel_options options = {.size = sizeof options,
                                         .tasks = tasks,
                                         .parallel_for = tasks ? run_upwards : NULL,
                                         .barrier = barrier_never};
        struct morsel_session session;
        struct morsel_view in, out;
        uint32_t room = tasks > 1 ? morsel_arena_bytes_for(&model, tasks) - 1 : morsel_arena_bytes(&model);
        uint8_t *arena = builder_aligned(room);
        assert_int_equal(morsel_session_open(&session, &model, arena, room, &options), MORSEL_OK);
        morsel_input(&session, 0, &in);
        morsel_output(&session, 0, &out);
        memcpy(in.data, x, in.bytes);
        assert_int_equal(morsel_run(&session), MORSEL_OK);
        assert_memory_equal(out.data, wanted, out.bytes);
        free(arena);
    }
    free(blob);
    free(wanted);
}

static void run_never(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    (void)ctx, (void)n, (void)fn, (void)arg;
    fail_msg("one task needs no other thread");
}

/* 0 tasks are one, with parallel_for, too. */
static void no_tasks_stated_are_one(void **state) {
    (void)state;
    uint32_t bytes;
    uint8_t *blob = make_blob(&bytes);
    struct morsel_model model;
    struct morsel_session session;
    struct morsel_options options = {.size = sizeof options, .parallel_for = run_never, .barrier = barrier_never};
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    assert_int_equal(morsel_arena_bytes_for(&model, 0), morsel_arena_bytes(&model));
    uint32_t room = morsel_arena_bytes_for(&model, 8);
    uint8_t *arena = builder_aligned(room);
    assert_int_equal(morsel_session_open(&session, &model, arena, room, &options), MORSEL_OK);
    assert_int_equal(session.options.tasks, 1);
    assert_null(session.options.barrier);
    assert_int_equal(morsel_run(&session), MORSEL_OK);
    free(arena);
    free(blob);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_barrier_where_there_is_one_task_or_no_room),
                                       cmocka_unit_test(no_tasks_stated_are_one),
                                       cmocka_unit_test(every_way_to_run_is_taken),
                                       cmocka_unit_test(tasks_in_any_order_give_the_same_bytes),
                                       cmocka_unit_test(sessions_run_side_by_side),
                                       cmocka_unit_test(sessions_that_stream_run_side_by_side),
                                       cmocka_unit_test(sessions_of_large_weights_run_side_by_side),
                                       cmocka_unit_test(sessions_of_chains_run_side_by_side),
                                       cmocka_unit_test(a_watch_comes_and_goes),
                                       cmocka_unit_test(nothing_is_fetched_from_behind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
