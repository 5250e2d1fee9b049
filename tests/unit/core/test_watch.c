/* SPDX-License-Identifier: MIT */
/* A watched run tells of every step: once when it is done, in order, with values that are those of a blob whose tensors all stay. */
#include "tests/unit/support/stream_runs.h"

#include "core/blob.h"

enum { STEPS = 256, SEEDS = 40 };

struct seen {
    const struct morsel_session *session;
    uint32_t done, turns, wrong, missing, refused;
    float *values[STEPS]; /* of a step's result, where it is whole */
    uint32_t counts[STEPS];
};

static uint32_t elements(const struct morsel_view *view) {
    uint32_t n = 1;
    for (uint32_t k = 0; k < view->rank; k++) n *= view->dims[k];
    return n;
}

static void see(void *ctx, const struct morsel_step *step) {
    struct seen *seen = ctx;
    struct morsel_step known;
    seen->wrong += morsel_session_step(seen->session, step->index, &known) != MORSEL_OK || known.index != step->index;
    seen->wrong += known.name != step->name || known.kind != step->kind || known.isa != step->isa || known.group != step->group;
    seen->wrong += known.why_c != step->why_c || (step->why_c && strcmp(step->isa, "c"));
    seen->refused += step->why_c != NULL;
    if (!step->done) {
        seen->turns++;
        seen->wrong += !step->group || step->result.data != NULL;
        return;
    }
    seen->wrong += step->index != seen->done++;
    seen->missing += !step->result.data;
    seen->wrong += !step->result.data && !step->group;
    if (!step->result.data) return;
    seen->counts[step->index] = elements(&step->result);
    seen->values[step->index] = malloc(sizeof(float) * seen->counts[step->index]);
    morsel_dequantize(&step->result, seen->values[step->index], seen->counts[step->index]);
}

static void forget(struct seen *seen) {
    for (uint32_t i = 0; i < STEPS; i++) free(seen->values[i]);
    memset(seen, 0, sizeof *seen);
}

/* Runs the network once, watched, and again without: the same outputs, and no more calls. */
static void watch_run(const struct morsel_model *model, uint32_t tasks, uint32_t cpu, struct seen *seen) {
    struct morsel_options options = {.size = sizeof options, .cpu_mask = cpu, .tasks = tasks, .parallel_for = tasks > 1 ? backwards : NULL};
    uint32_t bytes = morsel_arena_bytes_for(model, tasks);
    uint8_t *arena = builder_aligned(bytes), *first_output = NULL;
    struct morsel_session s;
    struct morsel_view v;
    memset(arena, 0xee, bytes);
    assert_int_equal(morsel_session_open(&s, model, arena, bytes, &options), MORSEL_OK);
    assert_true(s.step_count <= STEPS);
    seen->session = &s;
    for (uint32_t run = 0; run < 3; run++) { /* the first one watched, the others not */
        assert_int_equal(morsel_session_watch(&s, run ? NULL : see, seen), MORSEL_OK);
        uint32_t fill = 7, calls = seen->done + seen->turns;
        assert_int_equal(morsel_input(&s, 0, &v), MORSEL_OK);
        for (uint32_t i = 0; i < v.bytes; i++) ((uint8_t *)v.data)[i] = (uint8_t)builder_random(&fill);
        assert_int_equal(morsel_run(&s), MORSEL_OK);
        assert_int_equal(morsel_output(&s, 0, &v), MORSEL_OK);
        if (run) assert_memory_equal(v.data, first_output, v.bytes);
        else memcpy(first_output = malloc(v.bytes), v.data, v.bytes);
        if (run) assert_int_equal(seen->done + seen->turns, calls);
    }
    assert_int_equal(seen->done, s.step_count);
    assert_int_equal(seen->wrong, 0);
    assert_int_equal(morsel_session_step(&s, s.step_count, &(struct morsel_step){0}), MORSEL_ERR_ARGUMENT);
    free(first_output);
    free(arena);
}

static uint8_t *open_blob(struct net *net, struct morsel_model *model) {
    size_t bytes;
    uint8_t *blob = blob_of(net, &bytes);
    assert_int_equal(morsel_open(model, blob, bytes, 0), MORSEL_OK);
    net_free(net);
    return blob;
}

/* The reference: steps one by one in plain C, in one task. What streams is compared where it is whole. */
static void watch_seed(uint32_t seed, uint32_t *turns, uint32_t *missing) {
    struct morsel_model whole, rows;
    struct net *net = make_random(seed, seed % 4 ? 1 : 3), *other = make_random(seed, seed % 4 ? 1 : 3);
    struct seen want = {0};
    net->no_streaming = true;
    other->arena_room = 1;
    uint8_t *whole_blob = open_blob(net, &whole), *rows_blob = open_blob(other, &rows);
    watch_run(&whole, 1, MORSEL_CPU_C, &want);
    assert_int_equal(want.turns + want.missing, 0);
    for (uint32_t tasks = 1; tasks <= 3; tasks++) {
        for (uint32_t streams = 0; streams < 2; streams++) {
            struct seen got = {0};
            watch_run(streams ? &rows : &whole, tasks, MORSEL_CPU_ALL, &got);
            assert_int_equal(got.done, want.done);
            for (uint32_t i = 0; i < want.done; i++) {
                if (!got.values[i]) continue;
                assert_int_equal(got.counts[i], want.counts[i]);
                assert_memory_equal(got.values[i], want.values[i], sizeof(float) * want.counts[i]);
            }
            *turns += got.turns;
            *missing += got.missing;
            forget(&got);
        }
    }
    forget(&want);
    free(whole_blob);
    free(rows_blob);
}

static void watched_values_are_those_of_plain_steps(void **unused) {
    (void)unused;
    uint32_t turns = 0, missing = 0;
    for (uint32_t i = 0; i < SEEDS; i++) watch_seed(first + i, &turns, &missing);
    assert_true(turns > 0 && missing > 0); /* groups were among them */
}

/* Int8 inside, which some kernels store flipped: a maximum over a picture, of which a table makes the output. */
static void views_tell_how_bytes_are_stored(void **unused) {
    (void)unused;
    uint32_t bytes;
    const uint32_t dims[] = {1, 2, 2, 3};
    const struct morsel_blob_pool pool = {{1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 0, -128, 127};
    struct builder b;
    uint8_t same[256];
    for (int i = 0; i < 256; i++) same[i] = (uint8_t)i;
    builder_start(&b);
    uint32_t x = builder_tensor(&b, MORSEL_INT8, 4, dims, 0.5f, 3), y = builder_tensor(&b, MORSEL_INT8, 4, dims, 0.5f, 3);
    uint32_t z = builder_tensor(&b, MORSEL_INT8, 4, dims, 0.5f, 3);
    const struct morsel_blob_lut lut = {12, 1, 1, builder_data(&b, same, 256)};
    builder_step(&b, MORSEL_STEP_MAX_POOL, &x, 1, y, &pool, sizeof pool, 0);
    builder_step(&b, MORSEL_STEP_LUT, &y, 1, z, &lut, sizeof lut, 0);
    builder_input(&b, x, "x");
    builder_output(&b, z, "z");
    uint8_t *blob = builder_finish(&b, &bytes);
    struct morsel_model model;
    struct seen seen = {0};
    assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
    watch_run(&model, 1, MORSEL_CPU_C, &seen);
    assert_int_equal(seen.refused, 0);
    forget(&seen);
    watch_run(&model, 1, MORSEL_CPU_ALL, &seen);
    if (morsel_cpu_features()) assert_int_equal(seen.refused, 1); /* vectors want sixteen channels */
    uint32_t fill = 7;
    for (int c = 0; c < 12; c++) { /* bytes come channels last, values N C H W */
        float value = 0.5f * (float)((int8_t)(uint8_t)builder_random(&fill) - 3);
        int at = c % 3 * 4 + c / 3;
        assert_true(seen.values[0][at] == value && seen.values[1][at] == value);
    }
    forget(&seen);
    free(blob);
}

/* Floats along a dimension that others follow are plain C's: the name says so, and why. */
static void softmax_tells_what_ran(void **unused) {
    (void)unused;
    for (uint32_t inner = 1; inner < 3; inner++) {
        uint32_t bytes;
        const uint32_t dims[] = {2, 3, inner};
        const struct morsel_blob_softmax p = {2, 3, inner, 0};
        struct builder b;
        struct morsel_model model;
        struct seen seen = {0};
        builder_start(&b);
        uint32_t x = builder_tensor(&b, MORSEL_FLOAT32, 3, dims, 1, 0), y = builder_tensor(&b, MORSEL_FLOAT32, 3, dims, 1, 0);
        builder_step(&b, MORSEL_STEP_SOFTMAX, &x, 1, y, &p, sizeof p, 0);
        builder_input(&b, x, "x");
        builder_output(&b, y, "y");
        uint8_t *blob = builder_finish(&b, &bytes);
        assert_int_equal(morsel_open(&model, blob, bytes, 0), MORSEL_OK);
        watch_run(&model, 1, MORSEL_CPU_ALL, &seen);
        assert_int_equal(seen.refused, morsel_cpu_features() && inner > 1);
        forget(&seen);
        free(blob);
    }
}

static void a_session_is_asked_for(void **unused) {
    (void)unused;
    struct morsel_session none = {0};
    struct morsel_step step;
    assert_int_equal(morsel_session_watch(NULL, see, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_watch(&none, see, NULL), MORSEL_ERR_ARGUMENT);
    assert_int_equal(morsel_session_step(&none, 0, &step), MORSEL_ERR_ARGUMENT);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(watched_values_are_those_of_plain_steps, say_seed),
        cmocka_unit_test_teardown(views_tell_how_bytes_are_stored, say_seed),
        cmocka_unit_test_teardown(softmax_tells_what_ran, say_seed),
        cmocka_unit_test(a_session_is_asked_for),
    };
    read_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
