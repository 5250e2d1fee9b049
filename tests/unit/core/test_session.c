/* SPDX-License-Identifier: MIT */
/* Sessions: what they refuse, what they show, and that no cut of a run into tasks changes a byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/kind.h"
#include "kernels/kernels.h"
#include "tests/unit/support/sample_blob.h"

struct opened {
    struct blob blob;
    struct morsel_model model;
    uint8_t *arena;
    uint32_t arena_bytes;
};

static struct opened open_sample(void) {
    struct opened o;
    memset(&o, 0, sizeof o);
    o.blob = sample();
    assert_int_equal(morsel_open(&o.model, o.blob.bytes, o.blob.count, 0), MORSEL_OK);
    o.arena_bytes = morsel_arena_bytes(&o.model);
    o.arena = builder_aligned(o.arena_bytes);
    return o;
}

static void close_sample(struct opened *o) {
    free(o->arena);
    free(o->blob.bytes);
}

static void sessions_refuse_what_they_cannot_use(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_session s;
    struct morsel_model closed = {0};
    uint8_t *larger = builder_aligned(o.arena_bytes + 64);
    assert_int_equal(morsel_session_open(NULL, &o.model, o.arena, o.arena_bytes, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_open(&s, NULL, o.arena, o.arena_bytes, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_open(&s, &closed, o.arena, o.arena_bytes, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_open(&s, &o.model, NULL, o.arena_bytes, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_open(&s, &o.model, larger + 32, o.arena_bytes, NULL), MORSEL_ERR_ALIGNMENT);
    assert_int_equal(morsel_session_open(&s, &o.model, o.arena, o.arena_bytes - 1, NULL), MORSEL_ERR_ARENA);
    assert_int_equal(morsel_run(&s), MORSEL_ERR_ARGUMENT); /* not open */
    assert_int_equal(morsel_run(NULL), MORSEL_ERR_ARGUMENT);
    free(larger);
    close_sample(&o);
}

static void views_show_inputs_and_outputs(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_session s;
    struct morsel_view v;
    assert_int_equal(morsel_session_open(&s, &o.model, o.arena, o.arena_bytes, NULL), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    assert_string_equal(v.name, "picture");
    assert_int_equal(v.type, MORSEL_UINT8);
    assert_int_equal(v.layout, MORSEL_CHANNELS_LAST);
    assert_int_equal(v.bytes, 48);
    assert_int_equal(v.zero_point, 3);
    assert_true(v.scale == 0.1f && v.rank == 4 && v.dims[3] == 3 && v.onnx_dims[1] == 3 && v.onnx_dims[3] == 4);
    assert_int_equal(morsel_output(&s, 1, &v), MORSEL_OK);
    assert_string_equal(v.name, "others");
    assert_true((uint8_t *)v.data >= o.arena && (uint8_t *)v.data + v.bytes <= o.arena + o.arena_bytes);
    assert_int_equal(morsel_input(&s, 1, &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_output(&s, 2, &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_output(&s, 0, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_input(NULL, 0, &v), MORSEL_ERR_ARGUMENT);
    close_sample(&o);
}

static void views_are_found_by_name(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_session s, closed = {0};
    struct morsel_view v, w;
    assert_int_equal(morsel_session_open(&s, &o.model, o.arena, o.arena_bytes, NULL), MORSEL_OK);
    assert_int_equal(morsel_input_named(&s, "picture", &v), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &w), MORSEL_OK);
    assert_ptr_equal(v.data, w.data);
    assert_int_equal(morsel_output_named(&s, "others", &v), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 1, &w), MORSEL_OK);
    assert_ptr_equal(v.data, w.data);
    const char *const none[] = {"", "pictur", "picture2", "others", NULL};
    for (unsigned i = 0; i < 5; i++) assert_int_equal(morsel_input_named(&s, none[i], &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_output_named(&s, "picture", &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_output_named(&s, "others", NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_output_named(NULL, "others", &v), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_input_named(&closed, "picture", &v), MORSEL_ERR_ARGUMENT);
    close_sample(&o);
}

/* Within 0.2 a library takes the place of another: what the app has laid out keeps its size. On 64-bit machines, here. */
static void sizes_stay_within_a_minor_version(void **state) {
    (void)state;
    assert_int_equal(MORSEL_VERSION_NUMBER / 1000, 2); /* at the next one they may be other sizes */
    if (sizeof(void *) < 8) skip();
    assert_int_equal(sizeof(struct morsel_model), 24);
    assert_int_equal(sizeof(struct morsel_session), 168);
    assert_int_equal(sizeof(struct morsel_view), 104);
    assert_int_equal(sizeof(struct morsel_step), 152);
}

/* Options of an app that was compiled with another header: fewer fields, or more. */
static void options_of_other_sizes(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_session s;
    struct {
        struct morsel_options options;
        uint8_t more[16];
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.options.cpu_mask = MORSEL_CPU_C;
#define OPEN(bytes) (newer.options.size = (uint32_t)(bytes), morsel_session_open(&s, &o.model, o.arena, o.arena_bytes, &newer.options))
    assert_int_equal(OPEN(0), MORSEL_ERR_OPTIONS);
    assert_int_equal(OPEN(3), MORSEL_ERR_OPTIONS);
    assert_int_equal(OPEN(0xffffffff), MORSEL_ERR_OPTIONS); /* of memory that was never set */
    assert_int_equal(morsel_run(&s), MORSEL_ERR_ARGUMENT);
    assert_int_equal(OPEN(sizeof newer.options), MORSEL_OK);
    assert_int_equal(s.options.cpu_mask, MORSEL_CPU_C);
    assert_int_equal(OPEN(sizeof newer), MORSEL_OK);
    newer.more[15] = 1;
    assert_int_equal(OPEN(sizeof newer), MORSEL_ERR_OPTIONS);
    assert_int_equal(OPEN(sizeof newer - 1), MORSEL_OK);
    newer.options.flags = 1;
    assert_int_equal(OPEN(sizeof newer.options), MORSEL_ERR_OPTIONS);
    assert_int_equal(OPEN(offsetof(struct morsel_options, flags)), MORSEL_OK); /* what is behind the size does not count */
    assert_int_equal(s.options.flags, 0);
    assert_int_equal(s.options.cpu_mask & MORSEL_CPU_AVX2, MORSEL_CPU_AVX2);
    newer.options.flags = 0;
    newer.options.tasks = 7; /* without parallel_for */
    assert_int_equal(OPEN(offsetof(struct morsel_options, parallel_for)), MORSEL_OK);
    assert_int_equal(s.options.tasks, 1);
#undef OPEN
    close_sample(&o);
}

/* A caller's threads that run the tasks backwards, or odd ones first: the order must not matter. */
static void backwards(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    ++*(int *)ctx;
    while (n > 0) fn(arg, --n);
}

static void odd_first(void *ctx, uint32_t n, morsel_task *fn, void *arg) {
    ++*(int *)ctx;
    for (uint32_t i = 1; i < n; i += 2) fn(arg, i);
    for (uint32_t i = 0; i < n; i += 2) fn(arg, i);
}

/* Every tensor of the arena after a run, behind the step slots; sample tensors share no memory. */
static uint8_t *run_cut(struct opened *o, uint32_t tasks, morsel_parallel_for *parallel, int *calls) {
    struct morsel_options options = {.size = sizeof options, .tasks = tasks, .parallel_for = parallel, .parallel_ctx = calls};
    struct morsel_session s;
    struct morsel_view v;
    uint32_t slots = S_COUNT * MORSEL_FORMAT_STEP_SLOT;
    memset(o->arena, 0xee, o->arena_bytes);
    assert_int_equal(morsel_session_open(&s, &o->model, o->arena, o->arena_bytes, &options), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
    for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)(i * 37);
    assert_int_equal(morsel_run(&s), MORSEL_OK);
    uint8_t *copy = malloc(o->arena_bytes - slots);
    memcpy(copy, o->arena + slots, o->arena_bytes - slots);
    return copy;
}

static void cuts_change_no_byte(void **state) {
    (void)state;
    struct opened o = open_sample();
    uint32_t bytes = o.arena_bytes - S_COUNT * MORSEL_FORMAT_STEP_SLOT;
    int calls = 0;
    uint8_t *whole = run_cut(&o, 1, NULL, &calls);
    assert_int_equal(calls, 0);
    for (uint32_t tasks = 2; tasks < 60; tasks += tasks < 10 ? 1 : 7) {
        uint8_t *a = run_cut(&o, tasks, backwards, &calls), *b = run_cut(&o, tasks, odd_first, &calls);
        assert_memory_equal(a, whole, bytes);
        assert_memory_equal(b, whole, bytes);
        free(a), free(b);
    }
    assert_true(calls > 100);
    uint8_t *none = run_cut(&o, 0, backwards, &calls);
    assert_memory_equal(none, whole, bytes);
    free(none), free(whole);
    close_sample(&o);
}

static void a_session_runs_again_with_the_same_bytes(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_session s;
    struct morsel_view in, out;
    uint8_t first[20];
    assert_int_equal(morsel_session_open(&s, &o.model, o.arena, o.arena_bytes, NULL), MORSEL_OK);
    assert_int_equal(morsel_input(&s, 0, &in), MORSEL_OK);
    assert_int_equal(morsel_output(&s, 0, &out), MORSEL_OK);
    for (int round = 0; round < 3; round++) {
        memset(in.data, 77, in.bytes);
        assert_int_equal(morsel_run(&s), MORSEL_OK);
        if (!round) memcpy(first, out.data, 20);
        assert_memory_equal(out.data, first, 20);
    }
    close_sample(&o);
}

static void the_mask_leaves_plain_c(void **state) {
    (void)state;
    struct opened o = open_sample();
    struct morsel_options options = {.size = sizeof options, .cpu_mask = MORSEL_CPU_C};
    struct morsel_kernels table;
    struct morsel_session s;
    assert_int_equal(morsel_session_open(&s, &o.model, o.arena, o.arena_bytes, &options), MORSEL_OK);
    assert_int_equal(s.cpu, 0);
    assert_int_equal(morsel_kinds_kernels(&table, 0), 0);
    assert_ptr_equal(table.conv, morsel_conv_rows_c);
    assert_ptr_equal(table.gather, morsel_gather_c);
    close_sample(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_refuse_what_they_cannot_use),
        cmocka_unit_test(views_show_inputs_and_outputs),
        cmocka_unit_test(views_are_found_by_name),
        cmocka_unit_test(options_of_other_sizes),
        cmocka_unit_test(sizes_stay_within_a_minor_version),
        cmocka_unit_test(cuts_change_no_byte),
        cmocka_unit_test(a_session_runs_again_with_the_same_bytes),
        cmocka_unit_test(the_mask_leaves_plain_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
